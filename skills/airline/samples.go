package main

import (
	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/skills/airline/airdb"
)

// The examples of all tools play at one small desk: Ada Park, her reservation
// ZFA04Y from JFK over ATL to SEA, and the flights of that day. Everything here
// is invented.

const (
	sampleDate     = airdb.Date("2024-05-20")
	sampleCustomer = airdb.UserID("ada_park_1001")
)

// withCustomer is the customer before an example, then how the example ends.
func withCustomer(ending ...sdk.ExampleOption) []sdk.ExampleOption {
	return append(ending, sdk.Seed(airdb.UserKey(sampleCustomer), samplePark()))
}

// withTrip adds the customer and the reservation.
func withTrip(ending ...sdk.ExampleOption) []sdk.ExampleOption {
	return append(withCustomer(ending...), sdk.Seed(airdb.ReservationKey("ZFA04Y"), sampleTrip()))
}

// withFlights adds the flights of the day.
func withFlights(ending ...sdk.ExampleOption) []sdk.ExampleOption {
	for order, day := range []airdb.FlightDay{sampleFirst(), sampleSecond(), sampleDirect()} {
		head := airdb.Flight{FlightNumber: day.FlightNumber, Origin: day.Origin, Destination: day.Destination, Order: order}
		ending = append(ending, sdk.Seed(airdb.FlightKey(day.FlightNumber), head), sdk.Seed(airdb.DayKey(head, sampleDate), day))
	}
	return ending
}

func sampleCities() map[airdb.Airport]string {
	return map[airdb.Airport]string{"JFK": "New York", "ATL": "Atlanta", "SEA": "Seattle"}
}

func samplePark() airdb.User {
	gift, certificate := airdb.Money(60), airdb.Money(250)
	return airdb.User{
		Name:    airdb.Name{FirstName: "Ada", LastName: "Park"},
		Address: airdb.Address{Address1: "1 Sample Street", Address2: "Suite 1", City: "New York", Country: "USA", Province: "NY", Zip: "10001"},
		Email:   "ada.park@example.com", DOB: "1990-01-01",
		PaymentMethods: map[airdb.PaymentID]airdb.PaymentMethod{
			"credit_card_1": {Source: airdb.CreditCard, Brand: "visa", LastFour: "7447", ID: "credit_card_1"},
			"gift_card_1":   {Source: airdb.GiftCard, Amount: &gift, ID: "gift_card_1"},
			"certificate_1": {Source: airdb.Certificate, Amount: &certificate, ID: "certificate_1"},
		},
		SavedPassengers: []airdb.Passenger{}, Membership: "gold", Reservations: []airdb.ReservationID{"ZFA04Y"},
	}
}

func sampleTrip() airdb.Reservation {
	return airdb.Reservation{
		ID: "ZFA04Y", UserID: sampleCustomer, Origin: "JFK", Destination: "SEA", FlightType: "one_way", Cabin: "economy",
		Flights: []airdb.ReservedFlight{
			{Origin: "JFK", Destination: "ATL", FlightNumber: "HAT057", Date: sampleDate, Price: 141},
			{Origin: "ATL", Destination: "SEA", FlightNumber: "HAT039", Date: sampleDate, Price: 103},
		},
		Passengers:     []airdb.Passenger{{FirstName: "Ada", LastName: "Park", DOB: "1990-01-01"}},
		PaymentHistory: []airdb.Payment{{PaymentID: "credit_card_1", Amount: 244}},
		CreatedAt:      "2024-05-02T03:10:19", TotalBaggages: 1, NonfreeBaggages: 0, Insurance: "no",
	}
}

func sampleCancelled() airdb.Reservation {
	r := sampleTrip()
	r.PaymentHistory = append(r.PaymentHistory, airdb.Payment{PaymentID: "credit_card_1", Amount: -244})
	r.Status = airdb.Cancelled
	return r
}

// sampleBooking asks for the direct flight, paid with a gift card and a credit
// card.
func sampleBooking(gift, credit airdb.Money) Booking {
	return Booking{
		UserID: sampleCustomer, Origin: "JFK", Destination: "SEA", FlightType: "one_way", Cabin: "economy",
		Flights:        []FlightWish{{FlightNumber: "HAT069", Date: sampleDate}},
		Passengers:     sampleTrip().Passengers,
		PaymentMethods: []airdb.Payment{{PaymentID: "gift_card_1", Amount: gift}, {PaymentID: "credit_card_1", Amount: credit}},
		TotalBaggages:  1, NonfreeBaggages: 0, Insurance: "no",
	}
}

func sampleBooked() airdb.Reservation {
	b := sampleBooking(40, 60)
	return airdb.Reservation{
		ID: "HATHAT", UserID: b.UserID, Origin: b.Origin, Destination: b.Destination, FlightType: b.FlightType, Cabin: b.Cabin,
		Flights:    []airdb.ReservedFlight{{Origin: "JFK", Destination: "SEA", FlightNumber: "HAT069", Date: sampleDate, Price: 100}},
		Passengers: b.Passengers, PaymentHistory: b.PaymentMethods, CreatedAt: bookedAt,
		TotalBaggages: b.TotalBaggages, NonfreeBaggages: b.NonfreeBaggages, Insurance: b.Insurance,
	}
}

func sampleFirst() airdb.FlightDay {
	return sampleDay("HAT057", "JFK", "ATL", "07:00:00", "09:30:00", 141, 477)
}

func sampleSecond() airdb.FlightDay {
	return sampleDay("HAT039", "ATL", "SEA", "22:00:00", "03:00:00+1", 103, 283)
}

func sampleDirect() airdb.FlightDay {
	return sampleDay("HAT069", "JFK", "SEA", "06:00:00", "12:00:00", 100, 399)
}

func sampleDay(number airdb.FlightNumber, from, to airdb.Airport, departs, arrives string, economy, business airdb.Money) airdb.FlightDay {
	return airdb.FlightDay{
		FlightNumber: number, Origin: from, Destination: to, ScheduledDeparture: departs, ScheduledArrival: arrives,
		Status:         airdb.Available,
		AvailableSeats: map[airdb.Cabin]int{"basic_economy": 7, "economy": 3, "business": 9},
		Prices:         map[airdb.Cabin]airdb.Money{"basic_economy": 76, "economy": economy, "business": business},
	}
}
