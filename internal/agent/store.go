package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Epochs is what an agent must not forget when it dies.
type Epochs struct {
	// Cluster whose epochs these are.
	Cluster string `json:"cluster"`
	// Seen is the highest epoch of any accepted order.
	Seen int64 `json:"epoch"`
	// Primary is the highest epoch under which this member was told to be primary.
	Primary int64 `json:"primaryEpoch"`
}

// raisedTo returns the later of both in each field.
func (e Epochs) raisedTo(o Epochs) Epochs {
	return Epochs{Cluster: e.Cluster, Seen: max(e.Seen, o.Seen), Primary: max(e.Primary, o.Primary)}
}

// epochStore keeps Epochs in a file. Its epochs only rise.
type epochStore struct {
	dir string

	mu   sync.Mutex
	disk Epochs
}

const epochFile = "epoch.json"

// openEpochStore reads what is there. Epochs of another cluster count from zero: the volume was
// adopted. A file that cannot be read is an error, since zero would let stale orders pass.
func openEpochStore(dir, cluster string) (*epochStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the state directory: %w", err)
	}
	s := &epochStore{dir: dir, disk: Epochs{Cluster: cluster}}
	b, err := os.ReadFile(filepath.Join(dir, epochFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the epoch: %w", err)
	}
	var stored Epochs
	if err := json.Unmarshal(b, &stored); err != nil {
		return nil, fmt.Errorf("read the epoch from %s: %w", epochFile, err)
	}
	if stored.Cluster == cluster {
		s.disk = stored
	}
	return s, nil
}

// load returns what is on disk.
func (s *epochStore) load() Epochs {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.disk
}

// raise returns once the epochs on disk are at least e.
func (s *epochStore) raise(e Epochs) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.disk.raisedTo(e)
	if next == s.disk {
		return nil
	}
	b, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encode the epoch: %w", err)
	}
	if err := WriteFileDurably(filepath.Join(s.dir, epochFile), b); err != nil {
		return fmt.Errorf("store epoch %d: %w", next.Seen, err)
	}
	s.disk = next
	return nil
}

// WriteFileDurably replaces a file so that after a power cut either the old or the new content is there.
func WriteFileDurably(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when all went well
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
