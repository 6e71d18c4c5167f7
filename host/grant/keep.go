package grant

import (
	"context"
	"errors"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/files"
)

// A Kept is what Keep has written outside of the store, and may still take
// back. End it by Done or by Undo, once and soon: others wait for it.
type Kept struct {
	grant *Grant
	blobs []string
	files *files.Change
}

// Keep writes what the call made of blobs, files and memories, all of it or
// nothing. It stands just before the call is settled, which keeps the rest: the
// store's transaction cannot hold these.
func (g *Grant) Keep(ctx context.Context) (*Kept, error) {
	k := &Kept{grant: g}
	err := k.keepBlobs(ctx)
	if err == nil && g.files != nil {
		k.files, err = g.files.Apply(ctx)
	}
	if err == nil && len(g.memories) > 0 {
		// Last: a memory cannot be taken back.
		err = g.config.Remember(ctx, host.CallRef{Session: g.call.Session, Live: g.call.Live, Call: g.call.ID}, g.memories)
	}
	if err != nil {
		return nil, errors.Join(err, k.Undo(context.WithoutCancel(ctx)))
	}
	return k, nil
}

func (k *Kept) keepBlobs(ctx context.Context) error {
	if k.grant.blobs == nil {
		return nil
	}
	for _, b := range k.grant.blobs.written {
		k.blobs = append(k.blobs, b.id)
		if err := k.grant.config.Blobs.PutAs(ctx, k.grant.call.Session, b.id, b.info, b.data); err != nil {
			return err
		}
	}
	return nil
}

// Done ends it: the call is settled.
func (k *Kept) Done() {
	if k.files != nil {
		k.files.Keep()
	}
}

// Undo takes it back: the call was not settled. What cannot be taken back is
// in the error; blobs that stay are known to nobody and go with the session.
func (k *Kept) Undo(ctx context.Context) error {
	var errs []error
	if k.files != nil {
		errs = append(errs, k.files.Undo())
	}
	for _, id := range k.blobs {
		errs = append(errs, k.grant.config.Blobs.Delete(ctx, k.grant.call.Session, id))
	}
	if err := errors.Join(errs...); err != nil {
		return host.Fail("grant.Undo", nil, err)
	}
	return nil
}
