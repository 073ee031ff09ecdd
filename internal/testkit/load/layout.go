package load

import "fmt"

// Layout names the keys of a load, so that several loads share a database without touching each other.
type Layout struct {
	// Prefix of every key.
	Prefix string
	// Sets and Lists are the numbers of keys of each kind; 64 sets spread over the slots of a sharded database.
	Sets, Lists int
}

// DefaultLayout spreads values over 64 sets and 8 lists.
func DefaultLayout(prefix string) Layout { return Layout{Prefix: prefix, Sets: 64, Lists: 8} }

// Set is the key that the value is added to.
func (l Layout) Set(id uint64) string { return l.set(id % uint64(max(l.Sets, 1))) }

// List is the key that the value is appended to.
func (l Layout) List(id uint64) string { return l.list(id % uint64(max(l.Lists, 1))) }

func (l Layout) set(n uint64) string  { return fmt.Sprintf("%s:s:%d", l.Prefix, n) }
func (l Layout) list(n uint64) string { return fmt.Sprintf("%s:l:%d", l.Prefix, n) }

func (l Layout) setKeys() []string  { return keys(l.Sets, l.set) }
func (l Layout) listKeys() []string { return keys(l.Lists, l.list) }

func keys(count int, name func(uint64) string) []string {
	names := make([]string, 0, count)
	for n := range count {
		names = append(names, name(uint64(n)))
	}
	return names
}
