package sandbox

import "github.com/tetratelabs/wazero/experimental"

var (
	_ experimental.MemoryAllocator = (*linearMemory)(nil)
	_ experimental.LinearMemory    = (*linearMemory)(nil)
)

// A linearMemory is the memory of one instance, held to its limit. It
// remembers how large it became and what it had to refuse.
type linearMemory struct {
	limit   uint64 // bytes
	peak    uint64
	refused uint64 // the first size that was asked for above the limit
	bytes   []byte
}

// Allocate gives the memory itself: an instance has one.
func (m *linearMemory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate grows the memory, or gives nil above the limit, which the guest
// sees as a memory.grow of -1.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size > m.limit {
		if m.refused == 0 {
			m.refused = size
		}
		return nil
	}
	m.peak = max(m.peak, size)
	if size > uint64(cap(m.bytes)) {
		// A quarter more, so that growing page by page copies little.
		grown := make([]byte, size, min(m.limit, size+size/4))
		copy(grown, m.bytes)
		m.bytes = grown
	}
	m.bytes = m.bytes[:size]
	return m.bytes
}

// Free lets go of the bytes.
func (m *linearMemory) Free() { m.bytes = nil }
