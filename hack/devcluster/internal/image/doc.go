// Package image makes container images without a container engine: from Debian
// packages (the databases), and from files of the machine (the operator, pause,
// CoreDNS). An image is one uncompressed layer, because it never travels
// further than a bridge on the same machine, where compressing costs more than
// it saves.
//
// An image from packages holds the packages that its recipe names, the shared
// libraries that their programs load, found by following the ELF headers, and
// a static busybox as its shell. Nothing else: a package that only maintainer
// scripts need is left out by itself.
//
// It must never run anything that it packs, and never make an image whose
// programs miss a library: Compose fails then.
//
// Start reading at recipe.go, then compose.go.
package image
