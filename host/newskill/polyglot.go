package newskill

import (
	"io/fs"
	"path"
	"strings"

	"github.com/sluicehq/sluice/skills/polyglot"
)

// What the skill of skills/polyglot is called, and what it says of itself, which a
// skill that begins from it does not.
const (
	polyglotName      = "shop.reserve"
	polyglotNamespace = `"namespace": "shop"`
	polyglotCrate     = `name = "reserve"`
	polyglotPackage   = `"name": "reserve"`
	polyglotTwin      = " It does what ../go does, to the byte."
	polyglotTwinLong  = " It does what ../../go does, to the\n// byte."
)

func rustFiles(name string) (files, error) {
	return polyglotFiles(name, "rust", "/skill.wasm\n/target/\n/Cargo.lock\n")
}

func assemblyScriptFiles(name string) (files, error) {
	return polyglotFiles(name, "assemblyscript", "/skill.wasm\n/node_modules/\n")
}

func cFiles(name string) (files, error) { return polyglotFiles(name, "c", "/skill.wasm\n") }

// polyglotFiles gives the skill of skills/polyglot under another name, with a kv
// namespace of its own.
func polyglotFiles(name, folder, ignored string) (files, error) {
	from, err := fs.Sub(polyglot.Source(), folder)
	if err != nil {
		return nil, err
	}
	all := files{}
	if err := all.add(from, ".", path.Clean); err != nil {
		return nil, err
	}
	for old, new := range map[string]string{polyglotName: name, polyglotNamespace: `"namespace": "` + name + `"`, polyglotTwin: "", polyglotTwinLong: ""} {
		all.replace(old, new)
	}
	all.renamePackages(strings.ReplaceAll(name, ".", "-")) // such a name has no dots
	readme, err := fs.ReadFile(templates, "template/other/README.md.tmpl")
	if err != nil {
		return nil, err
	}
	all["README.md"] = []byte(strings.ReplaceAll(string(readme), placeholder, name))
	all[".gitignore"] = []byte(ignored + "/gl-code-quality-report.json\n/precheck.sarif\n")
	return all, nil
}

// renamePackages gives the crate or the package of npm its name.
func (all files) renamePackages(name string) {
	for file, old := range map[string]string{"Cargo.toml": polyglotCrate, "package.json": polyglotPackage, "package-lock.json": polyglotPackage} {
		if text, ok := all[file]; ok {
			all[file] = []byte(strings.ReplaceAll(string(text), old, strings.Replace(old, "reserve", name, 1)))
		}
	}
}
