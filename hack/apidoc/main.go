package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	crds := flag.String("crds", "config/crd/bases", "directory with the CRDs")
	out := flag.String("out", "docs/reference", "directory for the pages")
	flag.Parse()
	if err := run(*crds, *out); err != nil {
		fmt.Fprintln(os.Stderr, "apidoc:", err)
		os.Exit(1)
	}
}

func run(crds, out string) error {
	files, err := filepath.Glob(filepath.Join(crds, "*.yaml"))
	if err != nil {
		return fmt.Errorf("list the CRDs: %w", err)
	}
	if len(files) == 0 {
		return fmt.Errorf("no CRD in %s: run make manifests", crds)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("make the directory for the pages: %w", err)
	}
	for _, file := range files {
		if err := writePage(file, out); err != nil {
			return fmt.Errorf("page of %s: %w", file, err)
		}
	}
	return nil
}

func writePage(file, out string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the CRD: %w", err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(content, &crd); err != nil {
		return fmt.Errorf("parse the CRD: %w", err)
	}
	page, err := render(crd)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, crd.Spec.Names.Singular+".md"), page, 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
