package audit

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/sluicehq/sluice/host"
)

// saltBytes keep a digest from telling its payload to who guesses it.
const saltBytes = 32

// The first lines of the texts, so that none can be taken for another.
const (
	privateHead = "sluice-audit-private/1\n"
	recordHead  = "sluice-audit-record/1\n"
	seamHead    = "sluice-audit-seam/1\n"
)

// newSalt draws a salt. crypto/rand does not fail: it ends the process first.
func newSalt() []byte {
	salt := make([]byte, saltBytes)
	rand.Read(salt)
	return salt
}

// appendFields writes each part with its length, so that ("a","bc") and
// ("ab","c") differ.
func appendFields(b []byte, parts ...string) []byte {
	for _, part := range parts {
		b = strconv.AppendInt(b, int64(len(part)), 10)
		b = append(append(b, ':'), part...)
	}
	return b
}

// privateDigest is what an entry has of its record's private part.
func privateDigest(salt []byte, r host.Record) []byte {
	h := sha256.New()
	h.Write(salt)
	h.Write(appendFields([]byte(privateHead), string(r.Session.User), string(r.Session.Session), string(r.Call), r.Tool, string(r.Key), string(r.Detail)))
	return h.Sum(nil)
}

// entryHash is the hash of a record's entry in the tree.
func entryHash(r host.Record, digest []byte) tlog.Hash {
	return tlog.RecordHash(appendFields([]byte(recordHead), string(r.Session.Tenant), strconv.FormatInt(r.Seq, 10),
		strconv.FormatInt(r.Time.UnixMicro(), 10), string(r.Kind), r.Release, string(digest)))
}

// originOf is the name of a tenant's log.
func originOf(tenant host.TenantID, no int64) string {
	return fmt.Sprintf("sluice.audit/%s/%d", tenant, no)
}

// A seam is the text of an entry between two logs.
func closingSeam(next, nextKey string) []byte {
	return appendFields([]byte(seamHead), "next", next, nextKey)
}

func openingSeam(previous string, checkpoint []byte) []byte {
	return appendFields([]byte(seamHead), "previous", previous, string(checkpoint))
}
