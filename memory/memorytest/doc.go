// Package memorytest owns the contract of [memory.Store]: one suite, [Run], that
// every index is held to, and [Qdrant], a server for the tests of the index that
// is on a Qdrant server.
//
// Qdrant here IS NOT QDRANT. It is a few hundred lines in memory that answer the few
// requests which our index makes, as Qdrant documents that it answers them. What passes
// on it shows that we send and read those requests as we mean to, over a real socket and with Qdrant's
// real client. It shows nothing about Qdrant: not its speed, not its graph, not its disk,
// not its cluster, and not that its documentation is true. For that, set SLUICE_TEST_QDRANT
// to the host:port of a real one; without it, the tests say that it was left out.
//
// # Life of a run
//
//  1. Each part of the suite opens a Store of its own, over an empty index for
//     dense vectors of [Dimensions] numbers, and resets it to a version.
//  2. It puts entries that it made, of a seed that is the same every time, and
//     searches. What must be found is worked out by a plain loop over the entries.
//  3. What is compared is what every index owes, and no more:
//
// # What every index owes
//
// Which entries may be found is exact: by the filter, by the terms or the vector.
// The order is exact where every sound BM25 has the same. Indexes may count IDF over the
// whole collection, over a tenant or over a user, and may have other constants,
// so the suite compares the scores of sparse hits only where
//
//   - the query has one term: the greater weight in the entry comes first. Weights of
//     the suite are of BM25, above 0 and below 2.5, and differ by a hundredth at
//     least, so that an index may round them;
//   - one entry has every term of the other with at least its weight, and one more of the query's;
//   - the collection is one user's, and a rare term stands against a frequent
//     one of the same weight: the rare one comes first.
//
// Equal entries have equal scores, and the lesser id comes first. The scores of dense hits are
// cosines, to a ten-thousandth. Times are kept to the microsecond, as in the
// databases that they come from. A limit is from 1 to [MaxLimit]. What an index that was
// never reset does is left open, but for its State. A filling of a [memory.SharedStore]
// that the next Reset replaced is gone, and says so.
//
// What the caller got wrong is a problem of the class of arguments: the same again
// would fail the same, so that nobody repeats it. Nothing of a Put with such an entry is kept.
// What was stopped before it began does nothing, and says by which of the two.
package memorytest
