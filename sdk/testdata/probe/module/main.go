// The probe skill as a module.
package main

import _ "github.com/sluicehq/sluice/sdk/testdata/probe"

func main() {}
