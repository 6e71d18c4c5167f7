package sandbox

import (
	"encoding/binary"
	"slices"
	"sort"
)

// The reference host keeps the blocks that guest and host exchange in a small
// memory of its own, and a guest sees where they lie. These numbers are that
// layout: handles, the end of the memory and what memory_bytes tells are the
// same here.
const (
	kernelPage      = 65536
	kernelPages     = 16 // pages before the first block
	kernelRootSize  = 64 // bookkeeping of the reference, which starts at 1
	kernelFirst     = 1 + kernelRootSize
	kernelHeader    = 12  // before the bytes of every block
	kernelSplitRest = 128 // a freed block is split where at least so much would be left
)

// A handle is the address of the first byte of a block; 0 is no block.
type handle = uint64

// A span is a part of the kernel's memory.
type span struct{ at, length uint64 }

// A block is one allocation. Its bytes lie in the kernel's memory; what is
// known of it lies here, where no guest can write.
type block struct {
	at    uint32 // of its first byte
	size  uint32 // room
	used  uint32 // length, at most size
	freed bool
}

const blockBytes = 16 // of a block, which are looked at where one is searched

// A kernel holds the blocks of one call. It is not safe for concurrent use.
type kernel struct {
	limit    uint64        // bytes of blocks and headers
	memory   *kernelMemory // as far as it was written; the rest up to size reads as zero
	size     uint64        // addresses below it exist
	length   uint64        // bytes that the allocator has taken from the memory
	position uint64        // bytes of all blocks with their headers
	blocks   []block       // by address
	freed    int           // of them
	input    span
	output   span
	failure  handle // the block with the guest's error text
	work     uint64 // bytes that were copied, cleared or searched for the guest since somebody looked
}

// newKernel gives a kernel that has no memory yet.
func newKernel(limit uint64) kernel {
	return kernel{limit: limit, size: kernelPages * kernelPage, length: kernelPage - kernelRootSize}
}

// alloc gives a block of n bytes, or false where the limit is reached. A block
// of no bytes is 0, as in the reference.
func (k *kernel) alloc(n uint64) (handle, bool) {
	if n == 0 {
		return 0, true
	}
	whole := n + kernelHeader
	if n > k.limit {
		return 0, false
	}
	// Freed blocks are used again only where the memory would have to grow: as
	// in the reference, the bytes of a freed block last until then.
	left := k.length - k.position - kernelRootSize
	if whole >= left {
		if at, ok := k.reuse(uint32(n)); ok {
			return at, true
		}
	}
	if k.position+whole > k.limit {
		return 0, false
	}
	if whole >= left {
		more := (whole - left + kernelPage - 1) / kernelPage * kernelPage
		k.length += more
		k.size += more
	}
	at := kernelFirst + k.position + kernelHeader
	k.position += whole
	k.blocks = append(k.blocks, block{at: uint32(at), size: uint32(n), used: uint32(n)})
	k.open()
	return at, true
}

// allocEmpty gives a block of length 0 that has a handle: an empty value, as
// against no value.
func (k *kernel) allocEmpty() (handle, bool) {
	at, ok := k.alloc(1)
	if ok {
		k.find(at).used = 0
	}
	return at, ok
}

// reuse takes the first freed block that is large enough.
func (k *kernel) reuse(n uint32) (handle, bool) {
	k.work += uint64(len(k.blocks)) * blockBytes
	for i, seen := 0, 0; seen < k.freed; i++ {
		b := &k.blocks[i]
		if !b.freed {
			continue
		}
		seen++
		if b.size < n || k.holdsOutput(b) {
			continue
		}
		if b.size-n >= kernelSplitRest {
			b.size -= n + kernelHeader
			tail := block{at: b.at + b.size + kernelHeader, size: n, used: n}
			k.blocks = slices.Insert(k.blocks, i+1, tail)
			return uint64(tail.at), true
		}
		b.used, b.freed = n, false
		k.freed--
		return uint64(b.at), true
	}
	return 0, false
}

