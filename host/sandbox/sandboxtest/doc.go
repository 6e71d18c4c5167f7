// Package sandboxtest gives the tests of the rooms above real modules in
// little time. It is for tests only.
//
// Compiling a module that Go made costs the engine seconds, and ten times that
// under the race detector. So compiled code is kept in one folder that all
// tests share, and a plain child process puts it there before a test needs it.
//
// # Life of a module in a test
//
//  1. Build compiles the Go package to WebAssembly, unless a test before it did,
//     of the same source with the same tools: what the module was made of is
//     noted beside it, by the go command's names of all packages as compiled for
//     the build that is asked for its description and for the one that has it.
//  2. Warm looks for the module's marker in the shared folder. If there is
//     none it takes the folder's lock, so that of several test processes one
//     does the work, builds the program in warm/ without the race detector, and
//     has it compile the module into the folder, as the engine of a test
//     looks for it there: see AsTestsDo.
//  3. Load loads the module in a sandbox that the whole process shares and
//     keeps it loaded, so that the next test has it at once.
package sandboxtest
