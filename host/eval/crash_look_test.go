//go:build unix

package eval

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
	"github.com/sluicehq/sluice/host/window"
	"github.com/sluicehq/sluice/skills/airline/airdb"
)

// airlineForm compares with the recorded form of the airline's data.
type airlineForm struct{}

var _ Comparer = airlineForm{}

func (airlineForm) SameResult(recorded string, o host.Outcome) error {
	return airdb.SameResult(recorded, o.Data, o.Problem)
}

func (airlineForm) SameFinal(recorded json.RawMessage, changes []state.KVChange, original func(string) ([]byte, bool)) error {
	list := make([]airdb.Change, len(changes))
	for i, c := range changes {
		list[i] = airdb.Change{Key: c.Key, Value: c.Value, Deleted: c.Deleted}
	}
	return airdb.SameFinal(recorded, list, original)
}

// findings is what a look at conversations found.
type findings struct {
	results, writes  int
	begun            int // more often than done
	doubles, missing int
	faults           []string
}

func (f *findings) add(o findings) {
	f.results += o.results
	f.writes += o.writes
	f.begun += o.begun
	f.doubles += o.doubles
	f.missing += o.missing
	f.faults = append(f.faults, o.faults...)
}

// A look is one conversation as it is stored.
type look struct {
	findings
	playing
	c        *crash
	messages []model.Message
	records  []host.Record
}

func (l *look) fault(format string, args ...any) {
	l.faults = append(l.faults, l.ref.String()+": "+fmt.Sprintf(format, args...))
}

// look compares what is stored of a conversation with the recording.
func (c *crash) look(t playing) findings {
	l := &look{playing: t, c: c}
	if err := l.load(context.Background()); err != nil {
		l.fault("%v", err)
		return l.findings
	}
	run := c.runs[t.run]
	l.compareMessages(played(run.Messages, t.answered))
	l.countWrites()
	if t.answered < len(answered(run.Messages)) {
		return l.findings // the final state is that of the whole conversation
	}
	if err := c.cfg.final(context.Background(), t.ref.Tenant, run.FinalChanges); err != nil {
		l.fault("final state: %v", err)
	}
	return l.findings
}

// played gives the part of a recording that is stored when so many inputs are
// answered: without the system's words, and up to the next ones of the user.
func played(messages []model.Recorded, inputs int) (part []model.Recorded) {
	for _, m := range messages {
		if m.Role == "user" {
			inputs--
		}
		if inputs < 0 {
			break
		}
		if m.Role != "system" {
			part = append(part, m)
		}
	}
	return part
}

// Where the agent keeps messages.
const messagePrefix = "agent/message/"

func (l *look) load(ctx context.Context) error {
	for after := ""; ; {
		page, err := l.c.cfg.Store.ListState(ctx, l.ref, messagePrefix, after, 0)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, v := range page {
			var m model.Message
			if err := json.Unmarshal(v.Data, &m); err != nil {
				return err
			}
			if v.Version != 1 || v.Key != fmt.Sprintf("%s%08d", messagePrefix, len(l.messages)) {
				return fmt.Errorf("message %d is %s, version %d", len(l.messages), v.Key, v.Version)
			}
			l.messages = append(l.messages, m)
			after = v.Key
		}
	}
	for after := int64(0); ; after = l.records[len(l.records)-1].Seq {
		page, err := l.c.cfg.Store.Records(ctx, l.ref.Tenant, state.RecordFilter{Session: l.ref, AfterSeq: after})
		if err != nil || len(page) == 0 {
			return err
		}
		l.records = append(l.records, page...)
	}
}

func (l *look) compareMessages(recorded []model.Recorded) {
	if len(l.messages) != len(recorded) {
		l.fault("it has %d messages, recorded are %d", len(l.messages), len(recorded))
	}
	answer := 0
	for i, m := range l.messages[:min(len(l.messages), len(recorded))] {
		r := recorded[i]
		if err := sameMessage(m, r); err != nil {
			l.fault("message %d: %v", i, err)
			return
		}
		switch m.Role {
		case model.RoleAssistant:
			answer = i
		case model.RoleTool:
			l.results++
			if err := l.compareResult(host.CallIDFor(l.ref, answer, i-answer-1), m, r.Text()); err != nil {
				l.fault("message %d, the result of %s: %v", i, m.Tool, err)
			}
		}
	}
}

