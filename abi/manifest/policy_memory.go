package manifest

import (
	"encoding/json"
	"slices"
)

// A PolicyMemory says what is remembered of a tenant's users, and where decisions
// are made.
type PolicyMemory struct {
	Tenants  []string        // whom it is about; nil for all
	Settings json.RawMessage // an object of points, facts, seen, lift, conflicts and forget, of the form of policy.schema.json
}

// Memory lists what is said of memory, in the order of the file. A tenant has what
// all entries about it say; where two say the same, what the later one says; of the points
// that fit the same words, the first. The caller must not change the slice.
func (p *Policy) Memory() []PolicyMemory {
	if p == nil {
		return nil
	}
	return p.memory
}

// About reports whether an entry is about a tenant.
func (m PolicyMemory) About(tenant string) bool {
	return m.Tenants == nil || slices.Contains(m.Tenants, tenant)
}

// policyMemory reads the entries into p, which is nil where the file cannot be read.
func (l *loader) policyMemory(p *Policy) {
	var declared struct{ Memory []map[string]json.RawMessage }
	if p == nil {
		return // policy has said so
	}
	if err := json.Unmarshal(l.root.appendJSON(nil), &declared); err != nil {
		l.fail(l.at("memory"), "", "cannot be read: %v", err)
		return
	}
	for i, d := range declared.Memory {
		var m PolicyMemory
		err := json.Unmarshal(d["tenants"], &m.Tenants)
		if d["tenants"] == nil {
			err = nil
		}
		delete(d, "tenants")
		if err == nil {
			m.Settings, err = json.Marshal(d)
		}
		if err != nil {
			l.fail(l.at("memory", i), "", "cannot be read: %v", err)
		}
		p.memory = append(p.memory, m)
	}
}
