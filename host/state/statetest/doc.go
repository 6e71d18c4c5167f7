// Package statetest gives tests a database of the MySQL family: a MariaDB
// server of their own, from the programs that `make deps-mariadb` installs, in a
// temporary folder and on a port of this machine alone. Nothing of it is left.
//
// # Life of a server
//
//  1. Start makes a data folder with the server's own tables in it (2 s) and
//     starts the server (half a second). Shared does so once for all tests of a
//     program; the program's TestMain calls Main, which stops it.
//  2. Database makes an empty database, and removes it after the test.
//  3. Kill ends the server as a power cut would, Restart starts it again on the
//     same folder and port: whatever it had confirmed is there.
//  4. The server runs under a shell that ends it when the test program is gone,
//     however that ended.
package statetest
