package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/audit"
	"github.com/sluicehq/sluice/host/model"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/keeper"
)

// shownForgotten is how many memories a person is shown before they say yes.
const shownForgotten = 20

// A forgetting is a request to forget, and what goes with it.
type forgetting struct {
	*rememberer
	wish     keeper.Wish
	yes      bool
	sessions bool
	by, why  string
}

func (m *rememberer) forgetCommand() *cobra.Command {
	f := &forgetting{rememberer: m}
	c := &cobra.Command{
		Use: "forget [ID…]", Short: "Remove memories for good, with the audit payloads that carry them",
		Long: `Forget removes memories by id, all that is about --entity, what was learned of a --document, or
--all of the user's: text, vectors, postings, what was made of them, what they superseded, gaps and questions, and
the words of decisions.

The payload of these audit records of the user goes, too, with the blobs that they name:
  - of every call and message that said one of the memories, first or later;
  - of the calls that a habit was made of, and of the earlier ones of the same tool about the same, which would make it
    again;
  - of every record in which a value is a memory's text, or has it as a part where it has 16 bytes or more
    (six Chinese characters).

What stays: a receipt without any text, and the proof that there were records; records that say the same in other
words, or have a shorter text inside a longer one, or one that is a bare word such as "done"; what
tools keep themselves; and the conversations. Those are the sessions': --sessions removes the sessions that the
memories were said in, or whose conversation or records have their text, too.

It shows what goes and asks first. Where it breaks off, the same command goes on.`,
		Example: "  sluice memory forget 0197… --user mia\n  sluice memory forget --entity 1001 --user mia --sessions\n  sluice memory forget --all --user mia --yes --by privacy@shop.example --why 'request 17'",
		RunE: func(c *cobra.Command, args []string) error {
			f.wish.IDs, f.wish.Document = idsIn(args), documentName(f.wish.Document)
			if asked := []bool{len(args) > 0, f.wish.Entity != "", f.wish.Document != "", f.wish.All}; len(slices.DeleteFunc(asked, func(is bool) bool { return !is })) != 1 {
				return fmt.Errorf("%w: name memories, or --entity, or --document, or --all", errUsage)
			}
			if m.json && !f.yes {
				return fmt.Errorf("%w: with --json nobody is asked; say --yes", errUsage)
			}
			f.by = cmp.Or(f.by, "sluice memory forget")
			return m.withHome(c.Context(), func(h *hall) error { return f.run(c.Context(), h) })
		},
	}
	c.Flags().StringVar(&f.wish.Entity, "entity", "", "all that is about this")
	c.Flags().StringVar(&f.wish.Document, "document", "", "all that was learned of this document, also of what it was before")
	c.Flags().BoolVar(&f.wish.All, "all", false, "everything of the user's, with all decisions and trust")
	c.Flags().BoolVar(&f.sessions, "sessions", false, "also remove the sessions that the memories came from, and those whose conversation or records have their words, with their records")
	c.Flags().BoolVar(&f.yes, "yes", false, "do it without asking")
	erasureFlags(c, &f.by, &f.why)
	return c
}

func (f *forgetting) run(ctx context.Context, h *hall) (err error) {
	// An index of all hosts must have dropped them before they count as gone; one in
	// this process would be made for nothing.
	k, err := f.mind(ctx, h.store.Database(), f.memory.shared())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	gone, err := f.find(ctx, k)
	if err != nil {
		return err
	}
	if sure, err := f.ask(ctx, gone); err != nil || !sure {
		return err
	}
	return f.forget(ctx, h, k, gone)
}

// find gives the memories that the wish names, as far as they are there: a request that
// was broken off is repeated with the same ids.
func (f *forgetting) find(ctx context.Context, k *minding) (gone []memory.Node, err error) {
	if len(f.wish.IDs) == 0 {
		_, err = f.each(ctx, k, keeper.Page{Entity: f.wish.Entity, Document: f.wish.Document}, 0, func(n memory.Node) error {
			gone = append(gone, n)
			return nil
		})
		return gone, err
	}
	for _, id := range f.wish.IDs {
		n, err := k.Get(ctx, f.owner, id)
		switch {
		case err == nil:
			gone = append(gone, n)
		case host.ProblemOf(err).Code != abi.NotFound:
			return nil, err
		}
	}
	return gone, nil
}

