package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk/skilltest"
	"github.com/sluicehq/sluice/skills/airline/airdb"
)

// sampleDesk is the desk of the examples, with all that they may need.
func sampleDesk(t *testing.T) *skilltest.Host {
	t.Helper()
	h := skilltest.New(t)
	h.Put(airdb.UserKey(sampleCustomer), samplePark())
	h.Put(airdb.ReservationKey("ZFA04Y"), sampleTrip())
	for order, day := range []airdb.FlightDay{sampleFirst(), sampleSecond(), sampleDirect()} {
		putDay(h, order, day, sampleDate)
	}
	delayed := sampleDirect()
	delayed.Status, delayed.AvailableSeats, delayed.Prices = "delayed", nil, nil
	putDay(h, 2, delayed, "2024-05-15")
	return h
}

func snapshot(h *skilltest.Host) map[string]string {
	all := map[string]string{}
	for _, key := range h.Keys() {
		var value []byte
		h.Get(key, &value)
		all[key] = string(value)
	}
	return all
}

// booking changes the sample booking, which costs 100.
func booking(change func(*Booking)) Booking {
	b := sampleBooking(40, 60)
	change(&b)
	return b
}

func direct(cabin airdb.Cabin, pay airdb.PaymentID) FlightsUpdate {
	return FlightsUpdate{"ZFA04Y", cabin, []FlightWish{{FlightNumber: "HAT069", Date: sampleDate}}, pay}
}

