// Command apidoc writes the reference of the API, one Markdown page per CRD, from the CRDs that
// controller-gen made out of api/.
//
// It must never say anything that the CRD does not say: what reads badly is mended in the comments of api/.
// Start with render in render.go.
package main
