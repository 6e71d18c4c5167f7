package recall

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// maxEndRecords is more than one call leaves: its intents, retries and end.
const maxEndRecords = 100

// endOf gives a call that was done as it ended, and when. Of a call of an earlier run, which
// ended before the model was asked again, only the record has the data; what was
// forgotten since has none. Without a record the outcome stands as it is, without a time.
func (r *Recall) endOf(ctx context.Context, session host.SessionRef, o host.Outcome) (host.Outcome, time.Time, error) {
	records, err := r.Store.Records(ctx, session.Tenant, state.RecordFilter{Call: o.Call, Limit: maxEndRecords})
	if err != nil {
		return o, time.Time{}, err
	}
	for _, record := range records {
		var ended host.Outcome
		if record.Kind != host.RecordOutcome || record.Session != session || json.Unmarshal(record.Detail, &ended) != nil || !ended.OK() {
			continue
		}
		if len(o.Data) == 0 {
			o.Data, o.Tool, o.Release = ended.Data, record.Tool, record.Release
		}
		return o, record.Time.UTC(), nil
	}
	return o, time.Time{}, nil
}