func TestEveryRefusalHasTheAirlinesWordsAndChangesNothing(t *testing.T) {
	adas := sampleTrip().Passengers
	for _, tt := range []struct {
		name, tool string
		args       any
		code       abi.Code
		message    string
		field      string
	}{
		{"unknown user", "get_user_details", UserDetails{"nobody"}, abi.NotFound, "user not found", "user_id"},
		{"endless user id", "get_user_details", UserDetails{airdb.UserID(strings.Repeat("x", 2000))}, abi.NotFound, "user not found", "user_id"},
		{"unknown reservation", "get_reservation_details", ReservationDetails{"QQQQQQ"}, abi.NotFound, "reservation not found", "reservation_id"},
		{"cancel an unknown one", "cancel_reservation", ReservationDetails{"QQQQQQ"}, abi.NotFound, "reservation not found", "reservation_id"},

		{"book for an unknown user", "book_reservation", booking(func(b *Booking) { b.UserID = "nobody" }), abi.NotFound, "user not found", "user_id"},
		{"book an unknown flight", "book_reservation", booking(func(b *Booking) { b.Flights[0].FlightNumber = "HAT999" }), abi.NotFound, "flight HAT999 not found", "flights[0].flight_number"},
		{"book another date", "book_reservation", booking(func(b *Booking) { b.Flights[0].Date = "2024-06-01" }), abi.NotFound, "flight HAT069 not found on date 2024-06-01", "flights[0].date"},
		{"book a delayed flight", "book_reservation", booking(func(b *Booking) { b.Flights[0].Date = "2024-05-15" }), abi.NotAllowed, "flight HAT069 not available on date 2024-05-15", "flights[0].date"},
		{"book too many seats", "book_reservation", booking(func(b *Booking) { b.Passengers = slices.Repeat(adas, 4) }), abi.Conflict, "not enough seats on flight HAT069", "flights[0].flight_number"},
		{"book nothing", "book_reservation", booking(func(b *Booking) { b.Flights = []FlightWish{} }), abi.OutOfBounds, "flights must have 1 to 50 items, but has 0", "flights"},
		{"book for nobody", "book_reservation", booking(func(b *Booking) { b.Passengers = []airdb.Passenger{} }), abi.OutOfBounds, "passengers must have 1 to 50 items, but has 0", "passengers"},
		{"book far too much", "book_reservation", booking(func(b *Booking) { b.Flights = slices.Repeat(b.Flights, 51) }), abi.OutOfBounds, "flights must have 1 to 50 items, but has 51", "flights"},
		{"book with negative bags", "book_reservation", booking(func(b *Booking) { b.NonfreeBaggages = -2 }), abi.OutOfBounds, "nonfree_baggages must be 0 to 1000, but is -2", "nonfree_baggages"},
		{"pay with what is not there", "book_reservation", booking(func(b *Booking) { b.PaymentMethods[1].PaymentID = "gift_card_9" }), abi.NotFound, "payment method gift_card_9 not found", "payment_methods[1].payment_id"},
		{"pay more than the card holds", "book_reservation", sampleBooking(61, 39), abi.OutOfBounds, "not enough balance in payment method gift_card_1", "payment_methods[0].amount"},
		{"pay twice from one card", "book_reservation", booking(func(b *Booking) { b.PaymentMethods[1].PaymentID = "gift_card_1" }), abi.OutOfBounds, "not enough balance in payment method gift_card_1", "payment_methods[1].amount"},
		{"pay less than nothing", "book_reservation", sampleBooking(-10, 110), abi.OutOfBounds, "payment amount must not be negative, but is -10", "payment_methods[0].amount"},
		{"pay too little", "book_reservation", sampleBooking(40, 0.5), abi.OutOfBounds, "payment amount does not add up, total price is 100, but paid 40.5", "payment_methods"},
		{"forget the insurance", "book_reservation", booking(func(b *Booking) { b.Insurance = "yes" }), abi.OutOfBounds, "payment amount does not add up, total price is 130, but paid 100", "payment_methods"},
		{"forget the bags", "book_reservation", booking(func(b *Booking) { b.NonfreeBaggages = 2 }), abi.OutOfBounds, "payment amount does not add up, total price is 200, but paid 100", "payment_methods"},

		{"other number of passengers", "update_reservation_passengers", PassengersUpdate{"ZFA04Y", slices.Repeat(adas, 2)}, abi.OutOfBounds, "number of passengers does not match", "passengers"},
		{"bags for less than nothing", "update_reservation_baggages", BaggagesUpdate{"ZFA04Y", 1, -1, "credit_card_1"}, abi.OutOfBounds, "nonfree_baggages must be 0 to 1000, but is -1", "nonfree_baggages"},
		{"bags from an unknown method", "update_reservation_baggages", BaggagesUpdate{"ZFA04Y", 1, 0, "gift_card_9"}, abi.NotFound, "payment method not found", "payment_id"},
		{"bags from a certificate", "update_reservation_baggages", BaggagesUpdate{"ZFA04Y", 1, 0, "certificate_1"}, abi.NotAllowed, "certificate cannot be used to update reservation", "payment_id"},
		{"bags from a small gift card", "update_reservation_baggages", BaggagesUpdate{"ZFA04Y", 2, 2, "gift_card_1"}, abi.OutOfBounds, "gift card balance is not enough", "payment_id"},

		{"update to an unknown flight", "update_reservation_flights", FlightsUpdate{"ZFA04Y", "economy", []FlightWish{{FlightNumber: "HAT999", Date: sampleDate}}, "nothing"}, abi.NotFound, "flight HAT999 not found", "flights[0].flight_number"},
		{"update to no flight", "update_reservation_flights", FlightsUpdate{"ZFA04Y", "economy", []FlightWish{}, "credit_card_1"}, abi.OutOfBounds, "flights must have 1 to 50 items, but has 0", "flights"},
		{"update from an unknown method", "update_reservation_flights", direct("economy", "gift_card_9"), abi.NotFound, "payment method not found", "payment_id"},
		{"update from a certificate", "update_reservation_flights", direct("economy", "certificate_1"), abi.NotAllowed, "certificate cannot be used to update reservation", "payment_id"},
		{"update from a small gift card", "update_reservation_flights", direct("business", "gift_card_1"), abi.OutOfBounds, "gift card balance is not enough", "payment_id"},

		{"certificate for an unknown user", "send_certificate", SendCertificate{"nobody", 1}, abi.NotFound, "user not found", "user_id"},
		{"certificate of nothing", "send_certificate", SendCertificate{sampleCustomer, 0}, abi.OutOfBounds, "certificate amount must be more than 0, but is 0", "amount"},
		{"calculate a word", "calculate", Calculation{"two"}, abi.OutOfBounds, "invalid characters in expression", "expression"},
		{"an argument that no schema has", "cancel_reservation", map[string]any{"reservation_id": "ZFA04Y", "reason": "ill"}, abi.UnknownField, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := sampleDesk(t)
			before := snapshot(h)
			reply := h.Call(tt.tool, tt.args)
			if reply.OK || reply.Problem == nil {
				t.Fatalf("it succeeds with %s", reply.Data)
			}
			if p := reply.Problem; p.Code != tt.code || tt.message != "" && p.Message != tt.message || tt.field != "" && p.Field != tt.field {
				t.Errorf("it ends in %v, want %d: %s: %s", p, tt.code, tt.field, tt.message)
			}
			if after := snapshot(h); !maps.Equal(before, after) {
				t.Error("the data changed")
			}
		})
	}
}

