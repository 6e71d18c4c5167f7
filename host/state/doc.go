// Package state is the one concrete store: session state, the skills' kv,
// claims on idempotency keys, and audit records, in one database, so that
// everything that a call leaves behind commits together or not at all. It owns
// every statement, the migrations, and the clock that leases and times come
// from. A tenant is part of every key.
//
// The database is SQLite. What differs between databases is in dialect.go, what
// is about SQLite's files and settings in sqlite.go; everything else is written
// in what SQLite and the MySQL family have in common.
//
// # Life of a durable write
//
//  1. Claim takes the idempotency key and writes the intent's record, in one
//     transaction that is on the disk before the effect begins. Whoever comes
//     later with the key is told done, in flight, or unknown.
//  2. The call reads and writes kv in a View. Reads go to the database, without
//     any lock; the view notes the stamp of every row and range. Writes stay in
//     the view.
//  3. Settle runs in the writer's transaction: the claim must still be this
//     call's; everything that the views noted must be as it was; then the kv
//     writes, the state changes with their version checks, the claim's outcome
//     and the records are written.
//  4. If something had changed, nothing is kept and the caller is told
//     StoreConflict: it resets the views and runs the call again under the
//     same claim. If the call failed, ReleaseClaim gives the key back.
//  5. If the process dies between 1 and 3, the claim's lease runs out and the
//     claim is unknown. Reclaim runs the write again, under the same key; the
//     former holder can no longer settle.
//
// # Life of a commit
//
//  1. A caller checks its input, makes a unit and puts it in the writer's queue,
//     which is bounded. While it waits there it may leave.
//  2. The writer takes the unit, begins a transaction and runs it in a
//     savepoint, then whatever else waits, until the batch is full or old.
//  3. A unit that fails is rolled back to its savepoint and told at once.
//  4. One commit, one sync of the disk; then all other units are told.
//  5. Where the database gives up the transaction, no unit of the batch is
//     kept, all are told so, and the next batch gets a new connection.
//
// # Life of a fork
//
//  1. Fork seals the parent: from then on its kv takes no writes. The child
//     begins without rows.
//  2. A read of the child looks into its own rows, then into the parent's, and
//     so on; a scan merges them. A row that is marked as deleted hides the rows
//     below it.
//  3. A write makes a row of the child. Since everything below is sealed, only
//     the child's own rows are checked when a call settles.
//  4. Changes lists in what the child differs from its parent.
package state
