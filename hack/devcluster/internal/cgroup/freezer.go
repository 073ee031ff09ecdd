package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// freezePatience is how long the kernel may take to freeze a group. It waits
// for each process to leave the kernel, which is milliseconds.
const freezePatience = 5 * time.Second

// freezer is what differs between the two versions.
type freezer struct {
	control string // the file that is written
	freeze  string
	thaw    string
	state   string // the file that tells what is in force
	frozen  string
	thawed  string
}

var (
	freezerV1 = freezer{
		control: "freezer.state", freeze: "FROZEN", thaw: "THAWED",
		state: "freezer.state", frozen: "FROZEN", thawed: "THAWED",
	}
	freezerV2 = freezer{
		control: "cgroup.freeze", freeze: "1", thaw: "0",
		state: "cgroup.events", frozen: "frozen 1", thawed: "frozen 0",
	}
)

// Freeze stops every process of the group in its tracks, and returns when the
// kernel says that all of them stand still.
func (h *Hierarchy) Freeze(name string) error {
	return h.setFreezer(name, h.freezer.freeze, h.freezer.frozen)
}

// Thaw is the inverse of Freeze. Thawing what is not frozen is no error.
func (h *Hierarchy) Thaw(name string) error {
	return h.setFreezer(name, h.freezer.thaw, h.freezer.thawed)
}

// Frozen says whether the group stands still.
func (h *Hierarchy) Frozen(name string) (bool, error) {
	state, err := h.freezerState(name)
	if err != nil {
		return false, err
	}
	return strings.Contains(state, h.freezer.frozen), nil
}

func (h *Hierarchy) setFreezer(name, value, want string) error {
	control := filepath.Join(h.ledger, name, h.freezer.control)
	deadline := time.Now().Add(freezePatience)
	for {
		if err := os.WriteFile(control, []byte(value), 0); err != nil {
			return fmt.Errorf("set the freezer of control group %s: %w", name, err)
		}
		state, err := h.freezerState(name)
		if err != nil {
			return err
		}
		if strings.Contains(state, want) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("control group %s is %q, not %q, after %s", name, strings.TrimSpace(state), want, freezePatience)
		}
		time.Sleep(pollInterval)
	}
}

func (h *Hierarchy) freezerState(name string) (string, error) {
	state, err := os.ReadFile(filepath.Join(h.ledger, name, h.freezer.state))
	if err != nil {
		return "", fmt.Errorf("read the freezer of control group %s: %w", name, err)
	}
	return string(state), nil
}
