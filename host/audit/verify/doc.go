// Package verify checks published audit logs and proofs. It reads only what is
// published, and shares no code with what writes it but the libraries that hash
// and sign: golang.org/x/mod/sumdb/tlog and note. Whoever does not trust the host
// can build it alone, or write another: the form of the entries is in package
// audit's words, and here in entry.go.
//
// # Life of a verification
//
//  1. The folders "1", "2" and so on of a tenant's logs are found, with a
//     checkpoint and a key in each. The signatures must be of those keys; one of
//     the keys must be one that the caller trusts, if he names any.
//  2. The entries of each log are read once, in their order. Each must be the next
//     one, and hash to what the tree has for it; its record must be newer than the
//     one before. The first that is not so is the finding, and ends it.
//  3. At the size of each checkpoint, the log's own or one that the caller had
//     kept, the hashes must add up to the root that was signed.
//  4. A log that was closed must name the next one and its key, and that one the
//     last checkpoint of the one before: so each trusted key vouches for all logs.
//  5. What was erased must be named by a record of its erasure, later in the logs.
package verify
