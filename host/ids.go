package host

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Ids of the things that the host keeps apart. They are opaque text of at
// most MaxIDBytes; a tenant is part of every key of every store.
type (
	TenantID  string // the merchant or organisation
	UserID    string
	SessionID string
	LiveID    string // the business occasion that a session belongs to
	InputID   string // one delivery of one user input; a redelivery has the same
	CallID    string // one invocation of one tool
	Key       string // the idempotency key of one write: a UUID

	ApprovalID string // one question to a person about one exact call
)

// A Fence is the number of one lease on a session: the right to run its turns.
// Each lease gets a greater one than all before it, and the store refuses a
// write that comes with another than the newest. The zero Fence is that of a
// caller who works without a lease.
type Fence int64

// MaxIDBytes bounds every id: four of them and a key fit one index entry of
// every supported database.
const MaxIDBytes = 128

// HostTenant is whose the audit records are that are of no tenant: of releases
// that a host loaded or refused. It has no sessions.
const HostTenant TenantID = "sluice/host"

// A SessionRef names one session of one user of one tenant.
type SessionRef struct {
	Tenant  TenantID  `json:"tenant"`
	User    UserID    `json:"user"`
	Session SessionID `json:"session"`
}

// String gives the three ids joined by slashes, for people and logs.
func (r SessionRef) String() string {
	return string(r.Tenant) + "/" + string(r.User) + "/" + string(r.Session)
}

// Valid reports what is wrong with the three ids, or nil.
func (r SessionRef) Valid() error {
	for _, id := range []struct{ name, value string }{{"tenant", string(r.Tenant)}, {"user", string(r.User)}, {"session", string(r.Session)}} {
		if err := validID(id.name, id.value); err != nil {
			return err
		}
	}
	if r.Tenant == HostTenant {
		return fmt.Errorf("tenant id %q is the host's own", HostTenant)
	}
	return nil
}

func validID(name, id string) error {
	if id == "" || len(id) > MaxIDBytes {
		return fmt.Errorf("%s id has %d bytes; give 1 to %d", name, len(id), MaxIDBytes)
	}
	if !utf8.ValidString(id) {
		return fmt.Errorf("%s id is not UTF-8", name)
	}
	for i := range len(id) {
		if id[i] < 0x20 || id[i] == 0x7f {
			return fmt.Errorf("%s id has a control character at byte %d", name, i)
		}
	}
	return nil
}

// NewID makes a random id with a prefix that says what it is, such as
// "call_" and 32 hex digits.
func NewID(prefix string) string {
	id := uuid.New()
	return prefix + hex.EncodeToString(id[:])
}

// keySpace separates our name-based UUIDs from everybody else's.
var keySpace = uuid.MustParse("6f8d3c52-55a1-5c0e-9d7e-0b4f5a6c1e21")

// An Intent is what a write means: the user input that it serves, how many
// writes of the same tool and arguments have already succeeded for that input,
// the tool and the arguments. A retry, a resume and a redelivery have the same
// intent; asking for the same thing once more after it was done does not.
type Intent struct {
	Session SessionRef
	Input   int // ordinal of the user input in the session, from 1
	Ordinal int // earlier successes of the same tool and arguments for that input
	Tool    string
	Args    json.RawMessage
}

// Key gives the idempotency key of the intent, a UUIDv5 over its parts. The
// arguments count by value: member order, spaces and number form do not matter.
func (in Intent) Key() (Key, error) {
	args, err := Canonical(in.Args)
	if err != nil {
		return "", err
	}
	var name bytes.Buffer
	for _, part := range []string{
		string(in.Session.Tenant), string(in.Session.User), string(in.Session.Session),
		strconv.Itoa(in.Input), strconv.Itoa(in.Ordinal), in.Tool, string(args),
	} {
		// Lengths keep ("a","bc") and ("ab","c") apart.
		fmt.Fprintf(&name, "%d:%s", len(part), part)
	}
	return Key(uuid.NewSHA1(keySpace, name.Bytes()).String()), nil
}

// Digest gives the SHA-256 of b in hex.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// CallIDFor gives the id of the index-th call of one message of a session. A
// turn that is resumed gives its calls the ids that they had.
func CallIDFor(session SessionRef, message, index int) CallID {
	name := fmt.Sprintf("%q/%d/%d", []string{string(session.Tenant), string(session.User), string(session.Session)}, message, index)
	id := uuid.NewSHA1(keySpace, []byte(name))
	return CallID("call_" + hex.EncodeToString(id[:]))
}
