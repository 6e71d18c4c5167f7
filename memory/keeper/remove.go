package keeper

import (
	"context"
	"database/sql"
	"slices"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
)

// Links to a memory and from it, of a list.
const (
	madeOfThese = "SELECT other_id FROM memory_link" + ofOwner + " AND link_role = '" + roleDerived + "' AND memory_id IN "
	cameBefore  = "SELECT memory_id FROM memory_link" + ofOwner + " AND link_role = '" + roleNext + "' AND other_id IN "
)

// madeOf gives memories, what was made of them, and what they superseded: it says the
// same in other words, or would come back in their place. Whatever led to one comes
// before it. What skip tells is left out.
func madeOf(ctx context.Context, on host.Statements, o Owner, ids []memory.ID, skip func(memory.ID) bool) ([]memory.ID, error) {
	var all []memory.ID
	seen := map[memory.ID]bool{}
	add := func(more []memory.ID) {
		for _, id := range more {
			if !seen[id] && !skip(id) {
				seen[id] = true
				all = append(all, id)
			}
		}
	}
	add(ids)
	for done := 0; done < len(all); {
		some := all[done:min(len(all), done+longList)]
		done += len(some)
		list, args := inList(some)
		args = append(ownerArgs(o), args...)
		for _, query := range []string{madeOfThese, cameBefore} {
			more, err := texts[memory.ID](ctx, on, query+list, args...)
			if err != nil {
				return nil, err
			}
			add(more)
		}
		if len(all) > maxMade {
			return nil, badValue("more than %d memories were made of these", maxMade).WithHint("forget them all, or what is about one entity")
		}
	}
	return all, nil
}

// removeLines removes the lines that were written of memories so far.
func (t *tx) removeLines(ctx context.Context, o Owner, ids []memory.ID) error {
	for some := range slices.Chunk(ids, longList) {
		list, args := inList(some)
		if _, err := exec(ctx, t.on, "DELETE FROM memory_outbox"+ofOwner+" AND memory_id IN "+list, append(ownerArgs(o), args...)...); err != nil {
			return err
		}
	}
	return nil
}

// tablesOfMemory have rows that go by tenant, user and memory.
func tablesOfMemory() []string {
	return []string{"memory_node", "memory_life", "memory_source", "memory_band", "memory_claim", "memory_vector", "memory_unembedded", "memory_gap", "memory_question", "memory_link", "memory_piece"}
}

// from gives a table for a statement by the memories that its rows are of. Where these are
// not what its rows lie by, SQLite is told by which key it finds them: it would else go
// through all rows of the user.
func (t *tx) from(table string) string {
	switch {
	case !t.keyed:
	case table == "memory_band" || table == "memory_gap" || table == "memory_question":
		return table + " INDEXED BY sqlite_autoindex_" + table + "_2"
	case table == "memory_piece":
		return table + " INDEXED BY sqlite_autoindex_memory_piece_3"
	}
	return table
}

// remove removes all rows of memories, and takes them out of others'. Of each, one line of
// the outbox stays, which has its id.
func (t *tx) remove(ctx context.Context, o Owner, ids []memory.ID) error {
	for some := range slices.Chunk(ids, longList) {
		if err := t.unlink(ctx, o, some); err != nil {
			return err
		}
		if err := t.removeRows(ctx, o, some); err != nil {
			return err
		}
	}
	return nil
}

// removeRows removes the rows of up to longList memories, and the links of others to them.
func (t *tx) removeRows(ctx context.Context, o Owner, ids []memory.ID) error {
	if err := t.removeChoices(ctx, o, ids); err != nil {
		return err
	}
	list, args := inList(ids)
	for _, table := range tablesOfMemory() {
		if _, err := exec(ctx, t.on, "DELETE FROM "+t.from(table)+ofOwner+" AND memory_id IN "+list, append(ownerArgs(o), args...)...); err != nil {
			return err
		}
	}
	for _, role := range []string{roleDerived, roleNext, roleOverlap} {
		if err := t.removeLinked(ctx, o, role, list, args); err != nil {
			return err
		}
	}
	return t.touchedAll(ctx, o, ids)
}

