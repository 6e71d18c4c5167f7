package newskill

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
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

// What the go.mod files of a new skill say, as this repository's own does; a test
// holds them together.
const (
	modulePath     = "github.com/sluicehq/sluice"
	goVersion      = "1.26.0"
	libraryPath    = "github.com/santhosh-tekuri/jsonschema/v5"
	libraryVersion = "v5.3.1"
)

func goFiles(name string) (files, error) {
	all := files{}
	if err := all.add(templates, "template/go", ownPath); err != nil {
		return nil, err
	}
	all.replace(placeholder, name)
	all["go.mod"], all[sdkFolder+"/go.mod"] = skillMod(name), sdkMod()
	for folder, from := range map[string]fs.FS{"abi": abi.Source(), "sdk": sdk.Source()} {
		if err := all.add(from, ".", func(file string) string { return sdkPath(folder, file) }); err != nil {
			return nil, err
		}
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

// sdkPath gives where a file of the SDK lies. Its tests are left out: they need
// this repository.
func sdkPath(folder, file string) string {
	if strings.HasSuffix(file, "_test.go") {
		return ""
	}
	return path.Join(sdkFolder, folder, file)
}

// skillMod gives the go.mod of a skill.
func skillMod(name string) []byte {
	const sdkVersion = "v0.0.0" // of what a replace leads to
	return fmt.Appendf(nil, `module example.com/%s

go %s

require %s %s

require %s %s // indirect

// The SDK and what its tests need lie in this folder: a build needs no network.
replace %[3]s => ./%[7]s

replace %[5]s => ./%[8]s
`, name, goVersion, modulePath, sdkVersion, libraryPath, libraryVersion, sdkFolder, libraryFolder)
}

// sdkMod gives the go.mod of the SDK beside it.
func sdkMod() []byte {
	return fmt.Appendf(nil, `// The SDK of this skill, as `+"`sluice skill new`"+` laid it. Change nothing here.
module %s

go %s

require %s %s
`, modulePath, goVersion, libraryPath, libraryVersion)
}

func (all files) addLibrary() error {
	packed, err := zip.NewReader(bytes.NewReader(library), int64(len(library)))
	if err != nil {
		return err
	}
	return all.add(packed, ".", func(file string) string { return libraryFolder + "/" + file })
}
