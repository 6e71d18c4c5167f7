package main

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/skills/airline/airdb"
)

// find reads a record. A key that is longer than a key may be is of no record:
// ids come from the model, and an id that is too long is only an unknown one.
func find(c sdk.Call, key string, into any) (bool, error) {
	if len(key) > abi.KeyBytes {
		return false, nil
	}
	return sdk.KVGetJSON(c, key, into)
}

func findUser(c sdk.Call, id airdb.UserID) (u airdb.User, err error) {
	found, err := find(c, airdb.UserKey(id), &u)
	if err == nil && !found {
		err = sdk.Refuse(abi.NotFound, "user not found").WithField("user_id").
			WithHint("Ask the customer for the user id; do not guess it from the name.")
	}
	return u, err
}

func findReservation(c sdk.Call, id airdb.ReservationID) (r airdb.Reservation, err error) {
	found, err := find(c, airdb.ReservationKey(id), &r)
	if err == nil && !found {
		err = sdk.Refuse(abi.NotFound, "reservation not found").WithField("reservation_id").
			WithHint("get_user_details lists the reservations of a customer.")
	}
	return r, err
}

// findDay reads a flight on a date; path names the argument that asks for it.
func findDay(c sdk.Call, path string, number airdb.FlightNumber, date airdb.Date) (day airdb.FlightDay, err error) {
	var flight airdb.Flight
	found, err := find(c, airdb.FlightKey(number), &flight)
	if err != nil {
		return day, err
	}
	if !found {
		return day, sdk.Refuse(abi.NotFound, "flight %s not found", number).WithField(path + ".flight_number").
			WithHint("Search for the flights of the route.")
	}
	found, err = find(c, airdb.DayKey(flight, date), &day)
	if err == nil && !found {
		err = sdk.Refuse(abi.NotFound, "flight %s not found on date %s", number, date).WithField(path + ".date").
			WithHint("Write the date as YYYY-MM-DD, and search for the flights of that date.")
	}
	return day, err
}

func putUser(c sdk.Call, id airdb.UserID, u airdb.User) error {
	return sdk.KVPutJSON(c, airdb.UserKey(id), u)
}

func putReservation(c sdk.Call, r airdb.Reservation) error {
	return sdk.KVPutJSON(c, airdb.ReservationKey(r.ID), r)
}
