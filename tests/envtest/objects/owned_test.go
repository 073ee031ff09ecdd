package objects_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/redis/dbconfig"
)

// The rule of the API and the table of dbconfig are written apart: one is text in the CRD.
func TestTheAPIRefusesExactlyTheParametersThatTheOperatorOwns(t *testing.T) {
	t.Parallel()
	crd, err := os.ReadFile("../../../config/crd/bases/db.holdfast.dev_redisclusters.yaml")
	if err != nil {
		t.Fatal(err)
	}
	// YAML folds the rule over lines.
	text := strings.Join(strings.Fields(string(crd)), " ")
	list := regexp.MustCompile(`k in \[([^\]]*)\]`).FindStringSubmatch(text)
	if list == nil {
		t.Fatal("the rule is not found in the CRD")
	}
	refused := regexp.MustCompile(`[a-z-]+`).FindAllString(list[1], -1)
	names, prefixes := dbconfig.OwnedParameters()
	for _, name := range refused {
		if dbconfig.Classify(name) != dbconfig.Owned {
			t.Errorf("the API refuses %s, which the operator does not own", name)
		}
	}
	for _, name := range names {
		if !slices.Contains(refused, name) {
			t.Errorf("the operator owns %s, which the API takes", name)
		}
	}
	var families []string
	for _, m := range regexp.MustCompile(`!k\.startsWith\('+([a-z-]+)'+\)`).FindAllStringSubmatch(text, -1) {
		if slices.Contains(prefixes, m[1]) {
			families = append(families, m[1])
		}
	}
	slices.Sort(families)
	if !slices.Equal(families, prefixes) {
		t.Errorf("the API refuses the families %v, the operator owns %v", families, prefixes)
	}
}
