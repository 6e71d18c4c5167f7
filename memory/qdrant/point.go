package qdrant

import (
	"iter"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	api "github.com/qdrant/go-client/qdrant"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/tokens"
)

// The payload of a point.
const (
	fieldID       = "id"
	fieldTenant   = "tenant"
	fieldUser     = "user"
	fieldSession  = "session"
	fieldLive     = "live"
	fieldEntity   = "entity"
	fieldPlatform = "platform"
	fieldKind     = "kind"
	fieldLayer    = "layer" // as text, for the same index as the others
	fieldStatus   = "status"
	fieldOrder    = "order"
	fieldAt       = "at" // microseconds since 1970: filters compare doubles, which hold those exactly until the year 2255
)

// maxTerms bounds a sparse vector: a text of memory.MaxTextBytes has fewer terms.
const maxTerms = 1 << 15

// pointSpace separates the ids of our points from everybody else's UUIDs.
var pointSpace = uuid.MustParse("b1f0c1de-2c5e-5d0a-9a3c-6d1b7e0f4a92")

// pointID gives the id of a memory's point. It is made of the tenant's id too,
// also where the memory's is a UUID: two tenants may have the same, by an import.
func pointID(tenant host.TenantID, id memory.ID) *api.PointId {
	// The length keeps ("a", "bc") and ("ab", "c") apart.
	name := strconv.Itoa(len(tenant)) + ":" + string(tenant) + string(id)
	return api.NewIDUUID(uuid.NewSHA1(pointSpace, []byte(name)).String())
}

// pointOf gives the point of an entry. A vector that the entry has not, the point
// has not either.
func pointOf(e *memory.Entry) *api.PointStruct {
	vectors := map[string]*api.Vector{}
	if len(e.Sparse) > 0 {
		vectors[sparseName] = api.NewVectorSparse(columns(e.Sparse))
	}
	if e.Dense != nil {
		vectors[denseName] = api.NewVectorDense(e.Dense)
	}
	payload := map[string]*api.Value{
		fieldOrder: api.NewValueInt(e.Order),
		fieldAt:    api.NewValueInt(e.At.UnixMicro()),
	}
	for _, t := range texts(e) {
		payload[t.field] = api.NewValueString(t.value)
	}
	return &api.PointStruct{Id: pointID(e.Tenant, e.ID), Vectors: api.NewVectorsMap(vectors), Payload: payload}
}

// A text is a field of the payload that is text.
type text struct{ field, value string }

func texts(e *memory.Entry) []text {
	return []text{
		{fieldID, string(e.ID)}, {fieldTenant, string(e.Tenant)}, {fieldUser, string(e.User)},
		{fieldSession, string(e.Session)}, {fieldLive, string(e.Live)}, {fieldEntity, e.Entity}, {fieldPlatform, e.Platform},
		{fieldKind, string(e.Kind)}, {fieldLayer, layerText(e.Layer)}, {fieldStatus, string(e.Status)},
	}
}

func layerText(l memory.Layer) string { return strconv.Itoa(int(l)) }

// columns gives the ids and the weights of a vector.
func columns(v tokens.Vector) (ids []uint32, weights []float32) {
	ids, weights = make([]uint32, len(v)), make([]float32, len(v))
	for i, term := range v {
		ids[i], weights[i] = term.ID, term.Weight
	}
	return ids, weights
}

// checkEntry reports what is wrong with an entry.
func checkEntry(e *memory.Entry, dimensions int) *abi.Problem {
	for _, t := range texts(e) {
		least, most := 0, host.MaxIDBytes
		switch t.field {
		case fieldID, fieldTenant, fieldUser:
			least = 1
		case fieldEntity:
			most = memory.MaxEntityBytes
		}
		if problem := checkText(t.field, t.value, least, most); problem != nil {
			return problem
		}
	}
	if problem := checkTerms(e.Sparse); problem != nil {
		return problem
	}
	if e.Dense == nil {
		return nil
	}
	return checkDense(e.Dense, dimensions)
}

// checkText checks a text that is kept or sent.
func checkText(what, text string, least, most int) *abi.Problem {
	if len(text) < least || len(text) > most {
		return abi.NewProblem(abi.BadValue, "the %s of a memory in the index has %d bytes; give %d to %d", what, len(text), least, most).WithField(what)
	}
	if !utf8.ValidString(text) {
		return abi.NewProblem(abi.BadValue, "the %s of a memory in the index is not UTF-8", what).WithField(what)
	}
	return nil
}

// checkTerms holds a vector to what tokens.Vector promises. A weight that is not above
// zero would make a hit of no score, or turn the order around.
func checkTerms(v tokens.Vector) *abi.Problem {
	if len(v) > maxTerms {
		return abi.NewProblem(abi.BadValue, "a text has %d terms; the memory index takes %d", len(v), maxTerms)
	}
	for i, term := range v {
		if i > 0 && term.ID <= v[i-1].ID {
			return abi.NewProblem(abi.BadValue, "the terms of a text are not in order, or there twice")
		}
		if w := float64(term.Weight); !(w > 0) || math.IsInf(w, 0) {
			return abi.NewProblem(abi.BadValue, "a term of a text has the weight %g", w)
		}
	}
	return nil
}