// holdsOutput reports whether the output lies in a block, which a guest may
// free as soon as it has named the output.
func (k *kernel) holdsOutput(b *block) bool {
	at, end := uint64(b.at), uint64(b.at)+uint64(b.size)
	return k.output.at < end && k.output.at+k.output.length > at
}

func (k *kernel) free(h handle) {
	b := k.find(h)
	if b == nil {
		return
	}
	b.freed = true
	k.freed++
	if h == k.input.at {
		k.setInput(span{h, 0})
	}
}

func (k *kernel) setInput(s span) {
	k.input = s
	k.open()
}

// find gives the block of a handle, or nil.
func (k *kernel) find(h handle) *block {
	i := sort.Search(len(k.blocks), func(i int) bool { return uint64(k.blocks[i].at) >= h })
	if i == len(k.blocks) || uint64(k.blocks[i].at) != h || k.blocks[i].freed {
		return nil
	}
	return &k.blocks[i]
}

// blockLength is the length of a block, and 0 for what is not a handle.
func (k *kernel) blockLength(h handle) uint64 {
	if b := k.find(h); b != nil {
		return uint64(b.used)
	}
	return 0
}

// read copies the bytes of a block. The handle 0 is the empty block; false
// says that h is not a handle.
func (k *kernel) read(h handle) ([]byte, bool) {
	if h == 0 {
		return []byte{}, true
	}
	b := k.find(h)
	if b == nil {
		return nil, false
	}
	return k.copyOf(span{h, uint64(b.used)}), true
}

// write puts bytes into a new block, or gives false where the limit is reached.
func (k *kernel) write(b []byte) (handle, bool) {
	at, ok := k.alloc(uint64(len(b)))
	if ok && at != 0 {
		copy(k.reach(at, uint64(len(b))), b)
	}
	return at, ok
}

func (k *kernel) copyOf(s span) []byte {
	out := make([]byte, s.length)
	k.copyTo(out, s.at)
	return out
}

// copyTo copies what lies at an address, which must exist.
func (k *kernel) copyTo(out []byte, at uint64) {
	if len(out) == 0 {
		return
	}
	k.work += uint64(len(out))
	n := 0
	if at < uint64(len(k.memory.bytes)) {
		n = copy(out, k.memory.bytes[at:])
	}
	clear(out[n:])
}

// owns reports whether the allocator has the whole span.
func (k *kernel) owns(s span) bool {
	end := kernelFirst + k.length
	return s.at >= kernelFirst && s.at < end && s.length <= end-s.at
}

// exists reports whether n bytes at an address may be loaded and stored.
func (k *kernel) exists(at, n uint64) bool {
	return at >= kernelRootSize && at < k.size && n <= k.size-at
}

func (k *kernel) load(at uint64) byte {
	if at < uint64(len(k.memory.bytes)) {
		return k.memory.bytes[at]
	}
	return 0
}

func (k *kernel) load64(at uint64) uint64 {
	var b [8]byte
	k.copyTo(b[:], at)
	return binary.LittleEndian.Uint64(b[:])
}

func (k *kernel) store(at uint64, v byte) { k.reach(at, 1)[0] = v }

func (k *kernel) store64(at, v uint64) { binary.LittleEndian.PutUint64(k.reach(at, 8), v) }

// reach gives n bytes at an address, which must exist, to be written.
func (k *kernel) reach(at, n uint64) []byte {
	k.work += n
	if at+n > uint64(len(k.memory.bytes)) {
		k.memory.grow(at+n, k.size)
		k.open()
	}
	k.memory.touched = max(k.memory.touched, at+n)
	return k.memory.bytes[at : at+n : at+n]
}

// open lets the guest reach by itself what the blocks take up, as far as there
// is memory for it, and all of the input that lies there.
func (k *kernel) open() {
	if k.position == 0 {
		k.memory.open(0, span{})
		return
	}
	k.memory.open(kernelFirst+k.position, k.input)
}

// reset forgets all blocks, the input, the output and the error.
func (k *kernel) reset() {
	k.work += k.memory.touched
	k.memory.clear()
	k.blocks, k.freed, k.position = k.blocks[:0], 0, 0
	k.input, k.output, k.failure = span{}, span{}, 0
}
