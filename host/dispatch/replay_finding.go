package dispatch

import (
	"fmt"

	"github.com/sluicehq/sluice/host/grant"
)

// A ReplayVerdict says how a replay compares with what is on record.
type ReplayVerdict string

// Verdicts, from the best to the worst. A call has the worst one of its runs.
const (
	ReplaySame    ReplayVerdict = "same"    // the same host calls, the same bytes, the same fuel
	ReplayPart    ReplayVerdict = "part"    // the same as far as it can be compared; the finding says what cannot be
	ReplayNothing ReplayVerdict = "nothing" // there is nothing to run again, and never was
	ReplayLost    ReplayVerdict = "lost"    // what it needs was there and is gone, or cannot be read
	ReplayParted  ReplayVerdict = "parted"  // it is not the same, or not what is on record
)

// rank orders verdicts; one that is not known counts as the worst.
func (v ReplayVerdict) rank() int {
	for i, known := range []ReplayVerdict{ReplaySame, ReplayPart, ReplayNothing, ReplayLost} {
		if v == known {
			return i
		}
	}
	return 4
}

// A ReplayReason says what was found.
type ReplayReason string

// Reasons, by their verdicts.
const (
	// parted
	AtHostCall       ReplayReason = "host_call"        // it asked the host for something else: see Parting
	OtherOutput      ReplayReason = "other_output"     // other bytes
	OtherFuel        ReplayReason = "other_fuel"       // other fuel
	OtherEnd         ReplayReason = "other_end"        // it ended in another way; Wanted and Got are problem codes, 0 for none
	OtherAnswer      ReplayReason = "other_answer"     // what the record tells of the answer, by What, is not what the guest gave
	OtherUsage       ReplayReason = "other_usage"      // the fuel of the call is not the sum of its runs
	OtherInput       ReplayReason = "other_input"      // the recorded input, by What, is not the one on record
	OtherRecording   ReplayReason = "other_recording"  // the recording was changed
	OtherModule      ReplayReason = "other_module"     // the release has other bytes than those that ran
	OtherState       ReplayReason = "other_state"      // the state that the records give is not what the reducer saw
	StoppedByClock   ReplayReason = "stopped_by_clock" // part: the first run was ended by time, which no replay has
	StoppedByHost    ReplayReason = "stopped_by_host"  // part: likewise by the host, with the code Wanted
	RecordingCut     ReplayReason = "recording_cut"    // part: the recording ends before the run
	NoDigests        ReplayReason = "no_digests"       // part: it was recorded without digests of what it gave
	OwnClock         ReplayReason = "own_clock"        // part: the skill has the clock or random numbers of its own, and What differs
	StateUnknown     ReplayReason = "state_unknown"    // part: a reducer that failed saw a state that is not on record
	NeverRan         ReplayReason = "never_ran"        // nothing: it was refused before it ran, or failed before a run
	NotEnded         ReplayReason = "not_ended"        // nothing: its end is not on record
	NotKept          ReplayReason = "not_kept"         // nothing: more host calls than are recorded of such a call
	StoredAnswer     ReplayReason = "duplicate"        // nothing: it was answered with the outcome of the call Wanted
	ReleaseGone      ReplayReason = "release_gone"     // lost: the release What is not to be had
	RecordingGone    ReplayReason = "recording_gone"   // lost: the blob of the recording is gone or cannot be read
	RecordErased     ReplayReason = "erased"           // lost: the record has no payload any more
	RecordUnreadable ReplayReason = "unreadable"       // lost: the record or the recording was damaged
)

// verdict gives what a reason makes of a replay.
func (r ReplayReason) verdict() ReplayVerdict {
	switch r {
	case StoppedByClock, StoppedByHost, RecordingCut, NoDigests, OwnClock, StateUnknown:
		return ReplayPart
	case NeverRan, NotEnded, NotKept, StoredAnswer:
		return ReplayNothing
	case ReleaseGone, RecordingGone, RecordErased, RecordUnreadable:
		return ReplayLost
	}
	return ReplayParted
}

