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
//  3. The user's words are stored before the model is asked.
//  4. The window is fitted. A compaction is stored before the model sees it, so
//     that every replica asks the same; a small model may word the summary.
//     The model is told the skills' state as it is now, and what this turn
//     changed of it. It answers; the answer is stored before its calls run.
//  5. Calls run: neighbouring reads side by side, writes alone and in order.
//     Their results are stored as they come, in the order of the calls. A call
//     that fails is a result too and never ends the turn. A call that was
//     stopped with the turn, or is running elsewhere, gets none yet. A search
//     for tools that the model does not see is answered from the shelf. A call
//     that goes round in circles is cut off with a warning; the second one of a
//     turn ends the turn.
//  6. From 4 again, until an answer without calls, or the ceiling of steps.
//
// What comes next is read off the stored conversation and nothing else: after
// its last message is a user's or a result, the model is asked; after calls
// without results, they run; after an answer, the turn is over. So a turn that
// was broken off anywhere continues, and a call that was in the middle gets its
// old id and key and meets its claim.
package agent
