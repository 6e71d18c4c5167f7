//go:build !race

package host_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// systems are those for which every package is checked beside the one that
// the tests run on.
var systems = []string{"linux/arm64", "darwin/arm64", "windows/amd64", "freebsd/amd64"}

// What differs by system is written for each, and most of it never runs here.
// Types alone are checked, from source, which takes seconds; building all for
// a system takes minutes, and is done by `make vet-others`.
func TestEveryPackageFitsOtherSystems(t *testing.T) {
	for _, system := range systems {
		t.Run(system, func(t *testing.T) {
			c := checker{fset: token.NewFileSet(), done: map[string]*types.Package{"unsafe": types.Unsafe}}
			c.goos, c.goarch, _ = strings.Cut(system, "/")
			ours := 0
			for _, p := range listed(t, c.goos, c.goarch) {
				if err := c.check(p); err != nil {
					t.Error(err)
				}
				if p.ours() {
					ours++
				}
			}
			if ours < 20 {
				t.Errorf("only %d packages of ours were checked", ours)
			}
		})
	}
}

// A sourcePackage is what the go command tells of a package.
type sourcePackage struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	Error           *struct{ Err string }
}

func (p sourcePackage) ours() bool { return strings.HasPrefix(p.ImportPath, module) }

// listed gives all packages that run on a system and what they import, the
// imported ones first.
func listed(t *testing.T, goos, goarch string) (packages []sourcePackage) {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Error", "./abi/...", "./host/...", "./registry/...", "./cmd/...", "./sdk/...")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(out); ; {
		var p sourcePackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return packages
}

// A checker checks the types of packages in the order of their imports.
type checker struct {
	fset         *token.FileSet
	goos, goarch string
	done         map[string]*types.Package
}

func (c checker) check(p sourcePackage) error {
	if p.Error != nil {
		return fmt.Errorf("%s: %s", p.ImportPath, p.Error.Err)
	}
	if p.ImportPath == "unsafe" {
		return nil
	}
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(c.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
	}
	config := types.Config{
		Importer:         importing{c.done, p.ImportMap},
		IgnoreFuncBodies: !p.ours(),
		Sizes:            types.SizesFor("gc", c.goarch),
		FakeImportC:      true,
	}
	checked, err := config.Check(p.ImportPath, c.fset, files, nil)
	c.done[p.ImportPath] = checked
	if err != nil {
		return fmt.Errorf("%s: %w", p.ImportPath, err)
	}
	return nil
}

// An importing finds what one package imports among the packages that are done.
type importing struct {
	done  map[string]*types.Package
	names map[string]string
}

func (i importing) Import(name string) (*types.Package, error) {
	if real, ok := i.names[name]; ok {
		name = real
	}
	if p := i.done[name]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s was not checked before", name)
}
