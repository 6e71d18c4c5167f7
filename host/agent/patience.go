package agent

import (
	"strings"
	"sync"
	"time"

	"github.com/sluicehq/sluice/host"
)

// later is the reply for the meantime, in the user's language.
func later(locale string) string {
	if strings.HasPrefix(strings.ToLower(locale), "zh") {
		return "这次需要较长时间，我会继续处理，完成后给您答复。"
	}
	return "This takes longer than usual. I am still working on it, and the answer will follow."
}

// bePatient tells the user once a turn that the answer takes long, when no
// piece of it has come within Config.Patience. The turn itself goes on, listened
// to or not, and its answer is stored. The function that it gives is to be
// called at the first piece and at the end; nothing is told afterwards.
func (t *turn) bePatient() (heard func()) {
	if t.Patience < 0 || t.toldLater.Load() {
		return func() {}
	}
	var mu sync.Mutex
	over := false
	timer := time.AfterFunc(t.Patience, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over && !t.toldLater.Swap(true) {
			t.sink.emit(host.Event{Kind: host.EventLater, Text: later(t.session.Locale)})
		}
	})
	return func() {
		mu.Lock()
		defer mu.Unlock()
		over = true
		timer.Stop()
	}
}
