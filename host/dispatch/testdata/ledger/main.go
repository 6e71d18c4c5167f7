// The skill of the crash test: payments that leave something everywhere a call
// can leave something, and each only once.
package main

import (
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/sdk"
)

var _ = sdk.Skill("test.ledger", "1.0.0", "Pays and remembers it.", sdk.Positioning("For tests only."),
	sdk.KV("ledger"), sdk.StateAccess([]string{"last"}, []string{"last"}), sdk.Blob(abi.AccessWrite), sdk.Files(abi.AccessWrite),
	sdk.Memory(nil, []string{"payment"}), sdk.ReportsProgress(),
	sdk.Hosts(abi.HTTPRule{Host: "http://ledger.example.com", Methods: []string{"POST"}, Paths: []string{"/*"}}))

// A Payment is what is paid, and what it leaves behind.
type Payment struct {
	Intent string `json:"intent" minlen:"1"`
	Cents  int    `json:"cents" min:"1" max:"1000"`
	Post   bool   `json:"post,omitempty"`  // an effect at the ledger outside
	Room   bool   `json:"room,omitempty"`  // a file, a blob and a memory
	Bytes  int    `json:"bytes,omitempty"` // of padding, so that the result spills
}

// A Receipt is what is known of a payment.
type Receipt struct {
	Times   int    `json:"times"` // that it was kept
	Blob    string `json:"blob,omitempty"`
	Padding string `json:"padding,omitempty"`
}

// An Intent names a payment.
type Intent struct {
	Intent string `json:"intent"`
}

var example = sdk.Example("pay 3 cents", Payment{Intent: "a", Cents: 3})

var (
	_ = sdk.Tool("look", look, sdk.Summary("Say how often something was paid."), sdk.Example("look at a", Intent{Intent: "a"}))
	_ = sdk.Tool("pay", pay, sdk.Summary("Pay."), sdk.Write, sdk.Idempotent, sdk.Targets("[args.intent]"), example)
	_ = sdk.Tool("pay_once", pay, sdk.Summary("Pay, not safe to repeat."), sdk.Write, sdk.Targets("[args.intent]"), example)
)

func look(c sdk.Call, in Intent) (r Receipt, err error) {
	_, err = sdk.KVGetJSON(c, "paid/"+in.Intent, &r.Times)
	return r, err
}

func pay(c sdk.Call, in Payment) (sdk.Result[Receipt], error) {
	none := sdk.Result[Receipt]{}
	if in.Cents > 900 {
		return none, sdk.Refuse(abi.OutOfBounds, "at most 900").WithField("cents")
	}
	r, err := look(c, Intent{in.Intent})
	if err != nil {
		return none, err
	}
	r.Times++
	if err := sdk.KVPutJSON(c, "paid/"+in.Intent, r.Times); err != nil {
		return none, err
	}
	if in.Post {
		answer, err := sdk.HTTP(c, abi.HTTPRequest{Method: "POST", URL: "http://ledger.example.com/payments"}, []byte(in.Intent))
		if err != nil {
			return none, err
		}
		if answer.Status != 200 {
			return none, sdk.Unavailable("the ledger answers with %d", answer.Status)
		}
	}
	if err := sdk.Progress(c, 1, 1, "paid"); err != nil {
		return none, err
	}
	if in.Room {
		if r.Blob, err = leave(c, in.Intent); err != nil {
			return none, err
		}
	}
	r.Padding = strings.Repeat("x", in.Bytes)
	return sdk.Result[Receipt]{Data: r, State: map[string]any{"last": in.Intent}}, nil
}

// leave writes a receipt wherever a session has room for one.
func leave(c sdk.Call, intent string) (blob string, err error) {
	if _, err := sdk.FileWrite(c, "receipts/"+intent, []byte(intent)); err != nil {
		return "", err
	}
	if err := sdk.Remember(c, abi.Memory{Kind: "payment", Text: intent}); err != nil {
		return "", err
	}
	return sdk.BlobWrite(c, abi.BlobInfo{Name: intent, Type: "text/plain"}, []byte(intent))
}

func main() {}
