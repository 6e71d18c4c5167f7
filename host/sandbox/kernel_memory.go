package sandbox

import (
	"bytes"
	"context"
	"encoding/binary"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// kernelKept is the largest memory of a kernel that a slot keeps for its next
// call: room for the default limits of input and output, at once rarely used
// in full. A slot whose kernel became larger is thrown away.
const kernelKept = 4 << 20

// A kernelMemory is the memory of a slot's kernel. The host reads and writes
// its bytes; the guest does so by the functions of kernelModule, which run in
// WebAssembly and so cost it little. They know no blocks: they serve the
// addresses below a bound, and leave all others to the host's own functions.
//
// The bound and where the input lies are words in the bytes that the reference
// keeps for its bookkeeping, which no guest can address.
type kernelMemory struct {
	instance api.Module
	bytes    []byte
	touched  uint64 // what lies from here on is zero
}

var (
	_ experimental.MemoryAllocator = (*kernelMemory)(nil)
	_ experimental.LinearMemory    = (*kernelMemory)(nil)
)

// Addresses of the words. "Room" is how many addresses there are, counted from
// kernelRootSize or the input's first, at which so many bytes may be reached.
const (
	wordRoom1  = 8 * iota // for one byte
	wordRoom8             // for eight bytes
	wordInput1            // for one byte of the input
	wordInput8            // for eight bytes from within the input on
	wordInput             // the address of the input
)

// instantiate makes an instance of kernelModule with a memory of zeros.
func (m *kernelMemory) instantiate(ctx context.Context, r wazero.Runtime, kernel wazero.CompiledModule) (err error) {
	m.instance, err = r.InstantiateModule(experimental.WithMemoryAllocator(ctx, m), kernel, wazero.NewModuleConfig().WithName(""))
	return err
}

// Allocate gives the memory itself: an instance has one.
func (m *kernelMemory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate makes the memory larger. Only the host asks for it.
func (m *kernelMemory) Reallocate(size uint64) []byte {
	larger := make([]byte, size)
	copy(larger, m.bytes)
	m.bytes = larger
	return larger
}

// Free lets go of the bytes.
func (m *kernelMemory) Free() { m.bytes = nil }

// grow makes the memory reach to an address, at least doubling it so that
// growing step by step copies little, but not above most.
func (m *kernelMemory) grow(end, most uint64) {
	have := uint64(len(m.bytes))
	want := max(end, min(2*have, most))
	if _, ok := m.instance.Memory().Grow(uint32((want - have + kernelPage - 1) / kernelPage)); !ok {
		panic("BUG: the kernel's memory does not grow to what its limit allows")
	}
}

// open tells the functions what they may serve: the addresses below end, as
// far as there are bytes, and an input if it lies there.
func (m *kernelMemory) open(end uint64, input span) {
	end = min(end, uint64(len(m.bytes)))
	m.touched = max(m.touched, end)
	m.set(wordRoom1, room(kernelRootSize, end, 1))
	m.set(wordRoom8, room(kernelRootSize, end, 8))
	m.set(wordInput, input.at)
	m.set(wordInput1, min(input.length, room(input.at, end, 1)))
	m.set(wordInput8, room(input.at, end, 8))
}

// room is how many addresses from at on have n bytes before end.
func room(at, end, n uint64) uint64 {
	if at < kernelRootSize || at+n > end {
		return 0
	}
	return end - at - n + 1
}

func (m *kernelMemory) set(word int, v uint64) { binary.LittleEndian.PutUint64(m.bytes[word:], v) }

// clear makes all of the memory zero, the words too: nothing is served.
func (m *kernelMemory) clear() {
	clear(m.bytes[:max(m.touched, kernelRootSize)])
	m.touched = 0
}

// audit reports whether all of it is zero, as before a call.
func (m *kernelMemory) audit() error {
	if len(bytes.TrimLeft(m.bytes, "\x00")) > 0 {
		return errDiffers
	}
	return nil
}

// small reports whether the memory may be kept for the next call.
func (m *kernelMemory) small() bool { return len(m.bytes) <= kernelKept }

// close gives the instance back, if there is one.
func (m *kernelMemory) close() {
	if m.instance != nil {
		_ = m.instance.Close(context.Background()) // it has no files that could fail to close
	}
}
