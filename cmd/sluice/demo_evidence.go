package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/host/state"
)

// demoRules has a module of the policy refuse a price that the skill would take.
func (p *program) demoRules(ctx context.Context, h *hall) error {
	p.heading("A policy module, shop.rules: no price of this shop ends in 4; the nearest that do not are named")
	answer, err := p.say(ctx, h, model.Offline{}, "in-rules", "把 1003 改到 84 元", host.Failed)
	if err != nil {
		return err
	}
	if problem := answer.Outcomes[0].Problem; problem.Code != abi.NotAllowed || !slices.Equal(problem.Candidates, []string{"83", "85"}) {
		return fmt.Errorf("demo: the price that ends in 4 ended with %+v", problem)
	}
	return nil
}

// demoVerification calls a skill that writes a tenth of the price and says that
// it succeeded, and looks at what is kept.
func (p *program) demoVerification(ctx context.Context, h *hall) error {
	p.heading("A result that is not what was asked for: refused, and nothing is kept (shop.broken is wrong on purpose)")
	catalog, _ := h.releases.Catalog(ctx, nil)
	for i, call := range []host.Call{
		{Tool: "mark_down", Args: `{"sku":"1001","price":85}`}, {Tool: "quote", Args: `{"sku":"1001"}`},
	} {
		call.ID, call.Session, call.Locale, call.Input = host.CallIDFor(demoSession.Ref, 1_001, i), demoSession.Ref, demoSession.Locale, 1_001
		fmt.Fprintf(p.stdout, "  → %s %s\n", call.Tool, call.Args)
		o := h.dispatch.Do(ctx, catalog, call)
		fmt.Fprintf(p.stdout, "  ← %s\n", outcomeLine(o))
		if refused := o.Problem != nil && o.Problem.Code == abi.Contradicted; refused != (i == 0) || i == 1 && !strings.Contains(string(o.Data), `"price":89,`) {
			return fmt.Errorf("demo: %s ended as %s %s", call.Tool, o.Status, o.Data)
		}
	}
	return nil
}

// A boaster is a model that calls nothing and says that it did.
type boaster struct{ text string }

var _ model.Provider = boaster{}

// Complete says the same whatever it is asked.
func (b boaster) Complete(_ context.Context, _ model.Request, on func(model.Event)) (model.Reply, error) {
	if on != nil {
		on(model.Event{Text: b.text})
	}
	return model.Reply{Text: b.text, Finish: model.FinishStop}, nil
}

func (p *program) demoClaim(ctx context.Context, h *hall) error {
	boast := boaster{"好的，1002 已经改到 19 元了。"}
	p.heading("A false claim: stopped, and the platform answers in its place")
	fmt.Fprintf(p.stdout, "  (a model made for this turn calls nothing, and says both times that it is asked: %s)\n", boast.text)
	answer, err := p.say(ctx, h, boast, "in-claim", "把 1002 改到 19 元")
	if err == nil && (answer.Reason != agent.Unbacked || strings.Contains(answer.Text, boast.text)) {
		return fmt.Errorf("demo: the false answer ended as %s: %s", answer.Reason, answer.Text)
	}
	return err
}

// demoProof verifies the log of the demo's store, then that of a copy in which
// one record was changed.
func (p *program) demoProof(ctx context.Context, h *hall) error {
	p.heading("Proof: nothing on record was changed since it was sealed")
	if err := h.dispatch.Flush(ctx); err != nil {
		return err
	}
	for _, command := range []string{"checkpoint", "verify"} { // the first one seals, which makes the host's key
		if err := p.terminal(ctx, h, exitOK, "audit", command); err != nil {
			return err
		}
	}
	p.heading("The same on a copy of the store, in which somebody changes the price of the first change on record")
	intent, err := demoRecord(ctx, h, host.RecordIntent)
	if err != nil {
		return err
	}
	change := fmt.Sprintf(`UPDATE audit_record SET detail = REPLACE(detail, '"price":89', '"price":98') WHERE seq = %d`, intent.Seq)
	if err := p.forge(ctx, h, "copy.db", change); err != nil {
		return err
	}
	return p.terminal(ctx, h, exitFailed, "audit", "verify", "--store", "copy.db")
}

// demoRecord gives what is first on record, of a kind, of set_price.
func demoRecord(ctx context.Context, h *hall, kind host.RecordKind) (host.Record, error) {
	records, err := h.store.Records(ctx, demoSession.Ref.Tenant, state.RecordFilter{Limit: 1000})
	if err != nil {
		return host.Record{}, err
	}
	i := slices.IndexFunc(records, func(r host.Record) bool { return r.Kind == kind && r.Tool == "set_price" })
	if i < 0 {
		return host.Record{}, fmt.Errorf("demo: no %s of set_price is on record", kind)
	}
	return records[i], nil
}

// forge copies the store to a file of the home and changes one row of the copy.
func (p *program) forge(ctx context.Context, h *hall, name, change string) (err error) {
	file := filepath.Join(h.home, name)
	if err := inSQLite(storeIn(h.home), func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, "VACUUM INTO ?", file)
		return err
	}); err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "  sql> %s\n", change)
	return inSQLite(file, func(db *sql.DB) error {
		_, err := db.ExecContext(ctx, change)
		return err
	})
}

func inSQLite(file string, work func(*sql.DB) error) error {
	db, err := sql.Open("sqlite", file) // the driver is the store's
	if err != nil {
		return err
	}
	return errors.Join(work(db), db.Close())
}

// demoReplay runs the first change of a price again, from the record alone.
func (p *program) demoReplay(ctx context.Context, h *hall) error {
	p.heading("One call again, from its record alone: the same bytes, the same fuel")
	outcome, err := demoRecord(ctx, h, host.RecordOutcome)
	if err != nil {
		return err
	}
	return p.terminal(ctx, h, exitOK, "audit", "replay", string(outcome.Call), "--registry", "registry.git")
}

// terminal runs the command in a process of its own, in the demo's folder and
// over its store, and expects its exit code.
func (p *program) terminal(ctx context.Context, h *hall, want int, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	compiled, err := filepath.Abs(p.compileCache())
	if err != nil {
		return err
	}
	args = append(args, "--tenant", string(demoSession.Ref.Tenant))
	fmt.Fprintf(p.stdout, "  $ sluice %s\n", strings.Join(args, " "))
	terminal := exec.CommandContext(ctx, self, args...)
	terminal.Dir = h.home
	terminal.Env = append(os.Environ(), "SLUICE_HOME="+h.home, "SLUICE_STORE=", "SLUICE_REGISTRY=", "SLUICE_BLOBS=", "SLUICE_AUDIT_KEY=", "SLUICE_COMPILED="+compiled)
	said, err := terminal.CombinedOutput()
	for line := range strings.Lines(string(said)) {
		fmt.Fprint(p.stdout, "  "+line)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	if got := terminal.ProcessState.ExitCode(); got != want {
		return fmt.Errorf("demo: sluice %s ended with exit code %d, and not %d", args[0], got, want)
	}
	return nil
}
