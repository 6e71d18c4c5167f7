package host

import "github.com/sluicehq/sluice/abi"

// A Past is an earlier call of a session, as the loop breaker sees it. It is
// made from the stored conversation, so that every replica judges alike.
type Past struct {
	Tool    string
	Args    string // in the form that dispatch.Dispatcher.Plain gives
	Effect  abi.Effect
	Status  Status // Pending and Unknown count for nothing
	Result  string // digest of what the model was given; of a Done call
	Input   int    // ordinal of the user input that it served
	Round   int    // ordinal of the model's answer that asked for it
	Resumed bool   // run again by the host itself; counts for nothing
	Cut     bool   // refused for what the user's next message may change: by the breaker, the mode, a budget; counts until then
}
