//go:build !wasip1

package sdk

import "github.com/sluicehq/sluice/abi"

// Grants are the host functions of one call when a skill runs natively, in
// tests. In a module the host's imports take their place. Keys and values
// have been checked by then; errors are an *abi.Problem.
type Grants interface {
	KVGet(key string) (value []byte, found bool, err error)
	KVPut(key string, value []byte) error
	KVDelete(key string) error
	KVScan(q abi.ScanQuery) (abi.Page, error)
	Log(line string)
}

// env is what host functions are reached through: natively, the grants.
type env = Grants

// Invoke serves one invocation of the skill that this program declares, as the
// export sluice_invoke does in a module: an abi.Invocation in, an abi.Reply
// out, both as JSON. It is what sdk/skilltest stands on.
func Invoke(invocation []byte, g Grants) []byte { return declared.invoke(invocation, g) }

// Describe gives the abi.Manifest of the skill that this program declares, as
// JSON, as the export sluice_describe does in a module. The error is an
// *abi.Problem that lists every mistake of the declarations.
func Describe() ([]byte, error) { return declared.describe() }

func kvGet(c Call, key string) ([]byte, bool, error)       { return c.env.KVGet(key) }
func kvPut(c Call, key string, value []byte) error         { return c.env.KVPut(key, value) }
func kvDelete(c Call, key string) error                    { return c.env.KVDelete(key) }
func kvScan(c Call, query abi.ScanQuery) (abi.Page, error) { return c.env.KVScan(query) }
func log(c Call, line string)                              { c.env.Log(line) }
