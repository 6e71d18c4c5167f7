package newskill

import (
	"bytes"
	"embed"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

//go:embed all:template
var templates embed.FS

// A language is one that a new skill can be in.
type language struct {
	name     string
	files    func(name string) (files, error)
	image    string   // that the CI's image is made from; a version, for the same bytes
	install  string   // how that image gets the compiler; empty if it has it
	commands []string // of the CI, before precheck
	next     []string // what the author does before the first build
}

// files are the contents of a folder by their slashed paths.
type files map[string][]byte

func languages() []language {
	return []language{
		{name: "go", files: goFiles, image: "golang:" + goImage, commands: []string{"go test ."}},
		{name: "rust", files: rustFiles, image: "debian:12", install: debian("cargo libstd-rust-dev-wasm32 librust-serde-json-dev")},
		{name: "assemblyscript", files: assemblyScriptFiles, image: "node:20", commands: []string{"npm ci --ignore-scripts"}, next: []string{"npm ci --ignore-scripts"}},
		{name: "c", files: cFiles, image: "debian:12", install: debian("clang lld wasi-libc libclang-rt-dev-wasm32")},
	}
}

// goImage is the version of Go that the CI of a new skill tests with, and that its
// digest is of.
const goImage = "1.26.8"

func debian(packages string) string {
	return "RUN apt-get update && apt-get install -y --no-install-recommends git ca-certificates " + packages
}

// Languages are the names of the languages that a new skill can be in.
func Languages() []string {
	var names []string
	for _, l := range languages() {
		names = append(names, l.name)
	}
	return names
}

// validName is a skill's name, as manifests have it, and mostName its length.
var validName = regexp.MustCompile(`^[a-z][a-z0-9]*(\.[a-z][a-z0-9]*)*$`)

const mostName = 64

// Write lays the files of a new skill in a folder, which is made if need be, and
// gives the commands that its author runs there before the first build. Nothing is
// built, and nothing is fetched. A name or a language that there is not is
// abi.BadValue, a folder with something in it abi.Conflict.
func Write(name, lang, dir string) (next []string, err error) {
	if len(name) > mostName || !validName.MatchString(name) {
		return nil, host.Fail("skill.new", abi.NewProblem(abi.BadValue, "%q is no name of a skill", name).
			WithHint("give lower-case words joined by dots, at most %d letters, such as shop.pricing", mostName), nil)
	}
	at := slices.IndexFunc(languages(), func(l language) bool { return l.name == lang })
	if at < 0 {
		return nil, host.Fail("skill.new", abi.NewProblem(abi.BadValue, "there is no template in %q", lang).
			WithHint("give one of %s", strings.Join(Languages(), ", ")), nil)
	}
	l := languages()[at]
	if err := checkFolder(dir); err != nil {
		return nil, err
	}
	all, err := l.files(name)
	if err != nil {
		return nil, err
	}
	if err := l.addCI(all); err != nil {
		return nil, err
	}
	return l.next, all.write(dir)
}

// checkFolder refuses a folder in which something would be overwritten. The .git
// of a repository that was made for the skill is nothing.
func checkFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return host.Fail("skill.new", abi.NewProblem(abi.Conflict, "%s cannot be a skill's folder", dir).WithHint("name another with --dir"), err)
	}
	for _, e := range entries {
		if e.Name() != ".git" {
			return host.Fail("skill.new", abi.NewProblem(abi.Conflict, "%s is not empty: it has %s", dir, e.Name()).WithHint("name another folder with --dir"), nil)
		}
	}
	return nil
}

// addCI adds the files that have the skill judged where it is reviewed.
func (l language) addCI(all files) error {
	for path, from := range map[string]string{".gitlab-ci.yml": "gitlab-ci.yml.tmpl", ".github/workflows/precheck.yml": "github.yml.tmpl"} {
		t, err := template.ParseFS(templates, "template/ci/"+from)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if err := t.Execute(&text, map[string]any{"Image": l.image, "Install": l.install, "Commands": l.commands}); err != nil {
			return err
		}
		all[path] = text.Bytes()
	}
	return nil
}

// write lays the files in a folder, or nothing.
func (all files) write(dir string) (err error) {
	var laid []string
	defer func() {
		if err != nil {
			for _, name := range laid {
				os.Remove(name)
			}
		}
	}()
	for _, path := range slices.Sorted(maps.Keys(all)) {
		name := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		laid = append(laid, name)
		if err := os.WriteFile(name, all[path], 0o644); err != nil {
			return err
		}
	}
	return nil
}

// add takes the files of a folder whose paths are wanted; rename gives the new path,
// empty to leave a file out.
func (all files) add(from fs.FS, root string, rename func(path string) string) error {
	return fs.WalkDir(from, root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		to := rename(path)
		if to == "" {
			return nil
		}
		all[to], err = fs.ReadFile(from, path)
		return err
	})
}

// replace replaces a text in all files.
func (all files) replace(old, new string) {
	for path, text := range all {
		all[path] = bytes.ReplaceAll(text, []byte(old), []byte(new))
	}
}
