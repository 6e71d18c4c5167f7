package sdk

import (
	"iter"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/abi/wire"
)

// The store keeps values by key in the skill's namespace, for each tenant
// apart. A call sees its own writes at once; others see them when the call
// has succeeded, all together, and never otherwise. A key has 1 to
// abi.KeyBytes bytes of UTF-8, a value 1 to abi.ValueBytes; a call may write
// abi.CallWrites keys and abi.CallWriteBytes. Every error is an *abi.Problem
// that a handler may return as it is.

// KVGet reads a value. It reports false where there is none.
func KVGet(c Call, key string) (value []byte, found bool, err error) {
	if err := checkKey(key); err != nil {
		return nil, false, err
	}
	return kvGet(c, key)
}

// KVPut writes a value in place of any other.
func KVPut(c Call, key string, value []byte) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if len(value) == 0 || abi.Size(len(value)) > abi.ValueBytes {
		return abi.NewProblem(abi.BadHostCall, "the value of key %q has %d bytes; it must have 1 to %d", key, len(value), abi.ValueBytes)
	}
	return kvPut(c, key, value)
}

// KVDelete removes a value; it is no error when there is none.
func KVDelete(c Call, key string) error {
	if err := checkKey(key); err != nil {
		return err
	}
	return kvDelete(c, key)
}

// KVScan reads one page of the keys with a prefix, in the order of their
// bytes. The page ends early where it would exceed abi.ScanPageBytes.
func KVScan(c Call, q abi.ScanQuery) (abi.Page, error) {
	if q.Limit < 0 || q.Limit > abi.ScanPageEntries {
		return abi.Page{}, abi.NewProblem(abi.BadHostCall, "a scan asks for %d entries; it may ask for 1 to %d", q.Limit, abi.ScanPageEntries)
	}
	return kvScan(c, q)
}

// KVEach ranges over all entries with a prefix, in the order of their keys,
// reading page after page. After an error, which comes with an empty entry, it
// ends.
func KVEach(c Call, prefix string) iter.Seq2[abi.Entry, error] {
	return func(yield func(abi.Entry, error) bool) {
		q := abi.ScanQuery{Prefix: prefix}
		for {
			page, err := KVScan(c, q)
			if err != nil {
				yield(abi.Entry{}, err)
				return
			}
			for _, e := range page.Entries {
				if !yield(e, nil) {
					return
				}
			}
			if page.After == "" {
				return
			}
			q.After = page.After
		}
	}
}

// KVGetJSON reads a value that is JSON into a pointer. It reports false where
// there is none.
func KVGetJSON(c Call, key string, into any) (found bool, err error) {
	value, found, err := KVGet(c, key)
	if err != nil || !found {
		return false, err
	}
	if err := wire.Unmarshal(value, into); err != nil {
		return false, otherForm(key)
	}
	return true, nil
}

// KVEachJSON is KVEach over values that are JSON of one type. After an error,
// which comes with a zero value, it ends.
func KVEachJSON[T any](c Call, prefix string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for e, err := range KVEach(c, prefix) {
			var v T
			if err == nil && wire.Unmarshal(e.Value, &v) != nil {
				err = otherForm(e.Key)
			}
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			if !yield(v, nil) {
				return
			}
		}
	}
}

// KVPutJSON writes a value as JSON.
func KVPutJSON(c Call, key string, v any) error {
	value, err := encode(v)
	if err != nil {
		return abi.NewProblem(abi.BadHostCall, "the value of key %q cannot be written as JSON", key)
	}
	return KVPut(c, key, value)
}

func otherForm(key string) error {
	return abi.NewProblem(abi.SystemFailure, "the value of key %q has another form than this skill reads", key)
}

func checkKey(key string) error {
	if key == "" || len(key) > abi.KeyBytes {
		return abi.NewProblem(abi.BadHostCall, "a key has %d bytes; it must have 1 to %d", len(key), abi.KeyBytes)
	}
	return nil
}
