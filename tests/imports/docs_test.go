package imports_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const whereHeading = "## Where is it?"

var (
	inBackticks  = regexp.MustCompile("`([^`]+)`")
	markdownLink = regexp.MustCompile(`\]\(([^)#\s]+)(#[^)]*)?\)`)
)

func TestPathsInTheArchitectureExist(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	paths := whereTable(string(content))
	if len(paths) < 20 {
		t.Fatalf("only %d paths were found under %q: the table or its reader is wrong", len(paths), whereHeading)
	}
	for _, path := range paths {
		if _, err := os.Stat(filepath.Join(root, path)); err != nil {
			t.Errorf("docs/architecture.md says that something is in %s, which does not exist", path)
		}
	}
}

func TestTheTableIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	got := whereTable("## Other\n| x | `not/this` |\n" + whereHeading + "\n\n" +
		"| What | Where |\n| --- | --- |\n| the `word` | `a/b.go`, `c/` |\n| more | `d` |\n\n## Next\n| y | `nor/this` |\n")
	if want := []string{"a/b.go", "c/", "d"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// whereTable returns the paths in the second column of the where-is-it table.
func whereTable(content string) []string {
	_, section, _ := strings.Cut(content, whereHeading)
	section, _, _ = strings.Cut(section, "\n## ")
	var paths []string
	for _, line := range strings.Split(section, "\n") {
		columns := strings.Split(line, "|")
		if len(columns) < 4 {
			continue
		}
		for _, match := range inBackticks.FindAllStringSubmatch(columns[2], -1) {
			paths = append(paths, match[1])
		}
	}
	return paths
}

func TestLinksInDocumentsLeadSomewhere(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, name := range textFiles(t) {
		if filepath.Ext(name) != ".md" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range markdownLink.FindAllStringSubmatch(string(content), -1) {
			target := match[1]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			checked++
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, target)
			}
		}
	}
	if checked == 0 {
		t.Error("no link was found: the list of files or the pattern is wrong")
	}
}

func TestTheReadmeShowsTheSample(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	sample, err := os.ReadFile(filepath.Join(root, "config", "samples", "db_v1_rediscluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if block := "```yaml\n" + string(sample) + "```\n"; !strings.Contains(string(readme), block) {
		t.Errorf("README.md does not show config/samples/db_v1_rediscluster.yaml as it is, which an API server has checked:\n%s", block)
	}
	if lines := strings.Count(string(sample), "\n"); lines > 15 {
		t.Errorf("the sample has %d lines: 15 are promised", lines)
	}
}

func TestEveryPackageSaysWhatItDoes(t *testing.T) {
	t.Parallel()
	directories := map[string][]string{}
	for _, name := range textFiles(t) {
		if filepath.Ext(name) == ".go" && !strings.Contains(name, "/testdata/") {
			directories[filepath.Dir(name)] = append(directories[filepath.Dir(name)], name)
		}
	}
	if len(directories) < 5 {
		t.Fatalf("only %d directories of Go code were found: the list is wrong", len(directories))
	}
	for directory, files := range directories {
		if commented := packageComments(t, files); len(commented) == 0 {
			t.Errorf("%s has no package comment: add a doc.go that says what the package does, what it must never do and where to start reading", directory)
		} else if len(commented) > 1 {
			t.Errorf("%s has %d package comments, in %v: keep the one in doc.go", directory, len(commented), commented)
		}
	}
}

// packageComments lists the files whose package clause carries a comment.
func packageComments(t *testing.T, files []string) []string {
	t.Helper()
	var commented []string
	for _, name := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.PackageClauseOnly|parser.ParseComments)
		if os.IsNotExist(err) {
			// Deleted, and the deletion is not committed yet.
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if parsed.Doc.Text() != "" {
			commented = append(commented, name)
		}
	}
	return commented
}
