// Package keeper keeps the memories of one host: the truth in the host's database,
// and an index after it. It owns the tables whose names begin with memory_, every
// statement on them, and the rule that nothing is recalled that the truth does not
// have. A tenant and a user are part of every key of what is remembered.
//
// The truth is the database; a memory.Store is derived, and may be lost at any time.
// What memories mean to each other is memory's, which is pure: the keeper reads what
// its rules need, and writes what they say, in one transaction. What takes long to
// compare or to count is done outside of it, and looked at again inside.
//
// # Life of a memory
//
//  1. Remember looks, under the lock that all changes take, for a memory that says
//     the same of the same, until the same time (same.go). That one is verified, once
//     for each source (source.go); else a new one is written, with where it comes from, and a line
//     of the outbox. A fact or a habit that Renew keeps takes the place of the one before
//     (renew.go). What a user declares, Declare settles with what they declared of the same
//     matter: it wins, loses, or both stand and a question is kept which of them counts
//     (declare.go). So does Import with declarations that it brings (port.go). Words that
//     are heard again, as when a turn is resumed, change nothing.
//  2. The followers of all replicas see the line, and put the memory into their
//     indexes. An embedder, where there is one whose leg is on, gives its vector later;
//     that is another line.
//  3. Recall asks the index for candidates, ranks them, and reads the best from the
//     truth; it asks for more where too few of them hold at its moment. That they were
//     recalled is counted some seconds later.
//  4. Supersede, Falsify, Archive, Pin and Prioritise change how it counts, never its text; each
//     leaves an event of its life. Of a piece of a document, what it is searched by
//     follows the headings above it. Tidy archives what is worth little. Restore takes
//     it all back: gaps and questions that ended with a declaration are open again as they
//     were (reopen.go), and what was known meanwhile stays known as of then; until Purge
//     removes what was archived long ago, and PurgeSuperseded the facts and habits that
//     newer ones took the place of. What a purged one had superseded is superseded by
//     what superseded that.
//  5. Forget removes it, with what was made of it, from every table, index and file.
//     A receipt stays, which has no text.
//
// # Life of a document
//
//  1. Learn reads it once to see that it is text to its end, and what its digest is. The
//     same digest under the same description is known: nothing is done.
//  2. Else a revision begins, with a number that no other one has. It is read again, and
//     some pieces in each transaction get their places in it. A piece that is word for
//     word there keeps its memory; a new one gets one. What the revision before had is
//     still there, so that both are recalled, and a crash leaves no hole. Whoever began
//     a later revision, or forgot the document, stops this one.
//  3. One transaction makes the revision the document's. From then on places are of it.
//  4. What earlier revisions had, those that were broken off too, is superseded by the
//     digest, some in each transaction, and its places go. Learning the same again goes
//     on with what is left of that. Restore brings a memory back; it has no place then.
//  5. Around gives the text beside hits: own words of pieces of one part that count, in
//     the order of their places, as they are in the truth at that moment (around.go).
//  6. Forget by document removes it with all that names it. Where a piece alone is
//     forgotten, the piece behind it loses the words that it began with (unlearn.go). With
//     the last piece the document goes.
//
// A document is no part of an export: its memories are, and become those of the document
// when it is learned from its source again.
//
// # Life of a question
//
//  1. Reconcile compares what a user declared with what they do. A contradiction is a gap,
//     one of a session or a live. The third that is open makes a question; more join it.
//  2. It is asked once (Asked). It waits for an answer then, of the user's next words or of
//     whoever tells it later (Answer), and closes with its gaps.
//  3. Where none comes, and three gaps more were found, it is closed as unanswered, with the
//     gaps before those; these make the next one. So the user is asked again only after
//     as many new reasons.
//  4. TidyQuestions closes one that was asked long ago, so that its memory may fade.
//     TidyGaps removes gaps that were closed long ago, but those whose behaviour still
//     counts: by them it is known that it was counted.
//
// # Life of a line of the outbox
//
//  1. It is written in the transaction of the change, with a number from the head's
//     row. That row is locked until the commit, so that the numbers are seen in their
//     order by everybody, and whoever has seen one has missed none before it.
//  2. The keeper that wrote it wakes its follower. Those of other replicas look every
//     DefaultPoll. Each has its own place, as its index has; where all replicas share
//     an index, one follows at a time, and the place is in the database (duty.go).
//  3. A line names a memory and nothing else. The follower reads the memory as it is
//     now and puts it, or takes it out if it is gone; so it may apply a line twice.
//  4. A follower that dies between the commit and its index is replaced: one of its
//     own index begins anew with it, one of a shared index is taken over where it was.
//  5. Lines go after OutboxAge. A follower that had not seen them fills its index anew.
//
// # Life of an index
//
//  1. Open fills the index of a process anew. A shared one is filled by whoever takes its
//     duty, at Open or later, if its version is another than the keeper's (the terms, and
//     the model of the vectors, whether its leg is on or not), if it was not completed, if
//     it is behind the outbox, or if it is not whole.
//  2. It notes the head's number, empties the index, and reads all memories in the
//     order of their writing; terms are made on all cores meanwhile.
//     Of a shared one that another replica has in hand, Rebuild asks that one to, by
//     taking the version from it in the database, and waits.
//  3. It follows from the number that was noted. Who fills or follows a shared one has
//     its duty, and renews that all the while; who lost it stops, and takes out what
//     was forgotten while its last Put was under way.
//  4. Each filling of a shared one has a name of its own, which is in the duty's row once
//     it is complete. Recall reads that row first, and searches the filling that it names;
//     there is none while the index is filled, or is another version's, and Recall says so.
//  5. Who has the duty looks from time to time, and at once when a search or a write found
//     the index gone: the filling must be there, be the only one, and have as many entries
//     as there are memories, but for the lines that it has not seen. Else it is filled anew,
//     and more and more seldom where it is lost each time. Ready tells how it is.
//
// # Life of a verdict
//
//  1. Somebody judges a model on labelled data, and keeps what came of it (KeepVerdicts): on
//     or off, the weight, the figures, the digest of the data. It is for that model, the
//     terms of the index, and one ranking.
//  2. Every keeper with an embedder looks for its verdict at Open, and every Poll after
//     that (leg.go). Without one, or with one that cannot be read, the leg is off: recall
//     is by words alone, the model is asked for nothing, and the log says so once.
//  3. A leg that comes on searches at once by the vectors that there are. One keeper lists
//     the memories that have none of this model, and embeds them; State tells how many wait.
//  4. A leg that goes off leaves its vectors where they are. What is written meanwhile is
//     listed, and gets its vector when the leg is on again.
//
// # Life of a request to forget
//
//  1. The memories are found: by id, by entity, by document, or all. What was made of them
//     and what they superseded comes with them, the farthest first, so that a repetition
//     finds what a crash left. Before, Origins tells who erases elsewhere where all of that
//     came from; sessions that are to go, too, are noted (Owe) until they are gone
//     (Settle), since nothing tells of them then.
//  2. In one transaction for each batch: rows, vectors, events, bands, links, gaps and
//     questions go; traces that point to them, or quote the input that they came from,
//     lose their words; lines of the outbox go but for one, and a receipt is written. The
//     receipt of a whole forgetting tells readers of a log what not to learn again
//     (ForgottenUntil), and the last one that was asked for tells who hears words late (LastForgotten).
//  3. Every index drops them. No recall gives them from the commit on, since it reads
//     the truth.
//  4. The database's files are scrubbed. If that fails it is tried again until it is done.
package keeper