// A ReplayFinding is why a replay is not simply the same.
type ReplayFinding struct {
	Reason  ReplayReason   `json:"reason"`
	Reducer bool           `json:"reducer,omitempty"` // it is about the run of the reducer
	What    string         `json:"what,omitempty"`
	Wanted  string         `json:"wanted,omitempty"` // what is on record
	Got     string         `json:"got,omitempty"`    // what the replay gave, or what there is now
	Parting *grant.Parting `json:"parting,omitempty"`
}

// String tells the finding in one line.
func (f ReplayFinding) String() string {
	if f.Reducer {
		return "the reducer: " + f.text()
	}
	return f.text()
}

func (f ReplayFinding) text() string {
	switch f.Reason {
	case AtHostCall, RecordingCut, OwnClock:
		return f.along()
	case OtherOutput:
		return fmt.Sprintf("it gave other bytes: sha256 %s, on record is %s", f.Got, f.Wanted)
	case OtherFuel:
		return fmt.Sprintf("it used %s of fuel, on record is %s", f.Got, f.Wanted)
	case OtherEnd:
		return fmt.Sprintf("it ended with code %s, on record is %s (0 is none)", f.Got, f.Wanted)
	case OtherAnswer:
		return fmt.Sprintf("the record's %s is not what the guest gave: on record is %s, it gave %s", f.What, f.Wanted, f.Got)
	case OtherUsage:
		return fmt.Sprintf("the runs used %s of fuel together, and the record of the call says %s", f.Got, f.Wanted)
	case OtherInput:
		return fmt.Sprintf("the recorded input is not this call's: its %s is %s, on record is %s", f.What, f.Got, f.Wanted)
	case OtherRecording:
		return "the recording was changed: " + f.What
	case OtherModule:
		return fmt.Sprintf("%s has other bytes than those that ran: sha256 %s, on record is %s", f.What, f.Got, f.Wanted)
	case OtherState:
		return "the state that the records give is not what it saw: " + f.What
	case StoppedByClock, StoppedByHost:
		return fmt.Sprintf("the same up to where the first run was stopped from outside with code %s; where that happens cannot be the same", f.Wanted)
	case NoDigests:
		return "the same host calls and the same answer; digests of the bytes and the fuel are not on record"
	case StateUnknown:
		return "it failed, and the state that it saw is not on record"
	}
	return f.absent()
}

// along tells what is about a place on the way through the host calls.
func (f ReplayFinding) along() string {
	p := f.Parting
	switch {
	case f.Reason == OwnClock && p == nil:
		return "the skill has the clock or random numbers of its own, which are not recorded, and the run differs: " + f.What
	case f.Reason == OwnClock:
		return fmt.Sprintf("the skill has the clock or random numbers of its own, which are not recorded, and the run differs at host call %d", p.Call)
	case f.Reason == RecordingCut:
		return fmt.Sprintf("the same up to host call %d, where the recording was cut", p.Recorded)
	case p.Got == "":
		return fmt.Sprintf("it parted at host call %d: on record is %s, and the guest ended after %d of %d", p.Call, p.Wanted, p.Call-1, p.Recorded)
	case p.Wanted == "":
		return fmt.Sprintf("it parted at host call %d: the guest asks for %s after the last of %d recorded ones", p.Call, p.Got, p.Recorded)
	}
	return fmt.Sprintf("it parted at host call %d of %d: on record is %s (sha256 of its request %s), the guest asks for %s (%s)",
		p.Call, p.Recorded, p.Wanted, p.WantedSHA256, p.Got, p.GotSHA256)
}

// absent tells of what is not there.
func (f ReplayFinding) absent() string {
	switch f.Reason {
	case NeverRan:
		return "it never ran: no guest was called"
	case NotEnded:
		return "its end is not on record: it runs, or its host died"
	case NotKept:
		return f.What
	case StoredAnswer:
		return "it was answered with the stored outcome of " + f.Wanted + "; replay that one"
	case ReleaseGone:
		return "its release cannot be had: " + f.What
	case RecordingGone:
		return "its recording cannot be had: " + f.What
	case RecordErased:
		return "its record was erased"
	}
	return "its record cannot be read: " + f.What
}