func sameMessage(m model.Message, r model.Recorded) error {
	if string(m.Role) != r.Role {
		return fmt.Errorf("it is of %s, recorded is %s", m.Role, r.Role)
	}
	if m.Role == model.RoleTool {
		if m.CallID != r.ToolCallID || m.Tool != r.Name {
			return fmt.Errorf("it is the result of %s %s, recorded is %s %s", m.Tool, m.CallID, r.Name, r.ToolCallID)
		}
		return nil
	}
	same := slices.EqualFunc(m.Calls, r.ToolCalls, func(c model.Call, rc model.RecordedCall) bool {
		return c.ID == rc.ID && c.Tool == rc.Function.Name && c.Args == rc.Function.Arguments
	})
	if !same || m.Text != r.Text() {
		return fmt.Errorf("it is %+v, recorded is %s", m, r)
	}
	return nil
}

// compareResult looks for the outcome that a result tells, and holds it against
// the recording.
func (l *look) compareResult(call host.CallID, m model.Message, recorded string) error {
	var same error
	for _, o := range l.outcomes(call) {
		if window.Result(o) != m.Text || o.OK() != m.OK {
			continue
		}
		if same = l.c.cfg.Compare.SameResult(recorded, o); same == nil {
			return nil
		}
	}
	return errors.Join(same, fmt.Errorf("no record of %s tells %.300q as it was recorded", call, m.Text))
}

// outcomes gives how a call ended, each time.
func (l *look) outcomes(call host.CallID) (list []host.Outcome) {
	for _, r := range l.records {
		var o host.Outcome
		if r.Call == call && (r.Kind == host.RecordOutcome || r.Kind == host.RecordRefusal) && json.Unmarshal(r.Detail, &o) == nil {
			list = append(list, o)
		}
		if r.Call == call && r.Kind == host.RecordDuplicate {
			list = append(list, l.settled(r.Key)...)
		}
	}
	return list
}

// settled gives the good ends of a key: one, or none.
func (l *look) settled(key host.Key) (list []host.Outcome) {
	for _, r := range l.records {
		var o host.Outcome
		if r.Key == key && r.Kind == host.RecordOutcome && json.Unmarshal(r.Detail, &o) == nil && o.OK() {
			list = append(list, o)
		}
	}
	return list
}

// countWrites holds intents against ends: each key that was begun has one good
// end, or only bad ones; and each good result has its end.
func (l *look) countWrites() {
	intents, ends := map[host.Key]int{}, map[host.Key]int{}
	for _, r := range l.records {
		switch {
		case r.Key == "":
		case r.Kind == host.RecordIntent:
			intents[r.Key]++
		case r.Kind == host.RecordOutcome, r.Kind == host.RecordRefusal: // a claim whose answer was lost is given back with a refusal
			ends[r.Key]++
		}
	}
	for key := range ends {
		if intents[key] == 0 && len(l.settled(key)) > 0 {
			l.missing++
			l.fault("key %s is settled and never began", key)
		}
	}
	for key, n := range intents {
		settled := len(l.settled(key))
		l.writes += min(settled, 1)
		l.begun += n - 1
		switch {
		case settled > 1:
			l.doubles++
			l.fault("key %s is settled %d times", key, settled)
		case ends[key] == 0:
			l.missing++
			l.fault("key %s began and has no end", key)
		}
	}
}

// A question is a line of the ledger.
type question struct {
	At       time.Time
	Replica  string
	Process  int
	Session  host.SessionRef
	Input    host.InputID
	Messages int
	Stored   bool
}

// A ledger sums up what the model was asked.
type ledger struct {
	questions, takeovers int // of turns, by another process
	twice, again         int
	faults               []string
}

