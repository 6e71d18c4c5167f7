package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/sdk/skilltest"
	"github.com/sluicehq/sluice/skills/airline/airdb"
)

// What a search of the airline's whole data may read. Without the layout by
// route it would be the 1.3 MB of all flights.
const (
	mostDirectBytes  = 4 << 10
	mostOneStopBytes = 48 << 10
)

// TestSearchesAnswerAsAWalkOverAllFlightsWould compares every route of a few
// dates with the rules applied to flights.json itself.
func TestSearchesAnswerAsAWalkOverAllFlightsWould(t *testing.T) {
	flights := readFlights(t)
	store := newStore(imported(t))
	most := map[string]int{}
	for _, date := range []airdb.Date{"2024-05-16", "2024-05-30"} {
		for _, from := range store.airports(t) {
			for _, to := range store.airports(t) {
				route := Route{from, to, date}
				store.compare(t, "search_direct_flight", route, flights.direct(route), most)
				store.compare(t, "search_onestop_flight", route, flights.oneStop(route), most)
			}
		}
	}
	t.Logf("most bytes read by one search: %v", most)
	if most["search_direct_flight"] > mostDirectBytes || most["search_onestop_flight"] > mostOneStopBytes {
		t.Errorf("a search reads %v bytes; it may read %d direct and %d with one stop", most, mostDirectBytes, mostOneStopBytes)
	}
}

func TestASecondLegOfTheNextDayCarriesTheFaresOfTheDateAskedFor(t *testing.T) {
	first := sampleDay("HAT001", "JFK", "ATL", "20:00:00", "01:00:00+1", 100, 300)
	today := sampleDay("HAT002", "ATL", "SEA", "06:00:00", "09:00:00", 111, 311)
	tomorrow := sampleDay("HAT002", "ATL", "SEA", "06:00:00", "09:00:00", 222, 322)
	landed := today
	landed.Status, landed.ActualDeparture, landed.AvailableSeats, landed.Prices = "landed", "2024-05-20T06:01:00", nil, nil
	cancelled := tomorrow
	cancelled.Status = "cancelled"
	for _, tt := range []struct {
		name            string
		today, tomorrow *airdb.FlightDay
		want            int
	}{
		{"available on both days", &today, &tomorrow, 1},
		{"landed today, available tomorrow", &landed, &tomorrow, 1},
		{"available today, cancelled tomorrow", &today, &cancelled, 0},
		{"no flight tomorrow", &today, nil, 0},
		{"no flight today", nil, &tomorrow, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := skilltest.New(t)
			putDay(h, 0, first, "2024-05-20")
			if tt.today != nil {
				putDay(h, 1, *tt.today, "2024-05-20")
			}
			if tt.tomorrow != nil {
				putDay(h, 1, *tt.tomorrow, "2024-05-21")
			}
			var pairs [][]airdb.FlightDay
			answer(t, h.Call("search_onestop_flight", Route{"JFK", "SEA", "2024-05-20"}), &pairs)
			if len(pairs) != tt.want {
				t.Fatalf("%d pairs, want %d", len(pairs), tt.want)
			}
			if tt.want == 0 {
				return
			}
			second := pairs[0][1]
			if second.Date != "2024-05-21" || second.Status != tt.today.Status || second.Prices["economy"] != tt.today.Prices["economy"] {
				t.Errorf("the second leg is %+v", second)
			}
		})
	}
}

func TestOneStopPairsAreComparedAsText(t *testing.T) {
	for _, tt := range []struct {
		name, arrives, departs string
		want                   int
	}{
		{"earlier", "09:00:00", "10:00:00", 1},
		{"at once", "10:00:00", "10:00:00", 1},
		{"later", "10:30:00", "10:00:00", 0},
		{"next day, earlier in the day", "01:00:00+1", "10:00:00", 1},
		{"next day at the same time", "10:00:00+1", "10:00:00", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := skilltest.New(t)
			second := sampleDay("HAT002", "ATL", "SEA", tt.departs, "23:00:00", 1, 2)
			putDay(h, 0, sampleDay("HAT001", "JFK", "ATL", "06:00:00", tt.arrives, 1, 2), "2024-05-20")
			putDay(h, 1, second, "2024-05-20")
			putDay(h, 1, second, "2024-05-21")
			var pairs [][]airdb.FlightDay
			answer(t, h.Call("search_onestop_flight", Route{"JFK", "SEA", "2024-05-20"}), &pairs)
			if len(pairs) != tt.want {
				t.Errorf("%d pairs, want %d", len(pairs), tt.want)
			}
		})
	}
}

func TestSearchesForWhatIsNotThereFindNothing(t *testing.T) {
	h := skilltest.New(t)
	putDay(h, 0, sampleFirst(), sampleDate)
	putDay(h, 1, sampleSecond(), sampleDate)
	long := airdb.Airport(strings.Repeat("J", 1000))
	for _, route := range []Route{
		{"JFK", "SEA", "2024-05-99"}, {"JFK", "SEA", ""}, {"", "", ""}, {"jfk", "sea", sampleDate}, {long, long, sampleDate},
		{"JFK/ATL", "SEA", sampleDate}, {"JFK", "SEA/", sampleDate}, {"JFK", "", sampleDate}, {"", "JFK/ATL", sampleDate}, {"ATL", "SEA", "2024-05-20/JFK"},
	} {
		for _, tool := range []string{"search_direct_flight", "search_onestop_flight"} {
			reply := h.Call(tool, route)
			if !reply.OK || string(reply.Data) != "[]" {
				t.Errorf("%s %+v: %s %v", tool, route, reply.Data, reply.Problem)
			}
		}
	}
}

