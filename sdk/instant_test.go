package sdk

import (
	"encoding/json"
	"testing"
	"time"
)

func TestAnInstantIsWrittenAsATimeIs(t *testing.T) {
	moments := []time.Time{
		{}, time.Unix(0, 0), time.Unix(1_768_478_400, 250_000_000), time.Unix(-1, 999_999_999), time.Unix(0, 1), time.Unix(0, 120),
		time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-1, 12, 31, 23, 59, 59, 999, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 1, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	for day := time.Date(0, 2, 1, 0, 0, 0, 7, time.UTC); day.Year() < 2805; day = day.AddDate(0, 0, 11).Add(time.Hour + time.Second) {
		moments = append(moments, day)
	}
	for _, moment := range moments {
		want, wrong := moment.UTC().MarshalJSON()
		i := Unix(moment.Unix(), moment.Nanosecond())
		got, err := i.MarshalJSON()
		if (err == nil) != (wrong == nil) || string(got) != string(want) {
			t.Fatalf("%v: %s, %v; want %s, %v", moment, got, err, want, wrong)
		}
		if i.IsZero() != moment.IsZero() || i.Unix() != moment.Unix() {
			t.Fatalf("%v: zero %v, seconds %d", moment, i.IsZero(), i.Unix())
		}
		var back Instant
		if err == nil && (json.Unmarshal(got, &back) != nil || back != i) {
			t.Fatalf("%s reads as %v", got, back)
		}
	}
}

func TestInstantsAreComparedAndReckonedWith(t *testing.T) {
	early, late := Unix(100, 5), Unix(100, 6)
	if !early.Before(late) || late.Before(early) || early.Before(early) || !late.Before(early.Add(1)) || early.Add(-1) != Unix(99, 5) {
		t.Errorf("%v and %v are not in order", early, late)
	}
}

func TestATextThatIsNoInstantIsQuotedInItsError(t *testing.T) {
	var at struct {
		At Instant `json:"at"`
	}
	for _, text := range []string{`"soon"`, `5`, `{}`, `"2026-02-30T00:00:00Z"`} {
		err := decodeArgs([]byte(`{"at":`+text+`}`), &at)
		if err == nil || err.Error()[:4] != "4007" {
			t.Errorf("%s: %v, want the problem of a value", text, err)
		}
	}
	if _, err := ParseInstant("soon"); err == nil || err.Error() != `"soon" is not a time; write one such as 2026-01-15T12:00:00Z` {
		t.Errorf("got %v", err)
	}
}
