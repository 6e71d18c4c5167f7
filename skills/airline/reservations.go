package main

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/skills/airline/airdb"
)

// ReservationDetails names one reservation.
type ReservationDetails struct {
	ReservationID airdb.ReservationID `json:"reservation_id" desc:"The reservation id, such as '8JX2WO'."`
}

var _ = sdk.Tool("get_reservation_details", getReservation,
	sdk.Summary("Get the details of a reservation."),
	sdk.Example("What is in my reservation ZFA04Y?", ReservationDetails{"ZFA04Y"}, withTrip(sdk.Returns(sampleTrip()))...),
	sdk.Example("查一下预订 AAAAAA", ReservationDetails{"AAAAAA"}, withTrip(sdk.Refuses(abi.NotFound))...),
)

var _ = sdk.Tool("cancel_reservation", cancel,
	sdk.Summary("Cancel the whole reservation."),
	sdk.Write, sdk.Idempotent, sdk.Risk(abi.SoftGate), sdk.Breadth(abi.One), sdk.Targets("[args.reservation_id]"),
	sdk.Example("Please cancel ZFA04Y.", ReservationDetails{"ZFA04Y"}, withTrip(sdk.Returns(sampleCancelled()))...),
	sdk.Example("取消预订 AAAAAA", ReservationDetails{"AAAAAA"}, withTrip(sdk.Refuses(abi.NotFound))...),
	sdk.Example("Cancel ZFA04Y once more.", ReservationDetails{"ZFA04Y"},
		sdk.Seed(airdb.ReservationKey("ZFA04Y"), sampleCancelled()), sdk.Refuses(abi.Conflict)),
)

// PassengersUpdate asks for other names on a reservation.
type PassengersUpdate struct {
	ReservationID airdb.ReservationID `json:"reservation_id" desc:"The reservation ID, such as 'ZFA04Y'."`
	Passengers    []airdb.Passenger   `json:"passengers" desc:"An array of objects containing details about each passenger."`
}

var _ = sdk.Tool("update_reservation_passengers", updatePassengers,
	sdk.Summary("Update the passenger information of a reservation."),
	sdk.Write, sdk.Idempotent, sdk.Risk(abi.SoftGate), sdk.Breadth(abi.One), sdk.Targets("[args.reservation_id]"),
	sdk.Example("My name on ZFA04Y should be Ada May Park.",
		PassengersUpdate{"ZFA04Y", []airdb.Passenger{{FirstName: "Ada May", LastName: "Park", DOB: "1990-01-01"}}}, withTrip()...),
	sdk.Example("把 ZFA04Y 改成两位乘客",
		PassengersUpdate{"ZFA04Y", append(sampleTrip().Passengers, airdb.Passenger{FirstName: "Bo", LastName: "Park", DOB: "1991-02-02"})},
		withTrip(sdk.Refuses(abi.OutOfBounds))...),
)

// BaggagesUpdate asks for other numbers of bags on a reservation.
type BaggagesUpdate struct {
	ReservationID   airdb.ReservationID `json:"reservation_id" desc:"The reservation ID, such as 'ZFA04Y'."`
	TotalBaggages   int                 `json:"total_baggages" desc:"The updated total number of baggage items included in the reservation."`
	NonfreeBaggages int                 `json:"nonfree_baggages" desc:"The updated number of non-free baggage items included in the reservation."`
	PaymentID       airdb.PaymentID     `json:"payment_id" desc:"The payment id stored in user profile, such as 'credit_card_7815826', 'gift_card_7815826', 'certificate_7815826'."`
}

var _ = sdk.Tool("update_reservation_baggages", updateBaggages,
	sdk.Summary("Update the baggage information of a reservation."),
	sdk.Write, sdk.Idempotent, sdk.Risk(abi.SoftGate), sdk.Breadth(abi.One), sdk.Targets("[args.reservation_id]"),
	sdk.Example("Add a bag to ZFA04Y and charge my Visa.", BaggagesUpdate{"ZFA04Y", 2, 1, "credit_card_1"}, withTrip()...),
	sdk.Example("ZFA04Y 加一件行李，用代金券付款", BaggagesUpdate{"ZFA04Y", 2, 1, "certificate_1"}, withTrip(sdk.Refuses(abi.NotAllowed))...),
)

