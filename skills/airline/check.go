package main

import (
	"fmt"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

// checkList refuses an empty list, which would make a reservation of nothing,
// and one that is longer than any reservation.
func checkList(field string, n int) error {
	if n < 1 || n > maxItems {
		return sdk.Refuse(abi.OutOfBounds, "%s must have 1 to %d items, but has %d", field, maxItems, n).WithField(field)
	}
	return nil
}

// checkBags refuses numbers of bags that would give money back.
func checkBags(total, nonfree int) error {
	const most = 1000 // far more than a plane takes from one customer, far less than overflows a price
	switch {
	case total < 0 || total > most:
		return sdk.Refuse(abi.OutOfBounds, "total_baggages must be 0 to %d, but is %d", most, total).WithField("total_baggages")
	case nonfree < 0 || nonfree > most:
		return sdk.Refuse(abi.OutOfBounds, "nonfree_baggages must be 0 to %d, but is %d", most, nonfree).WithField("nonfree_baggages")
	}
	return nil
}

// at gives the path of an argument inside a list: flights[1].date, or
// flights[1] if the field is empty.
func at(list string, i int, field string) string {
	if field != "" {
		field = "." + field
	}
	return fmt.Sprintf("%s[%d]%s", list, i, field)
}
