package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/prometheus/procfs"
)

// report is the JSON file.
type report struct {
	Suite   string    `json:"suite"`
	At      time.Time `json:"at"`
	Machine machine   `json:"machine"`
	Engine  string    `json:"engine"`
	Figures any       `json:"figures"`
}

// machine says on what the figures were taken.
type machine struct {
	Cores     int     `json:"cores"`
	Processor string  `json:"processor"`
	MemoryGiB float64 `json:"memoryGiB"`
	Kernel    string  `json:"kernel"`
	// Load over the last minute before the suite: other work on the machine is in the figures.
	Load float64 `json:"loadBefore"`
}

func (m machine) String() string {
	return fmt.Sprintf("%d cores of %s, %.0f GiB, Linux %s, load before %.1f", m.Cores, m.Processor, m.MemoryGiB, m.Kernel, m.Load)
}

func lookAtMachine() (machine, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return machine{}, fmt.Errorf("look at the machine: %w", err)
	}
	m := machine{Cores: runtime.NumCPU(), Processor: "an unnamed processor"}
	if cpus, err := fs.CPUInfo(); err == nil && len(cpus) > 0 && cpus[0].ModelName != "" {
		m.Processor = cpus[0].ModelName
	}
	if memory, err := fs.Meminfo(); err == nil && memory.MemTotalBytes != nil {
		m.MemoryGiB = float64(*memory.MemTotalBytes) / (1 << 30)
	}
	if load, err := fs.LoadAvg(); err == nil {
		m.Load = load.Load1
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(release))
	}
	return m, nil
}

func save(dir, suite string, r report) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the output directory: %w", err)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the figures: %w", err)
	}
	path := filepath.Join(dir, fmt.Sprintf("%s-%s.json", suite, r.At.Format("20060102-150405")))
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	fmt.Println("figures:", path)
	return nil
}

// table prints rows in columns.
func table(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(t, strings.Join(row, "\t")); err != nil {
			return fmt.Errorf("print the table: %w", err)
		}
	}
	return t.Flush()
}

// spread is the median and the worst of several measurements.
type spread struct {
	Runs   int     `json:"runs"`
	Median int64   `json:"medianMs"`
	Worst  int64   `json:"worstMs"`
	All    []int64 `json:"allMs"`
}

func spreadOf(values []time.Duration) spread {
	s := spread{Runs: len(values)}
	for _, v := range values {
		s.All = append(s.All, v.Milliseconds())
	}
	if len(values) == 0 {
		return s
	}
	sorted := slices.Sorted(slices.Values(s.All))
	middle := len(sorted) / 2
	s.Median, s.Worst = sorted[middle], sorted[len(sorted)-1]
	if len(sorted)%2 == 0 {
		s.Median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return s
}

func (s spread) median() string { return s.show(s.Median) }
func (s spread) worst() string  { return s.show(s.Worst) }

func (s spread) show(ms int64) string {
	if s.Runs == 0 {
		return "not measured"
	}
	return fmt.Sprintf("%d ms", ms)
}
