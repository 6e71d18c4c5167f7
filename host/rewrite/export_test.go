package rewrite

// Simplify gives a module with simpler code.
func Simplify(wasm []byte) ([]byte, error) {
	m, p := read(wasm)
	if p != nil {
		return nil, p
	}
	code, err := m.simplify(wasm)
	if err != nil {
		return nil, err
	}
	return m.write(wasm, functionShift{}, code), nil
}