func putDay(h *skilltest.Host, order int, day airdb.FlightDay, date airdb.Date) {
	head := airdb.Flight{FlightNumber: day.FlightNumber, Origin: day.Origin, Destination: day.Destination, Order: order}
	h.Put(airdb.FlightKey(day.FlightNumber), head)
	h.Put(airdb.DayKey(head, date), day)
}

func answer(t *testing.T, reply abi.Reply, into any) {
	t.Helper()
	if !reply.OK {
		t.Fatal(reply.Problem)
	}
	if err := json.Unmarshal(reply.Data, into); err != nil {
		t.Fatal(err)
	}
}

// A list is flights.json: its flights in their order, as the file has them.
type list []listed

type listed struct {
	fields map[string]any
	dates  map[string]any
}

func readFlights(t *testing.T) (all list) {
	data, err := fs.ReadFile(shared(t), "flights.json")
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	for _, err = d.Token(); err == nil && d.More(); {
		var l listed
		if _, err = d.Token(); err == nil {
			err = d.Decode(&l.fields)
		}
		l.dates, _ = l.fields["dates"].(map[string]any)
		delete(l.fields, "dates")
		all = append(all, l)
	}
	if err != nil || len(all) != 300 {
		t.Fatalf("flights.json: %d flights, %v", len(all), err)
	}
	return all
}

// on gives the flight's fields and those of a date.
func (l listed) on(date string) map[string]any {
	all := maps.Clone(l.fields)
	maps.Copy(all, l.dates[date].(map[string]any))
	return all
}

func (l listed) is(field, want string) bool { return l.fields[field] == want }

func (l listed) available(date string) bool {
	day, flies := l.dates[date].(map[string]any)
	return flies && day["status"] == "available"
}

func (all list) direct(r Route) any {
	found := []any{}
	for _, f := range all {
		if f.is("origin", string(r.Origin)) && f.is("destination", string(r.Destination)) && f.available(string(r.Date)) {
			found = append(found, f.on(string(r.Date)))
		}
	}
	return found
}

func (all list) oneStop(r Route) any {
	found := []any{}
	date, next := string(r.Date), string(dayAfter(r.Date))
	for _, first := range all {
		if !first.is("origin", string(r.Origin)) || !first.available(date) {
			continue
		}
		arrives, stop, secondDate := first.fields["scheduled_arrival_time_est"].(string), first.fields["destination"].(string), date
		if strings.HasSuffix(arrives, "+1") {
			secondDate = next
		}
		for _, second := range all {
			if !second.is("origin", stop) || !second.is("destination", string(r.Destination)) || !second.available(secondDate) ||
				arrives > second.fields["scheduled_departure_time_est"].(string) {
				continue
			}
			one, two := first.on(date), second.on(date)
			one["date"], two["date"] = date, secondDate
			found = append(found, []any{one, two})
		}
	}
	return found
}

// A store serves reads of the airline's data and counts what they move.
type store struct {
	sdk.Grants // none: a search that did anything else would stop the test
	entries    map[string][]byte
	keys       []string
	moved      int
}

func newStore(entries map[string][]byte) *store {
	return &store{entries: entries, keys: slices.Sorted(maps.Keys(entries))}
}

func (s *store) KVScan(q abi.ScanQuery) (page abi.Page, err error) {
	from, _ := slices.BinarySearch(s.keys, max(q.Prefix, q.After))
	for _, key := range s.keys[from:] {
		if !strings.HasPrefix(key, q.Prefix) {
			break
		}
		page.Entries = append(page.Entries, abi.Entry{Key: key, Value: s.entries[key]})
	}
	s.moved += len(page.Encode())
	return page, nil
}

func (s *store) airports(t *testing.T) []airdb.Airport {
	var cities map[airdb.Airport]string
	if err := json.Unmarshal(s.entries[airdb.AirportsKey], &cities); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(cities))
}

func (s *store) compare(t *testing.T, tool string, route Route, want any, most map[string]int) {
	t.Helper()
	args, _ := json.Marshal(route)
	call, _ := json.Marshal(abi.Invocation{ABI: abi.Version, Tool: tool, Args: args})
	s.moved = 0
	var reply abi.Reply
	if err := json.Unmarshal(sdk.Invoke(call, s), &reply); err != nil || !reply.OK {
		t.Fatalf("%s %s: %v %v", tool, args, err, reply.Problem)
	}
	most[tool] = max(most[tool], s.moved)
	expected, _ := json.Marshal(want)
	if err := airdb.SameJSON(expected, reply.Data); err != nil {
		t.Errorf("%s %s: %v", tool, args, err)
	}
}
