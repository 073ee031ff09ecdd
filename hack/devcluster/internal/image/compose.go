package image

import (
	"bytes"
	"debug/elf"
	"fmt"
	"path"
	"slices"
	"strings"
)

// libraryDirs are where the dynamic loader of Debian looks.
var libraryDirs = [...]string{
	"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib", "/usr/lib64",
}

// unwanted are folders of packages that a container has no use for.
var unwanted = [...]string{
	"/usr/share/doc/", "/usr/share/man/", "/usr/share/locale/", "/usr/share/lintian/",
	"/usr/share/bash-completion/", "/usr/share/doc-base/", "/usr/lib/systemd/", "/usr/lib/tmpfiles.d/",
	"/usr/lib/sysusers.d/", "/usr/share/apport/", "/etc/init.d/", "/etc/default/", "/etc/logrotate.d/",
	"/etc/apparmor.d/", "/var/lib/systemd/", "/usr/share/reportbug/", "/usr/share/bug/", "/etc/ufw/",
}

// compose takes the kept packages whole, adds the libraries that their programs
// load from the other ones, and the links that make up Debian's merged /usr.
func compose(kept, others []Tree) (Tree, error) {
	result, supply := Tree{}, Tree{}
	for _, tree := range kept {
		for name, entry := range tree {
			supply[name] = entry
			if !entry.Dir && wanted(name) {
				result.add(name, entry)
			}
		}
	}
	for _, tree := range others {
		for name, entry := range tree {
			supply[name] = entry
		}
	}
	if err := addLibraries(result, supply); err != nil {
		return nil, err
	}
	for _, dir := range merged {
		result[dir] = Entry{Link: "usr" + dir, Mode: 0o777}
		if _, found := result["/usr"+dir]; !found {
			result.add("/usr"+dir, Entry{Dir: true, Mode: 0o755})
		}
	}
	return result, nil
}

func wanted(name string) bool {
	return !slices.ContainsFunc(unwanted[:], func(dir string) bool { return strings.HasPrefix(name, dir) })
}

// addLibraries adds what the programs in result need, and what that needs.
func addLibraries(result, supply Tree) error {
	queue := make([]string, 0, len(result))
	for name := range result {
		queue = append(queue, name)
	}
	slices.Sort(queue)
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		needs, err := needed(result[name].Body)
		if err != nil {
			return fmt.Errorf("read the ELF header of %s: %w", name, err)
		}
		for _, library := range needs {
			added, err := addLibrary(result, supply, library)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			queue = append(queue, added...)
		}
	}
	return nil
}

// addLibrary adds a library, with the links that lead to it, and returns the
// file if it is new. A library is a name to look up, or the loader's full path.
func addLibrary(result, supply Tree, library string) ([]string, error) {
	places := []string{usrMerged(library)}
	if !path.IsAbs(library) {
		places = places[:0]
		for _, dir := range libraryDirs {
			places = append(places, path.Join(dir, library))
		}
		places = append(places, privateLibraries(supply, library)...)
	}
	for _, place := range places {
		target, found := supply.resolve(place)
		if !found {
			continue
		}
		if _, known := result[target]; known && hasEntry(result, place) {
			return nil, nil
		}
		for step := place; step != target; step = linkTarget(step, supply[step].Link) {
			result.add(step, supply[step])
		}
		result.add(target, supply[target])
		return []string{target}, nil
	}
	return nil, fmt.Errorf("no package brings the library %s", library)
}

func hasEntry(tree Tree, name string) bool {
	_, found := tree[name]
	return found
}

// privateLibraries finds a library outside the loader's folders, where programs
// reach it by their run path.
func privateLibraries(supply Tree, library string) []string {
	var places []string
	for name := range supply {
		if path.Base(name) == library && strings.HasPrefix(name, "/usr/lib/") {
			places = append(places, name)
		}
	}
	slices.Sort(places)
	return places
}

// needed lists the loader and the libraries of a program; none if it is not one.
func needed(body []byte) ([]string, error) {
	if !bytes.HasPrefix(body, []byte(elf.ELFMAG)) {
		return nil, nil
	}
	file, err := elf.NewFile(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	needs, err := file.ImportedLibraries()
	if err != nil {
		return nil, err
	}
	for _, program := range file.Progs {
		if program.Type != elf.PT_INTERP {
			continue
		}
		loader := make([]byte, program.Filesz)
		if _, err := program.ReadAt(loader, 0); err != nil {
			return nil, err
		}
		needs = append(needs, strings.TrimRight(string(loader), "\x00"))
	}
	return needs, nil
}
