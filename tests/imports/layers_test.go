package imports_test

import (
	"fmt"
	"strings"
)

// A layer may import the layers before it, never one after it.
type layer int

const (
	// layerAPI is api/: types that everything may import.
	layerAPI layer = iota
	// layerData is plain data that travels between processes.
	layerData
	// layerLeaf is names, events, conditions, the step runner.
	layerLeaf
	// layerPure decides and builds: no client, no network, no clock, no random.
	layerPure
	// layerEdge talks to the world.
	layerEdge
	// layerControl is the reconcilers and webhooks.
	layerControl
	// layerCommand is the binaries: wiring only.
	layerCommand
	// layerTestkit serves tests; no shipped package imports it.
	layerTestkit
	// layerTooling is tests/ and hack/: not shipped, imported by nothing.
	layerTooling
)

func (l layer) String() string {
	return [...]string{"api", "data", "leaf", "pure", "edge", "control", "command", "testkit", "tooling"}[l]
}

// layers classifies every package of the module; "/..." at the end takes in all packages below.
func layers() map[string]layer {
	return map[string]layer{
		"api/...":         layerAPI,
		"controllers/...": layerControl,
		"cmd/...":         layerCommand,
		"tests/...":       layerTooling,
		"hack/...":        layerTooling,

		"internal/wire":        layerData,
		"internal/redis/facts": layerData,

		"internal/naming":     layerLeaf,
		"internal/events":     layerLeaf,
		"internal/conditions": layerLeaf,
		"internal/steps":      layerLeaf,

		"internal/desired":         layerPure,
		"internal/rollout":         layerPure,
		"internal/schedule":        layerPure,
		"internal/redis/topology":  layerPure,
		"internal/redis/resources": layerPure,
		"internal/redis/dbconfig":  layerPure,

		"internal/apply":            layerEdge,
		"internal/pki":              layerEdge,
		"internal/credentials":      layerEdge,
		"internal/objectstore":      layerEdge,
		"internal/metrics":          layerEdge,
		"internal/scrape":           layerEdge,
		"internal/fleet":            layerEdge,
		"internal/agent":            layerEdge,
		"internal/agent/exposition": layerEdge,
		"internal/watches":          layerEdge,
		"internal/redis/observe":    layerEdge,
		"internal/redis/execute":    layerEdge,
		"internal/redis/protocol":   layerEdge,
		"internal/redis/agent":      layerEdge,

		"internal/webhook/...": layerControl,

		"internal/testkit/...":               layerTestkit,
		"internal/redis/protocol/contract":   layerTestkit,
		"internal/redis/protocol/fake":       layerTestkit,
		"internal/redis/protocol/realserver": layerTestkit,
	}
}

// classify finds the layer of a package by its path inside the module; the longest entry wins.
func classify(table map[string]layer, path string) (layer, error) {
	best, found := "", false
	for entry := range table {
		prefix, below := strings.CutSuffix(entry, "/...")
		matches := path == prefix || below && strings.HasPrefix(path, prefix+"/")
		if matches && len(entry) > len(best) {
			best, found = entry, true
		}
	}
	if !found {
		return 0, fmt.Errorf("%s is in no layer: add it to the table in tests/imports/layers_test.go", path)
	}
	return table[best], nil
}

// engine is the database engine that a package belongs to, or "" for a shared one.
func engine(path string) string {
	for prefix, name := range map[string]string{
		"internal/redis":           "redis",
		"internal/mysql":           "mysql",
		"controllers/rediscluster": "redis",
		"controllers/mysqlcluster": "mysql",
	} {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return name
		}
	}
	return ""
}
