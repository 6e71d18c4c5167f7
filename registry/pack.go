package registry

import (
	"bytes"
	"fmt"
	"io"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/sluicehq/sluice/abi"
)

// maxObjects bounds the objects of one release: files, folders, commit, tags.
const maxObjects = 2*maxFiles + 16

// readPack stores the objects of a pack in memory. A pack says how large its
// objects are before it gives them, so a first pass, while the bytes arrive,
// stops at the first one that is too large; git's own reader, which trusts
// these sizes, sees the pack only after that.
func readPack(r io.Reader, most limits) (*memory.Storage, error) {
	var raw bytes.Buffer
	if err := weigh(io.TeeReader(&bounded{r, most.wire()}, &raw), most); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	objects := memory.NewStorage()
	if err := packfile.UpdateObjectStorage(objects, bytes.NewReader(raw.Bytes())); err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return objects, nil
}

// weigh reads a pack through and refuses one that would not fit.
func weigh(r io.Reader, most limits) error {
	pack := packfile.NewScanner(r)
	_, count, err := pack.Header()
	if err != nil {
		return err
	}
	if count > maxObjects {
		return fmt.Errorf("%w: %d objects; a release may have %d", errTooLarge, count, maxObjects)
	}
	left := most.total
	for range count {
		size, err := weighObject(pack, most.file)
		if err != nil {
			return err
		}
		if left -= size; left < 0 {
			return fmt.Errorf("%w: the objects have more than %s together", errTooLarge, most.total)
		}
	}
	_, err = pack.Checksum()
	return err
}

func weighObject(pack *packfile.Scanner, most abi.Size) (abi.Size, error) {
	header, err := pack.NextObjectHeader()
	if err != nil {
		return 0, err
	}
	if err := weighOne(header.Length, most); err != nil {
		return 0, err
	}
	var start head
	if _, _, err := pack.NextObject(&start); err != nil {
		return 0, err
	}
	if header.Type != plumbing.OFSDeltaObject && header.Type != plumbing.REFDeltaObject {
		return abi.Size(header.Length), nil
	}
	grown := start.target()
	return abi.Size(grown), weighOne(grown, most)
}

func weighOne(size int64, most abi.Size) error {
	if size < 0 || abi.Size(size) > most {
		return fmt.Errorf("%w: an object has %d bytes and may have %s", errTooLarge, size, most)
	}
	return nil
}

// A head keeps the first bytes that are written to it: of a delta, where the
// sizes before and after it stand.
type head struct {
	kept [20]byte // two numbers of 7 bits a byte
	n    int
}

func (h *head) Write(p []byte) (int, error) {
	h.n += copy(h.kept[h.n:], p)
	return len(p), nil
}

// target gives the size of the object that the delta makes, or -1.
func (h *head) target() int64 {
	rest := h.kept[:h.n]
	var size int64
	for range 2 {
		if size, rest = number(rest); size < 0 {
			return -1
		}
	}
	return size
}

// number reads a little-endian number of 7 bits a byte, -1 if there is none.
func number(b []byte) (int64, []byte) {
	var n int64
	for i := 0; i < len(b) && i < 9; i++ {
		n |= int64(b[i]&0x7f) << (7 * i)
		if b[i]&0x80 == 0 {
			return n, b[i+1:]
		}
	}
	return -1, nil
}

// bounded fails, in place of ending, once more than left bytes were read.
type bounded struct {
	r    io.Reader
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, fmt.Errorf("%w: the answer of the server", errTooLarge)
	}
	// One byte more than allowed shows that there is more.
	n, err := b.r.Read(p[:min(int64(len(p)), b.left+1)])
	if b.left -= int64(n); b.left < 0 {
		return n - 1, fmt.Errorf("%w: the answer of the server", errTooLarge)
	}
	return n, err
}
