package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
)

// Bounds of a tree that a checkpoint takes, beside MaxFiles and MaxBytes. What
// calls write is far below them; what somebody put into the folder need not be.
const (
	maxEntries   = 2 * MaxFiles // files, links and folders: a folder for each file
	maxDepth     = 128          // folders in folders; a path of the system has at most 4,096 bytes
	maxPathBytes = 4096         // PATH_MAX of Linux: what is longer, other programs cannot open
)

// An entry is one file, folder or link of a tree.
type entry struct {
	path string // below the tree's folder, which is "." itself
	mode fs.FileMode
	size int64 // of a file
	hash hash  // of the bytes of a file, of the target of a link

	info fs.FileInfo // of what was listed on disk
}

// A listing is a whole tree: folders stand before what is in them, and the
// entries of a folder are sorted by name.
type listing []entry

// modeBits are those that chmod sets.
const modeBits = fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// scan lists a tree without the hashes. No link is followed. It refuses by name
// what is neither file, folder nor link, and a tree above the bounds.
func scan(ctx context.Context, tree *os.Root) (listing, error) {
	s := scanner{ctx: ctx, tree: tree}
	info, err := tree.Lstat(".")
	if err == nil {
		err = s.visit(".", info, 0)
	}
	return s.found, err
}

type scanner struct {
	ctx   context.Context
	tree  *os.Root
	found listing
	files int // and links
	bytes int64
}

func (s *scanner) visit(name string, info fs.FileInfo, depth int) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	e := entry{path: name, mode: info.Mode() & (fs.ModeType | modeBits), info: info}
	switch e.mode.Type() {
	case 0:
		e.size = info.Size()
		s.bytes += e.size
		s.files++
	case fs.ModeSymlink:
		e.mode = fs.ModeSymlink // a link has no mode of its own that could be set
		s.files++
	case fs.ModeDir:
	default:
		return abi.NewProblem(abi.NotAllowed, "%s is a %s; a checkpoint holds files, folders and links", abi.EchoPath(name), kindOf(e.mode)).
			WithHint("remove it from the session's folder")
	}
	s.found = append(s.found, e)
	if problem := s.over(name, depth); problem != nil {
		return problem
	}
	if e.mode.IsDir() {
		return s.inside(name, info, depth)
	}
	return nil
}

// over says which bound the tree exceeds, or nothing.
func (s *scanner) over(name string, depth int) *abi.Problem {
	switch {
	case s.files > MaxFiles:
		return abi.NewProblem(abi.QuotaReached, "the session has more than %d files", MaxFiles).WithHint("remove what is not needed first")
	case len(s.found) > maxEntries:
		return abi.NewProblem(abi.QuotaReached, "the session has more than %d files and folders", maxEntries).WithHint("remove what is not needed first")
	case s.bytes > int64(MaxBytes):
		return abi.NewProblem(abi.QuotaReached, "the session's files have more than %s", MaxBytes).WithHint("remove what is not needed first")
	case depth > maxDepth || len(name) > maxPathBytes:
		return abi.NewProblem(abi.QuotaReached, "%s lies too deep: at most %d folders and %d bytes", abi.EchoPath(name), maxDepth, maxPathBytes)
	}
	return nil
}

func (s *scanner) inside(folder string, info fs.FileInfo, depth int) error {
	f, err := openSame(s.tree, folder, info)
	if err != nil {
		return err
	}
	names, err := f.Readdirnames(maxEntries + 1) // one too many is refused
	_ = f.Close()                                // only read
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		name = path.Join(folder, name)
		info, err := s.tree.Lstat(name)
		if err != nil {
			return err
		}
		if err := s.visit(name, info, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// openSame opens what Lstat has told of, if it is still that, and nothing that
// a link leads to that was put in its place since.
func openSame(tree *os.Root, name string, want fs.FileInfo) (*os.File, error) {
	f, err := tree.Open(name)
	if err != nil {
		return nil, err
	}
	is, err := f.Stat()
	if err == nil && (!os.SameFile(is, want) || is.Mode() != want.Mode() || !is.IsDir() && is.Size() != want.Size()) {
		err = changedMeanwhile(name)
	}
	if err != nil {
		_ = f.Close() // only read
		return nil, err
	}
	return f, nil
}

func changedMeanwhile(name string) *abi.Problem {
	return abi.NewProblem(abi.StoreConflict, "%s was changed while the checkpoint was made", abi.EchoPath(name))
}

func kindOf(mode fs.FileMode) string {
	switch mode.Type() {
	case fs.ModeNamedPipe:
		return "named pipe"
	case fs.ModeSocket:
		return "socket"
	}
	return "device"
}

// parent gives the folder that an entry is in.
func (e entry) parent() string { return path.Dir(e.path) }

func (e entry) depth() int {
	if e.path == "." {
		return 0
	}
	return 1 + strings.Count(e.path, "/")
}

// differs names the first path at which two trees are not alike in names,
// kinds, modes and sizes.
func (l listing) differs(other listing) (name string, differ bool) {
	for i, e := range l {
		if i == len(other) {
			return e.path, true
		}
		o := other[i]
		if e.path != o.path || e.mode != o.mode || e.size != o.size {
			return e.path, true
		}
	}
	if len(other) > len(l) {
		return other[len(l)].path, true
	}
	return "", false
}
