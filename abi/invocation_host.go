//go:build !wasip1

package abi

import "time"

// A guest reads the envelope of a call as the sdk does; package time would be in
// every module.

// An Invocation is the input of sluice_invoke and sluice_check: one tool call.
type Invocation struct {
	ABI   int                   `json:"abi"`
	Tool  string                `json:"tool"`
	Args  RawMessage            `json:"args"`
	Call  CallInfo              `json:"call"`
	State map[string]RawMessage `json:"state,omitempty"` // the state keys that the manifest may read
	Facts map[string]RawMessage `json:"facts,omitempty"` // the tool's declared facts
}

// CallInfo is what a guest may know about the call that it serves.
type CallInfo struct {
	ID      string    `json:"id"`
	Key     string    `json:"key,omitempty"` // idempotency key; empty for a read
	Attempt int       `json:"attempt"`       // from 1; a retry keeps ID and Key
	Now     time.Time `json:"now"`           // the host's clock at the call's start, UTC
	Tenant  string    `json:"tenant"`
	Live    string    `json:"live,omitempty"`
	Locale  string    `json:"locale,omitempty"` // BCP 47, such as zh-CN
}
