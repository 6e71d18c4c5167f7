package keeper

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// The duties, which one replica has at a time.
const (
	dutyIndex = "index" // fills and follows a Store that all share
	dutyEmbed = "embed"
)

// dutyTime is how long a duty is kept without a word: a replica that dies is
// replaced after it. It is renewed before half of it is over. What a duty does may be
// done twice, so that clocks that differ by a second do no harm.
const dutyTime = 10 * time.Second

// dutyBeats is how often a duty is renewed within its time while one step of it goes
// on, such as a large Put: one renewal may fail and the next is still in time.
const dutyBeats = 4

const (
	dutyRow    = "SELECT holder_id, held_until, done_to, version FROM memory_duty WHERE duty = ?"
	makeDuty   = "INSERT INTO memory_duty (duty, holder_id, held_until, done_to, version) VALUES (?, '', 0, 0, '')"
	holdDuty   = "UPDATE memory_duty SET holder_id = ?, held_until = ? WHERE duty = ?"
	giveUpDuty = "UPDATE memory_duty SET held_until = 0 WHERE holder_id = ?"
	askDuty    = "UPDATE memory_duty SET done_to = -1, version = '' WHERE duty = ?"
	moveDuty   = "UPDATE memory_duty SET done_to = ?, version = ? WHERE duty = ? AND holder_id = ?"
)

// A duty is who does something until when, and how far it is.
type duty struct {
	holder  string
	until   time.Time
	done    int64
	version string // of what was done; "" while it is not complete
	filling string // of a shared index, the one that was done; "" while it is not complete
}

func (k *Keeper) readDuty(ctx context.Context, on host.Statements, name string) (d duty, err error) {
	var until int64
	_, err = row(ctx, on, dutyRow, []any{name}, &d.holder, &until, &d.done, &d.version)
	d.until = timeOf(until)
	if name == dutyIndex {
		d.version, d.filling = versionOf(d.version), d.version
	}
	return d, err
}

// hold takes a duty or renews it, and reports whether it is this keeper's.
func (k *Keeper) hold(ctx context.Context, name string) (d duty, mine bool, err error) {
	d, err = k.readDuty(ctx, k.db.Reads, name)
	now := k.now()
	switch {
	case err != nil:
		return d, false, err
	case d.holder == k.holder && d.until.Sub(now) > k.dutyTime/2:
		return d, true, nil
	case d.holder != k.holder && now.Before(d.until):
		return d, false, nil
	}
	err = k.change(ctx, func(ctx context.Context, t *tx) (err error) {
		d, mine, err = k.holdIn(ctx, t, name)
		return err
	})
	return d, mine && err == nil, err
}

// holdIn looks again: another keeper may have been first.
func (k *Keeper) holdIn(ctx context.Context, t *tx, name string) (d duty, mine bool, err error) {
	if d, err = k.readDuty(ctx, t.on, name); err != nil {
		return d, false, err
	}
	if d.holder != k.holder && t.at.Before(d.until) {
		return d, false, nil
	}
	args := []any{k.holder, t.at.Add(k.dutyTime).UnixMicro(), name}
	n, err := exec(ctx, t.on, holdDuty, args...)
	if err == nil && n == 0 {
		if _, err = exec(ctx, t.on, makeDuty, name); err == nil {
			_, err = exec(ctx, t.on, holdDuty, args...)
		}
	}
	return d, err == nil, err
}

// errNotHeld tells that another replica took a duty over.
var errNotHeld = errors.New("another replica has this duty now")

// errAsked tells that somebody asked for a shared index to be filled anew.
var errAsked = errors.New("the index is to be filled anew")

// advance keeps how far a duty is, and renews it.
func (k *Keeper) advance(ctx context.Context, name string, done int64, version string) error {
	return k.move(ctx, name, done, version, func(duty) error { return nil })
}

// followed keeps how far a filling of a shared index follows, unless it is to be filled anew.
func (k *Keeper) followed(ctx context.Context, done int64, filling string) error {
	return k.move(ctx, dutyIndex, done, filling, func(d duty) error {
		if d.filling != filling {
			return errAsked
		}
		return nil
	})
}

func (k *Keeper) move(ctx context.Context, name string, done int64, version string, may func(d duty) error) error {
	return k.change(ctx, func(ctx context.Context, t *tx) error {
		d, mine, err := k.holdIn(ctx, t, name)
		if err == nil && !mine {
			err = errNotHeld
		}
		if err == nil {
			err = may(d)
		}
		if err == nil {
			_, err = exec(ctx, t.on, moveDuty, done, version, name, k.holder)
		}
		return err
	})
}

// giveUpDuties lets others have what this keeper had.
func (k *Keeper) giveUpDuties(ctx context.Context) error {
	return k.db.Write(ctx, func(ctx context.Context, on host.Statements) error {
		_, err := exec(ctx, on, giveUpDuty, k.holder)
		return err
	})
}

// openShared fills a shared index where that is to be done and nobody is at it.
func (k *Keeper) openShared(ctx context.Context, progress func(int)) error {
	d, mine, err := k.hold(ctx, dutyIndex)
	if err != nil || !mine {
		return err
	}
	h, err := readHead(ctx, k.db.Reads, "")
	if err != nil {
		return err
	}
	stale, err := k.isStale(ctx, d, h)
	if err != nil || !stale {
		return err
	}
	return notMine(k.fillHeld(ctx, progress))
}

