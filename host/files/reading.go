package files

import (
	"io/fs"
	"os"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// Tree gives a session's stored files to the host itself, as they are while it
// reads, with whatever links lie among them; none leads out of the tree. A
// rollback that was decided is finished first. The caller closes it.
func (s *Store) Tree(ref host.SessionRef) (tree fs.FS, closes func(), err error) {
	const op = "files.Tree"
	if err := ref.Valid(); err != nil {
		return nil, nil, host.Fail(op, abi.NewProblem(abi.BadValue, "%v", err), nil)
	}
	var root *os.Root
	err = s.reading(ref, func(session *os.Root) (err error) {
		root, err = openTree(session)
		return err
	})
	switch {
	case missing(err):
		return noFiles{}, func() {}, nil
	case err != nil:
		return nil, nil, failure(op, "the session's files cannot be opened", err)
	}
	return root.FS(), func() { root.Close() }, nil
}

// noFiles is the tree of a session without files.
type noFiles struct{}

// Open finds nothing.
func (noFiles) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}
