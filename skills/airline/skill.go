package main

import (
	"github.com/sluicehq/sluice/sdk"
)

var _ = sdk.Skill("airline.service", "1.0.0", "Serves an airline's customers: searches, bookings, changes, refunds.",
	sdk.Positioning("Use it to look up, book, change or cancel flight reservations of ONE known customer of this airline, and to compensate that customer. "+
		"Never for another airline, for hotels or cars, or to change a reservation before the customer has agreed to the details."),
	sdk.KV("airline"),
	sdk.Guide("SKILL.md"),
)

func main() {}
