package imports_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// textRule is a pattern that must not stand in the text of the tree, and what to do about it.
type textRule struct {
	pattern *regexp.Regexp
	advice  string
}

// textRules hold for every line of every text file that people write.
func textRules() []textRule {
	// The hosts are put together here, so that this file does not break its own rule.
	hosts := []string{
		`docker\.` + `io`, `gcr\.` + `io`, `quay\.` + `io`, `\.debian\.` + `org`, `(proxy|sum)\.golang\.` + `org`,
	}
	return []textRule{
		{regexp.MustCompile(strings.Join(hosts, "|")), "name no registry, mirror or proxy: the machine's own configuration decides"},
		{regexp.MustCompile(`(^|[^\w.-])/(root|work)/`), "name no path of one machine"},
		{regexp.MustCompile(`\b(TODO|FIXME|XXX)[:( ]`), "do it, or file an issue"},
		{regexp.MustCompile(`//\s*no` + `lint`), "change the code so that the linter has no complaint"},
	}
}

// oldWords are the words that we do not use for a primary and its replicas.
var oldWords = regexp.MustCompile(`(?i)\b(master|slave)s?\b`)

// quoted is literal text inside prose: field names and commands of the engines as they are.
var quoted = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|'[^']*'")

func TestTextRulesHold(t *testing.T) {
	t.Parallel()
	files := textFiles(t)
	if len(files) < 20 {
		t.Fatalf("only %d files were found: the list is wrong", len(files))
	}
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join(root, name))
		if os.IsNotExist(err) {
			// Deleted, and the deletion is not committed yet.
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range textProblems(t, name, string(content)) {
			t.Error(problem)
		}
	}
}

func TestTheTextRulesFindWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, content string
		want          string
	}{
		"plain prose":                       {"a.md", "The primary has two replicas.", ""},
		"a literal field in prose":          {"a.md", "The field `master_replid` and `role:master` are Redis' own.", ""},
		"an old word in prose":              {"a.md", "first\nThe master has replicas.", "a.md:2"},
		"an old word in a comment":          {"a.go", "package a\n// F asks the slave.\nfunc F() {}", "a.go:2"},
		"an old word in a name":             {"a.go", "package a\nvar oldMaster = 1", "a.go:2"},
		"a field of another module":         {"a.go", "package a\nvar b = c.SlaveOf(d{MasterIndex: 1})", ""},
		"an old word inside a longer one":   {"a.go", "package a\nvar mastery, postmaster = 1, 2", ""},
		"a literal of Redis in code":        {"a.go", "package a\nconst role = \"master\" // INFO says \"master\".", ""},
		"a machine's path":                  {"a.sh", "cd /ro" + "ot/project", "a.sh:1"},
		"the path of a program":             {"a.sh", "ls /usr/local/bin ./work/x", ""},
		"a registry":                        {"a.yaml", "image: quay." + "io/x/y:1", "a.yaml:1"},
		"work that is left":                 {"a.yaml", "a: b # TO" + "DO: more", "file an issue"},
		"a linter that is silenced":         {"a.go", "package a\n//no" + "lint:all\nvar a = 1", "a.go:2"},
		"a word of the rule in other words": {"a.md", "TODOs and mastering are fine.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems := strings.Join(textProblems(t, c.file, c.content), "\n")
			if c.want == "" && problems != "" {
				t.Errorf("got %q, want no problem", problems)
			}
			if !strings.Contains(problems, c.want) {
				t.Errorf("got %q, want it to contain %q", problems, c.want)
			}
		})
	}
}

// textFiles lists the files that people write, committed or about to be.
func textFiles(t *testing.T) []string {
	t.Helper()
	command := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z")
	command.Dir = root
	out, err := command.Output()
	if err != nil {
		t.Fatalf("list the files of the tree: %v", err)
	}
	var files []string
	for _, name := range strings.Split(string(out), "\x00") {
		switch {
		case name == "", name == "LICENSE":
		case strings.HasPrefix(name, "config/crd/bases/"), strings.Contains(name, "zz_generated"), strings.HasPrefix(name, "docs/reference/"):
			// Generated from the texts of others, among them.
		case strings.HasSuffix(name, "go.sum"), strings.HasSuffix(name, "go.mod"):
		default:
			files = append(files, name)
		}
	}
	return files
}

func textProblems(t *testing.T, name, content string) []string {
	t.Helper()
	var problems []string
	for i, line := range strings.Split(content, "\n") {
		for _, rule := range textRules() {
			if found := rule.pattern.FindString(line); found != "" {
				problems = append(problems, fmt.Sprintf("%s:%d: %q: %s", name, i+1, strings.TrimSpace(found), rule.advice))
			}
		}
	}
	if strings.HasSuffix(name, ".go") {
		return append(problems, oldWordsInGo(t, name, content)...)
	}
	for i, line := range strings.Split(content, "\n") {
		problems = append(problems, oldWordsIn(fmt.Sprintf("%s:%d", name, i+1), line)...)
	}
	return problems
}

// oldWordsInGo looks at comments and names. Strings are left alone: they are what the engines say.
func oldWordsInGo(t *testing.T, name, content string) []string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var problems []string
	for _, group := range file.Comments {
		for _, comment := range group.List {
			problems = append(problems, oldWordsIn(at(files, comment.Pos()), comment.Text)...)
		}
	}
	for _, id := range ownNames(file) {
		problems = append(problems, oldWordsIn(at(files, id.Pos()), words(id.Name))...)
	}
	return problems
}

// ownNames lists the names in a file except those after a dot and the keys of literals: these may be
// names that other modules chose.
func ownNames(file *ast.File) []*ast.Ident {
	var names []*ast.Ident
	var visit func(ast.Node) bool
	visit = func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.Ident:
			names = append(names, n)
		case *ast.SelectorExpr:
			ast.Inspect(n.X, visit)
			return false
		case *ast.KeyValueExpr:
			ast.Inspect(n.Value, visit)
			return false
		}
		return true
	}
	ast.Inspect(file, visit)
	return names
}

func at(files *token.FileSet, pos token.Pos) string {
	p := files.Position(pos)
	return fmt.Sprintf("%s:%d", p.Filename, p.Line)
}

func oldWordsIn(place, text string) []string {
	found := oldWords.FindString(quoted.ReplaceAllString(text, " "))
	if found == "" {
		return nil
	}
	return []string{fmt.Sprintf("%s: %q: say primary or replica; quote it if it is a literal of the engine", place, found)}
}

// words splits a name of Go into its words: oldMaster becomes "old Master".
func words(name string) string {
	var spaced strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(r)
	}
	return strings.ReplaceAll(spaced.String(), "_", " ")
}
