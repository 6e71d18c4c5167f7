package rewrite

import "slices"

// Pack gives a module of Go in a smaller form that behaves the same. Its code is
// said in fewer instructions, and a table that Go's linker writes as data, entry
// by entry, is written by a start function instead. That table is the one by
// which the runtime finds a function, and has 16 entries for each, of 20 bytes:
// the function's number, and nothing. As data that is some 150 bytes for each
// function, a tenth of a small module.
//
// What is left out is exactly what the start function writes; a module that
// has no such table, or has a start function, is given back as it is. The start
// function executes about 60 instructions for each function of the module. The
// error is an *abi.Problem with abi.CorruptModule for bytes that are no module.
// Pack is deterministic and safe for concurrent use.
func Pack(wasm []byte) ([]byte, error) {
	m, p := read(wasm)
	if p != nil {
		return nil, p
	}
	if m.start >= 0 || m.dataCount { // what names data segments by number would have to change
		return wasm, nil
	}
	first, t := m.findFunctionTable()
	rest := slices.Concat(m.data[:first], m.data[first+t.functions*bucketsOfFunction:])
	if t.functions < packedFunctions || t.touches(rest) {
		return wasm, nil
	}
	code, err := m.simplify(wasm)
	if err != nil {
		return nil, err
	}
	m.data = rest
	m.start = m.functionCount()
	m.functions = append(m.functions, m.typeIndex("", ""))
	return m.write(wasm, functionShift{}, append(code, t.writer())), nil
}

// packedFunctions is how many functions a table must have to be taken for one:
// no other data looks like it over so many bytes.
const packedFunctions = 100

// The form of the table: see runtime.findfuncbucket. On WebAssembly a function
// has 65,536 program counters, and a bucket is for 4096 of them.
const (
	bucketBytes       = 20
	bucketsOfFunction = 16
)

// A functionTable is the part of the table that is packed: the buckets of so
// many functions from number 1 on; those of number 0 are all zero.
type functionTable struct {
	at        uint32 // where the buckets of function 1 lie
	functions int
}

// findFunctionTable gives the table and the number of its first data segment:
// each bucket is one, since those between are zero.
func (m *module) findFunctionTable() (first int, found functionTable) {
	for i := 0; i < len(m.data); {
		n := m.bucketsFrom(i)
		if n/bucketsOfFunction > found.functions {
			at, _ := m.data[i].at()
			first, found = i, functionTable{at, n / bucketsOfFunction}
		}
		i += max(n, 1)
	}
	return first, found
}

// bucketsFrom counts the segments from i on that are the table's buckets, if
// that of function 1 begins there. The next segment lies behind the last.
func (m *module) bucketsFrom(i int) (n int) {
	start, ok := m.data[i].at()
	if !ok {
		return 0
	}
	for ; i+n < len(m.data); n++ {
		function := uint32(n/bucketsOfFunction) + 1
		at, ok := m.data[i+n].at()
		content := m.data[i+n].content
		if function&0xff == 0 { // its low byte is zero, and left out
			at, content = at-1, append([]byte{0}, content...)
		}
		if !ok || uint64(at) != uint64(start)+uint64(n)*bucketBytes || string(content) != string(functionBytes(function)) {
			return n
		}
	}
	return n
}

// functionBytes gives a function's number in as many bytes as it needs.
func functionBytes(function uint32) (b []byte) {
	for ; function > 0; function >>= 8 {
		b = append(b, byte(function))
	}
	return b
}

// touches reports whether a data segment writes to the table's place, or may.
func (t functionTable) touches(segments []data) bool {
	end := uint64(t.at) + uint64(t.functions)*bucketsOfFunction*bucketBytes
	return slices.ContainsFunc(segments, func(d data) bool {
		at, ok := d.at()
		return !ok || uint64(at) < end && uint64(at)+uint64(len(d.content)) > uint64(t.at)
	})
}

// writer gives the body of the function that writes the table.
func (t functionTable) writer() []byte {
	const i32Store, i32Add, i32NotEqual, align4 = 0x36, 0x6a, 0x47, 2
	const place, function = 0, 1 // the locals
	number := func(b []byte, n uint32) []byte { return putSigned(append(b, byte(opI32Const)), int64(int32(n))) }
	b := []byte{1, 2, typeI32}
	b = append(number(b, t.at), byte(opLocalSet), place)
	b = append(number(b, 1), byte(opLocalSet), function, byte(opLoop), typeEmpty)
	for bucket := range uint32(bucketsOfFunction) {
		b = putU32(append(b, byte(opLocalGet), place, byte(opLocalGet), function, i32Store, align4), bucket*bucketBytes)
	}
	b = append(number(append(b, byte(opLocalGet), place), bucketsOfFunction*bucketBytes), i32Add, byte(opLocalSet), place)
	b = append(number(append(b, byte(opLocalGet), function), 1), i32Add, byte(opLocalTee), function)
	b = append(number(b, uint32(t.functions)+1), i32NotEqual, byte(opBrIf), 0, byte(opEnd))
	return append(b, byte(opEnd))
}

// at gives where an active segment begins, if a constant says it.
func (d data) at() (uint32, bool) {
	if !d.active {
		return 0, false
	}
	r := reader{b: d.offset, end: len(d.offset)}
	var in instruction
	r.next(&in)
	return uint32(in.number), r.err == nil && in.op == opI32Const
}