func (c *crash) readLedger() (sum ledger) {
	b, err := os.ReadFile(c.setup.Ledger)
	if err != nil {
		c.t.Fatal(err)
	}
	last := map[host.SessionRef]question{}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		var q question
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			c.t.Fatalf("%v in %q", err, lines.Text())
		}
		before, asked := last[q.Session]
		sum.questions++
		if asked && before.Process != q.Process && before.Input == q.Input {
			sum.takeovers++
		}
		switch {
		case q.Stored, asked && q.Messages < before.Messages:
			sum.again++
			sum.faults = append(sum.faults, fmt.Sprintf("%s: %s asked at %s for what follows %d messages, which was stored; last asked: %+v", q.Session, q.Replica, q.At.Format("05.000"), q.Messages, before))
		case asked && q.Messages == before.Messages:
			sum.twice++
		}
		if q.Messages >= before.Messages {
			last[q.Session] = q
		}
	}
	return sum
}

// What the checks of a disaster are there for is noticed.
func TestALookNoticesDoublesAndGaps(t *testing.T) {
	of := func(kind host.RecordKind, key host.Key, status host.Status) host.Record {
		detail, err := json.Marshal(host.Outcome{Status: status, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		return host.Record{Kind: kind, Key: key, Detail: detail}
	}
	for name, tt := range map[string]struct {
		records                  []host.Record
		writes, doubles, missing int
	}{
		"once":                {[]host.Record{of("intent", "k", ""), of("outcome", "k", host.Done)}, 1, 0, 0},
		"begun twice":         {[]host.Record{of("intent", "k", ""), of("intent", "k", ""), of("outcome", "k", host.Done)}, 1, 0, 0},
		"failed, then done":   {[]host.Record{of("intent", "k", ""), of("outcome", "k", host.Failed), of("intent", "k", ""), of("outcome", "k", host.Done)}, 1, 0, 0},
		"given back":          {[]host.Record{of("intent", "k", ""), of("refusal", "k", host.Failed)}, 0, 0, 0},
		"done twice":          {[]host.Record{of("intent", "k", ""), of("outcome", "k", host.Done), of("outcome", "k", host.Done)}, 1, 1, 0},
		"without an end":      {[]host.Record{of("intent", "k", "")}, 0, 0, 1},
		"without a beginning": {[]host.Record{of("outcome", "k", host.Done)}, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := &look{records: tt.records}
			l.countWrites()
			if l.writes != tt.writes || l.doubles != tt.doubles || l.missing != tt.missing || len(l.faults) != tt.doubles+tt.missing {
				t.Errorf("found %+v", l.findings)
			}
		})
	}
}

func TestTheLedgerNoticesAStepThatIsAskedAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		asked               []question
		twice, again, moved int
	}{
		"in order":               {[]question{{Messages: 1}, {Messages: 3}, {Messages: 5}}, 0, 0, 0},
		"elsewhere":              {[]question{{Messages: 1}, {Messages: 3, Process: 2, Input: "2"}, {Messages: 5, Input: "2"}}, 0, 0, 1},
		"the answer was lost":    {[]question{{Messages: 1}, {Messages: 1, Process: 2}}, 1, 0, 1},
		"the answer was there":   {[]question{{Messages: 1}, {Messages: 1, Process: 2, Stored: true}}, 0, 1, 1},
		"an earlier step, later": {[]question{{Messages: 1}, {Messages: 3}, {Messages: 1}}, 0, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := &crash{t: t}
			c.setup.Ledger = filepath.Join(t.TempDir(), "ledger")
			var lines []byte
			for _, q := range tt.asked {
				line, err := json.Marshal(q)
				if err != nil {
					t.Fatal(err)
				}
				lines = append(append(lines, line...), '\n')
			}
			write(t, c.setup.Ledger, lines)
			sum := c.readLedger()
			if sum.questions != len(tt.asked) || sum.twice != tt.twice || sum.again != tt.again || sum.takeovers != tt.moved || len(sum.faults) != tt.again {
				t.Errorf("the ledger has %+v", sum)
			}
		})
	}
}