// ask shows what goes, and wants a yes.
func (f *forgetting) ask(ctx context.Context, gone []memory.Node) (sure bool, err error) {
	say := speakIn(f.locale)
	if !f.json {
		w := f.table("ID\tLAYER\tKIND\tABOUT\tTIME\tTRUST\tSTATUS\tTEXT", "编号\t层\t类别\t对象\t时间\t可信度\t状态\t内容")
		for _, n := range gone[:min(len(gone), shownForgotten)] {
			err = errors.Join(err, f.row(w, n, ""))
		}
		if err := errors.Join(err, w.Flush()); err != nil {
			return false, err
		}
		if more := len(gone) - shownForgotten; more > 0 {
			fmt.Fprint(f.stdout, say.pick("… and %d more\n", "……另有 %d 条\n", more))
		}
	}
	if f.yes {
		return true, nil
	}
	fmt.Fprint(f.stderr, say.pick("%d memories of %s, with what was made of them and the audit payloads that carry them%s. This cannot be taken back. Type yes: ",
		"将彻底删除 %[2]s 的 %[1]d 条记忆、由其得出的内容以及含有它们的审计内容%[3]s，无法恢复。请输入 yes 确认：", len(gone), f.owner.User, f.alsoSessions(say)))
	nothing, answer := func() {}, ""
	for line, err := range lines(ctx, f.stdin, nothing, nothing) { // which an interruption ends
		if err != nil {
			return false, err
		}
		answer = line
		break
	}
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if strings.TrimSpace(answer) != "yes" {
		fmt.Fprintln(f.stderr, say.pick("nothing was forgotten", "未删除任何内容"))
		return false, errRefused
	}
	return true, nil
}

func (f *forgetting) alsoSessions(say speaker) string {
	if !f.sessions {
		return ""
	}
	return say.pick(", and the sessions that they came from, and those whose conversation or records have their words", "以及它们所在的会话、对话或记录中含有其内容的会话")
}

// forget takes the payloads first, for as long as the memories tell which they are, and
// the sessions last, which are noted before: where it breaks off, the same command goes
// on. It scrubs in any case, since the run before may not have come to it.
func (f *forgetting) forget(ctx context.Context, h *hall, k *minding, gone []memory.Node) error {
	c, err := f.carriers(ctx, h, k, gone)
	if err != nil {
		return err
	}
	erased, err := f.erase(ctx, h, c)
	if err == nil && f.sessions {
		err = k.Owe(ctx, f.owner, c.list())
	}
	if err != nil {
		return err
	}
	forgotten, failed := k.Forget(ctx, f.owner, f.wish)
	for _, s := range forgotten.Sources { // also of what was made of them meanwhile
		c.add(s)
	}
	if f.sessions { // also where those are from: now nothing else tells of them
		failed = errors.Join(failed, k.Owe(ctx, f.owner, c.list()))
	}
	for _, key := range forgotten.Keys {
		c.keys[key] = true
	}
	more, err := f.erase(ctx, h, c)
	if err = errors.Join(failed, err); err != nil {
		return err
	}
	if f.sessions {
		purged, err := f.purge(ctx, h, k, c.list())
		if more += purged; err != nil {
			return err
		}
	}
	left, err := f.left(ctx, h, c.list())
	if err != nil {
		return err
	}
	if scrub := h.store.Database().Scrub; scrub != nil {
		if err := f.step("scrubbing the store's files", func() error { return scrub(ctx) }); err != nil {
			return err
		}
	}
	if err := f.settle(ctx, k); err != nil {
		return err
	}
	return f.tell(forgotten, erased+more, left)
}

// carriers gives what carries the memories, and what was made of them.
func (f *forgetting) carriers(ctx context.Context, h *hall, k *minding, gone []memory.Node) (*carriers, error) {
	ids := make([]memory.ID, len(gone))
	for i, n := range gone {
		ids[i] = n.ID
	}
	from, err := k.Origins(ctx, f.owner, ids)
	if err != nil {
		return nil, err
	}
	c := newCarriers(h.blobs)
	for _, n := range from.Nodes {
		c.addNode(n)
		if err := c.addMaking(ctx, h.store, n); err != nil {
			return nil, err
		}
	}
	c.keys = from.Keys
	if f.sessions {
		c.note = func(session host.SessionID) error { return k.Owe(ctx, f.owner, []host.SessionID{session}) }
		before, err := k.Owed(ctx, f.owner) // by a run that broke off
		if err != nil {
			return nil, err
		}
		for _, session := range before {
			c.sessions[session] = true
		}
	}
	return c, f.converse(ctx, h, c)
}

