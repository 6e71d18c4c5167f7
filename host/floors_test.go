package host_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/sluicehq/sluice"

// floors is the floor plan. A room imports rooms of lower floors only; rooms of
// one floor do not import each other, except inside one room's own folder.
// Moving a room is a change of this table, made on purpose.
var floors = [][]string{
	{"abi/value"},
	{"abi", "abi/wire", "abi/wording"},
	{"host", "abi/manifest", "host/rewrite", "host/factcheck", "memory/tokens"},
	{"memory"},
	{"memory/documents", "memory/embed"},
	{"host/sandbox", "host/state", "host/model", "host/blob", "host/files", "host/lint", "host/egress", "host/goskill", "registry", "memory/index", "memory/keeper", "memory/qdrant"},
	{"host/release", "host/grant", "host/audit", "host/audit/verify", "host/window", "host/plan", "host/jobs", "host/toolchain", "host/newskill", "host/recall", "memory/measure"},
	{"host/dispatch", "host/rules"},
	{"host/agent", "precheck", "precheck/portable"},
	{"host/server", "host/console", "host/mcp", "host/eval"},
	{"cmd/sluice", "cmd/precheck"},
}

// testRooms help the tests of the rooms above them; only tests import them.
var testRooms = []string{"host/sandbox/sandboxtest", "host/sandbox/sandboxtest/warm", "host/state/statetest", "memory/memorytest", "memory/embed/embedtest"}

// annex lists what the guests' side may import: skills -> sdk -> abi.
var annex = map[string][]string{
	"sdk":           {"abi", "abi/wire", "abi/wording", "abi/value"},
	"sdk/clock":     {"sdk"},
	"sdk/skilltest": {"sdk", "abi"},
}

// annexData lists what of the guests' side a room of the host may import, for data
// and not for code: the layout of a skill's data, and the sources that new skills
// are laid out with.
var annexData = map[string][]string{
	"cmd/sluice":    {"skills/airline/airdb"},
	"host/newskill": {"sdk", "skills/polyglot"},
}

// guestModules are other people's modules that run in the sandbox only, and the
// skill that each is for. No code of the host imports one.
var guestModules = map[string]string{"mvdan.cc/sh/v3": "skills/sandbox/shell", "github.com/itchyny/gojq": "skills/sandbox/jq"}

// guestSkill gives the skill that an import is for, if it is of such a module.
func guestSkill(imp string) (skill string, ok bool) {
	for name, skill := range guestModules {
		if imp == name || strings.HasPrefix(imp, name+"/") {
			return skill, true
		}
	}
	return "", false
}

// topLevel is everything that may stand in the root besides dotfiles.
var topLevel = []string{"go.mod", "go.sum", "abi", "sdk", "skills", "registry", "precheck", "memory", "host", "cmd", "README.md", "Makefile", "CONTRIBUTING.md"}

func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") && !slices.Contains(topLevel, e.Name()) {
			t.Errorf("%s is not in the top level of the floor plan", e.Name())
		}
	}
}

func TestFloors(t *testing.T) {
	for room, imports := range rooms(t, "..") {
		for _, bad := range misplaced(room, imports) {
			t.Error(bad)
		}
	}
}

// TestFloorsRefuse shows that the table catches what it is there for.
func TestFloorsRefuse(t *testing.T) {
	for _, tt := range []struct {
		name, room string
		imports    []string
		want       string
	}{
		{"up", "host/state", []string{"host/dispatch"}, "host/state imports host/dispatch"},
		{"sideways", "host/release", []string{"host/grant"}, "host/release imports host/grant"},
		{"unknown", "host/misc", nil, "host/misc is not in the floor plan"},
		{"test room", "host/dispatch", []string{"host/sandbox/sandboxtest"}, "host/dispatch imports host/sandbox/sandboxtest"},
		{"guest into host", "skills/shop/pricing", []string{"host"}, "skills/shop/pricing imports host"},
		{"host into a guest's module", "host/dispatch", []string{"mvdan.cc/sh/v3/syntax"}, "host/dispatch imports mvdan.cc/sh/v3/syntax"},
		{"skill into another's module", "skills/sandbox/shell/text", []string{"github.com/itchyny/gojq"}, "skills/sandbox/shell/text imports github.com/itchyny/gojq"},
		{"the SDK into what runs skills", "host/sandbox", []string{"sdk"}, "host/sandbox imports sdk"},
		{"host into skill", "host/eval", []string{"skills/airline"}, "host/eval imports skills/airline"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := misplaced(tt.room, tt.imports); len(got) != 1 || !strings.Contains(got[0], tt.want) {
				t.Errorf("misplaced(%s, %v) = %q, want one with %q", tt.room, tt.imports, got, tt.want)
			}
		})
	}
}

func misplaced(room string, imports []string) (bad []string) {
	if allowed, ok := annexOf(room); ok {
		for _, imp := range imports {
			if skill, ok := guestSkill(imp); ok && strings.HasPrefix(room+"/", skill+"/") {
				continue
			}
			family := strings.HasPrefix(imp, room+"/") || strings.HasPrefix(room, imp+"/") && strings.HasPrefix(imp, "skills/")
			if !slices.Contains(allowed, imp) && !family {
				bad = append(bad, room+" imports "+imp+"; the annex imports skills -> sdk -> abi only")
			}
		}
		return bad
	}
	floor := floorOf(room)
	if floor < 0 && !slices.Contains(testRooms, room) {
		return []string{room + " is not in the floor plan; put it there on purpose or fold it into a room"}
	}
	for _, imp := range imports {
		switch below := floorOf(imp); {
		case slices.Contains(testRooms, room) && below >= 0:
		case strings.HasPrefix(imp, room+"/") && below == floor:
		case slices.Contains(annexData[room], imp):
		case below < 0 || below >= floor:
			bad = append(bad, room+" imports "+imp+"; imports go to a lower floor only")
		}
	}
	return bad
}

func floorOf(room string) int {
	return slices.IndexFunc(floors, func(rooms []string) bool { return slices.Contains(rooms, room) })
}

func annexOf(room string) ([]string, bool) {
	if strings.HasPrefix(room, "skills/") {
		return []string{"sdk", "sdk/skilltest", "abi"}, true
	}
	allowed, ok := annex[room]
	return allowed, ok
}

// rooms gives the imports inside the module of every package below root,
// over all build tags, without tests.
func rooms(t *testing.T, root string) map[string][]string {
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && file != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		room := path.Clean(filepath.ToSlash(rel))
		found[room] = append(found[room], []string{}...)
		for _, spec := range parsed.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if in, ok := strings.CutPrefix(name, module+"/"); ok {
				found[room] = append(found[room], in)
			} else if _, ok := guestSkill(name); ok {
				found[room] = append(found[room], name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
