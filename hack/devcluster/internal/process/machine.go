package process

import (
	"encoding/json"
	"fmt"
	"os"
)

// SystemPath is where units find the machine's own commands.
const SystemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Machine describes one machine of the cluster.
type Machine struct {
	// Name is the control group and the network namespace.
	Name string `json:"name"`
	// Hostname is what the machine calls itself.
	Hostname string `json:"hostname"`
	// Mounts are made in the machine's own table, in this order.
	Mounts []Mount `json:"mounts,omitempty"`
	// Units are started in this order.
	Units []Unit `json:"units"`
}

// Mount is one entry of a machine's own table of mounts.
type Mount struct {
	Source string `json:"source"`
	Target string `json:"target"`
	// Kind is a file system type, or "bind".
	Kind string `json:"kind"`
}

// Unit is one supervised process.
type Unit struct {
	Name string   `json:"name"`
	Argv []string `json:"argv"`
	Env  []string `json:"env,omitempty"`
	// Log is the file that takes the output.
	Log string `json:"log"`
	// Needs must be there before the unit starts: paths, such as the socket of
	// another unit, and addresses (tcp://HOST:PORT) that must take connections.
	Needs []string `json:"needs,omitempty"`
}

// Write stores the description for Init.
func (m Machine) Write(path string) error {
	content, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("encode machine %s: %w", m.Name, err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("write machine %s: %w", m.Name, err)
	}
	return nil
}

// ReadMachine reads what Write stored.
func ReadMachine(path string) (Machine, error) {
	var m Machine
	content, err := os.ReadFile(path)
	if err != nil {
		return m, fmt.Errorf("read machine: %w", err)
	}
	if err := json.Unmarshal(content, &m); err != nil {
		return m, fmt.Errorf("decode machine %s: %w", path, err)
	}
	return m, nil
}
