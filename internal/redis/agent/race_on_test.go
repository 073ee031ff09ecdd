//go:build race

package agent_test

// raceEnabled: the race detector slows everything down, so that times mean little.
const raceEnabled = true
