package files_test

import (
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// everything tells all of a tree, by a walk that knows nothing of the package.
func everything(t testing.TB, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(root, func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := os.Lstat(name)
		if err != nil {
			return err
		}
		what := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			what = string(data)
		case info.Mode()&fs.ModeSymlink != 0:
			if what, err = os.Readlink(name); err != nil {
				return err
			}
		}
		all[strings.TrimPrefix(name, root)] = fmt.Sprintf("%v %q", info.Mode(), what)
		return nil
	}))
	return all
}

func same(t testing.TB, got, want map[string]string, when string) {
	t.Helper()
	for name, what := range want {
		if got[name] != what {
			t.Errorf("%s: %q is %.60s, want %.60s", when, name, got[name], what)
		}
	}
	for name := range got {
		if _, there := want[name]; !there {
			t.Errorf("%s: there is %q, which should not be", when, name)
		}
	}
}

// A gardener grows random trees, of everything that a folder may hold.
type gardener struct {
	*testing.T
	*rand.Rand
	tree string
}

var names = []string{
	"a", "b.txt", "a.b", "with space", " ", "new\nline", "tab\t", `back\slash`, `quo"te`, "-rf", "*", "ünï", "u\u0308", "报价", "🎈", "\xff\xfe",
	".hidden", ".gitignore", ".gitattributes", ".gitmodules", "files", "modes", "CON", "A", strings.Repeat("x", 255),
}

var targets = []string{"a", ".", "..", "../../..", "/", "/etc/passwd", "nowhere", "../checkpoints", "loop", "with space", "\xff"}

// modes gives a mode that the user who runs the test can still read.
func (g gardener) mode(folder bool) fs.FileMode {
	modes := []fs.FileMode{0o600, 0o644, 0o755, 0o700, 0o400, 0o444, 0o4755, 0o777}
	if folder {
		modes = []fs.FileMode{0o700, 0o755, 0o777, 0o2775, 0o1777}
	}
	if os.Geteuid() == 0 {
		modes = append(modes, 0o000, 0o111, 0o500)
	}
	mode := modes[g.IntN(len(modes))]
	return mode&fs.ModePerm | map[fs.FileMode]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky}[mode&0o7000]
}

func (g gardener) text() []byte {
	switch g.IntN(6) {
	case 0:
		return nil
	case 1:
		return []byte("*\n!*.txt\n") // of a .gitignore, perhaps
	case 2:
		return []byte("\r\nA text that git may want to convert.\r\n")
	}
	data := make([]byte, g.IntN(3000))
	for i := range data {
		data[i] = byte(g.Uint32())
	}
	return data
}

func (g gardener) plant(folder string, depth int) {
	for range 1 + g.IntN(6) {
		name := filepath.Join(folder, names[g.IntN(len(names))])
		if _, err := os.Lstat(name); err == nil {
			continue
		}
		switch kind := g.IntN(10); {
		case kind < 5:
			must(g.T, os.WriteFile(name, g.text(), 0o600))
			must(g.T, os.Chmod(name, g.mode(false)))
		case kind < 7:
			must(g.T, os.Symlink(targets[g.IntN(len(targets))], name))
		case depth < 4:
			must(g.T, os.Mkdir(name, 0o700))
			if g.IntN(4) > 0 { // else it stays empty
				g.plant(name, depth+1)
			}
			must(g.T, os.Chmod(name, g.mode(true)))
		}
	}
	if repo := filepath.Join(folder, ".git"); g.IntN(4) == 0 && os.Mkdir(repo, 0o755) == nil {
		must(g.T, os.WriteFile(filepath.Join(repo, "HEAD"), []byte("ref: refs/heads/mine\n"), 0o644))
		must(g.T, os.MkdirAll(filepath.Join(repo, "objects", "00"), 0o755))
	}
}

// change changes some of what is there, in ways that are easy to miss.
func (g gardener) change() {
	all := slices.Sorted(maps.Keys(everything(g.T, g.tree)))
	for range 1 + g.IntN(8) {
		name := g.tree + all[g.IntN(len(all))]
		info, err := os.Lstat(name)
		if err != nil || name == g.tree {
			continue // it went with its folder
		}
		switch g.IntN(7) {
		case 0:
			must(g.T, os.RemoveAll(name))
		case 1:
			if info.Mode()&fs.ModeSymlink == 0 {
				must(g.T, os.Chmod(name, g.mode(info.IsDir())))
			}
		case 2: // the same size and time
			if data, err := os.ReadFile(name); err == nil && info.Mode().IsRegular() && len(data) > 0 {
				data[g.IntN(len(data))] ^= 1
				must(g.T, os.WriteFile(name, data, 0o600))
				must(g.T, os.Chtimes(name, info.ModTime(), info.ModTime()))
			}
		case 3: // a link in the place of what was there
			must(g.T, os.RemoveAll(name))
			must(g.T, os.Symlink(targets[g.IntN(len(targets))], name))
		case 4: // a folder, or a file
			must(g.T, os.RemoveAll(name))
			must(g.T, os.Mkdir(name, 0o700))
			g.plant(name, 3)
		case 5:
			must(g.T, os.Rename(name, filepath.Join(g.tree, fmt.Sprint("moved", g.Uint32()))))
		case 6:
			g.plant(g.tree, 2)
		}
	}
	must(g.T, os.Chmod(g.tree, g.mode(true)))
}

// trees is how many random trees are taken and restored.
const trees = 12

func TestARollbackRestoresEveryTreeExactly(t *testing.T) {
	for seed := range uint64(trees) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { restoreTrees(t, seed) })
	}
}

func restoreTrees(t *testing.T, seed uint64) {
	r := newRoom(t)
	r.write("first", "x")
	g := gardener{t, rand.New(rand.NewPCG(seed, 1)), r.treeOnDisk()}
	g.plant(g.tree, 0)
	type point struct {
		id   string
		tree map[string]string
	}
	var points []point
	for range 3 {
		points = append(points, point{r.checkpoint("before").ID, everything(t, g.tree)})
		g.change()
	}
	for _, i := range []int{0, 2, g.IntN(3), 1, 0} {
		r.rollback(points[i].id)
		same(t, everything(t, g.tree), points[i].tree, fmt.Sprint("checkpoint ", i))
		g.change()
	}
	r.rollback(points[0].id)
	again := r.checkpoint("again")
	if made := r.reachable(); len(made) == 0 {
		t.Error("the repository has no objects")
	}
	r.rollback(again.ID)
	same(t, everything(t, g.tree), points[0].tree, "a checkpoint of what was restored")
	if rest := r.rest(); len(rest) > 0 {
		t.Errorf("the session's folder still has %q", rest)
	}
}
