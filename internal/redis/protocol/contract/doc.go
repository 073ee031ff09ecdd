// Package contract holds what protocol.Server promises, as cases that the fake and every real
// engine must pass alike. What the rest of Holdfast relies on is written down here, so that a new
// version of an engine that breaks it is found by a test and not by a failover.
//
// It must never know which kind of server it talks to.
//
// Start with Run.
package contract
