package files

import (
	"context"
	"maps"
	"slices"
)

// A Written is a file that a call has written and that is not kept yet.
type Written struct {
	Name string
	Data []byte // not to be changed: it is what Apply writes
}

// Written gives the files that the call has written, sorted by name, as Apply
// would write them. One that it has removed again is not among them. The view
// must not be used for more writes while they are looked at.
func (v *View) Written() []Written {
	var written []Written
	for _, name := range slices.Sorted(maps.Keys(v.changes)) {
		if c := v.changes[name]; !c.removed {
			written = append(written, Written{name, c.data})
		}
	}
	return written
}

// Size gives the bytes of a file that is there, and whether the call has
// written it.
func (v *View) Size(ctx context.Context, name string) (bytes int64, fresh bool, err error) {
	f, err := v.find(ctx, "files.Size", name)
	return f.size, f.fresh, err
}
