package abi

// A RawMessage is JSON as it stands: in a guest, what json.RawMessage is,
// without the 0.1 MB that its package and those that it imports set up.
type RawMessage []byte

// MarshalJSON gives the JSON, and null for none.
func (m RawMessage) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("null"), nil
	}
	return m, nil
}

// UnmarshalJSON keeps a copy of the JSON.
func (m *RawMessage) UnmarshalJSON(b []byte) error {
	*m = append((*m)[:0], b...)
	return nil
}
