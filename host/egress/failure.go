package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"github.com/sluicehq/sluice/abi"
)

// failure tells what went wrong with a server, in words for a guest: no address
// of an inner network, and nothing of what was sent.
func failure(ctx context.Context, name string, err error) *abi.Problem {
	var closed *abi.Problem
	var lookup *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &closed):
		return closed
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return abi.NewProblem(abi.Deadline, "%s did not answer in time", name)
	case ctx.Err() != nil:
		return abi.NewProblem(abi.Cancelled, "the request to %s was stopped", name)
	case errors.As(err, &certificate):
		return abi.NewProblem(abi.Unavailable, "%s shows a certificate that does not hold for it", name)
	case errors.As(err, &lookup) && lookup.IsNotFound:
		return abi.NewProblem(abi.Unavailable, "there is no host %s", name)
	}
	return abi.NewProblem(abi.Unavailable, "%s cannot be reached, or broke off its answer", name)
}
