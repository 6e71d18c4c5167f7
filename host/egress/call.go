package egress

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
)

// A Call is what one attempt of one call of a tool brings along. It is safe for
// concurrent use and must not be copied.
type Call struct {
	Policy *Policy // nil opens nothing
	// Secrets gives a secret of the operator's by the name that the manifest
	// says; nil has none. It is asked for every request that needs one, so that
	// a new secret holds at once.
	Secrets func(name string) (secret string, ok bool)
	// Key is the idempotency key of the call, the same for every attempt; empty
	// sends none.
	Key string

	mu   sync.Mutex
	done map[fingerprint]uint32 // writes that succeeded; guarded by mu
}

// A fingerprint is equal for equal requests.
type fingerprint [sha256.Size]byte

func fingerprintOf(parts ...[]byte) fingerprint {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(len(p))))
		h.Write(p)
	}
	return fingerprint(h.Sum(nil))
}

// idempotencyKey gives the key of one write of the call. Another attempt, and
// the guest itself after a failure, ask with the same key; another request, and
// the same one again after it succeeded, have another. So a service that honours
// keys does each thing as often as the guest meant it, however often the call is
// tried.
func (c *Call) idempotencyKey(f fingerprint) string {
	if c.Key == "" {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	sum := fingerprintOf([]byte(c.Key), f[:], binary.LittleEndian.AppendUint32(nil, c.done[f]))
	return hex.EncodeToString(sum[:16])
}

// succeeded counts a write that was answered with a success. What it keeps is
// bounded by the host calls of one call.
func (c *Call) succeeded(f fingerprint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done == nil {
		c.done = map[fingerprint]uint32{}
	}
	c.done[f]++
}

// Safe reports whether a method changes nothing at the server (RFC 9110, 9.2.1).
// An empty one is GET.
func Safe(method string) bool {
	return slices.Contains([]string{"", "GET", "HEAD", "OPTIONS"}, strings.ToUpper(method))
}

func writes(method string) bool { return !Safe(method) }
