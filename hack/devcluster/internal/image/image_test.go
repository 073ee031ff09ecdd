package image

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program is a dynamically linked program of the machine, with its loader and
// libraries as its headers name them.
func program(t *testing.T) (body []byte, needs []string) {
	t.Helper()
	body, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	needs, err = needed(body)
	if err != nil {
		t.Fatal(err)
	}
	if len(needs) < 2 {
		t.Skipf("SKIPPED: /bin/sh of this machine needs %v, and the test wants a dynamically linked one", needs)
	}
	return body, needs
}

// supply is a package that brings the libraries, each behind a link.
func supply(needs []string) Tree {
	tree := Tree{}
	for _, library := range needs {
		name := usrMerged(library)
		if !strings.HasPrefix(library, "/") {
			name = "/usr/lib/x86_64-linux-gnu/" + library
		}
		tree.add(name, Entry{Link: filepath.Base(name) + ".1", Mode: 0o777})
		tree.add(name+".1", Entry{Mode: 0o755, Body: []byte("library " + library)})
	}
	tree.add("/usr/lib/x86_64-linux-gnu/libunused.so", Entry{Mode: 0o755, Body: []byte("unused")})
	return tree
}

func TestAnImageHoldsThePackageAndItsLibrariesOnly(t *testing.T) {
	t.Parallel()
	body, needs := program(t)
	kept := Tree{}
	kept.add("/usr/bin/server", Entry{Mode: 0o755, Body: body})
	kept.add("/usr/share/doc/server/README", Entry{Mode: 0o644})
	kept.add("/etc/server.conf", Entry{Mode: 0o644})
	tree, err := compose([]Tree{kept}, []Tree{supply(needs)})
	if err != nil {
		t.Fatal(err)
	}
	for _, library := range needs {
		places := []string{usrMerged(library)}
		if !strings.HasPrefix(library, "/") {
			places = []string{"/usr/lib/x86_64-linux-gnu/" + library}
		}
		target, found := tree.resolve(places[0])
		if !found || !strings.HasPrefix(string(tree[target].Body), "library") {
			t.Errorf("%s is not in the image", library)
		}
	}
	for name, wanted := range map[string]bool{
		"/usr/bin/server": true, "/etc/server.conf": true,
		"/usr/share/doc/server/README": false, "/usr/lib/x86_64-linux-gnu/libunused.so": false,
	} {
		if hasEntry(tree, name) != wanted {
			t.Errorf("%s in the image: %t, want %t", name, !wanted, wanted)
		}
	}
	if tree["/lib64"].Link != "usr/lib64" || tree["/bin"].Link != "usr/bin" {
		t.Error("the links of the merged /usr are missing, and with them the loader")
	}
}

func TestAnImageThatMissesALibraryIsNotMade(t *testing.T) {
	t.Parallel()
	body, _ := program(t)
	kept := Tree{}
	kept.add("/usr/bin/server", Entry{Mode: 0o755, Body: body})
	_, err := compose([]Tree{kept}, nil)
	if err == nil || !strings.Contains(err.Error(), "/usr/bin/server") {
		t.Fatalf("error %v, want one that names the program", err)
	}
}

func TestWhatIsNoProgramNeedsNothing(t *testing.T) {
	t.Parallel()
	for sentence, body := range map[string]string{"a script": "#!/bin/sh\n", "nothing": "", "half a header": elf.ELFMAG[:2]} {
		if needs, err := needed([]byte(body)); err != nil || needs != nil {
			t.Errorf("%s needs %v, %v", sentence, needs, err)
		}
	}
}

func TestVersionsAndTags(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		debian, version string
		tags            []string
	}{
		"an epoch and a revision":  {"5:8.0.6-3", "8.0.6", []string{"8.0.6", "8.0", "8"}},
		"a repacked source":        {"9.1.2+dfsg1-1", "9.1.2", []string{"9.1.2", "9.1", "9"}},
		"a release candidate":      {"9.1.0~rc1-1", "9.1.0", []string{"9.1.0", "9.1", "9"}},
		"a rebuild of the package": {"9.7.4-2+b1", "9.7.4", []string{"9.7.4", "9.7", "9"}},
		"one number":               {"7", "7", []string{"7"}},
	}
	for sentence, c := range cases {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			version := softwareVersion(c.debian)
			if version != c.version || !slices.Equal(Tags(version), c.tags) {
				t.Fatalf("%s, %v; want %s, %v", version, Tags(version), c.version, c.tags)
			}
		})
	}
}

