// Package state is the one concrete store: session state, the skills' kv,
// claims on idempotency keys, questions to people and standing grants, the totals
// of writes, ends that are still to be told, the turns of periodic work, and audit
// records, in one database, so that everything that a call leaves behind commits
// together or not at all. It owns every statement, the migrations, and the clock that
// leases and times come from. A tenant is part of every key.
//
// The database is SQLite, or MariaDB or another that speaks MySQL's protocol. The
// tests run on SQLite and MariaDB; every statement also passes the parsers of
// TiDB and Vitess. Several servers that write and replicate to each other
// (Galera) are used through one of them: they do not keep each other's locks.
// A room that keeps tables of its own in the same database is handed it down by
// Store.Database: its transactions wait in the same line and share the same commits,
// and its migrations are run as the store's own are.
//
// It is one store: what differs between databases is in dialect.go, what is
// about SQLite's files and settings in sqlite.go, what is about MySQL's URLs,
// settings and errors in mysql.go, mysqlurl.go and mysqlfault.go; everything else
// is written in what all have in common. Migrations go forward only; each of their statements
// is safe to repeat where a database cannot take a table back.
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
//     claim is unknown; for whoever has a newer lease on the session it is so at
//     once. Reclaim runs the write again, under the same key; the former holder
//     can no longer settle.
//
// # Life of a commit on a database that locks as a whole (batch.go)
//
//  1. A caller checks its input, makes a unit and puts it in the writer's queue,
//     which is bounded. While it waits there it may leave.
//  2. The writer's one lane takes the unit, begins a transaction and runs it, then
//     whatever else waits, until the batch is full or old. Where the disk is slow,
//     a batch may grow older.
//  3. A unit that fails is told at once. All of the transaction is rolled back; the
//     units before it run again and the next ones after them, each in a savepoint,
//     so that whoever fails now takes nobody along.
//  4. One commit, one sync of the disk; then all other units are told.
//  5. Where the database gives up the transaction, no unit of the batch is
//     kept, all are told so, and the next batch gets a new connection.
//  6. A scrub, which writes the file anew without what was deleted, runs between
//     two batches (database.go).
//
// # Life of a commit on a database that locks rows (alone.go, lock.go)
//
//  1. As above; one of the writer's lanes takes the unit.
//  2. Its transaction begins with a mark in the lane's own row, then locks in one
//     order: the session's lease, the claim, the tenant's slots for the keys that
//     it depends on, then rows.
//  3. Where another transaction was in the way (a deadlock, a lock that did not
//     come free, a key that was made meanwhile), or the connection had died
//     while it was idle, all of it is rolled back and the unit runs again, a few
//     times; then the caller is told StoreConflict or StoreFailure.
//  4. The commit. The database lets those of several lanes share a sync.
//  5. Where the commit's answer is lost, a new connection waits for the lane's row
//     and looks for the mark: it was kept, or it runs again, or, if the database
//     stays away, the caller is told ErrUnknownEnd.
//
// # Life of a lease
//
//  1. Lease gives a session's next fence to one holder, until a time by the
//     store's clock. Others are told Busy, with the holder and that time.
//     SaveLeasing does so with the holder's first save, in one transaction.
//  2. The holder renews it, and sends the fence with every write. The write's own
//     transaction reads the lease's row, and keeps it locked until it has
//     committed.
//  3. The holder releases it, alone or with its last save; or its time runs out
//     and the next Lease takes it over with a greater fence.
//  4. A holder that was thought dead comes back: its fence is not the newest, each
//     of its writes is refused with ErrLeaseLost, and nothing of it is kept.
//
// # Life of a question to people
//
//  1. AskApproval keeps it, under the fence of the turn that asks, with the digest
//     of the exact call. While it is open, whoever asks the same gets the same
//     question. Nobody waits, and nothing times out.
//  2. AnswerApproval takes a yes or a no that names the digest. The first one
//     decides. One that says otherwise before the call ran makes it conflicted;
//     CancelApproval takes it back. Both are final: the call never runs.
//  3. UseApproval gives an approved question to one call with that digest, and to
//     the same call again when its turn is resumed.
//  4. PurgeApprovals removes it some time after it was closed.
//
// # Life of an end that is owed
//
//  1. SaveEnd and EndLive keep it with the end itself, in the place of one of the same
//     session, and it is due after the grace of who tells of it.
//  2. TakeOwed gives a try to one caller, and moves when it is due. SettleOwed removes
//     it, or keeps what the try failed with; PurgeSession removes it, too.
//  3. One without a next try stays until ReviveOwed.
//
// # Life of a job's run
//
//  1. TakeJob gives it to one holder, when it is due by the store's clock and
//     nobody is at it, with a fence that is greater than all before it.
//  2. RenewJob keeps it. If the holder's time runs out, the next TakeJob takes it
//     over, and the old fence is refused.
//  3. FinishJob keeps how it ended and when the next one is due.
//
// # Life of an audit record
//
//  1. It is kept in the transaction of what it tells, and gets the next Seq.
//  2. SettledSeq tells up to where nothing can come any more. Whoever seals reads
//     the records up to there in their order.
//  3. Seal keeps where they are in a log, the hashes of its tree, and its
//     checkpoint, if the log still has the size that was gone on from.
//  4. EraseRecords takes the payload of sealed records, and what their digests were
//     salted with, and keeps a record that tells so.
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
