package airdb

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Change is what became of one key of the airline's namespace.
type Change struct {
	Key     string
	Value   []byte // the entry's value now; ignored if it was deleted
	Deleted bool
}

// Records are the records of one kind that a run has changed.
type Records struct {
	Changed map[string]json.RawMessage `json:"changed"` // whole records by id
	Removed []string                   `json:"removed"` // ids, sorted
}

// FinalChanges turns the entries that a run has written into the recorded form
// of a final state: the records that differ from the start, by kind and id. A
// record that was written back as it was is no change. original gives the value
// that a key had at the start. It fails on a changed entry of any other kind
// than reservations and users, since no tool may change one, and on a value
// that is not JSON.
func FinalChanges(changes []Change, original func(key string) (value []byte, found bool)) (map[string]Records, error) {
	final := map[string]Records{}
	for _, c := range changes {
		before, found := original(c.Key)
		if c.Deleted && !found || !c.Deleted && found && SameJSON(before, c.Value) == nil {
			continue
		}
		kind, id, err := recordOf(c.Key)
		if err != nil {
			return nil, err
		}
		if !c.Deleted && !json.Valid(c.Value) {
			return nil, fmt.Errorf("%s: not JSON: %s", c.Key, clip(string(c.Value)))
		}
		r, ok := final[kind]
		if !ok {
			r = Records{Changed: map[string]json.RawMessage{}, Removed: []string{}}
		}
		if c.Deleted {
			r.Removed = append(r.Removed, id)
			slices.Sort(r.Removed)
		} else {
			r.Changed[id] = c.Value
		}
		final[kind] = r
	}
	return final, nil
}

// SameFinal reports how the final state of a run differs from the recorded
// final_changes: nil if they are the same. See FinalChanges for its arguments.
func SameFinal(recorded json.RawMessage, changes []Change, original func(key string) (value []byte, found bool)) error {
	final, err := FinalChanges(changes, original)
	if err != nil {
		return err
	}
	got, err := json.Marshal(final)
	if err != nil {
		return err
	}
	return SameJSON(recorded, got)
}

func recordOf(key string) (kind, id string, err error) {
	if id, ok := strings.CutPrefix(key, reservationPrefix); ok {
		return "reservations", id, nil
	}
	if id, ok := strings.CutPrefix(key, userPrefix); ok {
		return "users", id, nil
	}
	return "", "", fmt.Errorf("%s changed: tools change reservations and users only", key)
}