func TestACancelledReservationIsFinal(t *testing.T) {
	for tool, args := range map[string]any{
		"cancel_reservation":            ReservationDetails{"ZFA04Y"},
		"update_reservation_passengers": PassengersUpdate{"ZFA04Y", sampleTrip().Passengers},
		"update_reservation_baggages":   BaggagesUpdate{"ZFA04Y", 2, 2, "credit_card_1"},
		"update_reservation_flights":    direct("business", "credit_card_1"),
	} {
		t.Run(tool, func(t *testing.T) {
			h := sampleDesk(t)
			h.Put(airdb.ReservationKey("ZFA04Y"), sampleCancelled())
			if reply := h.Call(tool, args); reply.OK || reply.Problem.Code != abi.Conflict {
				t.Errorf("%s: %s %v", tool, reply.Data, reply.Problem)
			}
		})
	}
}

func TestABookingUsesUpCertificatesAndReducesGiftCards(t *testing.T) {
	h := sampleDesk(t)
	in := booking(func(b *Booking) {
		b.Insurance, b.NonfreeBaggages = "yes", 1 // 100 + 30 + 50
		b.PaymentMethods = []airdb.Payment{{PaymentID: "certificate_1", Amount: 120}, {PaymentID: "gift_card_1", Amount: 60}, {PaymentID: "credit_card_1", Amount: 0}}
	})
	var r airdb.Reservation
	answer(t, h.Call("book_reservation", in), &r)
	if r.ID != "HATHAT" || r.CreatedAt != "2024-05-15T15:00:00" || len(r.PaymentHistory) != 3 {
		t.Errorf("booked %+v", r)
	}
	u := customer(t, h)
	if _, left := u.PaymentMethods["certificate_1"]; left {
		t.Error("the certificate is still there, with what was not used")
	}
	if gift := u.PaymentMethods["gift_card_1"]; *gift.Amount != 0 {
		t.Errorf("the gift card holds %s, want 0", *gift.Amount)
	}
	if !slices.Equal(u.Reservations, []airdb.ReservationID{"ZFA04Y", "HATHAT"}) {
		t.Errorf("the customer's reservations are %v", u.Reservations)
	}
	var day airdb.FlightDay
	h.Get("day/2024-05-20/JFK/SEA/0002", &day)
	if day.AvailableSeats["economy"] != 3 {
		t.Errorf("%d seats are left; seats are checked and never reduced", day.AvailableSeats["economy"])
	}
}

func TestReservationIDsAreGivenInOrderUntilNoneIsFree(t *testing.T) {
	h := sampleDesk(t)
	for _, want := range []airdb.ReservationID{"HATHAT", "HATHAU", "HATHAV"} {
		var r airdb.Reservation
		answer(t, h.Call("book_reservation", sampleBooking(0, 100)), &r)
		if r.ID != want {
			t.Errorf("booked %s, want %s", r.ID, want)
		}
	}
	if reply := h.Call("book_reservation", sampleBooking(0, 100)); reply.OK || reply.Problem.Code != abi.Conflict {
		t.Errorf("a fourth booking: %s %v", reply.Data, reply.Problem)
	}
}

func TestCertificateIDsAreGivenInOrderUntilNoneIsFree(t *testing.T) {
	h := sampleDesk(t)
	for _, want := range []string{"certificate_3221322", "certificate_3221323", "certificate_3221324"} {
		var text string
		answer(t, h.Call("send_certificate", SendCertificate{sampleCustomer, 12.5}), &text)
		if text != "Certificate "+want+" added to user ada_park_1001 with amount 12.5." {
			t.Errorf("it answers %q, want %s", text, want)
		}
		if m := customer(t, h).PaymentMethods[airdb.PaymentID(want)]; m.Source != airdb.Certificate || *m.Amount != 12.5 || string(m.ID) != want {
			t.Errorf("the customer has %+v", m)
		}
	}
	if reply := h.Call("send_certificate", SendCertificate{sampleCustomer, 1}); reply.OK || reply.Problem.Code != abi.Conflict {
		t.Errorf("a fourth certificate: %s %v", reply.Data, reply.Problem)
	}
}

