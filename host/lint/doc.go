// Package lint looks at files by their type and says what is wrong with them,
// with line and reason: what a tool has written is to be what it says.
//
// JSON, YAML, TOML, CSV and the source of Go are parsed in the process, within
// bounds that hold whatever the bytes are, and a few at once where that takes
// memory. For other types an operator names
// commands, such as a linter of Python.
//
// # Life of a look at a file
//
//  1. The type comes from the name's extension, or from whoever asks.
//  2. A type of the process is parsed. Too large or too deep a file is not: that
//     is a finding, too.
//  3. If nothing was found and the operator has a command for the extension, it
//     runs on a copy: alone in a folder of its own below one that is the host's, under a name of the host's, with
//     no shell, no input and no environment but PATH. It has a deadline and a bound
//     on its output; in the end its whole process group is killed and the folder
//     removed.
//  4. Its output is read as lines of file:line:col: reason. Text that is none is
//     one finding without a line, unless the command says that all is well.
//  5. A command that is missing, hangs, floods or dies has found nothing, and that
//     is not the same as a clean file: the caller gets an error, and operators a
//     line in the log.
//
// What a command may do beyond that is its own: it runs with the rights of the
// host, and a process that leaves its group on purpose is not followed. A file
// is written by a model, so commands are to read files and not to run them. Many
// look for their configuration upwards from a file: operators give it to them.
package lint
