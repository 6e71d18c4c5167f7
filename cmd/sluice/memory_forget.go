package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/agent"
	"github.com/sluicehq/sluice/host/audit"
	"github.com/sluicehq/sluice/host/blob"
	"github.com/sluicehq/sluice/host/grant"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/documents"
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
--all of the user's: text, vectors, postings, what was made of them, gaps and questions, and the words of
decisions. Then it takes the payload out of the audit
records of the calls and messages that they came from, and of all of the user's records that carry their text. A receipt without any text stays, and the proof that there were records.
The conversations themselves are the sessions': --sessions removes those that the memories came from, too.
It shows what goes and asks first.`,
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
	c.Flags().BoolVar(&f.sessions, "sessions", false, "also remove the sessions that the memories came from, with their records")
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

// find gives the memories that the wish names, as far as they are there.
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
		if err != nil {
			return nil, err
		}
		gone = append(gone, n)
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
	return say.pick(", and the sessions that they came from", "以及它们所在的会话")
}

// forget takes the payloads first, for as long as the memories tell which they are:
// where it breaks off, the same command finds them again.
func (f *forgetting) forget(ctx context.Context, h *hall, k *minding, gone []memory.Node) error {
	carried := carriers{calls: map[host.CallID]bool{}, inputs: map[message]bool{}, sessions: map[host.SessionID]bool{}}
	for _, n := range gone {
		carried.addText(n.Text)
		if n.Source.Document != "" {
			carried.addText(ownEnd(n.Text))
		}
		carried.add(n.Source)
	}
	erased, err := f.erase(ctx, h, &carried)
	if err != nil {
		return err
	}
	forgotten, err := k.Forget(ctx, f.owner, f.wish)
	if err != nil {
		return err
	}
	if h.recall != nil {
		h.recall.Forgotten(f.owner)
	}
	for _, s := range forgotten.Sources { // also of what was made of them
		carried.add(s)
	}
	more, err := f.erase(ctx, h, &carried)
	if err != nil {
		return err
	}
	if f.sessions {
		purged, err := f.purge(ctx, h, carried.sessions)
		if more += purged; err != nil {
			return err
		}
	}
	left, err := f.left(ctx, h, carried.sessions)
	if err != nil {
		return err
	}
	if scrub := h.store.Database().Scrub; scrub != nil && erased+more > 0 {
		if err := f.step("scrubbing the store's files", func() error { return scrub(ctx) }); err != nil {
			return err
		}
	}
	if err := f.settle(ctx, k); err != nil {
		return err
	}
	return f.tell(forgotten, erased+more, left)
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
		fmt.Fprintln(f.stderr, say.pick("what was said in the sessions %v is still there: sluice session purge removes one, and so does --sessions with memory forget", "会话 %v 中说过的话仍然保留：用 sluice session purge 删除，或给 memory forget 加上 --sessions", left))
	}
	if !done.Scrubbed {
		fmt.Fprintln(f.stderr, say.pick("the database's own logs and backups keep what they have until its operator removes them", "数据库自身的日志和备份由其管理员清理"))
	}
	return nil
}

// left gives those of the sessions that are still there.
func (f *forgetting) left(ctx context.Context, h *hall, sessions map[host.SessionID]bool) (left []host.SessionID, err error) {
	for _, id := range slices.Sorted(maps.Keys(sessions)) {
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

// purge removes sessions that the memories came from, with their records.
func (f *forgetting) purge(ctx context.Context, h *hall, sessions map[host.SessionID]bool) (erased int, err error) {
	if err := f.attach(ctx, h, f.memory.shared()); err != nil {
		return 0, err
	}
	for id := range sessions {
		ref := host.SessionRef{Tenant: f.owner.Tenant, User: f.owner.User, Session: id}
		n, err := f.agent(h, nil).PurgeWithRecords(ctx, f.sequencer(h.store), audit.EraseRequest{Of: ref, By: f.by, Why: f.why})
		if erased += n; err != nil {
			return erased, err
		}
	}
	return erased, nil
}

// erase takes the payload of the user's records that carry what is to be forgotten.
func (f *forgetting) erase(ctx context.Context, h *hall, c *carriers) (erased int, err error) {
	if len(c.texts) == 0 && len(c.calls) == 0 && len(c.inputs) == 0 {
		return 0, nil
	}
	err = f.step("looking through the audit log", func() (err error) {
		erased, err = f.sequencer(h.store).Erase(ctx, audit.EraseRequest{
			Of: host.SessionRef{Tenant: f.owner.Tenant, User: f.owner.User}, By: f.by, Why: f.why,
			Which: func(r host.Record) bool { return c.carry(ctx, h.blobs, r) },
		})
		return errors.Join(err, c.failed)
	})
	for _, b := range c.blobs {
		err = errors.Join(err, h.blobs.Delete(ctx, b.session, b.id))
	}
	c.blobs = nil
	return erased, err
}

// carriers tell which records carry what is to be forgotten.
type carriers struct {
	calls    map[host.CallID]bool
	inputs   map[message]bool
	sessions map[host.SessionID]bool
	texts    [][]byte // as they stand in JSON

	blobs  []storedBlob // that carry a text
	failed error        // of what could not be looked at
}

// A storedBlob is where a session's host calls are.
type storedBlob struct {
	session host.SessionRef
	id      string
}

// A message is one input of a session.
type message struct {
	session host.SessionID
	input   host.InputID
}

func (c *carriers) add(s memory.Source) {
	if s.Call != "" {
		c.calls[s.Call] = true
	}
	if s.Session != "" {
		c.sessions[s.Session] = true
		if s.Input != "" {
			c.inputs[message{s.Session, s.Input}] = true
		}
	}
}

// leastCarried is the shortest text that is looked for: two Chinese characters. A
// shorter one stands in words that have nothing to do with it.
const leastCarried = 6

// addText notes a text in both forms that JSON writers give it.
func (c *carriers) addText(text string) {
	if len(text) < leastCarried {
		return
	}
	for _, escapes := range []bool{false, true} {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(escapes)
		if err := e.Encode(text); err != nil {
			panic("BUG: a text does not marshal: " + err.Error())
		}
		quoted := bytes.TrimSpace(b.Bytes())
		c.texts = append(c.texts, quoted[1:len(quoted)-1])
	}
}

// ownEnd gives what of a document's piece is surely its own: it may begin with the end of
// the piece before, and is shown without that where it stands around another one.
func ownEnd(text string) string {
	r := []rune(text)
	return string(r[min(len(r), documents.OverlapRunes):])
}

// carry reports whether a record's payload is to go.
func (c *carriers) carry(ctx context.Context, blobs *blob.Store, r host.Record) bool {
	if c.calls[r.Call] && r.Call != "" {
		return true
	}
	var of struct {
		Input json.Number `json:"input"`
	}
	if json.Unmarshal(r.Detail, &of) == nil && of.Input != "" && c.inputs[message{r.Session.Session, host.InputID(of.Input)}] {
		return true
	}
	return c.in(r.Detail) || c.inHostCalls(ctx, blobs, r)
}

func (c *carriers) in(data []byte) bool {
	return slices.ContainsFunc(c.texts, func(text []byte) bool { return bytes.Contains(data, text) })
}

// inHostCalls looks into what a call read and wrote, which is packed in its record or
// in a blob of the session. A blob that carries a text goes with the record.
func (c *carriers) inHostCalls(ctx context.Context, blobs *blob.Store, r host.Record) bool {
	var of struct {
		HostCalls *grant.Stored `json:"host_calls"`
	}
	if json.Unmarshal(r.Detail, &of) != nil || of.HostCalls == nil {
		return false
	}
	recording, err := of.HostCalls.Load(ctx, blobs, r.Session)
	if err != nil {
		if host.ProblemOf(err).Code != abi.NotFound { // what was never kept, or is gone, carries nothing
			c.failed = errors.Join(c.failed, err)
		}
		return false
	}
	carries := c.in(recording.Input)
	for _, call := range recording.Calls {
		carries = carries || c.in(call.Result) || slices.ContainsFunc(call.Args, c.in)
	}
	if carries && of.HostCalls.Blob != "" {
		c.blobs = append(c.blobs, storedBlob{r.Session, of.HostCalls.Blob})
	}
	return carries
}
