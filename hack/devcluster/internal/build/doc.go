// Package build makes the binaries of a cluster from Go modules. Each part is
// built in a small module of its own in the cache, because the modules that it
// comes from have replace directives, which `go install` refuses. What is in
// the cache for a version is never built again.
//
// It must never build into the tree, never change the machine beyond installing
// the packages that Require names, and never guess a version: all of them come
// from the versions package.
//
// Start reading at parts.go (what), then builder.go (how).
package build