const (
	choicesOfThese = "SELECT other_id FROM memory_link" + ofOwner + " AND link_role = '" + roleChoice + "' AND memory_id IN "
	questionsIn    = "SELECT detail FROM memory_question" + ofOwner + " AND question_id IN "
)

// removeChoices removes the choices that memories are in, with their links.
func (t *tx) removeChoices(ctx context.Context, o Owner, ids []memory.ID) error {
	list, args := inList(ids)
	all, err := documents[memory.Question](ctx, t.on, "SELECT detail FROM "+t.from("memory_question")+ofOwner+" AND memory_id IN "+list, append(ownerArgs(o), args...)...)
	if err != nil {
		return err
	}
	later, err := texts[string](ctx, t.on, choicesOfThese+list, append(ownerArgs(o), args...)...)
	for some := range slices.Chunk(later, longList) {
		if err != nil {
			break
		}
		var more []memory.Question
		list, args := inList(some)
		more, err = documents[memory.Question](ctx, t.on, questionsIn+list, append(ownerArgs(o), args...)...)
		all = append(all, more...)
	}
	for _, q := range all {
		if err == nil && q.IsChoice() {
			_, err = exec(ctx, t.on, removeQuestion, append(ownerArgs(o), q.ID)...)
		}
		if err == nil && q.IsChoice() {
			_, err = exec(ctx, t.on, removeLink, append(memoryArgs(o, q.Other), roleChoice, q.ID)...)
		}
	}
	return err
}

const (
	linkedTo   = "SELECT memory_id, other_id FROM memory_link" + ofOwner + " AND link_role = ? AND other_id IN "
	removeLink = "DELETE FROM memory_link" + ofMemory + " AND link_role = ? AND other_id = ?"
)

// removeLinked removes the links of a role to a list of memories, gaps or traces. They are
// looked up first: a DELETE by the other end reads all links of the user on SQLite.
func (t *tx) removeLinked(ctx context.Context, o Owner, role, list string, args []any) error {
	var links [][]any
	err := each(ctx, t.on, linkedTo+list, append(append(ownerArgs(o), role), args...), func(rows *sql.Rows) error {
		var id, other string
		err := rows.Scan(&id, &other)
		links = append(links, append(memoryArgs(o, memory.ID(id)), role, other))
		return err
	})
	for _, link := range links {
		if err == nil {
			_, err = exec(ctx, t.on, removeLink, link...)
		}
	}
	return err
}

const gapsOfThese = "SELECT other_id FROM memory_link" + ofOwner + " AND link_role = '" + roleEvidence + "' AND memory_id IN "

// unlink removes what others keep of up to longList memories: gaps whose evidence they
// are, with what those say was seen, and the words of traces that point to them.
func (t *tx) unlink(ctx context.Context, o Owner, ids []memory.ID) error {
	list, args := inList(ids)
	for n := longList; n == longList; {
		gaps, err := texts[string](ctx, t.on, gapsOfThese+list+" LIMIT ?", append(append(ownerArgs(o), args...), longList)...)
		for _, gap := range gaps {
			if err == nil {
				err = t.removeGap(ctx, o, gap)
			}
		}
		if err != nil {
			return err
		}
		n = len(gaps)
	}
	for n := longList; n == longList; {
		var err error
		if n, err = t.silenceSome(ctx, o, ids); err != nil {
			return err
		}
	}
	return nil
}

const (
	gapOf          = "SELECT detail FROM memory_gap" + ofOwner + " AND gap_id = ?"
	removeGap      = "DELETE FROM memory_gap" + ofOwner + " AND gap_id = ?"
	removeQuestion = "DELETE FROM memory_question" + ofQuestion
)

