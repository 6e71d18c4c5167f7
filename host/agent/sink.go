package agent

import (
	"sync"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
)

// A sink gives events to the caller, one at a time: parallel calls share it.
type sink struct {
	on  func(host.Event)
	now func() time.Time
	mu  sync.Mutex
}

func (s *sink) emit(e host.Event) {
	if s.on == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Time = s.now().UTC()
	s.on(e)
}

// piece passes a piece of the model's answer on.
func (s *sink) piece(e model.Event) {
	if e.Restart {
		s.emit(host.Event{Kind: host.EventRestart})
	}
	if e.Text != "" {
		s.emit(host.Event{Kind: host.EventText, Text: e.Text})
	}
}

// notice tells the user of a problem, in their language.
func (s *sink) notice(p *abi.Problem, locale string) {
	s.emit(host.Event{Kind: host.EventNotice, Text: abi.RowOf(p.Code).User(locale), Problem: p})
}
