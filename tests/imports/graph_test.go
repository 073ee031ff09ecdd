package imports_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/holdfast-dev/holdfast"

// root is the module's directory, seen from this package.
const root = "../.."

// graph is the imports of each package of the module by their full paths, without those of its tests.
type graph map[string][]string

func TestImportsGoDownOnly(t *testing.T) {
	t.Parallel()
	g := loadGraph(t)
	for _, problem := range g.problems(layers()) {
		t.Error(problem)
	}
}

func TestTheImportRulesFindWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	table := layers()
	table["internal/mysql/topology"] = layerPure
	table["internal/mysql/protocol"] = layerEdge
	for name, c := range map[string]struct {
		importer, imported string
		want               string
	}{
		"a controller may use the edge":              {"controllers/rediscluster", "internal/redis/execute", ""},
		"an engine may use what is shared":           {"internal/redis/agent", "internal/agent", ""},
		"an edge package may use another":            {"internal/redis/observe", "internal/fleet", ""},
		"pure may use plain data":                    {"internal/redis/topology", "internal/wire", ""},
		"tests may use everything":                   {"tests/e2e", "controllers/rediscluster", ""},
		"the test kit may use the edge":              {"internal/testkit/fakeagent", "internal/fleet", ""},
		"pure must not use the edge":                 {"internal/redis/topology", "internal/redis/protocol", "pure package must not import a package of the layer edge"},
		"a leaf must not use pure":                   {"internal/naming", "internal/desired", "leaf package must not import"},
		"the API must not use anything":              {"api/v1", "internal/naming", "api package must not import"},
		"the edge must not use a controller":         {"internal/fleet", "controllers/rediscluster", "edge package must not import"},
		"a controller must not use a command":        {"controllers/rediscluster", "cmd/manager", "control package must not import"},
		"a controller must not use another":          {"controllers/rediscluster", "controllers/mysqlcluster", "never import each other"},
		"redis must not use mysql":                   {"internal/redis/observe", "internal/mysql/protocol", "engines never import each other"},
		"mysql must not use redis":                   {"internal/mysql/topology", "internal/redis/topology", "engines never import each other"},
		"shared must not use an engine":              {"internal/fleet", "internal/redis/protocol", "shared package must not import the engine"},
		"shared data must not use an engine":         {"internal/wire", "internal/redis/facts", "shared package must not import the engine"},
		"a shipped package must not use the testkit": {"cmd/manager", "internal/testkit/load", "command package must not import"},
		"nothing uses the tooling":                   {"internal/testkit/lab", "tests/e2e", "testkit package must not import"},
		"an unlisted package":                        {"internal/surprise", "api/v1", "internal/surprise is in no layer"},
		"an unlisted package of an engine":           {"internal/redis/surprise", "api/v1", "internal/redis/surprise is in no layer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := graph{module + "/" + c.importer: {"fmt", module + "/" + c.imported}}
			problems := strings.Join(g.problems(table), "\n")
			if c.want == "" && problems != "" {
				t.Errorf("got %q, want no problem", problems)
			}
			if !strings.Contains(problems, c.want) {
				t.Errorf("got %q, want it to contain %q", problems, c.want)
			}
		})
	}
}

func loadGraph(t *testing.T) graph {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports,
		Dir:  root,
	}, "./...")
	if err != nil {
		t.Fatal(err)
	}
	g := graph{}
	for _, p := range loaded {
		g[p.PkgPath] = slices.Sorted(maps.Keys(p.Imports))
	}
	// A wrong directory or pattern would leave nothing to check.
	if _, ok := g[module+"/api/v1"]; !ok {
		t.Fatalf("api/v1 is not among the %d packages that were loaded", len(g))
	}
	return g
}

// problems lists every import that goes against the layers, in a fixed order.
func (g graph) problems(table map[string]layer) []string {
	var problems []string
	for _, importer := range slices.Sorted(maps.Keys(g)) {
		from := inside(importer)
		fromLayer, err := classify(table, from)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		for _, imported := range g[importer] {
			if !strings.HasPrefix(imported, module+"/") {
				continue
			}
			to := inside(imported)
			toLayer, err := classify(table, to)
			if err != nil {
				// Reported once, when it is the importer's turn.
				continue
			}
			if why := refuse(from, to, fromLayer, toLayer); why != "" {
				problems = append(problems, fmt.Sprintf("%s imports %s: %s", from, to, why))
			}
		}
	}
	return problems
}

func inside(path string) string { return strings.TrimPrefix(path, module+"/") }

// refuse says why an import is not allowed, or nothing.
func refuse(from, to string, fromLayer, toLayer layer) string {
	free := fromLayer == layerTestkit || fromLayer == layerTooling || fromLayer == layerCommand
	switch {
	case toLayer > fromLayer, toLayer == layerTooling && fromLayer != layerTooling:
		return fmt.Sprintf("a %s package must not import a package of the layer %s", fromLayer, toLayer)
	case free:
		return ""
	case engine(from) == "" && engine(to) != "":
		return fmt.Sprintf("a shared package must not import the engine %s", engine(to))
	case engine(to) != "" && engine(from) != engine(to):
		return "the engines never import each other"
	case fromLayer == layerControl && toLayer == layerControl && parent(from) != parent(to):
		return "reconcilers and webhooks never import each other"
	default:
		return ""
	}
}

// parent is the first two parts of a path: controllers/rediscluster, internal/webhook.
func parent(path string) string {
	parts := strings.SplitN(path, "/", 3)
	return strings.Join(parts[:min(2, len(parts))], "/")
}
