// Package progress prints what the tool is doing: one line per step with the
// time it took. On a terminal a running step shows its clock; anywhere else the
// output is plain lines, so that logs stay readable.
//
// It must never decide anything and never swallow an error: Step returns the
// error of the work it ran.
//
// Start reading at Reporter.Step.
package progress
