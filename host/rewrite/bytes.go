package rewrite

import (
	"unicode/utf8"

	"github.com/sluicehq/sluice/abi"
)

// A reader walks over the bytes of a module, up to an end that a section sets.
// After its first error it gives zeros, so that only loops ask for err.
type reader struct {
	b       []byte // the whole module, so that offsets are those of the file
	pos     int
	end     int
	section string
	err     *abi.Problem
}

func (r *reader) more() bool { return r.err == nil && r.pos < r.end }

func (r *reader) fail(p *abi.Problem) {
	if r.err == nil {
		r.err = p
	}
	r.pos = r.end
}

func (r *reader) corrupt(format string, args ...any) {
	if r.err == nil {
		r.fail(corrupt(r.section, r.pos, format, args...))
	}
}

func (r *reader) refuse(f feature) { r.fail(unsupported(r.section, r.pos, f)) }

func (r *reader) byte() byte {
	if r.pos >= r.end {
		r.corrupt("it ends in the middle")
		return 0
	}
	b := r.b[r.pos]
	r.pos++
	return b
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > r.end-r.pos {
		r.corrupt("it ends in the middle")
		return nil
	}
	b := r.b[r.pos : r.pos+n : r.pos+n]
	r.pos += n
	return b
}

// u32 reads an unsigned LEB128 number of at most five bytes.
func (r *reader) u32() uint32 {
	if r.pos < r.end && r.b[r.pos] < 0x80 {
		r.pos++
		return uint32(r.b[r.pos-1])
	}
	var v uint64
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			if v > 1<<32-1 {
				break
			}
			return uint32(v)
		}
	}
	r.corrupt("a number is larger than 32 bits")
	return 0
}

// signed reads a signed LEB128 number of so many bits: 32, 33 or 64.
func (r *reader) signed(bits int) int64 {
	var v int64
	for shift := 0; shift < bits; shift += 7 {
		b := r.byte()
		v |= int64(b&0x7f) << shift
		if b >= 0x80 {
			continue
		}
		if left := bits - shift; left < 7 && !signFits(b, left) {
			break
		}
		if shift+7 < 64 && b&0x40 != 0 {
			v |= -1 << (shift + 7)
		}
		return v
	}
	r.corrupt("a number is larger than %d bits", bits)
	return 0
}

// signFits reports whether the last byte of a number says nothing beyond its
// lowest bits but their sign.
func signFits(b byte, bits int) bool {
	rest := int8(b<<1) >> bits // the sign bit and all above it, sign extended
	return rest == 0 || rest == -1
}

// count reads the length of a list whose items take at least one byte each.
func (r *reader) count(what string, most int) int {
	n := r.u32()
	switch {
	case uint64(n) > uint64(most):
		r.corrupt("it has %d %s; at most %d are allowed", n, what, most)
	case int(n) > r.end-r.pos:
		r.corrupt("it claims %d %s in %d bytes", n, what, r.end-r.pos)
	default:
		return int(n)
	}
	return 0
}

func (r *reader) name() string {
	n := r.count("bytes in a name", maxNameBytes)
	b := r.take(n)
	if !utf8.Valid(b) {
		r.corrupt("a name is not UTF-8")
	}
	return string(b)
}

// index reads an index into a space of so many items.
func (r *reader) index(what string, size int) uint32 {
	i := r.u32()
	if r.err == nil && uint64(i) >= uint64(size) {
		r.corrupt("%s %d does not exist, there are %d", what, i, size)
	}
	return i
}

// Value types.
const (
	typeI32       = 0x7f
	typeI64       = 0x7e
	typeF32       = 0x7d
	typeF64       = 0x7c
	typeV128      = 0x7b
	typeFuncref   = 0x70
	typeExternref = 0x6f
	typeEmpty     = 0x40 // of a block
	typeFunction  = 0x60
)

func (r *reader) valueType() byte {
	t := r.byte()
	if r.err == nil && !isValueType(t) {
		r.pos--
		r.refuseType(t)
	}
	return t
}

func (r *reader) refuseType(t byte) {
	if f, ok := typeFeature(t); ok {
		r.refuse(f)
		return
	}
	r.corrupt("0x%02x is not a value type", t)
}

func isValueType(t byte) bool { return t >= typeV128 && t <= typeI32 || isReference(t) }

func isReference(t byte) bool { return t == typeFuncref || t == typeExternref }

func (r *reader) referenceType() byte {
	t := r.valueType()
	if r.err == nil && !isReference(t) {
		r.corrupt("0x%02x is not a reference type", t)
	}
	return t
}

// Writing.

func putU32(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func putSigned(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func putBytes(b, content []byte) []byte {
	return append(putU32(b, uint32(len(content))), content...)
}
