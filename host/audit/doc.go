// Package audit makes the audit records evidence: it seals what the store keeps
// into one verifiable log for each tenant, proves what is in it, erases payloads
// on request, and publishes what package verify reads. It owns the form of the
// entries, the signing key's file and the pace; the tables are the store's.
//
// # What an entry is
//
// An entry of the log is a text in two parts. The private part has what may be
// about a person: user, session, call, tool as the model named it, key, and the
// detail. It goes into the entry only as its SHA-256 behind a random salt of 32
// bytes. The open part has tenant, seq, time, kind and release, and that digest.
// The fields are netstrings without the comma, "5:hello", numbers in decimal, the
// time in microseconds since 1970:
//
//	private  "sluice-audit-private/1\n" user session call tool key detail
//	digest   SHA-256(salt, private)
//	open     "sluice-audit-record/1\n" tenant seq time kind release digest
//
// The hash of an entry is that of RFC 6962: SHA-256 of a zero byte and the text.
//
// # Life of a record
//
//  1. A call keeps it, in the transaction of what it tells. Nothing here is asked.
//  2. The sequencer, which runs on one host at a time, sees that the tenant has
//     something new, and asks the store up to which seq nothing can come any more.
//  3. It takes the records up to there in the order of their seqs, draws a salt for
//     each, hashes the entries and extends the tree. The hashes that it goes on from
//     are checked against the root that was signed before: it does not build on what
//     somebody changed.
//  4. It signs the new size and root. One transaction keeps the leaves with their
//     salts, the hashes and the checkpoint, on the condition that the tree still has
//     the size that it went on from. Whatever breaks off before has done nothing;
//     of two sequencers one is told that it was too late.
//  5. Somebody's request erases it: one transaction removes the private part and
//     the salt, leaves the digest, and keeps a record of kind "erasure" that names
//     the entry, which is sealed like any. The tree and all proofs stay as they are.
//
// # Life of a log
//
//  1. The first record of a tenant makes it, with the newest key of the host's file.
//     A file is made only by who alone seals the store: where hosts share one, all
//     must have the same, and CheckKeys tells one that has another before it serves.
//  2. Rotate ends it with an entry that names the next log and its key, and begins
//     that one with an entry that names the old one's last checkpoint, in one
//     transaction. Its tree never grows again.
package audit
