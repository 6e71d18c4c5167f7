// Package pattern reads the patterns that people write for grep, sed and the
// shell, and gives Go's regular expressions, which take linear time whatever
// they are given. What has no counterpart there, such as a back-reference, is
// refused with what to write instead.
//
// # Life of a pattern
//
//  1. Its dialect says which characters are operators: basic and extended as
//     POSIX and GNU have them, Perl's as Go has it, a fixed text, or a glob.
//  2. Each operator, class and escape is written as Go writes it; all else is
//     quoted.
//  3. Go compiles it. A pattern of more than 4 KiB, and one that repeats too
//     much, is refused.
package pattern