// FlightsUpdate asks for other flights, or another cabin, for a reservation.
type FlightsUpdate struct {
	ReservationID airdb.ReservationID `json:"reservation_id" desc:"The reservation ID, such as 'ZFA04Y'."`
	Cabin         airdb.Cabin         `json:"cabin" enum:"basic_economy,economy,business"`
	Flights       []FlightWish        `json:"flights" desc:"An array of objects containing details about each piece of flight in the ENTIRE new reservation. Even if the a flight segment is not changed, it should still be included in the array."`
	PaymentID     airdb.PaymentID     `json:"payment_id" desc:"The payment id stored in user profile, such as 'credit_card_7815826', 'gift_card_7815826', 'certificate_7815826'."`
}

var _ = sdk.Tool("update_reservation_flights", updateFlights,
	sdk.Summary("Update the flight information of a reservation."),
	sdk.Write, sdk.Idempotent, sdk.Risk(abi.SoftGate), sdk.Breadth(abi.One), sdk.Targets("[args.reservation_id]"),
	sdk.Example("Put me on the direct flight instead, and charge my Visa.",
		FlightsUpdate{"ZFA04Y", "economy", []FlightWish{{FlightNumber: "HAT069", Date: "2024-05-20"}}, "credit_card_1"}, withFlights(withTrip()...)...),
	sdk.Example("改签到 HAT069，用礼品卡付差价",
		FlightsUpdate{"ZFA04Y", "business", []FlightWish{{FlightNumber: "HAT069", Date: "2024-05-20"}}, "gift_card_1"},
		withFlights(withTrip(sdk.Refuses(abi.OutOfBounds))...)...),
)

func getReservation(c sdk.Call, in ReservationDetails) (airdb.Reservation, error) {
	return findReservation(c, in.ReservationID)
}

func cancel(c sdk.Call, in ReservationDetails) (airdb.Reservation, error) {
	r, err := findOpen(c, in.ReservationID)
	if err != nil {
		return r, err
	}
	for _, p := range r.PaymentHistory {
		r.PaymentHistory = append(r.PaymentHistory, airdb.Payment{PaymentID: p.PaymentID, Amount: 0 - p.Amount})
	}
	r.Status = airdb.Cancelled
	return r, putReservation(c, r)
}

func updatePassengers(c sdk.Call, in PassengersUpdate) (airdb.Reservation, error) {
	r, err := findOpen(c, in.ReservationID)
	if err != nil {
		return r, err
	}
	if len(in.Passengers) != len(r.Passengers) {
		return r, sdk.Refuse(abi.OutOfBounds, "number of passengers does not match").WithField("passengers").
			WithHint("The reservation has %d passengers; names can change, their number cannot.", len(r.Passengers))
	}
	r.Passengers = in.Passengers
	return r, putReservation(c, r)
}

// updateBaggages charges for each further bag that is not free, and gives
// nothing back for fewer.
func updateBaggages(c sdk.Call, in BaggagesUpdate) (airdb.Reservation, error) {
	r, err := findOpen(c, in.ReservationID)
	if err != nil {
		return r, err
	}
	if err := checkBags(in.TotalBaggages, in.NonfreeBaggages); err != nil {
		return r, err
	}
	further := max(0, in.NonfreeBaggages-r.NonfreeBaggages)
	if err := charge(c, &r, in.PaymentID, bagPrice*airdb.Money(further)); err != nil {
		return r, err
	}
	r.TotalBaggages, r.NonfreeBaggages = in.TotalBaggages, in.NonfreeBaggages
	return r, putReservation(c, r)
}

// updateFlights charges the difference to the old flights. The reservation
// keeps the cabin that it was booked in, although the new flights are priced in
// the cabin that was asked for: so the airline's records have it.
func updateFlights(c sdk.Call, in FlightsUpdate) (airdb.Reservation, error) {
	r, err := findOpen(c, in.ReservationID)
	if err != nil {
		return r, err
	}
	flights, price, err := reserve(c, r, in.Flights, in.Cabin, len(r.Passengers))
	if err != nil {
		return r, err
	}
	for _, f := range r.Flights {
		price -= f.Price * airdb.Money(len(r.Passengers))
	}
	if err := charge(c, &r, in.PaymentID, price); err != nil {
		return r, err
	}
	r.Flights = flights
	return r, putReservation(c, r)
}

// findOpen reads a reservation that can still change. A cancelled one was paid
// back: to cancel it again or to charge for it would move money for nothing.
func findOpen(c sdk.Call, id airdb.ReservationID) (airdb.Reservation, error) {
	r, err := findReservation(c, id)
	if err == nil && r.Status == airdb.Cancelled {
		err = sdk.Refuse(abi.Conflict, "reservation %s is cancelled", id).WithField("reservation_id").
			WithHint("Its payments were refunded. Book a new reservation if the customer wants to fly.")
	}
	return r, err
}
