package sdk

import (
	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/wire"
)

// The linker keeps an import only where a handler reaches it, so what a module
// can do is readable from its import section.

//go:wasmimport extism:host/user sluice_kv_get
func sluiceKVGet(key uint64) int64

//go:wasmimport extism:host/user sluice_kv_put
func sluiceKVPut(key, value uint64) int64

//go:wasmimport extism:host/user sluice_kv_delete
func sluiceKVDelete(key uint64) int64

//go:wasmimport extism:host/user sluice_kv_scan
func sluiceKVScan(query uint64) int64

func kvGet(_ Call, key string) ([]byte, bool, error) {
	k := newBlock([]byte(key))
	defer extismFree(k)
	return hostResult(sluiceKVGet(k))
}

func kvPut(_ Call, key string, value []byte) error {
	k, v := newBlock([]byte(key)), newBlock(value)
	defer extismFree(k)
	defer extismFree(v)
	_, _, err := hostResult(sluiceKVPut(k, v))
	return err
}

func kvDelete(_ Call, key string) error {
	k := newBlock([]byte(key))
	defer extismFree(k)
	_, _, err := hostResult(sluiceKVDelete(k))
	return err
}

func kvScan(_ Call, query abi.ScanQuery) (abi.Page, error) {
	b, err := encode(query)
	if err != nil {
		return abi.Page{}, err
	}
	q := newBlock(b)
	defer extismFree(q)
	b, _, err = hostResult(sluiceKVScan(q))
	if err != nil {
		return abi.Page{}, err
	}
	page, err := abi.DecodePage(b)
	if err != nil {
		return abi.Page{}, abi.NewProblem(abi.SystemFailure, "the host gave a page that cannot be read")
	}
	return page, nil
}

// hostResult reads the result of a host function: a positive handle is a
// block, 0 is nothing, a negative handle is a problem.
func hostResult(result int64) (block []byte, found bool, err error) {
	switch {
	case result > 0:
		return takeBlock(uint64(result)), true, nil
	case result == 0:
		return nil, false, nil
	}
	var p abi.Problem
	if wire.Unmarshal(takeBlock(uint64(-result)), &p) != nil || p.Code == 0 {
		return nil, false, abi.NewProblem(abi.SystemFailure, "the host refused without saying why")
	}
	return nil, false, &p
}
