// The room skill as a module.
package main

import _ "github.com/sluicehq/sluice/sdk/testdata/room"

func main() {}
