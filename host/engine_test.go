package host_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// engines are other people's hosts of WebAssembly, and the rooms that may know of them:
// the sandbox that serves, and what compares with it.
var engines = map[string][]string{
	"github.com/tetratelabs/wazero": {"host/sandbox", "host/sandbox/sandboxtest/warm", "precheck/portable"},
	"github.com/extism/go-sdk":      {"cmd/sluice", "precheck/portable"},
}

func TestOnlyTheSandboxAndItsComparisonKnowOfAnEngine(t *testing.T) {
	err := filepath.WalkDir("..", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != ".." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		room, err := filepath.Rel("..", filepath.Dir(file))
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			for engine, allowed := range engines {
				if (name == engine || strings.HasPrefix(name, engine+"/")) && !slices.Contains(allowed, filepath.ToSlash(room)) {
					t.Errorf("%s imports %s", file, name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
