package shop

import (
	"math"
	"testing"
)

func TestOnlyAmountsOfMoneyHaveCents(t *testing.T) {
	for _, tt := range []struct {
		amount float64
		cents  int64
		ok     bool
	}{
		{0, 0, true}, {0.01, 1, true}, {0.1, 10, true}, {0.29, 29, true}, {1.1, 110, true}, {89, 8900, true},
		{1000.1, 100010, true}, {4.35, 435, true}, {999999.99, 99999999, true}, {MaxAmount, MaxAmount * 100, true},
		{0.001, 0, false}, {1.005, 0, false}, {89.999, 0, false}, {0.30000000000000004, 0, false}, {1e-9, 0, false},
		{MaxAmount + 0.01, 0, false}, {-0.01, 0, false}, {math.NaN(), 0, false}, {math.Inf(1), 0, false},
	} {
		if cents, ok := ToCents(tt.amount); ok != tt.ok || ok && cents != tt.cents {
			t.Errorf("toCents(%v) = %d, %v; want %d, %v", tt.amount, cents, ok, tt.cents, tt.ok)
		}
	}
}

func TestEveryCentSurvivesTheWayThroughANumber(t *testing.T) {
	for _, start := range []int64{0, 100_000, 9_999_000, 99_990_000} {
		for cents := start; cents <= start+10_000; cents++ {
			if back, ok := ToCents(AmountOf(cents)); !ok || back != cents {
				t.Fatalf("%d cents come back as %d, %v", cents, back, ok)
			}
		}
	}
}
