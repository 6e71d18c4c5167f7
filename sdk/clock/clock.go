// Package clock leads from an sdk.Instant to package time and back, for
// handlers that need its calendar, its zones or its formats. It is apart from
// package sdk because package time makes a module 0.2 MB larger.
//
// # Life of a moment
//
//  1. The host tells its clock at a call's start, which is the call's Now.
//  2. A handler that reckons in days or zones takes it as a time.Time.
//  3. What it keeps and gives may be either: their JSON is the same.
package clock

import (
	"time"

	"github.com/sluicehq/sluice/sdk"
)

// Now gives the host's clock at the call's start, in UTC.
func Now(c sdk.Call) time.Time { return Time(c.Now()) }

// Time gives an instant as a time.Time in UTC.
func Time(i sdk.Instant) time.Time { return time.Unix(i.Unix(), int64(i.Nanosecond())).UTC() }

// Instant gives the instant of a time.Time.
func Instant(t time.Time) sdk.Instant { return sdk.Unix(t.Unix(), t.Nanosecond()) }