// converse adds the user's sessions in which the memories were said, or their words are.
func (f *forgetting) converse(ctx context.Context, h *hall, c *carriers) error {
	for after, more := host.SessionID(""), !c.empty(); more; {
		page, next, err := agent.Sessions(ctx, h.store, f.owner.Tenant, f.owner.User, after, 0)
		if err != nil {
			return err
		}
		for _, s := range page {
			carries := c.sessions[s.ID] || c.spoke(s.ID, s.Inputs)
			if !carries {
				if carries, err = f.quotes(ctx, h, c, s); err != nil {
					return err
				}
			}
			if carries {
				c.sessions[s.ID] = true
			}
		}
		after, more = next, next != ""
	}
	return nil
}

// quotes reports whether a session's conversation has the words.
func (f *forgetting) quotes(ctx context.Context, h *hall, c *carriers, s agent.Overview) (bool, error) {
	ref := host.SessionRef{Tenant: f.owner.Tenant, User: f.owner.User, Session: s.ID}
	for from := 0; ; {
		page, err := agent.Messages(ctx, h.store, ref, from)
		if err != nil || len(page) == 0 {
			return false, err
		}
		for _, m := range page {
			if c.words.in([]byte(m.Text)) || slices.ContainsFunc(m.Calls, func(call model.Call) bool { return c.words.in([]byte(call.Args)) }) {
				return true, nil
			}
		}
		from += len(page)
	}
}

// settle waits until an index of all hosts has dropped what is gone.
func (f *forgetting) settle(ctx context.Context, k *minding) error {
	if k.index == nil {
		return nil
	}
	return k.Sync(ctx)
}

func (f *forgetting) tell(done keeper.Forgotten, erased int, left []host.SessionID) error {
	n := 0
	for _, r := range done.Receipts {
		n += len(r.IDs)
	}
	if f.json {
		f.print(map[string]any{"forgotten": n, "receipts": done.Receipts, "audit_records_erased": erased, "scrubbed": done.Scrubbed, "sessions_left": left})
		return nil
	}
	say := speakIn(f.locale)
	fmt.Fprintln(f.stderr, say.pick("%d memories are gone, and the payload of %d audit records", "已删除 %d 条记忆和 %d 条审计记录的内容", n, erased))
	for _, r := range done.Receipts {
		fmt.Fprintln(f.stdout, say.pick("receipt %s of %s, %s", "回执 %s，%s，%s", r.ID, when(r.At), r.Digest))
	}
	if len(left) > 0 {
		fmt.Fprintln(f.stderr, say.pick("what was said in the sessions %v is still there: sluice session purge removes one, as --sessions would have done", "会话 %v 中说过的话仍然保留：可用 sluice session purge 删除（加上 --sessions 时会一并删除）", left))
	}
	if !done.Scrubbed {
		fmt.Fprintln(f.stderr, say.pick("the database's own logs and backups keep what they have until its operator removes them", "数据库自身的日志和备份由其管理员清理"))
	}
	return nil
}

// left gives those of the sessions that are still there.
func (f *forgetting) left(ctx context.Context, h *hall, sessions []host.SessionID) (left []host.SessionID, err error) {
	for _, id := range sessions {
		_, err := agent.Show(ctx, h.store, host.SessionRef{Tenant: f.owner.Tenant, User: f.owner.User, Session: id})
		switch problem := host.ProblemOf(err); {
		case err == nil:
			left = append(left, id)
		case problem.Code != abi.NotFound:
			return left, err
		}
	}
	return left, nil
}

// purge removes sessions that carry the memories, with their records.
func (f *forgetting) purge(ctx context.Context, h *hall, k *minding, sessions []host.SessionID) (erased int, err error) {
	if err := f.attach(ctx, h, f.memory.shared()); err != nil {
		return 0, err
	}
	for _, id := range sessions {
		ref := host.SessionRef{Tenant: f.owner.Tenant, User: f.owner.User, Session: id}
		n, err := f.agent(h, nil).PurgeWithRecords(ctx, f.sequencer(h.store), audit.EraseRequest{Of: ref, By: f.by, Why: f.why})
		if erased += n; err != nil {
			return erased, err
		}
	}
	return erased, k.Settle(ctx, f.owner, sessions)
}

// erase takes the payload of the user's records that carry what is to be forgotten.
func (f *forgetting) erase(ctx context.Context, h *hall, c *carriers) (erased int, err error) {
	if c.empty() {
		return 0, nil
	}
	err = f.step("looking through the audit log", func() (err error) {
		erased, err = f.sequencer(h.store).Erase(ctx, audit.EraseRequest{
			Of: host.SessionRef{Tenant: f.owner.Tenant, User: f.owner.User}, By: f.by, Why: f.why,
			Which: func(r host.Record) bool { return c.carry(ctx, r) },
		})
		return errors.Join(err, c.failed)
	})
	return erased, err
}
