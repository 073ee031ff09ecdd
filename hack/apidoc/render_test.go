package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing}
  versions:
  - name: v1alpha1
    served: true
    storage: false
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        description: A Thing is a thing.
        properties:
          spec:
            type: object
            description: What is wanted.
            required: [size]
            properties:
              size: {x-kubernetes-int-or-string: true, description: Size of <name>.}
              count: {type: integer, minimum: 1, maximum: 9, default: 3, description: "Count | number."}
              mode: {type: string, enum: [A, B], default: A}
              affinity: {type: object, properties: {nodeAffinity: {type: object}}}
              parts:
                type: array
                items: {type: object, properties: {name: {type: string, description: Name of the part.}}}
              labels: {type: object, additionalProperties: {type: string}}
              sealed:
                type: boolean
                x-kubernetes-validations: [{rule: self == oldSelf, message: sealed cannot change}]
          status: {type: object, description: What was seen.}
`

func parse(t *testing.T, content string) apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var parsed apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict([]byte(content), &parsed); err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestPageShowsEachFieldOnce(t *testing.T) {
	t.Parallel()
	rendered, err := render(parse(t, crd))
	if err != nil {
		t.Fatal(err)
	}
	page := string(rendered)
	for name, row := range map[string]string{
		"the title":             "# Thing\n",
		"a required field":      "| `size` | quantity | required | Size of &lt;name>. |\n",
		"bounds and a default":  "| `count` | integer, 1 to 9 | `3` | Count \\| number. |\n",
		"the values of an enum": "| `mode` | `A`, `B` | `A` |  |\n",
		"a type of Kubernetes":  "| `affinity` | Affinity, as in a Pod |  |  |\n",
		"a field in a list":     "| `parts[].name` | string |  | Name of the part. |\n",
		"a map":                 "| `labels` | map of string |  |  |\n",
		"the message of a rule": "| `sealed` | boolean |  | *sealed cannot change.* |\n",
		"the status":            "## status\n\nWhat was seen.\n",
	} {
		if strings.Count(page, row) != 1 {
			t.Errorf("%s: want %q once in\n%s", name, row, page)
		}
	}
	if strings.Contains(page, "nodeAffinity") {
		t.Error("a type of Kubernetes was taken apart")
	}
	if strings.Index(page, "`size`") > strings.Index(page, "`affinity`") {
		t.Error("required fields must come first")
	}
}

func TestCRDWithoutAStoredVersionIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := render(parse(t, strings.Replace(crd, "storage: true", "storage: false", 1))); err == nil {
		t.Error("want an error")
	}
}

func TestRunSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	if err := run(empty, t.TempDir()); err == nil || !strings.Contains(err.Error(), "make manifests") {
		t.Errorf("got %v, want an error that names make manifests", err)
	}
	out := filepath.Join(t.TempDir(), "new")
	if err := os.WriteFile(filepath.Join(empty, "a.yaml"), []byte(crd), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(empty, out); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(out, "thing.md")); err != nil {
		t.Error(err)
	}
}
