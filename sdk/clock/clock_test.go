package clock_test

import (
	"testing"
	"time"

	"github.com/sluicehq/sluice/sdk"
	"github.com/sluicehq/sluice/sdk/clock"
)

func TestATimeComesBackAsItWas(t *testing.T) {
	for _, at := range []time.Time{{}, time.Unix(0, 0).UTC(), time.Date(2026, 1, 15, 12, 0, 0, 250, time.UTC), time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)} {
		if got := clock.Time(clock.Instant(at)); !got.Equal(at) || got.Location() != time.UTC {
			t.Errorf("%v comes back as %v", at, got)
		}
	}
	if clock.Instant(time.Time{}) != (sdk.Instant{}) {
		t.Error("the zero time is not the zero instant")
	}
}
