package shop

import (
	"math"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/sdk"
)

// MaxAmount is the largest amount of money that the shop handles: far above
// any price, and far below where a float64 loses a cent.
const MaxAmount = 1_000_000

// ToCents gives an amount in whole cents, in which all money is compared and
// computed. It reports false for an amount that is negative, above MaxAmount,
// or has more than two decimals.
func ToCents(amount float64) (int64, bool) {
	if !(amount >= 0 && amount <= MaxAmount) {
		return 0, false
	}
	// The shortest text that reads as this float is what its writer wrote.
	_, decimals, _ := strings.Cut(strconv.FormatFloat(amount, 'f', -1, 64), ".")
	return int64(math.Round(amount * 100)), len(decimals) <= 2
}

// CentsOf gives an argument in whole cents, or the problem that its caller is
// told.
func CentsOf(field string, amount float64) (int64, error) {
	cents, ok := ToCents(amount)
	if !ok {
		return 0, sdk.BadArgument(field, "%s must be an amount from 0.01 to %d with at most two decimals (got %s)",
			field, MaxAmount, strconv.FormatFloat(amount, 'f', -1, 64))
	}
	return cents, nil
}

// AmountOf gives cents as the number that the store and the tools use.
func AmountOf(cents int64) float64 { return float64(cents) / 100 }

// Decimal writes cents as people write them, such as "89.00".
func Decimal(cents int64) string { return strconv.FormatFloat(AmountOf(cents), 'f', 2, 64) }