// notMine takes the loss of a duty for what it is: another replica does it now.
func notMine(err error) error {
	if errors.Is(err, errNotHeld) {
		return nil
	}
	return err
}

// holding does something that may take long while this keeper has a duty, and renews
// that meanwhile. Where the duty is lost, or cannot be renewed before its time is over,
// what is done is broken off: run's context ends, and the error is errNotHeld.
func (k *Keeper) holding(ctx context.Context, name string, run func(ctx context.Context) error) error {
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	ended := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		beats := time.NewTicker(k.dutyTime / dutyBeats)
		defer beats.Stop()
		for last := time.Now(); ; {
			select {
			case <-ended:
				return
			case <-beats.C:
			}
			mine, err := k.renewDuty(ctx, name)
			if err == nil && mine {
				last = time.Now()
			}
			if err == nil && !mine || time.Since(last) >= k.dutyTime {
				lose(errNotHeld)
				return
			}
		}
	})
	err := run(ctx)
	close(ended)
	beating.Wait()
	if errors.Is(context.Cause(ctx), errNotHeld) {
		return errNotHeld
	}
	return err
}

// renewDuty renews a duty that this keeper has, and takes none that it lost.
func (k *Keeper) renewDuty(ctx context.Context, name string) (mine bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, k.dutyTime/dutyBeats)
	defer cancel()
	err = k.change(ctx, func(ctx context.Context, t *tx) error {
		d, err := k.readDuty(ctx, t.on, name)
		if mine = err == nil && d.holder == k.holder; err != nil || !mine {
			return err
		}
		_, err = exec(ctx, t.on, holdDuty, k.holder, t.at.Add(k.dutyTime).UnixMicro(), name)
		return err
	})
	return mine, err
}

// isStale tells whether a shared index must be filled anew: it is another version's, was
// not completed, is behind the outbox, or is not whole any more.
func (k *Keeper) isStale(ctx context.Context, d duty, h head) (bool, error) {
	if d.version != k.version() || d.done < h.trimmed {
		return true, nil
	}
	return k.isLost(ctx, d)
}

// applyShared has a shared index follow, if that is this keeper's duty.
func (k *Keeper) applyShared(ctx context.Context) error {
	d, mine, err := k.hold(ctx, dutyIndex)
	if err != nil || !mine {
		return err
	}
	h, err := readHead(ctx, k.db.Reads, "")
	if err != nil {
		return err
	}
	stale, err := k.isStale(ctx, d, h)
	switch {
	case err != nil:
	case stale:
		err = k.fillHeld(ctx, nil)
	case d.done < h.last:
		err = k.followShared(ctx, d, h)
	}
	k.isGone(err) // if it is, the next try looks
	return notMine(err)
}

func (k *Keeper) followShared(ctx context.Context, d duty, h head) error {
	err := k.holding(ctx, dutyIndex, func(ctx context.Context) error {
		return k.applyLines(ctx, k.indexOf(d.filling), d.done, h, func(done int64) error { return k.followed(ctx, done, d.filling) })
	})
	if errors.Is(err, errTrimmed) || errors.Is(err, errAsked) {
		return k.fillHeld(ctx, nil)
	}
	return err
}

// fillShared fills a shared index because somebody asked for it. Where another replica
// has it in hand, that one is asked to, and waited for: the index is then left without a
// version, and is at no line of the outbox until the other one begins.
func (k *Keeper) fillShared(ctx context.Context, progress func(int)) error {
	var asked time.Time
	for {
		d, mine, err := k.hold(ctx, dutyIndex)
		switch {
		case err != nil:
			return err
		case mine:
			if err = k.fillHeld(ctx, progress); errors.Is(err, errNotHeld) {
				err = inOtherHands()
			}
			return err
		case asked.IsZero():
			asked = time.Now()
			err = k.askToFill(ctx)
		case d.version == k.version():
			return nil
		case d.version != "" || d.done < 0 && time.Since(asked) > k.dutyTime: // it is of another version, or does not follow
			return inOtherHands()
		}
		if err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(k.poll):
		}
	}
}

func (k *Keeper) askToFill(ctx context.Context) error {
	return k.change(ctx, func(ctx context.Context, t *tx) error {
		_, err := exec(ctx, t.on, askDuty, dutyIndex)
		return err
	})
}

func inOtherHands() error {
	return abi.NewProblem(abi.StoreConflict, "another replica has the index of memories in hand").WithHint("try again in %d seconds, or there", int(dutyTime/time.Second))
}

// fillHeld fills a shared index. Until it is complete it has no version in the
// database, so that whoever takes over begins again.
func (k *Keeper) fillHeld(ctx context.Context, progress func(int)) error {
	return k.holding(ctx, dutyIndex, func(ctx context.Context) error { return k.fillWhileHeld(ctx, progress) })
}

func (k *Keeper) fillWhileHeld(ctx context.Context, progress func(int)) error {
	h, err := readHead(ctx, k.db.Reads, "")
	if err == nil {
		err = k.advance(ctx, dutyIndex, h.last, "")
	}
	filling := k.newFilling()
	if err == nil {
		err = k.fillAll(ctx, filling, progress, func() error { return k.advance(ctx, dutyIndex, h.last, "") })
	}
	if err == nil {
		err = k.advance(ctx, dutyIndex, h.last, filling)
	}
	if err == nil {
		k.follow.watch.looked = time.Now()
	}
	return err
}
