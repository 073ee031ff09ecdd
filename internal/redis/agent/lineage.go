package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	base "github.com/holdfast-dev/holdfast/internal/agent"
	"github.com/holdfast-dev/holdfast/internal/redis/facts"
	"github.com/holdfast-dev/holdfast/internal/redis/protocol"
)

const (
	lineageName = "lineage.json"
	// keepEvery bounds how often the lineage is written while data changes.
	keepEvery = time.Second
	// keepIdleEvery is how often it is written while only the engine's own messages move the offset: an
	// idle cluster must not keep disks busy.
	keepIdleEvery = 30 * time.Second
)

// lineageFile records beside the data what the data is, for the time when the server is gone.
type lineageFile struct {
	cluster, dataDir, path string
	now                    func() time.Time
	log                    *slog.Logger

	wg      sync.WaitGroup
	mu      sync.Mutex
	kept    facts.Stored
	keptOf  version
	keptAt  time.Time
	writing bool
}

// version changes with the data.
type version struct{ changes, links int64 }

func newLineageFile(o Options) *lineageFile {
	return &lineageFile{
		cluster: o.Cluster,
		dataDir: o.DataDir,
		path:    filepath.Join(o.StateDir, lineageName),
		now:     o.Now,
		log:     o.Logger,
	}
}

// read returns what the data directory claims; nil for one without data. Data without a record of
// it has an unknown lineage, which is not the same as none.
func (l *lineageFile) read() (*facts.Stored, error) {
	hasData, err := l.hasData()
	if err != nil || !hasData {
		return nil, err
	}
	b, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return &facts.Stored{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the lineage: %w", err)
	}
	var stored facts.Stored
	if err := json.Unmarshal(b, &stored); err != nil {
		l.log.Error("the record of the data's lineage cannot be read", "error", err)
		return &facts.Stored{}, nil
	}
	return &stored, nil
}

// hasData looks for anything that is not the agent's or the file system's own.
func (l *lineageFile) hasData() (bool, error) {
	entries, err := os.ReadDir(l.dataDir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the data directory: %w", err)
	}
	for _, e := range entries {
		if e.Name() != "lost+found" && !strings.HasPrefix(e.Name(), ".") && !isLeftover(e.Name()) {
			return true, nil
		}
	}
	return false, nil
}

// keep records the lineage in the background if the data changed and the last record is old enough.
// The disk may hang; the caller must not.
func (l *lineageFile) keep(s protocol.State, v version, epoch int64) {
	next := l.describe(s, epoch)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writing || !l.isDue(next, v) {
		return
	}
	l.writing = true
	l.wg.Add(1)
	go func() {
		defer l.wg.Done()
		l.write(next, v)
	}()
}

func (l *lineageFile) isDue(next facts.Stored, v version) bool {
	age := l.now().Sub(l.keptAt)
	if next == l.kept || age < keepEvery {
		return false
	}
	moved := next
	moved.Offset = l.kept.Offset
	return moved != l.kept || v != l.keptOf || age >= keepIdleEvery
}

// keepNow records the lineage before an ordered stop.
func (l *lineageFile) keepNow(s protocol.State) {
	l.wait()
	l.mu.Lock()
	epoch, v := l.kept.Epoch, l.keptOf
	l.mu.Unlock()
	l.write(l.describe(s, epoch), v)
}

func (l *lineageFile) describe(s protocol.State, epoch int64) facts.Stored {
	return facts.Stored{
		Cluster:    l.cluster,
		Epoch:      epoch,
		WasPrimary: s.Role == protocol.RolePrimary,
		ReplID:     s.ReplID,
		Offset:     s.Offset,
		Keys:       s.Keys(),
	}
}

func (l *lineageFile) write(next facts.Stored, v version) {
	b, err := json.Marshal(next)
	if err == nil {
		err = base.WriteFileDurably(l.path, b)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writing, l.keptAt = false, l.now()
	if err != nil {
		l.log.Error("record the data's lineage", "error", err)
		return
	}
	l.kept, l.keptOf = next, v
}

func (l *lineageFile) wait() { l.wg.Wait() }

// isLeftover recognises what a server's child left when it was killed while it wrote a file.
func isLeftover(name string) bool {
	return strings.HasPrefix(name, "temp-") && (strings.HasSuffix(name, ".rdb") || strings.HasSuffix(name, ".aof"))
}
