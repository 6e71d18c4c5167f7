//go:build !wasip1

package abi

import "encoding/json"

// A RawMessage is JSON as it stands: on a host, that of encoding/json.
type RawMessage = json.RawMessage
