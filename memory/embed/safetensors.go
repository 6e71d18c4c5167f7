package embed

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Bounds of a file of tensors.
const (
	headerMax = 1 << 20 // three tensors and a few notes are some hundred bytes
	tensorMax = 64      // tensors of a file
)

// A tensor is one array of a safetensors file, as it lies there: little endian.
type tensor struct {
	kind  string // F32, F16, …
	shape []int
	data  []byte
}

// width gives the bytes of an item of the kinds that are read.
func width(kind string) int {
	switch kind {
	case "I64", "F64":
		return 8
	case "F32", "I32":
		return 4
	case "F16", "BF16":
		return 2
	case "I8":
		return 1
	}
	return 0
}

// parseTensors reads a file in the form of safetensors: the length of a header in
// JSON, the header, the data. Each tensor must lie inside of the data and be as long as
// its shape says. The tensors share the file's bytes.
func parseTensors(file []byte) (map[string]tensor, error) {
	if len(file) < 8 {
		return nil, errors.New("shorter than the length of its header")
	}
	n := binary.LittleEndian.Uint64(file)
	if n > headerMax || n > uint64(len(file)-8) {
		return nil, fmt.Errorf("a header of %d bytes, in a file of %d", n, len(file))
	}
	var header map[string]json.RawMessage
	if err := json.Unmarshal(file[8:8+n], &header); err != nil {
		return nil, fmt.Errorf("its header: %w", err)
	}
	if len(header) > tensorMax {
		return nil, fmt.Errorf("%d tensors", len(header))
	}
	tensors := map[string]tensor{}
	for name, text := range header {
		if name == "__metadata__" {
			continue
		}
		t, err := parseTensor(text, file[8+n:])
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", short(name), err)
		}
		tensors[name] = t
	}
	return tensors, nil
}

func parseTensor(text json.RawMessage, data []byte) (tensor, error) {
	var said struct {
		Kind    string  `json:"dtype"`
		Shape   []int64 `json:"shape"`
		Offsets []int64 `json:"data_offsets"`
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return tensor{}, err
	}
	size := int64(width(said.Kind))
	if size == 0 || len(said.Shape) > 2 || len(said.Offsets) != 2 {
		return tensor{}, fmt.Errorf("the kind %q with %d dimensions", short(said.Kind), len(said.Shape))
	}
	t := tensor{kind: said.Kind}
	for _, n := range said.Shape {
		if n < 0 || n > int64(len(data)) || size > int64(len(data)) {
			return tensor{}, fmt.Errorf("the shape %v", said.Shape)
		}
		size *= n // at most the square of the file's length, which is far below 2^63
		t.shape = append(t.shape, int(n))
	}
	begin, end := said.Offsets[0], said.Offsets[1]
	if begin < 0 || end < begin || end > int64(len(data)) || end-begin != size {
		return tensor{}, fmt.Errorf("the shape %v at %v, in %d bytes", said.Shape, said.Offsets, len(data))
	}
	t.data = data[begin:end]
	return t, nil
}

// float gives item i of a tensor of numbers.
func (t tensor) float(i int) float32 {
	switch t.kind {
	case "F32":
		return math.Float32frombits(binary.LittleEndian.Uint32(t.data[4*i:]))
	case "F64":
		return float32(math.Float64frombits(binary.LittleEndian.Uint64(t.data[8*i:])))
	case "F16":
		return half(binary.LittleEndian.Uint16(t.data[2*i:]))
	case "BF16":
		return math.Float32frombits(uint32(binary.LittleEndian.Uint16(t.data[2*i:])) << 16)
	case "I8":
		return float32(int8(t.data[i]))
	}
	return float32(t.int(i))
}

// int gives item i of a tensor of whole numbers.
func (t tensor) int(i int) int64 {
	switch t.kind {
	case "I64":
		return int64(binary.LittleEndian.Uint64(t.data[8*i:]))
	case "I32":
		return int64(int32(binary.LittleEndian.Uint32(t.data[4*i:])))
	}
	panic("BUG: the kind of a tensor was not checked: " + t.kind)
}

// half widens a number of IEEE 754's binary16.
func half(bits uint16) float32 {
	sign := uint32(bits&0x8000) << 16
	exponent, fraction := uint32(bits>>10&0x1f), uint32(bits&0x3ff)
	switch {
	case exponent == 0x1f: // infinite, or no number
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	case exponent == 0: // below the least that is normal
		v := float32(fraction) / (1 << 24)
		if sign != 0 {
			return -v
		}
		return v
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}

// addRow adds row i, times a weight, to a sum of as many items.
func (t tensor) addRow(sum []float32, i int, weight float32) {
	at := i * len(sum)
	switch t.kind {
	case "F32": // the common case, without a switch for each item
		row := t.data[4*at : 4*(at+len(sum))]
		for j := range sum {
			sum[j] += weight * math.Float32frombits(binary.LittleEndian.Uint32(row[4*j:]))
		}
	default:
		for j := range sum {
			sum[j] += weight * t.float(at+j)
		}
	}
}

// finite reports whether every item is.
func (t tensor) finite() bool {
	for i := range len(t.data) / width(t.kind) {
		if v := t.float(i); v-v != 0 {
			return false
		}
	}
	return true
}
