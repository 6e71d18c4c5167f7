package main

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/skills/airline/airdb"
)

// A Booking asks for a new reservation.
type Booking struct {
	UserID          airdb.UserID      `json:"user_id" desc:"The ID of the user to book the reservation, such as 'sara_doe_496'."`
	Origin          airdb.Airport     `json:"origin" desc:"The IATA code for the origin city, such as 'SFO'."`
	Destination     airdb.Airport     `json:"destination" desc:"The IATA code for the destination city, such as 'JFK'."`
	FlightType      string            `json:"flight_type" enum:"one_way,round_trip"`
	Cabin           airdb.Cabin       `json:"cabin" enum:"basic_economy,economy,business"`
	Flights         []FlightWish      `json:"flights" desc:"An array of objects containing details about each piece of flight."`
	Passengers      []airdb.Passenger `json:"passengers" desc:"An array of objects containing details about each passenger."`
	PaymentMethods  []airdb.Payment   `json:"payment_methods" desc:"An array of objects containing details about each payment method."`
	TotalBaggages   int               `json:"total_baggages" desc:"The total number of baggage items included in the reservation."`
	NonfreeBaggages int               `json:"nonfree_baggages" desc:"The number of non-free baggage items included in the reservation."`
	Insurance       string            `json:"insurance" enum:"yes,no"`
}

// A FlightWish names one flight of a reservation. Models like to repeat the
// airports, which the airline knows itself.
type FlightWish struct {
	FlightNumber airdb.FlightNumber `json:"flight_number" desc:"Flight number, such as 'HAT001'."`
	Date         airdb.Date         `json:"date" desc:"The date for the flight in the format 'YYYY-MM-DD', such as '2024-05-01'."`
	Origin       airdb.Airport      `json:"origin,omitempty" desc:"Not needed; the flight's own origin is used."`
	Destination  airdb.Airport      `json:"destination,omitempty" desc:"Not needed; the flight's own destination is used."`
}

var _ = sdk.Tool("book_reservation", book,
	sdk.Summary("Book a reservation."),
	sdk.Write, sdk.Idempotent, sdk.Risk(abi.SoftGate), sdk.Breadth(abi.One), sdk.Targets("[args.user_id]"),
	sdk.Example("Book the direct flight to Seattle for me, in economy, from my gift card and the rest from my Visa.",
		sampleBooking(40, 60), withFlights(withCustomer(sdk.Returns(sampleBooked()))...)...),
	sdk.Example("帮我订这班飞机，只用礼品卡付 40 美元", sampleBooking(40, 0), withFlights(withCustomer(sdk.Refuses(abi.OutOfBounds))...)...),
)

// bookedAt stands in every new reservation: the airline's data stand still at
// this moment.
const bookedAt = "2024-05-15T15:00:00"

// maxItems bounds each list of a reservation: far above what the airline
// allows (five passengers, five payment methods), and low enough that no call
// reads more than some hundred entries.
const maxItems = 50

func book(c sdk.Call, in Booking) (r airdb.Reservation, err error) {
	u, err := findUser(c, in.UserID)
	if err != nil {
		return r, err
	}
	if err := checkBooking(in); err != nil {
		return r, err
	}
	id, err := freeID(c)
	if err != nil {
		return r, err
	}
	flights, price, err := reserve(c, airdb.Reservation{}, in.Flights, in.Cabin, len(in.Passengers))
	if err != nil {
		return r, err
	}
	if in.Insurance == "yes" {
		price += insurancePrice * airdb.Money(len(in.Passengers))
	}
	price += bagPrice * airdb.Money(in.NonfreeBaggages)
	if err := checkPayments(u, in.PaymentMethods, price); err != nil {
		return r, err
	}

	r = airdb.Reservation{
		ID: id, UserID: in.UserID, Origin: in.Origin, Destination: in.Destination, FlightType: in.FlightType,
		Cabin: in.Cabin, Flights: flights, Passengers: in.Passengers, PaymentHistory: in.PaymentMethods,
		CreatedAt: bookedAt, TotalBaggages: in.TotalBaggages, NonfreeBaggages: in.NonfreeBaggages, Insurance: in.Insurance,
	}
	pay(u, in.PaymentMethods)
	u.Reservations = append(u.Reservations, id)
	if err := putReservation(c, r); err != nil {
		return r, err
	}
	return r, putUser(c, in.UserID, u)
}

func checkBooking(in Booking) error {
	if err := checkList("passengers", len(in.Passengers)); err != nil {
		return err
	}
	if err := checkList("payment_methods", len(in.PaymentMethods)); err != nil {
		return err
	}
	return checkBags(in.TotalBaggages, in.NonfreeBaggages)
}

// freeID gives the first id for a new reservation that is not taken. The
// airline's data have three.
func freeID(c sdk.Call) (airdb.ReservationID, error) {
	for _, id := range []airdb.ReservationID{"HATHAT", "HATHAU", "HATHAV"} {
		if _, taken, err := sdk.KVGet(c, airdb.ReservationKey(id)); err != nil || !taken {
			return id, err
		}
	}
	return "", sdk.Refuse(abi.Conflict, "no reservation id is free").
		WithHint("Transfer the customer to a human agent.")
}

// reserve prices the flights of a reservation for a number of passengers. It
// checks that each can be booked, except those that old has in the same cabin
// and on the same date: they keep their seats and their price. Seats are
// checked and never reduced.
func reserve(c sdk.Call, old airdb.Reservation, wishes []FlightWish, cabin airdb.Cabin, passengers int) (flights []airdb.ReservedFlight, price airdb.Money, err error) {
	if err := checkList("flights", len(wishes)); err != nil {
		return nil, 0, err
	}
	for i, wish := range wishes {
		flight, kept := keptFlight(old, wish, cabin)
		if !kept {
			if flight, err = newFlight(c, at("flights", i, ""), wish, cabin, passengers); err != nil {
				return nil, 0, err
			}
		}
		flights = append(flights, flight)
		price += flight.Price * airdb.Money(passengers)
	}
	return flights, price, nil
}

func keptFlight(old airdb.Reservation, wish FlightWish, cabin airdb.Cabin) (airdb.ReservedFlight, bool) {
	for _, f := range old.Flights {
		if f.FlightNumber == wish.FlightNumber && f.Date == wish.Date && old.Cabin == cabin {
			return f, true
		}
	}
	return airdb.ReservedFlight{}, false
}

func newFlight(c sdk.Call, path string, wish FlightWish, cabin airdb.Cabin, passengers int) (f airdb.ReservedFlight, err error) {
	day, err := findDay(c, path, wish.FlightNumber, wish.Date)
	if err != nil {
		return f, err
	}
	if day.Status != airdb.Available {
		return f, sdk.Refuse(abi.NotAllowed, "flight %s not available on date %s", wish.FlightNumber, wish.Date).WithField(path+".date").
			WithHint("Its status is %q. Search for flights that are available.", day.Status)
	}
	if seats := day.AvailableSeats[cabin]; seats < passengers {
		return f, sdk.Refuse(abi.Conflict, "not enough seats on flight %s", wish.FlightNumber).WithField(path+".flight_number").
			WithHint("%s has %d seats left for %d passengers. Offer another cabin or another flight.", cabin, seats, passengers)
	}
	return airdb.ReservedFlight{Origin: day.Origin, Destination: day.Destination, FlightNumber: wish.FlightNumber, Date: wish.Date, Price: day.Prices[cabin]}, nil
}
