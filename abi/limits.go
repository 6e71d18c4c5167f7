package abi

import (
	"errors"
	"strconv"
	"strings"

	"github.com/sluicehq/sluice/abi/wire"
)

// Limits bound one call. A zero field means the default; the host's ceilings
// win over both.
type Limits struct {
	Fuel     int64    `json:"fuel,omitempty"` // instructions
	Memory   Size     `json:"memory,omitempty"`
	Deadline Duration `json:"deadline,omitempty"`
	Input    Size     `json:"input,omitempty"`
	Output   Size     `json:"output,omitempty"`
	Logs     Size     `json:"logs,omitempty"`
}

// Units of Size.
const (
	KiB Size = 1 << 10
	MiB Size = 1 << 20
	GiB Size = 1 << 30
)

// PageBytes is the size of a WebAssembly page, the unit of guest memory.
const PageBytes = 64 * KiB

// DefaultLimits are generous for a business call in Go, whose runtime alone
// needs about 3 MiB of memory and 2 M instructions.
func DefaultLimits() Limits {
	return Limits{Fuel: 50_000_000, Memory: 32 * MiB, Deadline: 2 * Second, Input: MiB, Output: 4 * MiB, Logs: 64 * KiB}
}

// CeilingLimits are what no manifest may exceed: a core for some seconds, and
// a memory of which a replica can hold several.
func CeilingLimits() Limits {
	return Limits{Fuel: 5_000_000_000, Memory: 512 * MiB, Deadline: Minute, Input: 16 * MiB, Output: 64 * MiB, Logs: MiB}
}

// Bounds of one module. The first is what a host takes without a setting, the
// second what a setting may raise it to; a Go skill is 2.5 to 4 MB.
const (
	ModuleBytesDefault = 16 * MiB
	ModuleBytesCeiling = 64 * MiB
)

// Bounds of host functions, for one call.
const (
	KeyBytes        = 512       // one kv key: fits an index entry of every database
	ValueBytes      = MiB       // one kv value
	CallWrites      = 1000      // keys that one call may write
	CallWriteBytes  = 16 * MiB  // all values that one call may write
	ScanPageEntries = 1000      // entries of one page of a scan
	RecallHits      = 50        // memories of one recall
	ScanPageBytes   = 4 * MiB   // bytes of one page of a scan; a page ends early rather than exceed it
	RecallBytes     = 4096      // the words of one recall
	MemoryBytes     = 4096      // the text of one memory: a fact, not a document
	EntityBytes     = 256       // what a memory is about
	CallMemories    = 100       // memories that one call may add
	BlobBytes       = 64 * MiB  // one blob: the ceiling of a call's output, whose place it takes
	BlobReadBytes   = 16 * MiB  // one read of a blob
	BlobNameBytes   = 255       // a blob's name: what a file system takes if somebody saves it
	BlobTypeBytes   = 127       // a blob's media type
	CallBlobs       = 100       // blobs that one call may write: each is a request to a remote store
	ProgressRunes   = 200       // one line of a progress report
	ArgumentBytes   = 64 * KiB  // one JSON argument of a host function
	HostCalls       = 10_000    // host calls of one call
	HostCallBytes   = 256 * MiB // bytes that one call may move through host functions
)

// Bounds of a session's files, so that one listing of them fits into the memory
// and the time of one call.
const (
	SessionFiles     = 10_000
	SessionFileBytes = 256 * MiB
	PathBytes        = 512 // one path
	PathNameBytes    = 255 // one part of it: what file systems take
	PathDepth        = 16  // parts of one path
)

// WithDefaults fills the zero fields of l from d.
func (l Limits) WithDefaults(d Limits) Limits {
	return Limits{
		Fuel: or(l.Fuel, d.Fuel), Memory: or(l.Memory, d.Memory), Deadline: or(l.Deadline, d.Deadline),
		Input: or(l.Input, d.Input), Output: or(l.Output, d.Output), Logs: or(l.Logs, d.Logs),
	}
}