// removeGap also removes the question that tells what the gap saw.
func (t *tx) removeGap(ctx context.Context, o Owner, gap string) error {
	found, err := documents[memory.Gap](ctx, t.on, gapOf, append(ownerArgs(o), gap)...)
	if err != nil {
		return err
	}
	if _, err := exec(ctx, t.on, removeGap, append(ownerArgs(o), gap)...); err != nil {
		return err
	}
	for _, g := range found {
		if err := t.removeQuestion(ctx, o, g); err != nil {
			return err
		}
	}
	list, args := inList([]string{gap})
	return t.removeLinked(ctx, o, roleEvidence, list, args)
}

// removeQuestion removes the question that a gap led to. The other open gaps of it no
// longer name it: else they would wait for an answer that nobody is asked for.
func (t *tx) removeQuestion(ctx context.Context, o Owner, of memory.Gap) error {
	if of.Question == "" {
		return nil
	}
	if _, err := exec(ctx, t.on, removeQuestion, append(ownerArgs(o), of.Question)...); err != nil {
		return err
	}
	others, err := documents[memory.Gap](ctx, t.on, openOfOne, append(memoryArgs(o, of.Memory), maxGaps)...)
	for _, g := range others {
		if err == nil && g.Question == of.Question {
			g.Question = ""
			err = t.saveGap(ctx, g)
		}
	}
	return err
}

const (
	tracesOfThese = "SELECT other_id FROM memory_link" + ofOwner + " AND link_role = '" + roleTrace + "' AND memory_id IN "

	tracesOfInputs = "SELECT trace_id FROM memory_trace" + ofOwner + " AND session_id = ? AND input_id IN "
)

// silenceAll takes the words out of the traces that point to memories, some in each
// transaction: others wait for it, and there may be years of them.
func (k *Keeper) silenceAll(ctx context.Context, o Owner, ids []memory.ID) error {
	for n := longList; n == longList; {
		err := k.change(ctx, func(ctx context.Context, t *tx) (err error) {
			n, err = t.silenceSome(ctx, o, ids)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// silenceSome silences up to longList traces that point to some memories, and tells
// how many links to them there were. Those are gone then.
func (t *tx) silenceSome(ctx context.Context, o Owner, ids []memory.ID) (int, error) {
	list, args := inList(ids)
	traces, err := texts[string](ctx, t.on, tracesOfThese+list+" LIMIT ?", append(append(ownerArgs(o), args...), longList)...)
	return len(traces), t.silence(ctx, o, traces, err)
}

// silenceInputs silences the traces of the inputs that memories come from: the
// question that they keep has the words, whatever they point to. Of those that were acted
// on in these inputs it takes the alternative.
func (t *tx) silenceInputs(ctx context.Context, o Owner, from removed) error {
	inputs := map[host.SessionID][]host.InputID{}
	for _, s := range from.sources {
		if s.Session != "" && s.Input != "" && !slices.Contains(inputs[s.Session], s.Input) {
			inputs[s.Session] = append(inputs[s.Session], s.Input)
		}
	}
	for session, all := range inputs {
		for some := range slices.Chunk(all, longList) {
			list, args := inList(some)
			args = append(append(append(ownerArgs(o), string(session)), args...), longList)
			for n := longList; n == longList; {
				traces, err := texts[string](ctx, t.on, tracesOfInputs+list+" LIMIT ?", args...)
				if err = t.silence(ctx, o, traces, err); err != nil {
					return err
				}
				n = len(traces)
			}
		}
	}
	return t.silenceActs(ctx, o, from)
}

// silence takes the words out of traces. Their outcome, which moved trust, stays.
func (t *tx) silence(ctx context.Context, o Owner, traces []string, err error) error {
	for _, trace := range traces {
		if err != nil {
			break
		}
		var found []memory.Trace
		found, err = documents[memory.Trace](ctx, t.on, traceOf, append(ownerArgs(o), trace)...)
		for _, one := range found {
			if err == nil {
				err = t.saveTrace(ctx, wordless(one))
			}
		}
	}
	for some := range slices.Chunk(traces, longList) {
		if err != nil {
			break
		}
		list, args := inList(some)
		err = t.removeLinked(ctx, o, roleTrace, list, args)
	}
	return err
}
