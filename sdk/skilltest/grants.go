package skilltest

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

var _ sdk.Grants = (*grants)(nil)

// grants are the host functions of one call, on a copy of the kv namespace.
type grants struct {
	t          testing.TB
	manifest   abi.Manifest
	write      bool // the tool may write
	kv         map[string][]byte
	written    map[string]bool
	bytes      abi.Size // written in all
	calls      int
	movedBytes abi.Size

	room     *room                // a copy
	recalled []abi.Memory         // what there was when the call began
	reports  []abi.ProgressReport // of the call
	used     used
}

func (g *grants) KVGet(key string) ([]byte, bool, error) {
	if err := g.enter(len(key)); err != nil {
		return nil, false, err
	}
	value, found := g.kv[key]
	return bytes.Clone(value), found, g.move(len(value))
}

func (g *grants) KVPut(key string, value []byte) error {
	if err := g.enterWrite(key, len(value)); err != nil {
		return err
	}
	g.kv[key] = bytes.Clone(value)
	return nil
}

func (g *grants) KVDelete(key string) error {
	if err := g.enterWrite(key, 0); err != nil {
		return err
	}
	delete(g.kv, key)
	return nil
}

func (g *grants) KVScan(q abi.ScanQuery) (abi.Page, error) {
	if err := g.enter(len(q.Prefix) + len(q.After)); err != nil {
		return abi.Page{}, err
	}
	var page abi.Page
	size := abi.Size(0)
	for _, key := range slices.Sorted(maps.Keys(g.kv)) {
		if !strings.HasPrefix(key, q.Prefix) || key <= q.After {
			continue
		}
		e := abi.Entry{Key: key}
		if !q.KeysOnly {
			e.Value = bytes.Clone(g.kv[key])
		}
		size += abi.Size(len(e.Key) + len(e.Value))
		if n := len(page.Entries); n > 0 && (n == limit(q) || size > abi.ScanPageBytes) {
			page.After = page.Entries[n-1].Key
			break
		}
		page.Entries = append(page.Entries, e)
	}
	return page, g.move(int(size))
}

// Log writes to the test's own log.
func (g *grants) Log(line string) { g.t.Log(line) }

func limit(q abi.ScanQuery) int {
	if q.Limit == 0 {
		return abi.ScanPageEntries
	}
	return q.Limit
}

// enter counts one host call, and refuses it where the skill has no kv.
func (g *grants) enter(n int) error {
	if g.manifest.Capabilities.KV == nil {
		return abi.NewProblem(abi.NotGranted, "%s does not declare kv", g.manifest.Name).WithHint("Declare it with sdk.KV.")
	}
	if g.calls++; g.calls > abi.HostCalls {
		return abi.NewProblem(abi.QuotaReached, "the call made more than %d host calls", abi.HostCalls)
	}
	return g.move(n)
}

func (g *grants) move(n int) error {
	if g.movedBytes += abi.Size(n); g.movedBytes > abi.HostCallBytes {
		return abi.NewProblem(abi.QuotaReached, "the call moved more than %s through host functions", abi.HostCallBytes)
	}
	return nil
}

func (g *grants) enterWrite(key string, n int) error {
	if err := g.enter(len(key) + n); err != nil {
		return err
	}
	if !g.write {
		return abi.NewProblem(abi.NotGranted, "a tool that only reads may not write key %q", key).WithHint("Declare the tool with sdk.Write.")
	}
	if g.written == nil {
		g.written = map[string]bool{}
	}
	g.written[key] = true
	if len(g.written) > abi.CallWrites {
		return abi.NewProblem(abi.QuotaReached, "the call writes more than %d keys", abi.CallWrites)
	}
	if g.bytes += abi.Size(n); g.bytes > abi.CallWriteBytes {
		return abi.NewProblem(abi.QuotaReached, "the call writes more than %s", abi.CallWriteBytes)
	}
	return nil
}
