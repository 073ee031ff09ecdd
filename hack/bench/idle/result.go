package idle

import (
	"fmt"
	"strconv"
	"time"
)

// Result is what a run measured.
type Result struct {
	// Machine that it ran on, for people.
	Machine string `json:"machine"`
	// Agents says that they are simulated.
	Agents string        `json:"agents"`
	For    time.Duration `json:"forNanoseconds"`
	// ForeignSecrets that were there beside the clusters.
	ForeignSecrets int     `json:"foreignSecrets"`
	Points         []Point `json:"points"`
}

// Point is the manager with one number of idle clusters.
type Point struct {
	Clusters int `json:"clusters"`
	Agents   int `json:"agents"`
	// HealthySeconds from the creation of the clusters that were added until all were healthy.
	HealthySeconds float64 `json:"healthySeconds"`
	Memory         Memory  `json:"memory"`
	// CPU is the share of one core, user and kernel time together: 0.01 is one per cent.
	CPU        float64 `json:"cpu"`
	Goroutines int     `json:"goroutines"`
	// HeartbeatsPerSecond that the manager answered.
	HeartbeatsPerSecond float64 `json:"heartbeatsPerSecond"`
	Passes              int     `json:"passes"`
	// PassesPerClusterMinute is one with a reconcile period of a minute.
	PassesPerClusterMinute float64  `json:"passesPerClusterMinute"`
	Requests               Requests `json:"requests"`
}

// Memory of the manager in MiB.
type Memory struct {
	// Resident = Anonymous + File. File is the part of the binary that was touched; the kernel can drop it.
	Resident  float64 `json:"resident"`
	Anonymous float64 `json:"anonymous"`
	File      float64 `json:"file"`
	// Peak of Resident since the manager's start.
	Peak float64 `json:"peak"`
	// Heap that is in use, garbage included.
	Heap float64 `json:"heap"`
}

// Requests of the manager to the API server, from the server's audit log.
type Requests struct {
	// Writes of clusters and their objects; Which says of what, by verb and resource.
	Writes int            `json:"writes"`
	Which  map[string]int `json:"which,omitempty"`
	// Leases that keep the leader, and Events, are counted apart.
	Leases int `json:"leases"`
	Events int `json:"events"`
	// Reads are gets, lists and new watches.
	Reads int `json:"reads"`
}

// Header of the table.
func Header() []string {
	return []string{
		"idle clusters", "agents", "RSS MiB (anon + file)", "heap MiB", "peak MiB", "CPU of a core", "heartbeats/s",
		"passes/cluster/min", "API writes", "events", "lease writes", "goroutines", "healthy after",
	}
}

// Rows of the table, one for each point.
func (r Result) Rows() [][]string {
	var rows [][]string
	for _, p := range r.Points {
		m := p.Memory
		rows = append(rows, []string{
			strconv.Itoa(p.Clusters), strconv.Itoa(p.Agents),
			fmt.Sprintf("%.1f (%.1f + %.1f)", m.Resident, m.Anonymous, m.File),
			fmt.Sprintf("%.1f", m.Heap), fmt.Sprintf("%.1f", m.Peak),
			fmt.Sprintf("%.2f %%", 100*p.CPU), fmt.Sprintf("%.0f", p.HeartbeatsPerSecond),
			fmt.Sprintf("%.2f", p.PassesPerClusterMinute), strconv.Itoa(p.Requests.Writes),
			strconv.Itoa(p.Requests.Events), strconv.Itoa(p.Requests.Leases), strconv.Itoa(p.Goroutines),
			fmt.Sprintf("%.1f s", p.HealthySeconds),
		})
	}
	return rows
}

// Problems are the promises that a run broke; none: it kept all.
func (r Result) Problems() []string {
	var problems []string
	for _, p := range r.Points {
		if p.Requests.Writes > 0 {
			problems = append(problems, fmt.Sprintf("%d idle clusters: %d writes to the API server: %v", p.Clusters, p.Requests.Writes, p.Requests.Which))
		}
		if want := 2 * float64(p.Agents); p.HeartbeatsPerSecond < 0.9*want {
			problems = append(problems, fmt.Sprintf("%d idle clusters: %.0f heartbeats a second were answered, of %.0f", p.Clusters, p.HeartbeatsPerSecond, want))
		}
		if p.PassesPerClusterMinute > maxPasses {
			problems = append(problems, fmt.Sprintf("%d idle clusters: %.1f passes per cluster and minute", p.Clusters, p.PassesPerClusterMinute))
		}
	}
	return problems
}

// maxPasses of an idle cluster in a minute.
const maxPasses = 2
