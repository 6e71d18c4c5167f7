package main

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/skills/airline/airdb"
)

// A Route asks for the flights between two airports on a date.
type Route struct {
	Origin      airdb.Airport `json:"origin" desc:"The origin city airport in three letters, such as 'JFK'."`
	Destination airdb.Airport `json:"destination" desc:"The destination city airport in three letters, such as 'LAX'."`
	Date        airdb.Date    `json:"date" desc:"The date of the flight in the format 'YYYY-MM-DD', such as '2024-05-01'."`
}

var _ = sdk.Tool("search_direct_flight", searchDirect,
	sdk.Summary("Search direct flights between two cities on a specific date."),
	sdk.Example("What flies from JFK to SEA on May 20 without a stop?", Route{"JFK", "SEA", sampleDate},
		withFlights(sdk.Returns([]airdb.FlightDay{sampleDirect()}))...),
	sdk.Example("5 月 21 日从 JFK 到 SEA 有直飞吗？", Route{"JFK", "SEA", "2024-05-21"}, withFlights(sdk.Returns([]airdb.FlightDay{}))...),
)

var _ = sdk.Tool("search_onestop_flight", searchOneStop,
	sdk.Summary("Search flights with one stop between two cities on a specific date."),
	sdk.Example("And with one stop?", Route{"JFK", "SEA", sampleDate},
		withFlights(sdk.Returns([][]airdb.FlightDay{{dated(sampleFirst(), sampleDate), dated(sampleSecond(), sampleDate)}}))...),
	sdk.Example("从 SEA 到 JFK 转机一次", Route{"SEA", "JFK", sampleDate}, withFlights(sdk.Returns([][]airdb.FlightDay{}))...),
)

var _ = sdk.Tool("list_all_airports", listAirports,
	sdk.Summary("List all airports and their cities."),
	sdk.Example("Where do you fly?", struct{}{}, sdk.Seed(airdb.AirportsKey, sampleCities()), sdk.Returns(sampleCities())),
	sdk.Example("有哪些机场？", struct{}{}, sdk.Seed(airdb.AirportsKey, sampleCities()), sdk.Returns(sampleCities())),
)

func searchDirect(c sdk.Call, in Route) ([]airdb.FlightDay, error) {
	days, err := routeDays(c, in.Date, in.Origin, in.Destination)
	if err != nil {
		return nil, err
	}
	found := []airdb.FlightDay{}
	for _, day := range days {
		if day.Status == airdb.Available {
			found = append(found, day)
		}
	}
	return found, nil
}

// searchOneStop pairs the available departures of the origin with onward
// flights. Both legs must be available on their own dates; a second leg that
// flies on the next day is still shown with the fares, seats and status of the
// date that was asked for, and only its date says otherwise.
func searchOneStop(c sdk.Call, in Route) ([][]airdb.FlightDay, error) {
	firsts, err := departures(c, in.Date, in.Origin)
	if err != nil {
		return nil, err
	}
	pairs := [][]airdb.FlightDay{}
	onward := onwardFlights{call: c, destination: in.Destination, known: map[string][]airdb.FlightDay{}}
	for _, first := range firsts {
		found, err := onward.pairs(first, in.Date)
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, found...)
	}
	return pairs, nil
}

func listAirports(c sdk.Call, _ struct{}) (map[airdb.Airport]string, error) {
	cities := map[airdb.Airport]string{}
	_, err := sdk.KVGetJSON(c, airdb.AirportsKey, &cities)
	return cities, err
}

// onwardFlights finds second legs to one destination. It reads the flights of
// each stop and date once.
type onwardFlights struct {
	call        sdk.Call
	destination airdb.Airport
	known       map[string][]airdb.FlightDay // by stop and date
}

// pairs gives the first leg, which flies on date, with each second leg that
// can be reached.
func (o onwardFlights) pairs(first airdb.FlightDay, date airdb.Date) (pairs [][]airdb.FlightDay, err error) {
	seconds, err := o.from(first.Destination, date)
	if err != nil {
		return nil, err
	}
	onDate, departing := date, seconds
	if strings.Contains(first.ScheduledArrival, "+1") {
		onDate = dayAfter(date)
		if departing, err = o.from(first.Destination, onDate); err != nil {
			return nil, err
		}
	}
	for _, second := range seconds {
		// Compared as text, the mark of the next day included, as the
		// airline's own search does.
		if first.ScheduledArrival <= second.ScheduledDeparture && isAvailable(departing, second.FlightNumber) {
			pairs = append(pairs, []airdb.FlightDay{dated(first, date), dated(second, onDate)})
		}
	}
	return pairs, nil
}

func (o onwardFlights) from(stop airdb.Airport, date airdb.Date) ([]airdb.FlightDay, error) {
	key := string(stop) + " " + string(date)
	if days, ok := o.known[key]; ok {
		return days, nil
	}
	days, err := routeDays(o.call, date, stop, o.destination)
	o.known[key] = days
	return days, err
}

func isAvailable(days []airdb.FlightDay, number airdb.FlightNumber) bool {
	return slices.ContainsFunc(days, func(d airdb.FlightDay) bool {
		return d.FlightNumber == number && d.Status == airdb.Available
	})
}

func dated(day airdb.FlightDay, date airdb.Date) airdb.FlightDay {
	day.Date = date
	return day
}

// dayAfter gives the next date, or nothing, on which no flight flies, if date
// is not one.
func dayAfter(date airdb.Date) airdb.Date {
	day, err := time.Parse(time.DateOnly, string(date))
	if err != nil {
		return ""
	}
	return airdb.Date(day.AddDate(0, 0, 1).Format(time.DateOnly))
}

// departures gives the available flights from an airport on a date, in the
// order of the airline's list.
func departures(c sdk.Call, date airdb.Date, origin airdb.Airport) ([]airdb.FlightDay, error) {
	days, err := scanDays(c, airdb.DeparturesPrefix(date, origin))
	days = slices.DeleteFunc(days, func(d airdb.FlightDay) bool {
		return d.Status != airdb.Available || d.Origin != origin
	})
	slices.SortFunc(days, func(a, b airdb.FlightDay) int { return strings.Compare(a.Order, b.Order) })
	return days, err
}

// routeDays gives the flights of a route on a date, whatever their status, in
// the order of the airline's list.
func routeDays(c sdk.Call, date airdb.Date, origin, destination airdb.Airport) ([]airdb.FlightDay, error) {
	days, err := scanDays(c, airdb.RoutePrefix(date, origin, destination))
	return slices.DeleteFunc(days, func(d airdb.FlightDay) bool {
		return d.Origin != origin || d.Destination != destination
	}), err
}

// scanDays reads the days under a prefix. A prefix that is longer than a key
// may be has none.
func scanDays(c sdk.Call, prefix string) (days []airdb.FlightDay, err error) {
	if len(prefix) > abi.KeyBytes {
		return nil, nil
	}
	for e, err := range sdk.KVEach(c, prefix) {
		if err != nil {
			return nil, err
		}
		day := airdb.FlightDay{Order: airdb.OrderOf(e.Key)}
		if err := json.Unmarshal(e.Value, &day); err != nil {
			return nil, abi.NewProblem(abi.SystemFailure, "the entry %s of the airline's flights cannot be read", e.Key)
		}
		days = append(days, day)
	}
	return days, nil
}
