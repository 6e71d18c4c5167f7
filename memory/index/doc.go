// Package index owns the embedded index of memories: a [memory.Store] in the
// process, without a server and without a file. It starts empty, with no version,
// and whoever opens it fills it from the truth.
//
// # Life of an entry
//
//  1. Put builds a segment of the entries of one user: their terms in ascending
//     order, each with the entries that have it. A segment never changes.
//  2. The segment is merged with the user's last one while that is small, so that a
//     user has few segments, and a write costs what the user has, not the tenant.
//  3. A search takes the segments of its user, or of all users of its tenant, and
//     how rare the tenant's entries make each term. Then it needs no lock: it adds
//     up the weights in each segment, drops what the filter does not want, and keeps
//     the best.
//  4. Delete builds the segment anew without the entry. Nothing of it is left but
//     what a search that had begun still reads.
package index
