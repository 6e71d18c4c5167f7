package rewrite

import (
	"bytes"
	"encoding/binary"
)

const (
	pageBytes = 64 << 10

	// gapBytes is the shortest run of zeros that is left out of the data: a
	// segment of its own costs a dozen bytes and some time when the module is
	// instantiated. It doubles until there are few enough segments.
	gapBytes = 256
	// imageSegments bounds the data segments of an image.
	imageSegments = 4096
)

// imageData gives the data segments that make a memory of zeros equal to the
// image.
func imageData(memory []byte) []data {
	runs := nonZeroRuns(memory, gapBytes)
	for gap := 2 * gapBytes; len(runs) > imageSegments; gap *= 2 {
		runs = joinRuns(runs, gap)
	}
	segments := make([]data, 0, len(runs))
	for _, r := range runs {
		offset := putSigned([]byte{byte(opI32Const)}, int64(int32(uint32(r.from))))
		segments = append(segments, data{active: true, offset: append(offset, byte(opEnd)), content: memory[r.from:r.to]})
	}
	return segments
}

// A run is a part of a memory.
type run struct{ from, to int }

// nonZeroRuns gives the parts between which there are that many zeros or more.
func nonZeroRuns(memory []byte, gap int) []run {
	var runs []run
	for at := nextNonZero(memory, 0); at < len(memory); {
		end := at + 1
		next := nextNonZero(memory, end)
		for next < len(memory) && next-end < gap {
			end = next + 1
			if end < len(memory) && memory[end] != 0 { // the common case: not a byte at a time
				end = nextZero(memory, end)
			}
			next = nextNonZero(memory, end)
		}
		runs = append(runs, run{at, end})
		at = next
	}
	return runs
}

func joinRuns(runs []run, gap int) []run {
	joined := runs[:1]
	for _, r := range runs[1:] {
		if last := &joined[len(joined)-1]; r.from-last.to < gap {
			last.to = r.to
		} else {
			joined = append(joined, r)
		}
	}
	return joined
}

func nextNonZero(b []byte, at int) int {
	for at+8 <= len(b) && binary.LittleEndian.Uint64(b[at:]) == 0 {
		at += 8
	}
	for at < len(b) && b[at] == 0 {
		at++
	}
	return at
}

func nextZero(b []byte, at int) int {
	if n := bytes.IndexByte(b[at:], 0); n >= 0 {
		return at + n
	}
	return len(b)
}
