package sandbox

import "github.com/tetratelabs/wazero/experimental"

var (
	_ experimental.MemoryAllocator = (*linearMemory)(nil)
	_ experimental.LinearMemory    = (*linearMemory)(nil)
)

// A linearMemory is the memory of one instance, held to the limit of the call
// that it serves. It remembers how large it became and what it had to refuse.
type linearMemory struct {
	space   *space
	limit   uint64 // bytes
	size    uint64
	peak    uint64
	refused uint64 // the first size that was asked for above the limit
}

// bytes gives what there is of the memory now.
func (m *linearMemory) bytes() []byte {
	if m.space == nil {
		return nil
	}
	return m.space.bytes()[:m.size]
}

// serve gets the memory ready for the next call.
func (m *linearMemory) serve(limit uint64) {
	m.limit, m.peak, m.refused = limit, m.size, 0
}

// Allocate gives the memory itself: an instance has one.
func (m *linearMemory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate grows the memory, or gives nil above the limit, which the guest
// sees as a memory.grow of -1.
func (m *linearMemory) Reallocate(size uint64) []byte {
	var b []byte
	if size <= m.limit {
		b = m.space.grow(size)
	}
	if b == nil {
		if m.refused == 0 {
			m.refused = size
		}
		return nil
	}
	m.size = size
	m.peak = max(m.peak, size)
	return b
}

// Free lets go of the bytes: nothing can reach them any more.
func (m *linearMemory) Free() { m.space.free() }
