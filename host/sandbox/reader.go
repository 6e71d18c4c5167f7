package sandbox

import (
	"errors"
	"unicode/utf8"
)

var errCut = errors.New("it ends in the middle")

// A reader walks over bytes. After its first error it gives zeros, so a
// caller's loop ends by its count, which is never more than the bytes.
type reader struct {
	b   []byte
	err error
}

// sub reads a length and gives a reader of so many bytes.
func (r *reader) sub() reader {
	b := r.take(r.u32())
	return reader{b: b, err: r.err}
}

// count reads the length of a list, whose items take at least a byte each.
func (r *reader) count() uint32 {
	n := r.u32()
	if uint64(n) > uint64(len(r.b)) {
		r.fail(errCut)
		return 0
	}
	return n
}

func (r *reader) name() string {
	b := r.take(r.u32())
	if !utf8.Valid(b) {
		r.fail(errors.New("a name is not UTF-8"))
	}
	return string(b)
}

// u32 reads a number.
func (r *reader) u32() uint32 {
	v := r.leb()
	if v > 1<<32-1 {
		r.fail(errors.New("a number is too large"))
		return 0
	}
	return uint32(v)
}

// leb reads the bits of a LEB128 number of at most 64 bits.
func (r *reader) leb() (v uint64) {
	for shift := 0; shift < 70; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	r.fail(errors.New("a number is too large"))
	return 0
}

func (r *reader) byte() byte {
	if b := r.take(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (r *reader) take(n uint32) []byte {
	if uint64(n) > uint64(len(r.b)) {
		r.fail(errCut)
	}
	if r.err != nil {
		return nil
	}
	b := r.b[:n:n]
	r.b = r.b[n:]
	return b
}

// fail keeps the first error; nil is none.
func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}
