package redissim

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/redis/facts"
)

// disk is a volume: what an agent and its server find there at the next start.
type disk struct {
	// cluster whose epochs these are.
	cluster string
	// seen and primary are the agent's epochs.
	seen, primary int64
	// note of the data's lineage, as old as the last second.
	note *facts.Stored
	// used: a server wrote here before.
	used bool
	// log is what the server has appended. The file that it reads back carries no lineage, and for an
	// offset that of its last copy from a primary.
	log        []int
	fileOffset int64
}

func (d *disk) copy() *disk {
	c := *d
	c.log = slices.Clip(d.log)
	if d.note != nil {
		note := *d.note
		c.note = &note
	}
	return &c
}

// adopt lets a cluster's agent take the volume; epochs of another cluster count from zero.
func (d *disk) adopt(cluster string) {
	if d.cluster != cluster {
		d.cluster, d.seen, d.primary = cluster, 0, 0
	}
}

// stored is what a server that starts now finds claimed about its data.
func (d *disk) stored() *facts.Stored {
	if !d.used {
		return nil
	}
	if d.note == nil {
		return &facts.Stored{}
	}
	note := *d.note
	return &note
}
