package airdb_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/skills/airline/airdb"
)

// sample is a small airline in the files of an import.
func sample() fstest.MapFS {
	files := map[string]string{
		"airports.json": `{"JFK": "New York", "SEA": "Seattle"}`,
		"users.json": `{"ada_1": {"name": {"first_name": "Ada", "last_name": "Park"}, "address": {"address1": "1", "address2": "2", "city": "NY", "country": "USA", "province": "NY", "zip": "1"},
			"email": "a@example.com", "dob": "1990-01-01", "payment_methods": {"gift_card_1": {"source": "gift_card", "amount": 0, "id": "gift_card_1"},
			"credit_card_1": {"source": "credit_card", "brand": "visa", "last_four": "1", "id": "credit_card_1"}}, "saved_passengers": [], "membership": "gold", "reservations": ["R1"]}}`,
		"reservations.json": `{"R1": {"reservation_id": "R1", "user_id": "ada_1", "origin": "JFK", "destination": "SEA", "flight_type": "one_way", "cabin": "economy", "flights": [],
			"passengers": [], "payment_history": [{"payment_id": "gift_card_1", "amount": 12.5}], "created_at": "2024-05-01T00:00:00", "total_baggages": 0, "nonfree_baggages": 0, "insurance": "no"}}`,
		"flights.json": `{"HAT9": {"flight_number": "HAT9", "origin": "JFK", "destination": "SEA", "scheduled_departure_time_est": "06:00:00", "scheduled_arrival_time_est": "09:00:00",
				"dates": {"2024-05-02": {"status": "cancelled"}, "2024-05-01": {"status": "available", "available_seats": {"economy": 3}, "prices": {"economy": 100}}}},
			"HAT1": {"flight_number": "HAT1", "origin": "JFK", "destination": "SEA", "scheduled_departure_time_est": "07:00:00", "scheduled_arrival_time_est": "10:00:00", "dates": {}}}`,
	}
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func collect(t *testing.T, fsys fstest.MapFS) map[string]string {
	t.Helper()
	entries, err := airdb.Entries(fsys)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for key, value := range entries {
		if _, twice := all[key]; twice {
			t.Errorf("%s comes twice", key)
		}
		all[key] = string(value)
	}
	return all
}

func TestEntriesFollowTheLayout(t *testing.T) {
	all := collect(t, sample())
	want := []string{"airports", "day/2024-05-01/JFK/SEA/0000", "day/2024-05-02/JFK/SEA/0000", "flight/HAT1", "flight/HAT9", "reservation/R1", "user/ada_1"}
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
	for key, want := range map[string]string{
		"flight/HAT9":                 `{"flight_number":"HAT9","origin":"JFK","destination":"SEA","order":0}`,
		"flight/HAT1":                 `{"flight_number":"HAT1","origin":"JFK","destination":"SEA","order":1}`,
		"day/2024-05-01/JFK/SEA/0000": `{"flight_number":"HAT9","origin":"JFK","destination":"SEA","scheduled_departure_time_est":"06:00:00","scheduled_arrival_time_est":"09:00:00","status":"available","available_seats":{"economy":3},"prices":{"economy":100}}`,
		"day/2024-05-02/JFK/SEA/0000": `{"flight_number":"HAT9","origin":"JFK","destination":"SEA","scheduled_departure_time_est":"06:00:00","scheduled_arrival_time_est":"09:00:00","status":"cancelled"}`,
	} {
		if all[key] != want {
			t.Errorf("%s is %s, want %s", key, all[key], want)
		}
	}
}

func TestRecordsLoseNothingOnTheWay(t *testing.T) {
	fsys := sample()
	all := collect(t, fsys)
	for file, key := range map[string]string{"users.json": "user/ada_1", "reservations.json": "reservation/R1"} {
		var records map[string]json.RawMessage
		if err := json.Unmarshal(fsys[file].Data, &records); err != nil {
			t.Fatal(err)
		}
		_, id, _ := strings.Cut(key, "/")
		if err := airdb.SameJSON(records[id], []byte(all[key])); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestEntriesRefuseWhatTheyCannotKeep(t *testing.T) {
	for _, tt := range []struct{ name, file, old, new, want string }{
		{"no object", "users.json", `{"ada_1"`, `["ada_1"`, "users.json: not a JSON object"},
		{"cut off", "flights.json", `"dates": {}}}`, ``, "flights.json: "},
		{"more text", "flights.json", `"dates": {}}}`, `"dates": {}}} x`, "flights.json: more text"},
		{"a field that no record has", "users.json", `"membership"`, `"vip": true, "membership"`, `users.json: ada_1: json: unknown field "vip"`},
		{"a payment method under another id", "users.json", `"id": "gift_card_1"`, `"id": "gift_card_2"`, `users.json: ada_1: payment method "gift_card_2" stands under the id "gift_card_1"`},
		{"a gift card without a balance", "users.json", `"amount": 0, `, ``, `users.json: ada_1: payment method "gift_card_1" is a gift_card: only a credit card has no amount`},
		{"a reservation under another id", "reservations.json", `"reservation_id": "R1"`, `"reservation_id": "R2"`, `reservations.json: R1: the record says "R2"`},
		{"a flight under another number", "flights.json", `"flight_number": "HAT9"`, `"flight_number": "HAT1"`, `flights.json: HAT9: the record says "HAT1"`},
		{"a flight that comes twice", "flights.json", `"HAT1": {"flight_number": "HAT1"`, `"HAT9": {"flight_number": "HAT9"`, "flights.json: HAT9: comes twice"},
		{"an airport that would be two keys", "flights.json", `"origin": "JFK"`, `"origin": "JFK/X"`, "flights.json: HAT9: "},
		{"a date that is none", "flights.json", `"2024-05-02"`, `"May 2"`, "flights.json: HAT9: May 2: a day needs a date"},
		{"a day without a status", "flights.json", `"status": "cancelled"`, `"status": ""`, "flights.json: HAT9: 2024-05-02: a day needs a date"},
		{"cities that are no text", "airports.json", `"Seattle"`, `7`, "airports.json: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fsys := sample()
			text := string(fsys[tt.file].Data)
			if !strings.Contains(text, tt.old) {
				t.Fatalf("%s has no %q", tt.file, tt.old)
			}
			fsys[tt.file] = &fstest.MapFile{Data: []byte(strings.Replace(text, tt.old, tt.new, 1))}
			if _, err := airdb.Entries(fsys); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("Entries: %v, want %s", err, tt.want)
			}
		})
	}
	for name := range sample() {
		fsys := sample()
		delete(fsys, name)
		if _, err := airdb.Entries(fsys); err == nil || !strings.HasPrefix(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

func TestTheWholeAirlineIsImported(t *testing.T) {
	fsys := os.DirFS(sharedFolder(t))
	entries, err := airdb.Entries(fsys)
	if err != nil {
		t.Fatal(err)
	}
	count, longest := map[string]int{}, 0
	for key, value := range entries {
		kind, _, _ := strings.Cut(key, "/")
		count[kind]++
		longest = max(longest, len(value))
		if len(key) > abi.KeyBytes || len(value) > int(abi.ValueBytes) {
			t.Errorf("%s: a key of %d and a value of %d bytes", key, len(key), len(value))
		}
	}
	want := map[string]int{"airports": 1, "user": 500, "reservation": 2000, "flight": 300, "day": 9000}
	if !maps.Equal(count, want) {
		t.Errorf("entries %v, want %v", count, want)
	}
	if longest > 4<<10 {
		t.Errorf("the longest value has %d bytes", longest)
	}
}

func sharedFolder(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("../../../../shared")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("%s does not exist: the airline's data are not here", folder)
	}
	return filepath.Join(folder, "data", "tau-airline")
}
