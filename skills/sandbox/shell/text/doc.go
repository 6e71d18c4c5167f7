// Package text has the commands that filter text, as POSIX and GNU have them:
// grep, head, tail, cut, sort, uniq, wc, tr, sed and their kin, and the streams
// between them. It knows neither files nor processes.
//
// What differs: the locale is always C.UTF-8, and cut -c and tr count characters
// where GNU's count bytes; a flag that is not known is refused with those that
// are; patterns have no back-references; a NUL does not make a text binary.
//
// # Life of a command
//
//  1. Find gives it by its name. It reads its flags; what it does not know ends
//     it with a status and a word on Err.
//  2. It reads In, or the blobs that its operands name, line by line or piece by
//     piece, and writes to Out as it goes.
//  3. Out is often a Pipe: the command stands still while the next one reads
//     what it wrote. Where nobody reads any more, it ends.
//  4. What it keeps in memory, it takes from the Budget, and gives back at its
//     end. Where there is none left, the script stops with a problem.
package text