func TestUpdatesPayOrRefundTheDifference(t *testing.T) {
	kept := FlightWish{FlightNumber: "HAT057", Date: sampleDate, Origin: "LAX", Destination: "LAX"}
	for _, tt := range []struct {
		name, tool string
		args       any
		paid       []airdb.Payment // besides the first
		gift       airdb.Money     // left on the gift card, from 60
	}{
		{"a cheaper flight is refunded", "update_reservation_flights", direct("economy", "gift_card_1"), []airdb.Payment{{PaymentID: "gift_card_1", Amount: -144}}, 204},
		{"a dearer cabin is charged", "update_reservation_flights", direct("business", "credit_card_1"), []airdb.Payment{{PaymentID: "credit_card_1", Amount: 155}}, 60},
		{"a kept flight keeps its price", "update_reservation_flights", FlightsUpdate{"ZFA04Y", "economy", []FlightWish{kept}, "gift_card_1"}, []airdb.Payment{{PaymentID: "gift_card_1", Amount: -103}}, 163},
		{"a kept flight in another cabin does not", "update_reservation_flights", FlightsUpdate{"ZFA04Y", "basic_economy", []FlightWish{kept}, "gift_card_1"}, []airdb.Payment{{PaymentID: "gift_card_1", Amount: 76 - 244}}, 228},
		{"the same flights cost nothing and leave no line", "update_reservation_flights",
			FlightsUpdate{"ZFA04Y", "economy", []FlightWish{kept, {FlightNumber: "HAT039", Date: sampleDate}}, "gift_card_1"}, nil, 60},
		{"further bags cost 50 each", "update_reservation_baggages", BaggagesUpdate{"ZFA04Y", 3, 2, "credit_card_1"}, []airdb.Payment{{PaymentID: "credit_card_1", Amount: 100}}, 60},
		{"one bag fits the gift card", "update_reservation_baggages", BaggagesUpdate{"ZFA04Y", 2, 1, "gift_card_1"}, []airdb.Payment{{PaymentID: "gift_card_1", Amount: 50}}, 10},
		{"fewer bags give nothing back", "update_reservation_baggages", BaggagesUpdate{"ZFA04Y", 0, 0, "gift_card_1"}, nil, 60},
		{"names cost nothing", "update_reservation_passengers", PassengersUpdate{"ZFA04Y", []airdb.Passenger{{FirstName: "A", LastName: "P", DOB: "1990-01-01"}}}, nil, 60},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := sampleDesk(t)
			var r airdb.Reservation
			answer(t, h.Call(tt.tool, tt.args), &r)
			if !slices.Equal(r.PaymentHistory[1:], tt.paid) {
				t.Errorf("paid %v, want %v", r.PaymentHistory[1:], tt.paid)
			}
			if gift := customer(t, h).PaymentMethods["gift_card_1"]; *gift.Amount != tt.gift {
				t.Errorf("the gift card holds %s, want %s", *gift.Amount, tt.gift)
			}
			if r.Cabin != "economy" {
				t.Errorf("the cabin of the record became %s; the airline's records keep it", r.Cabin)
			}
			if r.Flights[0].Origin != "JFK" {
				t.Errorf("the flight starts in %s; the flight's own airports count", r.Flights[0].Origin)
			}
			var stored airdb.Reservation
			h.Get(airdb.ReservationKey("ZFA04Y"), &stored)
			if want, got := text(t, r), text(t, stored); want != got {
				t.Errorf("stored %s, answered %s", got, want)
			}
		})
	}
}

func TestAKeptFlightNeedsNoSeatsAndNoStatus(t *testing.T) {
	h := sampleDesk(t)
	gone := sampleFirst()
	gone.Status, gone.AvailableSeats, gone.Prices = "landed", nil, nil
	putDay(h, 0, gone, sampleDate)
	in := FlightsUpdate{"ZFA04Y", "economy", []FlightWish{{FlightNumber: "HAT057", Date: sampleDate}, {FlightNumber: "HAT039", Date: sampleDate}}, "credit_card_1"}
	if reply := h.Call("update_reservation_flights", in); !reply.OK {
		t.Error(reply.Problem)
	}
	in.Cabin = "business"
	if reply := h.Call("update_reservation_flights", in); reply.OK || reply.Problem.Message != "flight HAT057 not available on date 2024-05-20" {
		t.Errorf("in another cabin: %s %v", reply.Data, reply.Problem)
	}
}

func TestACancellationRefundsEveryPayment(t *testing.T) {
	h := sampleDesk(t)
	trip := sampleTrip()
	trip.PaymentHistory = append(trip.PaymentHistory, airdb.Payment{PaymentID: "gift_card_1", Amount: -20}, airdb.Payment{PaymentID: "gift_card_1", Amount: 0})
	h.Put(airdb.ReservationKey("ZFA04Y"), trip)
	var r airdb.Reservation
	reply := h.Call("cancel_reservation", ReservationDetails{"ZFA04Y"})
	answer(t, reply, &r)
	want := []airdb.Payment{{PaymentID: "credit_card_1", Amount: -244}, {PaymentID: "gift_card_1", Amount: 20}, {PaymentID: "gift_card_1", Amount: 0}}
	if r.Status != "cancelled" || !slices.Equal(r.PaymentHistory[3:], want) {
		t.Errorf("cancelled: %s", reply.Data)
	}
	if strings.Contains(string(reply.Data), ":-0") {
		t.Errorf("a refund of minus nothing: %s", reply.Data)
	}
}

func customer(t *testing.T, h *skilltest.Host) (u airdb.User) {
	t.Helper()
	if !h.Get(airdb.UserKey(sampleCustomer), &u) {
		t.Fatal("the customer is gone")
	}
	return u
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
