package newskill

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/sluicehq/sluice"
)

// Where the SDK and the library of its tests lie in a skill's folder.
const (
	sdkFolder     = "sluice"
	libraryFolder = "sluice/jsonschema"
)

// placeholder is the skill's name in the templates.
const placeholder = "my.skill"

// library is the one package that skilltest needs of others: its sources without
// their tests, its licence and its go.mod.
//
//go:embed jsonschema.zip
var library []byte

// libraryPath is that package, which go.mod names with its version.
const libraryPath = "github.com/santhosh-tekuri/jsonschema/v5"

func goFiles(name string) (files, error) {
	all := files{}
	if err := all.add(templates, "template/go", ownPath); err != nil {
		return nil, err
	}
	all.replace(placeholder, name)
	mod, sdkMod, err := goMods(name)
	if err != nil {
		return nil, err
	}
	all["go.mod"], all[sdkFolder+"/go.mod"] = mod, sdkMod
	if err := all.add(sluice.SDK(), ".", sdkPath); err != nil {
		return nil, err
	}
	return all, all.addLibrary()
}

// ownPath gives the path of a template's file.
func ownPath(file string) string {
	base := strings.TrimSuffix(path.Base(file), ".tmpl")
	if base == "gitignore" {
		return ".gitignore"
	}
	return base
}

// sdkPath gives where a file of the SDK lies: its tests, which need this
// repository, and go.mod, which is another, are left out.
func sdkPath(file string) string {
	if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
		return ""
	}
	return sdkFolder + "/" + file
}

// goMods gives the go.mod of the skill and that of the SDK beside it.
func goMods(name string) (skill, sdk []byte, err error) {
	text, err := fs.ReadFile(sluice.SDK(), "go.mod")
	if err != nil {
		return nil, nil, err
	}
	own, err := modfile.ParseLax("go.mod", text, nil)
	if err != nil {
		return nil, nil, err
	}
	version := ""
	for _, r := range own.Require {
		if r.Mod.Path == libraryPath {
			version = r.Mod.Version
		}
	}
	const sdkVersion = "v0.0.0" // of what a replace leads to
	module := own.Module.Mod.Path
	skill = fmt.Appendf(nil, `module example.com/%s

go %s

require %s %s

require %s %s // indirect

// The SDK and what its tests need lie in this folder: a build needs no network.
replace %[3]s => ./%[7]s

replace %[5]s => ./%[8]s
`, name, own.Go.Version, module, sdkVersion, libraryPath, version, sdkFolder, libraryFolder)
	sdk = fmt.Appendf(nil, "// The SDK of this skill, as `sluice skill new` laid it. Change nothing here.\nmodule %s\n\ngo %s\n\nrequire %s %s\n",
		module, own.Go.Version, libraryPath, version)
	return skill, sdk, nil
}

func (all files) addLibrary() error {
	packed, err := zip.NewReader(bytes.NewReader(library), int64(len(library)))
	if err != nil {
		return err
	}
	return all.add(packed, ".", func(file string) string { return libraryFolder + "/" + file })
}
