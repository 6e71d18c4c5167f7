package main

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// An attribution is what is known of what came of a decision.
type attribution struct {
	lift          float64
	right         bool
	before, after map[string]string // business figures
}

// maxFigures bounds the figures of one time: a business judges by some.
const maxFigures = 64

// liftOf gives the lift of a decision by the policy's formula for its domain.
func (m *rememberer) liftOf(ctx context.Context, k *minding, decision string, a attribution) (float64, error) {
	settings, err := m.settings()
	if err != nil {
		return 0, err
	}
	trace, err := k.Trace(ctx, m.owner, decision)
	if err != nil {
		return 0, noDecision(err)
	}
	if !trace.Attributed.IsZero() { // given again: it stays as it is, and the formula may have gone since
		return 0, nil
	}
	formula, ok := settings.LiftOf(trace.Domain)
	if !ok {
		return 0, host.Fail("lift", abi.NewProblem(abi.BadValue, "no policy says how the lift of a decision in %q follows from figures", trace.Domain).
			WithHint("give --policy a file with memory.lift, or the lift itself with --lift"), nil)
	}
	var b memory.Business
	if b.Before, err = figuresIn(a.before); err == nil {
		b.After, err = figuresIn(a.after)
	}
	if err != nil {
		return 0, err
	}
	return formula(b)
}

// figuresIn reads finite numbers by their names.
func figuresIn(given map[string]string) (map[string]float64, error) {
	if len(given) > maxFigures {
		return nil, fmt.Errorf("%w: %d figures of one time; at most %d are taken", errUsage, len(given), maxFigures)
	}
	read := map[string]float64{}
	for name, text := range given {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(value) || math.IsInf(value, 0) {
			return nil, fmt.Errorf("%w: the figure %.40q is %.40q, and no number", errUsage, name, text)
		}
		read[name] = value
	}
	return read, nil
}

// btoi counts what is so.
func btoi(is bool) int {
	if is {
		return 1
	}
	return 0
}
