package host

import (
	"math/rand/v2"
	"testing"

	"github.com/sluicehq/sluice/abi"
)

func TestZeroMeansZero(t *testing.T) {
	for _, a := range []Amount{{Steps: 1}, {Tokens: 1}, {Calls: 1}, {Money: 1}} {
		b := Budget{Of: "task"}
		after, problem := b.Take(a)
		if problem == nil || problem.Code != abi.OverBudget || after != b {
			t.Errorf("a budget of nothing gave %+v: %+v, %v", a, after, problem)
		}
		if _, problem := (Budget{Of: "task", Limit: a}).Take(a); problem != nil {
			t.Errorf("a budget of %+v does not give it: %v", a, problem)
		}
	}
	if _, problem := (Budget{}).Take(Amount{}); problem != nil {
		t.Errorf("nothing cannot be taken from nothing: %v", problem)
	}
}

func TestNothingIsTakenInPart(t *testing.T) {
	b := Budget{Limit: Amount{Steps: 10, Tokens: 10, Calls: 10, Money: 10}}
	if after, problem := b.Take(Amount{Steps: 5, Tokens: 11}); problem == nil || after != b {
		t.Errorf("Take gave %+v, %v", after, problem)
	}
}

func TestAnUnboundedBudgetIsNeverUsedUp(t *testing.T) {
	b := Budget{Limit: NoBound()}
	for range 3 {
		b = b.Spend(Amount{Tokens: Unbounded})
		if b.Left().Tokens != Unbounded || b.Used.Tokens != Unbounded {
			t.Fatalf("it is %+v", b)
		}
	}
}

func TestANegativeAmountGivesNothingBack(t *testing.T) {
	b := Budget{Limit: Amount{Calls: 1}, Used: Amount{Calls: 1}}
	if after := b.Spend(Amount{Calls: -5}); after.Left().Calls != 0 {
		t.Errorf("it has %d left", after.Left().Calls)
	}
	if child := b.Child("part", Amount{Calls: -5}); child.Limit.Calls != 0 {
		t.Errorf("a child may use %d", child.Limit.Calls)
	}
}

// TestAChildNeverGetsMoreThanItsParentHasLeft, whatever was asked for and used
// before, to any depth.
func TestAChildNeverGetsMoreThanItsParentHasLeft(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	amount := func() Amount {
		n := func() int64 {
			if r.IntN(5) == 0 {
				return Unbounded
			}
			return r.Int64N(100)
		}
		return Amount{n(), n(), n(), n()}
	}
	for range 10_000 {
		b := Budget{Of: "session", Limit: amount()}
		for range 4 {
			b = b.Spend(amount())
			child := b.Child("task", amount())
			had := b.Left()
			if c := child.Left(); c.Steps > had.Steps || c.Tokens > had.Tokens || c.Calls > had.Calls || c.Money > had.Money {
				t.Fatalf("a child of %+v has %+v", b, child)
			}
			b = child
		}
	}
}
