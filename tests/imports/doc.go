// Package imports holds the rules of the tree that no compiler checks: which package may import which, what
// pure packages must not touch, that the documentation names paths that exist, and how the text of the project reads.
//
// It has tests only. A package that is not listed in layers_test.go fails them: whoever adds a package
// decides with one line where it belongs. The rules themselves are explained in docs/architecture.md.
//
// Start with layers_test.go.
package imports
