package airdb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strings"
	"time"
)

// Files that an import reads.
const (
	airportsFile     = "airports.json"
	usersFile        = "users.json"
	reservationsFile = "reservations.json"
	flightsFile      = "flights.json"
)

// maxFileBytes bounds one file of an import: some fifty times the airline's
// largest, and small enough to be held in memory.
const maxFileBytes = 64 << 20

// Entries reads the airline's files from the root of fsys and gives the kv
// entries that hold them, each key once, each value as compact JSON of at most
// a few KiB. All files are read and checked before the first entry is given;
// the error names the file and the record that cannot be used. The sequence
// may be walked any number of times and by several goroutines; its values must
// not be changed.
func Entries(fsys fs.FS) (iter.Seq2[string, []byte], error) {
	var b builder
	for _, file := range []struct {
		name string
		add  func(name string, value json.RawMessage) error
	}{{usersFile, b.user}, {reservationsFile, b.reservation}, {flightsFile, b.flight}} {
		data, err := readFile(fsys, file.name)
		if err == nil {
			err = eachMember(data, file.add)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.name, err)
		}
	}
	if err := b.airports(fsys); err != nil {
		return nil, fmt.Errorf("%s: %w", airportsFile, err)
	}
	return b.all, nil
}

// A builder collects entries.
type builder struct {
	keys    []string
	values  [][]byte
	flights int
}

func (b *builder) all(yield func(string, []byte) bool) {
	for i, key := range b.keys {
		if !yield(key, b.values[i]) {
			return
		}
	}
}

func (b *builder) put(key string, record any) error {
	value, err := json.Marshal(record)
	b.keys, b.values = append(b.keys, key), append(b.values, value)
	return err
}

func (b *builder) airports(fsys fs.FS) error {
	data, err := readFile(fsys, airportsFile)
	if err != nil {
		return err
	}
	var cities map[Airport]string
	if err := decodeStrict(data, &cities); err != nil {
		return err
	}
	return b.put(AirportsKey, cities)
}

func (b *builder) user(id string, value json.RawMessage) error {
	var u User
	if err := decodeStrict(value, &u); err != nil {
		return err
	}
	for key, method := range u.PaymentMethods {
		if method.ID != key {
			return fmt.Errorf("payment method %q stands under the id %q", method.ID, key)
		}
		if (method.Amount == nil) != (method.Source == CreditCard) {
			return fmt.Errorf("payment method %q is a %s: only a credit card has no amount", key, method.Source)
		}
	}
	return b.put(UserKey(UserID(id)), u)
}

func (b *builder) reservation(id string, value json.RawMessage) error {
	var r Reservation
	if err := decodeStrict(value, &r); err != nil {
		return err
	}
	if string(r.ID) != id {
		return fmt.Errorf("the record says %q", r.ID)
	}
	return b.put(ReservationKey(r.ID), r)
}

func (b *builder) flight(number string, value json.RawMessage) error {
	var f struct {
		FlightDay
		Dates json.RawMessage `json:"dates"`
	}
	if err := decodeStrict(value, &f); err != nil {
		return err
	}
	if string(f.FlightNumber) != number {
		return fmt.Errorf("the record says %q", f.FlightNumber)
	}
	if strings.ContainsRune(string(f.Origin+f.Destination), '/') {
		return fmt.Errorf("%q to %q: an airport's code holds no slash", f.Origin, f.Destination)
	}
	if b.flights == maxFlights {
		return fmt.Errorf("more than %d flights", maxFlights)
	}
	head := Flight{FlightNumber: f.FlightNumber, Origin: f.Origin, Destination: f.Destination, Order: b.flights}
	b.flights++
	if err := b.put(FlightKey(head.FlightNumber), head); err != nil {
		return err
	}
	return eachMember(f.Dates, func(date string, value json.RawMessage) error {
		day := f.FlightDay
		if err := decodeStrict(value, &day); err != nil {
			return err
		}
		if _, err := time.Parse(time.DateOnly, date); err != nil || day.Status == "" {
			return fmt.Errorf("a day needs a date such as 2024-05-01 and a status, not %q", day.Status)
		}
		return b.put(DayKey(head, Date(date)), day)
	})
}

func readFile(fsys fs.FS, name string) ([]byte, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		err = fmt.Errorf("more than %d bytes", maxFileBytes)
	}
	return data, err
}

// eachMember gives the members of a JSON object in the order of the text. A
// name that comes twice, or more text after the object, is an error; an error
// of do is given with the member's name.
func eachMember(object []byte, do func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("not a JSON object: %v", orText(err, t))
	}
	seen := map[string]bool{}
	for d.More() {
		name, value, err := member(d)
		if err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("%s: comes twice", name)
		}
		seen[name] = true
		if err := do(name, value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if _, err := d.Token(); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("more text after the JSON object")
	}
	return nil
}

func member(d *json.Decoder) (name string, value json.RawMessage, err error) {
	token, err := d.Token()
	if err != nil {
		return "", nil, err
	}
	name, ok := token.(string)
	if !ok {
		return "", nil, fmt.Errorf("%v is not a member's name", token)
	}
	err = d.Decode(&value)
	return name, value, err
}

func orText(err error, token json.Token) any {
	if err != nil {
		return err
	}
	return fmt.Sprintf("it starts with %v", token)
}

// decodeStrict decodes one JSON value and refuses fields that into does not
// have.
func decodeStrict(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("more text after the JSON value")
	}
	return nil
}
