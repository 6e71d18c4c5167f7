// Package recall brings what the host remembers into the life of a session, and
// what happens there into memory. It gives hooks, the functions behind a skill's
// memory capability, and the work of periodic jobs; how memories are kept and found
// is memory/keeper's.
//
// # Life of an input
//
//  1. Before the model is asked the first time, the user's words are heard: they may
//     answer an open question, and what they declare becomes memories (L1).
//  2. What fits the words is recalled, and what must always be kept to (constraints)
//     stands before it. The model reads it as data of earlier, never as orders. The
//     record names ids, and no words.
//  3. At a decision point the policy's words say so, and the model is told in which
//     form its answer may be: by the trust of this user in this domain. A question
//     that has waited for such a point is asked, once.
//  4. Results of the tools that the policy names become facts (L2).
//  5. An answer at a decision point that says more than its form allows is withheld,
//     and the model gives another one. What is shown is a trace.
//  6. The end of a session keeps what was done in it, as one memory, and starts to
//     reconcile. The end of a live does so for all of its users' habits.
//  7. Jobs read the audit log for habits (L3), reconcile them with what users said,
//     and archive what is worth little.
package recall
