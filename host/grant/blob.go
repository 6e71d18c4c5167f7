package grant

import (
	"context"
	"slices"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/sandbox"
)

// blobWrites are the blobs that a call has written: in memory, under the ids
// that it was told, until they are kept.
type blobWrites struct {
	written []writtenBlob
	bytes   int
}

type writtenBlob struct {
	id   string
	info abi.BlobInfo
	data []byte
}

// addBlob grants sluice_blob_read, and _write where the mode says so.
func (g *Grant) addBlob(mode abi.AccessMode) {
	switch {
	case mode == "":
		return
	case g.config.Blobs == nil:
		g.add(absent("store for blobs", abi.FuncBlobRead, abi.FuncBlobWrite)...)
		return
	}
	g.blobs = &blobWrites{}
	g.add(sandbox.Function{Name: abi.FuncBlobRead, Call: g.readBlob})
	g.addWrites(mode, sandbox.Function{Name: abi.FuncBlobWrite, Call: g.writeBlob})
}

func (g *Grant) readBlob(ctx context.Context, args [][]byte) ([]byte, *abi.Problem) {
	r, problem := decode[abi.BlobRange](abi.FuncBlobRead, args[0])
	if problem == nil {
		problem = r.Check()
	}
	if problem != nil {
		return nil, problem
	}
	if i := slices.IndexFunc(g.blobs.written, func(b writtenBlob) bool { return b.id == r.ID }); i >= 0 {
		return part(g.blobs.written[i].data, r)
	}
	data, err := g.config.Blobs.Read(ctx, g.call.Session, r.ID, r.Offset, r.Length)
	return data, host.ProblemOf(err)
}

// part gives a range of a blob that the call has just written, as the store
// would.
func part(data []byte, r abi.BlobRange) ([]byte, *abi.Problem) {
	size := int64(len(data))
	if r.Offset > size {
		return nil, blob.Behind(r.Offset, size)
	}
	end := size
	if r.Length > 0 && r.Length < size-r.Offset {
		end = r.Offset + r.Length
	}
	return data[r.Offset:end:end], nil
}

func (g *Grant) writeBlob(_ context.Context, args [][]byte) ([]byte, *abi.Problem) {
	info, problem := decode[abi.BlobInfo](abi.FuncBlobWrite, args[1])
	if problem == nil {
		problem = abi.CheckBlob(info, len(args[0]))
	}
	w := g.blobs
	switch {
	case problem != nil:
		return nil, problem
	case len(w.written) == abi.CallBlobs:
		return nil, abi.NewProblem(abi.QuotaReached, "one call may write %d blobs", abi.CallBlobs)
	case abi.Size(w.bytes+len(args[0])) > abi.CallWriteBytes:
		return nil, abi.NewProblem(abi.QuotaReached, "one call may write %s to blobs", abi.CallWriteBytes)
	}
	b := writtenBlob{id: blob.NewID(), info: info, data: args[0]}
	w.written, w.bytes = append(w.written, b), w.bytes+len(b.data)
	return []byte(b.id), nil
}
