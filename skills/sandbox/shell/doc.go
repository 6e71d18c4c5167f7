// Shell is the skill by which a model filters what is too long for it: a script
// in the language of the shell, with the commands that filter text, over blobs
// that it reads and cannot change. There is no shell of a host behind it, no
// file, no process, no network and no environment: a script is parsed, judged
// by its syntax tree, and evaluated here.
//
// # Life of a script
//
//  1. It is parsed as bash. What is no shell is refused with line and column.
//  2. All of its tree is judged before anything runs: constructs and commands that
//     are not known are refused, and those that would delete, write, reach a
//     network, read secrets or run other programs with the reason. The name of a
//     command, a variable and a redirect must be plain text in the script, so that
//     the tree says all that can happen.
//  3. With dry_run it ends here, and tells what would run.
//  4. The tree is evaluated: words are expanded, commands found in package text
//     and run. The parts of a pipeline take turns, a piece at a time.
//  5. What was written is the result, with the status, also where a command failed.
//     Bounds of steps, memory and of what is written end a script with a problem;
//     what is more than a result may hold is left out, and it says so.
package main
