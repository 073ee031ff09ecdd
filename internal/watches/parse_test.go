package watches_test

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/holdfast-dev/holdfast/internal/watches"
)

const valid = `- group: db.holdfast.dev
  version: v1
  kind: RedisCluster
  maxConcurrentReconciles: 8
  reconcilePeriod: 60s
`

var redis = schema.GroupVersionKind{Group: "db.holdfast.dev", Version: "v1", Kind: "RedisCluster"}

func TestTheFileOfTheTreeLoads(t *testing.T) {
	t.Parallel()
	file, err := watches.Load(filepath.Join("..", "..", "watches.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	entry, ok := file.For(redis)
	if !ok {
		t.Fatalf("no entry for %s in %v", redis, file.Kinds())
	}
	if entry.MaxConcurrentReconciles != 8 || entry.ReconcilePeriod != time.Minute {
		t.Errorf("got %d at a time every %s, want 8 every 1m", entry.MaxConcurrentReconciles, entry.ReconcilePeriod)
	}
	if !entry.Selector.Matches(labels.Set{"any": "thing"}) {
		t.Error("without a selector every object must be reconciled")
	}
}

func TestLoadNamesTheFileThatIsMissing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "watches.yaml")
	_, err := watches.Load(path)
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want an error that names %s and says that it does not exist", err, path)
	}
}

func TestForKnowsOnlyTheKindsOfTheFile(t *testing.T) {
	t.Parallel()
	file, err := watches.Parse("watches.yaml", []byte(valid))
	if err != nil {
		t.Fatal(err)
	}
	for name, gvk := range map[string]schema.GroupVersionKind{
		"another kind":    {Group: redis.Group, Version: redis.Version, Kind: "MySQLCluster"},
		"another version": {Group: redis.Group, Version: "v1alpha1", Kind: redis.Kind},
		"another group":   {Group: "example.com", Version: redis.Version, Kind: redis.Kind},
	} {
		if entry, ok := file.For(gvk); ok {
			t.Errorf("%s: got %+v, want none", name, entry)
		}
	}
	if kinds := file.Kinds(); len(kinds) != 1 || kinds[0] != redis {
		t.Errorf("got kinds %v, want %v", kinds, redis)
	}
}

func TestSelectorPicksObjects(t *testing.T) {
	t.Parallel()
	file, err := watches.Parse("watches.yaml", []byte(valid+`  selector:
    matchLabels:
      team: payments
    matchExpressions:
    - {key: stage, operator: NotIn, values: [test]}
`))
	if err != nil {
		t.Fatal(err)
	}
	entry, _ := file.For(redis)
	for name, c := range map[string]struct {
		labels labels.Set
		want   bool
	}{
		"both parts hold":              {labels.Set{"team": "payments", "stage": "live"}, true},
		"the label differs":            {labels.Set{"team": "search", "stage": "live"}, false},
		"the expression does not hold": {labels.Set{"team": "payments", "stage": "test"}, false},
	} {
		if got := entry.Selector.Matches(c.labels); got != c.want {
			t.Errorf("%s: got %t, want %t", name, got, c.want)
		}
	}
}

func TestMistakesAreNamedWithTheirLineAndTheWayOut(t *testing.T) {
	t.Parallel()
	replace := func(old, by string) string { return strings.Replace(valid, old, by, 1) }
	for name, c := range map[string]struct {
		content string
		want    []string
	}{
		"an empty file":                   {"", []string{"empty", "list at least one kind"}},
		"an empty list":                   {"[]", []string{"list at least one kind"}},
		"no list at all":                  {"group: x", []string{"line 1", `"- group:"`}},
		"an entry that is a word":         {valid + "- RedisCluster\n", []string{"line 6", "fields are wanted"}},
		"two documents":                   {valid + "---\n" + valid, []string{"more than one", "keep one list"}},
		"broken YAML":                     {"- group: [", []string{"parse YAML", "line 1"}},
		"an unknown field":                {valid + "  chart: redis\n", []string{"line 6", `"chart"`, "maxConcurrentReconciles"}},
		"an unknown field in a selector":  {valid + "  selector:\n    labels: {a: b}\n", []string{"line 7", `"labels"`, "matchLabels"}},
		"an unknown field in expressions": {valid + "  selector:\n    matchExpressions:\n    - {key: a, op: In}\n", []string{"line 8", `"op"`, "operator"}},
		"a field that is set twice":       {valid + "  kind: Other\n", []string{"line 6", `"kind"`, "twice"}},
		"a kind that is listed twice":     {valid + valid, []string{"line 6", "RedisCluster", "line 1", "keep one"}},
		"no version":                      {replace("  version: v1\n", ""), []string{"line 1", "group, version and kind"}},
		"no concurrency":                  {replace("  maxConcurrentReconciles: 8\n", ""), []string{"kind RedisCluster", "maxConcurrentReconciles is 0", "from 1 to 256"}},
		"too much concurrency":            {replace(": 8", ": 257"), []string{"maxConcurrentReconciles is 257", "from 1 to 256"}},
		"a negative concurrency":          {replace(": 8", ": -1"), []string{"maxConcurrentReconciles is -1"}},
		"a concurrency that is a word":    {replace(": 8", ": many"), []string{"line 4", "many"}},
		"no period":                       {replace("  reconcilePeriod: 60s\n", ""), []string{"reconcilePeriod", "60s"}},
		"a period without a unit":         {replace("60s", "60"), []string{`"60"`, "with its unit", "60s"}},
		"a period that is too short":      {replace("60s", "10ms"), []string{"10ms", "between 1s and 24h"}},
		"a period that is too long":       {replace("60s", "48h"), []string{"48h", "between 1s and 24h"}},
		"a negative period":               {replace("60s", "-1m"), []string{"-1m", "between"}},
		"an operator that does not exist": {valid + "  selector:\n    matchExpressions:\n    - {key: a, operator: Like}\n", []string{"kind RedisCluster", "selector", "Like"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, err := watches.Parse("watches.yaml", []byte(c.content))
			if err == nil {
				t.Fatalf("got %+v, want an error", file)
			}
			for _, want := range append(c.want, "watches.yaml") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, want it to contain %q", err, want)
				}
			}
		})
	}
}

func TestAllMistakesAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := watches.Parse("watches.yaml", []byte(`- group: db.holdfast.dev
  version: v1
  kind: RedisCluster
  maxConcurrentReconciles: 0
  reconcilePeriod: soon
- group: db.holdfast.dev
  version: v1
  kind: MySQLCluster
  maxConcurrentReconciles: 1000
  reconcilePeriod: 60s
`))
	if err == nil {
		t.Fatal("want an error")
	}
	for _, want := range []string{"line 1", "maxConcurrentReconciles is 0", `"soon"`, "line 6", "maxConcurrentReconciles is 1000"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %q, want it to contain %q", err, want)
		}
	}
}
