package grant

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/files"
)

// Files gives the view of the session's files that the attempt worked on, with
// what it has written and Keep would keep; nil where it had none.
func (g *Grant) Files() *files.View { return g.files }

// WrittenBlob gives a blob that the attempt has written and Keep would keep. The
// caller must not change the bytes. Any other id is NotFound, with those that
// there are.
func (g *Grant) WrittenBlob(id string) (abi.BlobInfo, []byte, error) {
	var ids []string
	if g.blobs != nil {
		for _, b := range g.blobs.written {
			if b.id == id {
				return b.info, b.data, nil
			}
			ids = append(ids, b.id)
		}
	}
	return abi.BlobInfo{}, nil, host.Fail("grant.WrittenBlob", abi.NewProblem(abi.NotFound, "the call wrote no blob %.80q; it wrote %d", id, len(ids)).WithCandidates(ids...), nil)
}
