// Package watches reads watches.yaml: which kinds the manager reconciles, how many at a time, how often, and
// which objects of them.
//
// The loader is strict. A field that it does not know, a kind named twice or a period that is no duration is
// an error that names the line and the way out, since a setting that is silently ignored is found at the
// worst time. It reads one file and nothing else, and never fills in what is missing.
//
// Start with Load; Entry is what a reconciler is set up with.
package watches
