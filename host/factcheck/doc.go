// Package factcheck holds what a model's answer says against what is known. It
// owns what counts as a claim in Chinese and English, and what bears one out. It
// is pure: texts in, findings out; no model, no clock, no I/O.
//
// A claim is that something was done; an amount of money, a percentage or a
// discount; a stock or a count beside a price; an id; a name. What is asked,
// wished, planned, denied, proposed or bound to a condition claims nothing. Nor
// does what the user is said to have done, or what stands in a text that the user
// wanted to have written.
//
// A doubt is decided for the answer. A check that stops honest answers is
// turned off, and then stops none.
//
// # Life of a check
//
//  1. The answer is folded: full-width and ornamental digits, letters that only
//     look Latin and invisible characters become plain ones. It is parted into
//     sentences and clauses, by marks alone.
//  2. Claims are looked for. An answer without any costs no more than that.
//  3. What is known is folded, and its numbers are read, of JSON and of prose.
//     Those of dates, times and ids are no values.
//  4. An action needs a call that changed something, succeeded, serves this
//     input, is of a tool that does such things by its name and summary, and
//     together with the others names every id of the claim, and the value that
//     something was changed to. A call of an earlier input will do where it shows
//     all that the claim names, or else all that the user names now. What is
//     told as a state ("has been cancelled") may also be in a result, or in the
//     user's words if they say that it is so.
//  5. A number must be known: as it is, rounded, in cents, as a share; or be
//     worked out from numbers that the answer states beside it or the user gave;
//     or be the sum of a member of a result, for a few persons. That something is
//     so now needs more than the user's wish.
//  6. Ids and names must be known as whole words; of a name each word will do.
//
// # What it cannot see
//
// A wrong number that happens to be known, such as another product's price, or
// that follows from numbers beside it: of amounts in recorded answers that were
// made false a fifth. Numbers without money, share, stock or price beside them,
// numbers in English words, dates and times. A known id or name in the wrong place.
// An action that is told in words that are not in its lists, that a tool of the
// same kind did to another thing which the answer does not name, or a read that
// never ran ("I have checked"). The same action claimed twice. What the model
// itself wrote into a call, as it counts as known. Other languages.
package factcheck