func checkDense(v []float32, dimensions int) *abi.Problem {
	if len(v) != dimensions || dimensions == 0 {
		return abi.NewProblem(abi.BadValue, "a dense vector has %d numbers; those of this index have %d", len(v), dimensions).
			WithHint("embed with the model that the index was made with, or rebuild it")
	}
	for _, x := range v {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return abi.NewProblem(abi.BadValue, "a dense vector has a number that is none")
		}
	}
	return nil
}

// lastOfEach gives the entries in order, of those with one id the last.
func lastOfEach(entries []memory.Entry) []*memory.Entry {
	type key struct {
		tenant host.TenantID
		id     memory.ID
	}
	last := make(map[key]int, len(entries))
	for i := range entries {
		last[key{entries[i].Tenant, entries[i].ID}] = i
	}
	kept := make([]*memory.Entry, 0, len(last))
	for i := range entries {
		if e := &entries[i]; last[key{e.Tenant, e.ID}] == i {
			kept = append(kept, e)
		}
	}
	return kept
}

// batches cuts entries into requests of bounded number and size.
func batches(entries []*memory.Entry) iter.Seq[[]*memory.Entry] {
	return func(yield func([]*memory.Entry) bool) {
		start, size := 0, 0
		for i, e := range entries {
			n := sizeOf(e)
			if i > start && (i-start == maxBatchPoints || size+n > maxBatchBytes) {
				if !yield(entries[start:i]) {
					return
				}
				start, size = i, 0
			}
			size += n
		}
		if start < len(entries) {
			yield(entries[start:])
		}
	}
}

// sizeOf estimates the bytes of a point on the wire, from above.
func sizeOf(e *memory.Entry) int {
	const fields = 512 // names, lengths, numbers and the point's id
	size := fields + 10*len(e.Sparse) + 4*len(e.Dense)
	for _, t := range texts(e) {
		size += len(t.value)
	}
	return size
}

// filterOf gives Qdrant's form of a filter.
func filterOf(f memory.Filter) *api.Filter {
	must := []*api.Condition{api.NewMatchKeyword(fieldTenant, string(f.Tenant))}
	for _, one := range []text{
		{fieldUser, string(f.User)}, {fieldSession, string(f.Session)}, {fieldLive, string(f.Live)},
		{fieldEntity, f.Entity}, {fieldPlatform, f.Platform},
	} {
		if one.value != "" {
			must = append(must, api.NewMatchKeyword(one.field, one.value))
		}
	}
	statuses := f.Statuses
	if len(statuses) == 0 {
		statuses = []memory.Status{memory.Active}
	}
	must = append(must, api.NewMatchKeywords(fieldStatus, words(statuses, func(s memory.Status) string { return string(s) })...))
	if len(f.Kinds) > 0 {
		must = append(must, api.NewMatchKeywords(fieldKind, words(f.Kinds, func(k memory.Kind) string { return string(k) })...))
	}
	if len(f.Layers) > 0 {
		must = append(must, api.NewMatchKeywords(fieldLayer, words(f.Layers, layerText)...))
	}
	if !f.Since.IsZero() || !f.Until.IsZero() {
		must = append(must, api.NewRange(fieldAt, &api.Range{Gte: micros(f.Since), Lt: micros(f.Until)}))
	}
	return &api.Filter{Must: must}
}

func words[T any](list []T, text func(T) string) []string {
	out := make([]string, len(list))
	for i, item := range list {
		out[i] = text(item)
	}
	return out
}

// micros gives the end of a range; nil for an open one.
func micros(t time.Time) *float64 {
	if t.IsZero() {
		return nil
	}
	return api.PtrOf(float64(t.UnixMicro()))
}

// checkFilter reports what is wrong with a filter.
func checkFilter(f memory.Filter) *abi.Problem {
	const maxWords = 64 // many times the kinds that there are
	if f.Tenant == "" {
		return abi.NewProblem(abi.BadValue, "a search of memories names no tenant").WithField(fieldTenant)
	}
	if len(f.Kinds) > maxWords || len(f.Layers) > maxWords || len(f.Statuses) > maxWords {
		return abi.NewProblem(abi.BadValue, "a search of memories lists more than %d kinds, layers or statuses", maxWords)
	}
	for _, one := range filterOf(f).GetMust() {
		match := one.GetField().GetMatch()
		for _, text := range append(match.GetKeywords().GetStrings(), match.GetKeyword()) {
			if problem := checkText(one.GetField().GetKey(), text, 0, memory.MaxEntityBytes); problem != nil {
				return problem
			}
		}
	}
	return nil
}