func TestFilesAreDroppedByPattern(t *testing.T) {
	t.Parallel()
	tree := Tree{"/usr/bin/mysqld": {}, "/usr/bin/myisamchk": {}, "/usr/bin/myisamlog": {}, "/usr/share/myisamchk": {}}
	tree.drop([]string{"/usr/bin/myisam*"})
	if got := slices.Sorted(maps.Keys(tree)); !slices.Equal(got, []string{"/usr/bin/mysqld", "/usr/share/myisamchk"}) {
		t.Fatalf("left: %v", got)
	}
}

func TestRecipesKeepTheirCommands(t *testing.T) {
	t.Parallel()
	for _, recipe := range Recipes() {
		for _, command := range recipe.Commands {
			tree := Tree{}
			for _, dir := range pathDirs {
				tree[dir+"/"+command] = Entry{}
			}
			tree.drop(recipe.Drop)
			if len(tree) == 0 {
				t.Errorf("%s drops its own command %s", recipe.Repository, command)
			}
		}
	}
}

func TestAnImageOfFilesIsReproducible(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "manager")
	if err := os.WriteFile(file, []byte("program"), 0o700); err != nil {
		t.Fatal(err)
	}
	source := FromFiles{Files: map[string]string{"/manager": file}, Entrypoint: []string{"/manager"}, User: NonRootUser}
	first, err := source.Build()
	if err != nil {
		t.Fatal(err)
	}
	second, err := source.Build()
	if err != nil {
		t.Fatal(err)
	}
	one, _ := first.Digest()
	two, _ := second.Digest()
	if one != two {
		t.Errorf("the same files give %s and %s", one, two)
	}
	config, err := first.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture == "" || config.Config.User != NonRootUser {
		t.Errorf("the configuration is %+v", config)
	}
	layers, err := first.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	modes := tarModes(t, content)
	if modes["tmp/"] != 0o1777 || modes["manager"] != 0o744 {
		t.Errorf("modes %v", modes)
	}
}

func TestAnEntryPointMustBeInTheImage(t *testing.T) {
	t.Parallel()
	if _, err := (FromFiles{Entrypoint: []string{"/missing"}}).Build(); err == nil {
		t.Fatal("an image that cannot start was made")
	}
}

func tarModes(t *testing.T, content io.Reader) map[string]int64 {
	t.Helper()
	modes := map[string]int64{}
	reader := tar.NewReader(content)
	for {
		header, err := reader.Next()
		if err == io.EOF {
			return modes
		}
		if err != nil {
			t.Fatal(err)
		}
		modes[header.Name] = header.Mode
	}
}

func TestAPackageIsReadWithItsLinks(t *testing.T) {
	t.Parallel()
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, header := range []*tar.Header{
		{Name: "./bin/", Typeflag: tar.TypeDir, Mode: 0o755},
		{Name: "./bin/busybox", Typeflag: tar.TypeReg, Mode: 0o755, Size: 3},
		{Name: "./usr/bin/sh", Typeflag: tar.TypeSymlink, Linkname: "/bin/busybox"},
		{Name: "./usr/bin/ash", Typeflag: tar.TypeLink, Linkname: "./bin/busybox"},
		{Name: "./usr/bin/loop", Typeflag: tar.TypeSymlink, Linkname: "loop"},
	} {
		if err := writer.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if header.Size > 0 {
			if _, err := writer.Write([]byte("box")); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	tree, err := readTar(&buffer)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/usr/bin/busybox", "/usr/bin/sh", "/usr/bin/ash"} {
		if target, found := tree.resolve(name); !found || string(tree[target].Body) != "box" {
			t.Errorf("%s leads to %q, %t", name, target, found)
		}
	}
	if _, found := tree.resolve("/usr/bin/loop"); found {
		t.Error("a link to itself leads somewhere")
	}
}
