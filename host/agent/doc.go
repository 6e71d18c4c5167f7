// Package agent runs the turn: think, act, observe, until an answer. It owns
// the loop, the conversation in the store, and the order in which calls run;
// every call goes through dispatch, and the model sees what window gives it.
//
// # Life of a turn
//
//  1. Turn finds the session and the input. An input that was delivered before
//     is not run again: a finished one gives its stored answer, an unfinished
//     one goes on where it stopped, and one that another input has superseded
//     stays unanswered.
//  2. The conversation's end is loaded and the session's releases are pinned.
//     Calls of a turn that was broken off and is not continued get a result:
//     the records say what became of each.
//  3. The user's words are stored before the model is asked, with the session's
//     files that they name, and the scene that they fall in; and with them the
//     session's lease is taken.
//  4. Where no budget is used up, the hooks may add memories and notes to this one
//     request, or refuse it. The window is fitted. A compaction is stored before the model sees it, so
//     that every replica asks the same; a small model may word the summary.
//     The model is told the skills' state as it is now, and what this turn
//     changed of it, the project's notes, and the guides of skills in play. It
//     answers, and the hooks judge the answer; an answer with calls is stored
//     before they run.
//  5. Calls run: neighbouring reads side by side, writes alone and in order.
//     Their results are stored as they come, in the order of the calls. A call
//     that fails is a result too and never ends the turn. A call that was
//     stopped with the turn, or is running elsewhere, gets none yet. Searches for
//     tools that the model does not see, and for topics of earlier, are answered
//     here. A call that goes round in circles is cut off with a warning; the
//     second one of a turn ends the turn.
//  6. From 4 again, until an answer without calls, a budget that is used up, or a
//     guard that refuses. It is stored as the turn's end, and with that the lease
//     is given back. So a turn without calls is two transactions, and one more in
//     a live. After some inputs what was said is cut into topics. The hooks are
//     told of the end when it is stored.
//
// What comes next is read off the stored conversation and nothing else: after
// its last message is a user's or a result, the model is asked; after calls
// without results, they run; after an answer, the turn is over. So a turn that
// was broken off anywhere continues, by the same input or by Resume, which finds
// the words in the store. A call that was in the middle gets its old id and key
// and meets its claim; one that was settled has its outcome on record.
//
// # Life of a task's files (rollback.go)
//
//  1. Before the first call of a task that may change the session's files, all of
//     them are kept as a checkpoint; where that fails, the call is refused.
//  2. A write that ends in an unrecoverable problem, and the breaker's second
//     trip, put them back; the model and the user are told.
//  3. The turn's end keeps what was written. A turn that is resumed elsewhere
//     finds its checkpoint by the input's id.
//
// # Life of an answer to a question (approval.go)
//
//  1. A call that a person must confirm has a result that says so; the turn goes
//     on, its other calls run, and its answer names the questions that are open.
//  2. Decide stores a person's answer, from any door. It is bound to the digest of
//     what the person has seen.
//  3. Continue makes an input of it, whose id follows from the question's. A turn
//     that was broken off is finished first.
//  4. The input's first messages are the host's: what was answered, in the
//     person's words, and for a yes an assistant's message with exactly the call
//     that was asked about. So that call is open, and the loop runs it as any other.
//  5. From there it is a turn: it can be broken off and goes on anywhere, and a
//     redelivery gives the stored end. It serves the user's input that the
//     question was asked for: a write that was done for that is not new here.
//
// # Life of an idle session's end (idle.go)
//
//  1. The store lists sessions whose lease was given back longest ago.
//  2. One that has ended already is taken off the list until it is used. One that a
//     turn has, that was used meanwhile, or that waits for a person's answer comes
//     back after as long again. The last ends, too, after many times as long.
//  3. Under its lease it is looked at once more. Its end is saved, put on record and
//     owed in one transaction; the lease is released, and the hooks are told.
//  4. Its next input begins it again, with all that it had.
//
// # Life of an end that is owed (owed.go)
//
//  1. The end of a session or of a live is saved with a row that says that it is owed.
//     Who saved it tells the hooks, and if none fails, removes the row.
//  2. Where one fails or the process dies, TellOwed finds the row when it is due, on any
//     host. It takes the session's lease, if there is a session, and a try: the row is
//     counted up, and waits twice as long for its next try. So of two hosts one tells,
//     and what kills its host does so only now and then.
//  3. After the last try the log says so, and the row stays for people to see, until it
//     is revived. The session's next end takes its place, and a purge removes it.
//  4. A host none of whose hooks hears ends leaves the row to others from the start. It
//     drops one that was due a month ago: no host that hears has run since.
//
// What is stored under which keys, and how older versions of it are read, is in
// keys.go. Sessions, Show and Messages look at it without a lease.
//
// # Life of an answer before hooks (hooks.go)
//
//  1. PreReasoning is asked before each question to the model. What it injects
//     stands behind the conversation and is stored nowhere; a turn that goes on
//     elsewhere asks the hooks again, and they may say something else. What the user
//     said, and when, is kept with the input and told apart from files and from the
//     host's words, so that no hook takes those for the user's.
//  2. Where a guard or the check of claims judges answers, nobody sees a piece of
//     one before.
//  3. PostReasoning is asked before the answer is stored. What a refusal does is
//     what the table of problems says of its code. What may pass, also a guard that
//     does not answer, breaks the turn off: the same input asks again. What the
//     model could mend is told to it, once. All else, and a second refusal in a
//     row, ends the turn, and the user is told: in the guard's own words, where it
//     has some, and else in those of the code. A refused answer is not stored; what
//     it used counts, and so does what a hook says that it used itself.
//  4. Notes and refusals are on record before the turn goes on.
//
// # Life of a claim (factcheck.go)
//
//  1. After the hooks, an answer is held against what the model was told and what
//     its calls did. Earlier answers prove nothing but numbers that they worked
//     out; what was withheld proves nothing.
//  2. What claims more is on record, with the words and the reasons.
//  3. The model is told which words have no ground, and may answer once more,
//     for what an answer costs. That is the one chance that guards give, too.
//  4. If that claims too much again, the user gets the host's words in its place:
//     what was claimed, what was really done, and the request to confirm. With
//     them the turn ends, as unbacked.
//
// OnProblem hears of what breaks a turn off or ends it without an answer, beside
// what dispatch tells of calls. OnTurnEnd and the start of a live (StartLive) are told
// after the store has it, once: if the process dies in between, not at all. OnSessionEnd
// (EndSession, EndIdle, Clear and Purge) and the end of a live (EndLive) are told at least
// once. A hook with OnPurge is told of a purge by that instead, each time that it is
// asked for, before anything is removed.
//
// # Life of a budget (budget.go)
//
//  1. What an answer and a call have used is counted in the input's value and in
//     the session's, and stored by the save that stores what they gave. So it is
//     known to whoever goes on.
//  2. Before each question to the model, and in dispatch before each call, each
//     budget is looked at. The calls of one answer count before they have run. How
//     much an answer takes is known afterwards, so that a budget is passed by one
//     answer at most.
//  3. A budget that is used up ends the turn; the user and the hooks are told, and
//     it is counted for alerts.
//  4. A session of a live keeps its total under the live when its turn ends, in a
//     row that only it writes, and adds up the others' when a turn begins. What
//     turns that run elsewhere use meanwhile is not in that sum.
//
// # Life of a turn's lease (lease.go, begin.go)
//
//  1. A turn gets its session's only place in this process, and then the lease in
//     the store. It waits a few seconds for another turn that has them; then it
//     is Busy, and says who has the session.
//  2. A new input takes the lease with its first save; the versions of that save
//     protect what was read before. A turn that goes on, one that had to wait,
//     and one that must say what became of calls, take it alone and then read.
//  3. The lease is renewed each third of its time. Its fence goes with every save,
//     and with every call into its claim and its settlement.
//  4. The last save gives it back. A turn that fails or is stopped gives it back,
//     too, so that it can go on elsewhere at once; after a crash it runs out.
//  5. If somebody else took it over, or if it could not be renewed in time, the
//     turn's context ends with Busy as the cause, and nothing more is saved. A
//     call that was running then keeps its claim, as after a crash.
package agent
