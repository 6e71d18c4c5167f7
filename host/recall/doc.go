// Package recall brings what the host remembers into the life of a session, and
// what happens there into memory. It gives hooks, the functions behind a skill's
// memory capability, and the work of periodic jobs; how memories are kept and found
// is memory/keeper's.
//
// # Life of an input
//
//  1. Before the model is asked the first time, what the user said themself is heard, as
//     of when they said it: it may answer a question that was asked in this session just
//     before, and else it may tell what the user does with the decision that they were
//     shown right before, which goes on its trace, and what they declare becomes memories
//     (L1). A file that they name is not heard, nor what the host says, and that uses up no
//     answer. The rules hear at once; a model hears in the background, and its reading
//     replaces nothing. What fails is done again before the model is asked the next time.
//     What came before something of the user was forgotten last, in whichever process, is
//     not heard any more: it may be that.
//  2. What fits the words is recalled, and what must always be kept to (constraints)
//     stands before it, the user's own and newest first. With the first words of a
//     session comes what matters in its scene, and at a decision point what is known of
//     its domain and of the product that is named, beyond the words (bring.go). A piece
//     of a document brings the text that it stands in, within bounds; pieces that stand
//     together are one quotation (around.go). The model reads it as data of earlier, never as orders. The
//     record names ids, and no words. Of declarations that contradict each other the
//     model is told to keep to both; where the words are about their topic it is given
//     the question which one counts.
//  3. At a decision point the policy's words say so, found in the user's own, also where
//     the host goes on with these after an approval; and the model is told in which
//     form its answer may be: by the trust of this user in this domain. A question
//     that has waited for such a point is given to it, as data, to be asked, and to no
//     other turn's until this one is over.
//  4. Results of the tools that the policy names become facts (L2), each in the place
//     of the older one of its matter, unless something of the user was forgotten since.
//  5. Whatever the model says at a decision point, also beside calls, is held to its
//     form; what says more is withheld, and the model gives another answer. If that says
//     too much again, the user is told what was held back, why, and what can be done. Of a
//     recommendation without all of its parts the model is told once what is missing; the
//     next answer passes.
//  6. When the user has the answer, the question counts as asked, if it was, and the
//     decision is a trace, with the trust by which its form was chosen. A turn that ends
//     otherwise leaves neither.
//
// # Life of a session
//
//  1. Its end keeps what was done in it, as one memory, and the habits of it alone (L3),
//     beside those of several lives, and reconciles both with what the user said.
//     Sessions of one live are one live, for habits and for contradictions. An end may be
//     told again, and leaves the same.
//  2. The end of a live keeps what each user did in it, over all its sessions, in the same
//     way, and then has the tenant's log read for habits, in the background. Jobs do
//     the latter, archive what is worth little, remove what was replaced long ago, and
//     close questions that were asked long ago and not answered, with what led to them.
//     What was done before a user had everything forgotten is not learnt again.
//  3. A purge keeps nothing: it forgets what memory made of the session and of its
//     calls, and takes the words out of its traces. It is over when that is done. An end
//     that goes on beside it reads the log once more, and forgets what it kept. What
//     the model hears at that time of the user's other sessions is broken off, too, and
//     is not heard again; the log says so.
package recall
