package main

import "github.com/sluicehq/sluice/sdk"

// pieceBytes is what is read of a blob at once: the largest has 256 pieces, and
// a few of them fit the memory of a small skill.
const pieceBytes = 256 << 10

// Pieces are a blob from an offset on.
type pieces struct {
	call sdk.Call
	id   string
	next int64 // offset of the next piece
	end  bool  // there is none
}

// read gives the next piece; an empty one at the end.
func (p *pieces) read() ([]byte, error) {
	if p.end {
		return nil, nil
	}
	b, err := sdk.BlobRead(p.call, p.id, p.next, pieceBytes)
	if err != nil {
		return nil, explained(err)
	}
	p.next += int64(len(b))
	p.end = len(b) < pieceBytes
	return b, nil
}