// Exceeds names the fields of l that are above c or negative, as
// "memory: 1GiB is more than 512MiB".
func (l Limits) Exceeds(c Limits) []string {
	var over []string
	for _, f := range []struct {
		name      string
		got, most int64
		text      func(int64) string
	}{
		{"fuel", l.Fuel, c.Fuel, func(n int64) string { return strconv.FormatInt(n, 10) }},
		{"memory", int64(l.Memory), int64(c.Memory), sizeText},
		{"deadline", int64(l.Deadline), int64(c.Deadline), func(n int64) string { return Duration(n).String() }},
		{"input", int64(l.Input), int64(c.Input), sizeText},
		{"output", int64(l.Output), int64(c.Output), sizeText},
		{"logs", int64(l.Logs), int64(c.Logs), sizeText},
	} {
		if f.got > f.most {
			over = append(over, f.name+": "+f.text(f.got)+" is more than "+f.text(f.most))
		} else if f.got < 0 {
			over = append(over, f.name+": "+f.text(f.got)+" is negative")
		}
	}
	return over
}

func sizeText(n int64) string { return Size(n).String() }

func or[T int64 | Size | Duration](v, d T) T {
	if v == 0 {
		return d
	}
	return v
}

// A Size is a number of bytes, written as "32MiB", "64KiB" or a plain number.
type Size int64

// String gives the size in its largest whole unit.
func (s Size) String() string {
	switch {
	case s != 0 && s%GiB == 0:
		return strconv.FormatInt(int64(s/GiB), 10) + "GiB"
	case s != 0 && s%MiB == 0:
		return strconv.FormatInt(int64(s/MiB), 10) + "MiB"
	case s != 0 && s%KiB == 0:
		return strconv.FormatInt(int64(s/KiB), 10) + "KiB"
	}
	return strconv.FormatInt(int64(s), 10)
}

// ParseSize reads what String writes; B, KB and other units are refused, so
// that nobody has to guess whether 1K is 1000.
func ParseSize(text string) (Size, error) {
	number, unit := text, Size(1)
	for name, u := range map[string]Size{"KiB": KiB, "MiB": MiB, "GiB": GiB} {
		if n, ok := strings.CutSuffix(text, name); ok {
			number, unit = strings.TrimSpace(n), u
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 0 || n > (1<<62)/int64(unit) {
		return 0, errors.New(strconv.Quote(text) + " is not a size; write a number of bytes, or KiB, MiB, GiB such as 32MiB")
	}
	return Size(n) * unit, nil
}

// MarshalJSON writes the size as text.
func (s Size) MarshalJSON() ([]byte, error) { return wire.AppendText(nil, s.String()), nil }

// A Duration is a time span in nanoseconds, as a time.Duration is, which a guest
// does without. It is written as Go does: "2s", "250ms".
type Duration int64

// Units of Duration.
const (
	Millisecond Duration = 1_000_000
	Second               = 1000 * Millisecond
	Minute               = 60 * Second
)

// String gives the duration as Go writes it.
func (d Duration) String() string {
	sign, n := "", uint64(d)
	if d < 0 {
		sign, n = "-", -n
	}
	switch {
	case n == 0:
		return "0s"
	case n < 1_000:
		return sign + strconv.FormatUint(n, 10) + "ns"
	case n < uint64(Millisecond):
		return sign + inUnits(n, 3) + "µs"
	case n < uint64(Second):
		return sign + inUnits(n, 6) + "ms"
	}
	minutes, text := n/uint64(Minute), inUnits(n%uint64(Minute), 9)+"s"
	if minutes > 0 {
		text = strconv.FormatUint(minutes%60, 10) + "m" + text
	}
	if hours := minutes / 60; hours > 0 {
		text = strconv.FormatUint(hours, 10) + "h" + text
	}
	return sign + text
}

// inUnits writes n in a unit that is a power of ten larger than one.
func inUnits(n uint64, power int) string {
	digits := strconv.FormatUint(n, 10)
	for len(digits) <= power {
		digits = "0" + digits
	}
	point := len(digits) - power
	return strings.TrimSuffix(digits[:point]+"."+strings.TrimRight(digits[point:], "0"), ".")
}

// MarshalJSON writes the duration as text.
func (d Duration) MarshalJSON() ([]byte, error) { return wire.AppendText(nil, d.String()), nil }
