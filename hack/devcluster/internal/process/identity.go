package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Identity tells one process from a later one with the same number.
type Identity struct {
	PID int `json:"pid"`
	// Start is when the kernel started it, in its own ticks since boot.
	Start uint64 `json:"start"`
}

// startField is the place of the start time in /proc/PID/stat, counted after
// the name, which may itself contain blanks and parentheses.
const startField = 19

// Identify reads the identity of a running process.
func Identify(pid int) (Identity, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	start, err := parseStart(string(stat))
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return Identity{PID: pid, Start: start}, nil
}

// parseStart finds the start time; a process that has ended and only waits to
// be collected has none.
func parseStart(stat string) (uint64, error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, errors.New("stat has no name")
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) <= startField {
		return 0, errors.New("stat is too short")
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return 0, errors.New("it has ended")
	}
	return strconv.ParseUint(fields[startField], 10, 64)
}

// Alive says whether that very process still runs.
func (id Identity) Alive() bool {
	current, err := Identify(id.PID)
	return err == nil && current == id
}

// Save records the identity in a file.
func (id Identity) Save(path string) error {
	content, err := json.Marshal(id)
	if err != nil {
		return fmt.Errorf("encode identity: %w", err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("record process %d: %w", id.PID, err)
	}
	return nil
}

// LoadIdentity reads what Save recorded; it is false if there is no record or
// the process is gone.
func LoadIdentity(path string) (Identity, bool) {
	content, err := os.ReadFile(path)
	if err != nil {
		return Identity{}, false
	}
	var id Identity
	if json.Unmarshal(content, &id) != nil {
		return Identity{}, false
	}
	return id, id.Alive()
}
