package files

import (
	"context"
	"errors"
	"sync"
)

// crewSize is how many files are written at once: waiting for the disk takes
// most of the time, and eight who wait together take a tenth of one by one.
const crewSize = 8

// A crew does tasks side by side. After the first error, or when the context
// ends, it does no more of them.
type crew struct {
	ctx   context.Context
	slots chan struct{}
	tasks sync.WaitGroup
	mu    sync.Mutex
	err   error // guarded by mu
}

func newCrew(ctx context.Context) *crew {
	return &crew{ctx: ctx, slots: make(chan struct{}, crewSize)}
}

// do starts a task as soon as one of the crew is free.
func (c *crew) do(task func() error) {
	c.slots <- struct{}{}
	c.tasks.Go(func() {
		defer func() { <-c.slots }()
		if err := c.stopped(); err != nil {
			return
		}
		if err := task(); err != nil {
			c.fail(err)
		}
	})
}

func (c *crew) stopped() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.err, c.ctx.Err())
}

func (c *crew) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

// wait waits for all tasks and gives the first error.
func (c *crew) wait() error {
	c.tasks.Wait()
	return c.stopped()
}
