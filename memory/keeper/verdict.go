package keeper

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/embed"
)

// maxMeaning bounds the weight of a dense leg: the best by words counts 1, and beside a
// leg of ten times that words would count for nothing.
const maxMeaning = 10

// A Verdict is what judging the dense leg of a model on labelled data gave. It holds for
// that model, those terms and that ranking, and no others.
type Verdict struct {
	Model   string        `json:"model"`   // memory.Embedder.Name
	Terms   string        `json:"terms"`   // version of what the words of an index are cut into
	Ranking string        `json:"ranking"` // memory.Ranking.Name
	Meaning float64       `json:"meaning"` // weight of the leg that was judged, above 0 and at most 10
	Figures embed.Verdict `json:"figures"` // and whether the leg is on
	Data    string        `json:"data"`    // digest of the labelled data
	At      time.Time     `json:"at"`
}

const (
	verdictOf     = "SELECT detail FROM memory_verdict WHERE model = ? AND terms = ? AND ranking = ?"
	verdictsAll   = "SELECT detail FROM memory_verdict ORDER BY model, terms, ranking"
	removeVerdict = "DELETE FROM memory_verdict WHERE model = ? AND terms = ? AND ranking = ?"
	makeVerdict   = "INSERT INTO memory_verdict (model, terms, ranking, detail) VALUES (?, ?, ?, ?)"
)

// KeepVerdicts keeps verdicts, each in the place of the one that there was for the same
// model and ranking. They are of this keeper's terms, and of now. Keepers that search
// with the model follow within their Poll. It fails with BadValue for what is no verdict,
// and keeps none of them then.
func (k *Keeper) KeepVerdicts(ctx context.Context, all []Verdict) error {
	const op = "keeper.KeepVerdicts"
	return fail(op, k.change(ctx, func(ctx context.Context, t *tx) error {
		for _, v := range all {
			v.Terms, v.At = entryVersion, t.at
			if err := v.check(); err != nil {
				return err
			}
			detail, err := json.Marshal(v)
			if err != nil {
				return badValue("a verdict cannot be written: %v", err)
			}
			if _, err := exec(ctx, t.on, removeVerdict, v.Model, v.Terms, v.Ranking); err != nil {
				return err
			}
			if _, err := exec(ctx, t.on, makeVerdict, v.Model, v.Terms, v.Ranking, detail); err != nil {
				return err
			}
		}
		return nil
	}))
}

func (v Verdict) check() error {
	_, known := memory.RankingOf(v.Ranking)
	switch {
	case v.Model == "" || len(v.Model) > abi.KeyBytes:
		return badValue("a verdict on a model whose name has %d bytes; give 1 to %d", len(v.Model), abi.KeyBytes)
	case !known:
		return badValue("a verdict on the ranking %.40q, which is not known", v.Ranking)
	case !(v.Meaning > 0 && v.Meaning <= maxMeaning):
		return badValue("a verdict on a dense leg of the weight %v; give one above 0 and up to %d", v.Meaning, maxMeaning)
	case v.Data == "" || len(v.Data) > host.MaxIDBytes:
		return badValue("a verdict without the digest of its labelled data")
	}
	return nil
}

// Verdicts gives all verdicts that are kept, also those on other models, terms and
// rankings than this keeper's. One that cannot be read fails them with StoreFailure.
func (k *Keeper) Verdicts(ctx context.Context) (all []Verdict, err error) {
	err = each(ctx, k.db.Reads, verdictsAll, nil, func(rows *sql.Rows) error {
		var detail []byte
		if err := rows.Scan(&detail); err != nil {
			return err
		}
		v, err := verdictFrom(detail)
		all = append(all, v)
		return err
	})
	return all, fail("keeper.Verdicts", err)
}

var errBadVerdict = errors.New("the verdict that is kept is none")

func verdictFrom(detail []byte) (v Verdict, err error) {
	if json.Unmarshal(detail, &v) != nil || v.check() != nil {
		return Verdict{}, errBadVerdict
	}
	return v, nil
}

// verdict reads the verdict on exactly this keeper's model, terms and ranking.
func (k *Keeper) verdict(ctx context.Context) (v Verdict, found bool, err error) {
	var detail []byte
	model, ranking := k.embedder.Name(), k.ranking.Name()
	if found, err = row(ctx, k.db.Reads, verdictOf, []any{model, entryVersion, ranking}, &detail); err != nil || !found {
		return v, false, err
	}
	if v, err = verdictFrom(detail); err == nil && (v.Model != model || v.Terms != entryVersion || v.Ranking != ranking) {
		err = errBadVerdict
	}
	return v, true, err
}
