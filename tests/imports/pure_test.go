package imports_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// impureImports are what pure packages and plain data must not import; "/..." takes in everything below.
// Imports of imports are not followed: fmt reaches os, and that is no harm.
func impureImports() []string {
	return []string{
		"context", "net", "net/http/...", "os/...", "syscall", "log/...", "crypto/rand", "math/rand/...", "database/sql/...",
		"github.com/go-logr/...", "k8s.io/klog/...", "github.com/redis/...", "github.com/go-sql-driver/...",
		"github.com/go-mysql-org/...", "google.golang.org/grpc/...", "gocloud.dev/...",
		"github.com/google/uuid", "k8s.io/apimachinery/pkg/util/uuid", "k8s.io/apimachinery/pkg/util/rand", "k8s.io/utils/clock/...",
		"k8s.io/client-go/kubernetes/...", "k8s.io/client-go/rest/...", "k8s.io/client-go/tools/...",
		"k8s.io/client-go/dynamic/...", "k8s.io/client-go/discovery/...", "sigs.k8s.io/controller-runtime/...",
	}
}

// clockCalls are what reads the clock, by import path.
func clockCalls() map[string][]string {
	return map[string][]string{
		"time":                                 {"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer", "Sleep"},
		"k8s.io/apimachinery/pkg/apis/meta/v1": {"Now", "NowMicro"},
	}
}

func TestPurePackagesTouchNothing(t *testing.T) {
	t.Parallel()
	checked := 0
	for path := range loadGraph(t) {
		l, err := classify(layers(), inside(path))
		if err != nil || (l != layerPure && l != layerData) {
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, inside(path), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			checked++
			for _, problem := range impurities(t, file, source) {
				t.Error(problem)
			}
		}
	}
	if checked == 0 {
		t.Error("no file of a pure package was found: the table or the loader is wrong")
	}
}

func TestThePurityRulesFindWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source string
		want   string
	}{
		"a duration is plain":             {`import "time"; const d = time.Second`, ""},
		"addresses are plain":             {`import "net/netip"; var a netip.Addr`, ""},
		"types of objects are plain":      {`import corev1 "k8s.io/api/core/v1"; var p corev1.Pod`, ""},
		"the network":                     {`import "net"; var a net.IP`, "imports net"},
		"the network below":               {`import _ "net/http/httptest"`, "imports net/http/httptest"},
		"the environment":                 {`import "os"; var a = os.Args`, "imports os"},
		"a client":                        {`import "sigs.k8s.io/controller-runtime/pkg/client"; var c client.Client`, "imports sigs.k8s.io/controller-runtime/pkg/client"},
		"random":                          {`import "math/rand/v2"; var n = rand.Int()`, "imports math/rand/v2"},
		"the clock":                       {`import "time"; func f() { _ = time.Now() }`, "time.Now"},
		"the clock under another name":    {`import t "time"; func f() { _ = t.Since(t.Time{}) }`, "time.Since"},
		"the clock as a value":            {`import "time"; var now = time.Now`, "time.Now"},
		"the clock of the API's types":    {`import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"; var now = metav1.Now()`, "v1.Now"},
		"a field of the same name is not": {`type s struct{ Now int }; func f(time s) int { return time.Now }`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems := strings.Join(impurities(t, "x.go", []byte("package x; "+c.source)), "\n")
			if c.want == "" && problems != "" {
				t.Errorf("got %q, want no problem", problems)
			}
			if !strings.Contains(problems, c.want) {
				t.Errorf("got %q, want it to contain %q", problems, c.want)
			}
		})
	}
}

// impurities lists the imports and the uses of a clock that a pure file must not have.
func impurities(t *testing.T, name string, source []byte) []string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var problems []string
	imported := map[string]string{}
	for _, spec := range file.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(impureImports(), func(rule string) bool { return covers(rule, path) }) {
			problems = append(problems, fmt.Sprintf("%s imports %s: it must stay pure", files.Position(spec.Pos()), path))
		}
		local := filepath.Base(path)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		imported[local] = path
	}
	ast.Inspect(file, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := selector.X.(*ast.Ident); ok && slices.Contains(clockCalls()[imported[x.Name]], selector.Sel.Name) {
			problems = append(problems, fmt.Sprintf("%s uses %s.%s: it must take the time as an argument",
				files.Position(node.Pos()), filepath.Base(imported[x.Name]), selector.Sel.Name))
		}
		return true
	})
	return problems
}

func covers(rule, path string) bool {
	prefix, below := strings.CutSuffix(rule, "/...")
	return path == prefix || below && strings.HasPrefix(path, prefix+"/")
}
