package dbconfig

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	v1 "github.com/holdfast-dev/holdfast/api/v1"
)

// Parameters that the operator computes defaults for.
const (
	maxMemory          = "maxmemory"
	appendOnly         = "appendonly"
	appendFsync        = "appendfsync"
	save               = "save"
	backlogSize        = "repl-backlog-size"
	minReplicasToWrite = "min-replicas-to-write"
)

// Bounds of computed defaults.
const (
	// memoryPercent of the container's limit for data; the rest is room for copy-on-write while a
	// snapshot is taken, for replication buffers and for the agent.
	memoryPercent  = 75
	backlogPercent = 1
	backlogMin     = 1 * mib
	backlogMax     = 256 * mib
	maxValue       = 1024
)

var parameterName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)

// Rendered is the configuration of the servers of a cluster.
type Rendered struct {
	// Parameters by name, complete but for those that the agent owns.
	Parameters map[string]string
	// RestartOnly names the Parameters that a running server does not take over, sorted.
	RestartOnly []string
}

// RestartParameters are the Parameters that need a restart, with their values.
func (r Rendered) RestartParameters() map[string]string {
	out := make(map[string]string, len(r.RestartOnly))
	for _, name := range r.RestartOnly {
		out[name] = r.Parameters[name]
	}
	return out
}

// Render computes the configuration of a cluster. The error names every parameter that is wrong and the way out.
//
// Only what the user sets can be restart-only: a default that needs a restart would restart
// running clusters when an upgrade of the operator changes it.
func Render(c *v1.RedisCluster) (Rendered, error) {
	if err := Validate(c); err != nil {
		return Rendered{}, err
	}
	parameters := defaults(c)
	var restart []string
	for name, value := range c.Spec.Config {
		parameters[name] = string(value)
		if Classify(name) == Restart {
			restart = append(restart, name)
		}
	}
	slices.Sort(restart)
	return Rendered{Parameters: parameters, RestartOnly: restart}, nil
}

func defaults(c *v1.RedisCluster) map[string]string {
	limit := memoryFor(c)
	parameters := map[string]string{
		minReplicasToWrite: strconv.Itoa(int(c.MinReplicasToWrite())),
		backlogSize:        strconv.FormatInt(backlog(limit), 10),
	}
	if _, set := c.Spec.Config[maxMemory]; !set {
		// 0 is the engine's word for no limit.
		parameters[maxMemory] = strconv.FormatInt(limit, 10)
	}
	if c.Spec.Storage.Ephemeral {
		// A file that goes with the pod protects nothing and costs a fork.
		parameters[appendOnly] = "no"
		parameters[save] = ""
		return parameters
	}
	parameters[appendOnly] = "yes"
	parameters[appendFsync] = "everysec"
	return parameters
}

// memoryFor returns the bytes that data may take; 0: no limit is known.
func memoryFor(c *v1.RedisCluster) int64 {
	if v, set := c.Spec.Config[maxMemory]; set {
		// Validate has accepted it.
		if n, err := ParseMemory(string(v)); err == nil {
			return n
		}
	}
	limit := c.Spec.Resources.Limits.Memory()
	if limit.IsZero() {
		return 0
	}
	return limit.Value() / 100 * memoryPercent
}

func backlog(limit int64) int64 {
	return min(max(limit/100*backlogPercent, backlogMin), backlogMax)
}

// Validate returns what is wrong with the configuration of a cluster, all of it at once.
func Validate(c *v1.RedisCluster) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(c.Spec.Config)) {
		if err := validate(name, string(c.Spec.Config[name])); err != nil {
			errs = append(errs, err)
		}
	}
	if err := validateMemory(c); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func validate(name, value string) error {
	if !parameterName.MatchString(name) {
		return fmt.Errorf("config %q: parameter names are lower-case letters, digits and dashes, such as maxmemory-policy", name)
	}
	if way, ok := wayOut(name); ok {
		return fmt.Errorf("config %s: this parameter belongs to the operator: %s", name, way)
	}
	if len(value) > maxValue {
		return fmt.Errorf("config %s: the value has %d characters, at most %d are allowed", name, len(value), maxValue)
	}
	if strings.IndexFunc(value, unicode.IsControl) >= 0 {
		return fmt.Errorf("config %s: the value must not contain control characters such as newlines", name)
	}
	if value == "" && name != save && name != "notify-keyspace-events" {
		return fmt.Errorf("config %s: the value is empty: remove the parameter to get the default", name)
	}
	return nil
}

func validateMemory(c *v1.RedisCluster) error {
	v, set := c.Spec.Config[maxMemory]
	if !set {
		return nil
	}
	n, err := ParseMemory(string(v))
	if err != nil {
		return fmt.Errorf("config %s: %w", maxMemory, err)
	}
	limit := c.Spec.Resources.Limits.Memory()
	switch {
	case limit.IsZero():
		return nil
	case n == 0:
		return fmt.Errorf("config %s: 0 means no limit, but spec.resources limits memory to %s: set a size below it, or remove the parameter to get 75 %% of it", maxMemory, limit)
	case n > limit.Value():
		return fmt.Errorf("config %s: %s exceeds the memory limit %s of spec.resources: lower it or raise the limit", maxMemory, v, limit)
	default:
		return nil
	}
}
