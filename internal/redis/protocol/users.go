package protocol

import (
	"context"
	"strings"
)

// Users implements Users.
func (c *client) Users(ctx context.Context) (map[string]string, error) {
	lines, err := c.rdb.ACLList(ctx).Result()
	if err != nil {
		return nil, explain("list users", err)
	}
	users := make(map[string]string, len(lines))
	for _, line := range lines {
		name, rules, _ := strings.Cut(strings.TrimPrefix(line, "user "), " ")
		users[name] = rules
	}
	return users, nil
}

// SetUser implements Users.
func (c *client) SetUser(ctx context.Context, name string, rules []string) error {
	return explain("set user "+name, c.rdb.ACLSetUser(ctx, name, append([]string{"reset"}, rules...)...).Err())
}

// RemoveUser implements Users.
func (c *client) RemoveUser(ctx context.Context, name string) error {
	return explain("remove user "+name, c.rdb.ACLDelUser(ctx, name).Err())
}
