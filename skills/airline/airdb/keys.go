package airdb

import (
	"fmt"
	"strings"
)

// AirportsKey holds the cities by airport code.
const AirportsKey = "airports"

// First parts of the keys of each kind of record.
const (
	userPrefix        = "user/"
	reservationPrefix = "reservation/"
	flightPrefix      = "flight/"
	dayPrefix         = "day/"
)

// maxFlights is what the four digits of <order> can number.
const maxFlights = 10_000

// UserKey gives the key of a User. The key of an id that came from outside may
// be longer than a key may be.
func UserKey(id UserID) string { return userPrefix + string(id) }

// ReservationKey gives the key of a Reservation; see UserKey.
func ReservationKey(id ReservationID) string { return reservationPrefix + string(id) }

// FlightKey gives the key of a Flight; see UserKey.
func FlightKey(number FlightNumber) string { return flightPrefix + string(number) }

// DayKey gives the key of a flight's FlightDay on a date.
func DayKey(f Flight, date Date) string {
	return fmt.Sprintf("%s%04d", RoutePrefix(date, f.Origin, f.Destination), f.Order)
}

// RoutePrefix gives the prefix of all days of a route on a date. A part that
// holds a slash can name a prefix of other routes, so a reader looks at the
// records that it gets.
func RoutePrefix(date Date, origin, destination Airport) string {
	return DeparturesPrefix(date, origin) + string(destination) + "/"
}

// DeparturesPrefix gives the prefix of all days that leave an airport on a
// date; see RoutePrefix.
func DeparturesPrefix(date Date, origin Airport) string {
	return dayPrefix + string(date) + "/" + string(origin) + "/"
}

// OrderOf gives the last part of a DayKey. Its text sorts as flights do.
func OrderOf(dayKey string) string { return dayKey[strings.LastIndexByte(dayKey, '/')+1:] }
