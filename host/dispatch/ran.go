package dispatch

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/release"
	"github.com/sluicehq/sluice/host/sandbox"
)

// A Ran is what one run of a guest gave and cost, in the record of its attempt:
// what whoever runs it again compares with.
type Ran struct {
	Module      string   `json:"module"`         // sha256 of the bytes that ran
	InputSHA256 string   `json:"input_sha256"`   // of the envelope, or of what the reducer saw
	Code        abi.Code `json:"code,omitempty"` // of the problem with which the sandbox ended it
	SHA256      string   `json:"sha256"`         // of the output, to the byte
	Fuel        int64    `json:"fuel"`           // of this run alone
	Memory      abi.Size `json:"memory"`         // at its peak
	Reducer     *Ran     `json:"reducer,omitempty"`
}

func ranOf(r *release.Release, input []byte, result sandbox.Result) *Ran {
	ran := &Ran{
		Module: r.Module.Digest(), InputSHA256: host.Digest(input), SHA256: host.Digest(result.Output),
		Fuel: result.Usage.Fuel, Memory: result.Usage.PeakMemory,
	}
	if result.Problem != nil {
		ran.Code = result.Problem.Code
	}
	return ran
}

// lastRun gives what ran in the attempt that ends now, nil where it ended
// before the guest was called, or in the middle of it.
func (f *flight) lastRun() *Ran {
	if f.ranIn != f.outcome.Attempts {
		return nil
	}
	return f.ran
}
