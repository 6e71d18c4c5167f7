package state

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
)

// sealAll seals what tenant shop has, does all else that there is to do with a
// log, and gives how many records there were.
func sealAll(t *testing.T, s *Store) int {
	t.Helper()
	upTo, err := s.SettledSeq(t.Context(), "shop")
	must(t, err)
	records, err := s.Records(t.Context(), "shop", RecordFilter{UpToSeq: upTo})
	must(t, err)
	var leaves []AuditLeaf
	for i, r := range records {
		leaves = append(leaves, AuditLeaf{Seq: r.Seq, Log: 1, Index: int64(i), Secret: fmt.Append(nil, "salt", i)})
	}
	n := int64(len(records))
	log := AuditLog{Tenant: "shop", No: 1, Size: n, LastSeq: upTo, SealedAt: time.UnixMicro(5), Key: "key", Checkpoint: []byte("signed")}
	must(t, s.Seal(t.Context(), Sealing{Log: log, Leaves: leaves, Tiles: []AuditTile{{Log: 1, Hashes: []byte("short")}}}))
	log.Size, log.Closed, log.Closing = n+1, true, []byte("closing")
	next := AuditLog{Tenant: "shop", No: 2, Size: 1, LastSeq: upTo, SealedAt: time.UnixMicro(6), Key: "key2", Checkpoint: []byte("signed2"), Opening: []byte("opening")}
	must(t, s.Seal(t.Context(), Sealing{Log: log, Was: n, Next: &next, Tiles: []AuditTile{{Log: 1, Hashes: []byte("longer")}, {Log: 2, Level: 1, No: 3, Hashes: []byte("other")}}}))
	tile, err := s.AuditTile(t.Context(), "shop", 1, 0, 0)
	if must(t, err); string(tile) != "longer" {
		t.Errorf("the tile is %q", tile)
	}
	kept, err := s.AuditLeaves(t.Context(), "shop", 0, 0)
	must(t, err)
	for i := range kept {
		if kept[i].Seq != records[i].Seq || kept[i].Index != int64(i) || !bytes.Equal(kept[i].Secret, leaves[i].Secret) || kept[i].Erased {
			t.Errorf("leaf %d is %+v", i, kept[i])
		}
	}
	logs, err := s.AuditLogs(t.Context(), "shop", 0, 0)
	must(t, err)
	last, found, err := s.LastAuditLog(t.Context(), "shop")
	if must(t, err); !found || len(logs) != 2 || fmt.Sprint(logs[1]) != fmt.Sprint(last) || string(last.Opening) != "opening" || last.Key != "key2" || !logs[0].Closed || string(logs[0].Closing) != "closing" {
		t.Errorf("logs %+v, the last %+v", logs, last)
	}
	if keys, err := s.AuditKeys(t.Context()); err != nil || fmt.Sprint(keys) != "[key2]" {
		t.Errorf("open logs are signed with %v, %v", keys, err)
	}
	if at, found, err := s.FirstRecordAfter(t.Context(), "shop", records[n-1].Seq); err != nil || found || !at.IsZero() {
		t.Errorf("after the last record there is one of %s, %v", at, err)
	}
	behind, oldest, err := s.RecordsBehind(t.Context(), "shop", records[0].Seq)
	if must(t, err); behind != n-1 || !oldest.Equal(records[1].Time) {
		t.Errorf("%d records behind, the oldest of %s", behind, oldest)
	}
	must(t, s.EraseRecords(t.Context(), Erasure{Record: host.Record{Session: host.SessionRef{Tenant: "shop"}, Kind: host.RecordErasure}, Note: []byte(`{}`), Rows: map[int64][]byte{records[0].Seq: []byte("digest")}}))
	tenant, err := s.NextRecordTenant(t.Context(), "")
	if must(t, err); tenant == "" {
		t.Error("no tenant has records")
	}
	tenants, lastSeq, err := s.RecordTenantsSince(t.Context(), 0)
	must(t, err)
	ofAll, err := s.LastRecordSeq(t.Context())
	if must(t, err); !tenants["shop"] || lastSeq != ofAll {
		t.Errorf("tenants %v up to %d of %d", tenants, lastSeq, ofAll)
	}
	return len(records)
}

func TestALogIsKeptWithItsLeavesAndHashes(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		for i := range 150 { // every form of the statement that adds leaves
			must(t, s.Record(t.Context(), host.Record{Session: session("shop"), Call: host.CallID(fmt.Sprint("call", i)), Kind: host.RecordNotice, Tool: "tool", Detail: []byte(`"personal"`)}))
		}
		must(t, s.Record(t.Context(), host.Record{Session: session("other"), Kind: host.RecordNotice}))
		if n := sealAll(t, s); n != 150 {
			t.Errorf("%d records", n)
		}
		erased, err := s.Records(t.Context(), "shop", RecordFilter{Limit: 2})
		must(t, err)
		if r := erased[0]; r.Session.User != "" || r.Session.Session != "" || r.Call != "" || r.Tool != "" || string(r.Detail) != "{}" || r.Kind != host.RecordNotice {
			t.Errorf("the erased record is %+v", r)
		}
		if r := erased[1]; r.Session.User != "ann" || string(r.Detail) != `"personal"` {
			t.Errorf("the one behind it is %+v", r)
		}
	})
}

func TestSealingsThatCannotBeAreRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := d.open(t)
		log := AuditLog{Tenant: "shop", No: 1, Size: 2, SealedAt: time.UnixMicro(5)}
		must(t, s.Seal(t.Context(), Sealing{Log: log}))
		for name, tt := range map[string]struct {
			step Sealing
			code abi.Code
		}{
			"no tenant":             {Sealing{Log: AuditLog{No: 1, Size: 1}}, abi.BadValue},
			"it does not grow":      {Sealing{Log: AuditLog{Tenant: "shop", No: 1, Size: 2}, Was: 2}, abi.BadValue},
			"too many":              {Sealing{Log: AuditLog{Tenant: "shop", No: 1, Size: 3}, Was: 2, Leaves: make([]AuditLeaf, MaxSealed+1)}, abi.BadValue},
			"another's next":        {Sealing{Log: AuditLog{Tenant: "shop", No: 1, Size: 3, Closed: true}, Was: 2, Next: &AuditLog{Tenant: "other", No: 2, Size: 1}}, abi.BadValue},
			"a next of an open one": {Sealing{Log: AuditLog{Tenant: "shop", No: 1, Size: 3}, Was: 2, Next: &AuditLog{Tenant: "shop", No: 2, Size: 1}}, abi.BadValue},
			"another size":          {Sealing{Log: AuditLog{Tenant: "shop", No: 1, Size: 9, SealedAt: time.UnixMicro(5)}, Was: 8}, abi.StoreConflict},
			"one that is there":     {Sealing{Log: log}, abi.StoreConflict},
			"one that is not there": {Sealing{Log: AuditLog{Tenant: "shop", No: 7, Size: 9}, Was: 8}, abi.StoreConflict},
		} {
			t.Run(name, func(t *testing.T) { wantCode(t, s.Seal(t.Context(), tt.step), tt.code) })
		}
		wantCode(t, s.EraseRecords(t.Context(), Erasure{Note: []byte(`{}`)}), abi.BadValue)
		_, err := s.SettledSeq(t.Context(), "")
		wantCode(t, err, abi.BadValue)
		log.Size, log.Closed = 3, true
		must(t, s.Seal(t.Context(), Sealing{Log: log, Was: 2}))
		log.Size = 4
		wantCode(t, s.Seal(t.Context(), Sealing{Log: log, Was: 3}), abi.StoreConflict) // it is closed
	})
}

// Whoever asks up to where the records are there waits for a call that is slow to
// commit. No other call waits for him.
func TestNoCallWaitsForWhoWaitsForAnother(t *testing.T) {
	d := mariadbDatabase()
	dsn := d.fresh(t)
	s := openAt(t, dsn, Options{})
	must(t, record(t, s, "call"))
	_, err := s.SettledSeq(t.Context(), "shop") // makes the slots
	must(t, err)
	db := d.raw(t, dsn)
	tx, err := db.Begin()
	must(t, err)
	defer tx.Rollback()
	_, err = tx.Exec("UPDATE tenant_slot SET slot = slot WHERE tenant_id = 'shop' AND slot = 63")
	must(t, err)
	_, err = tx.Exec("SELECT * FROM tenant_slot WHERE tenant_id = 'shop' AND slot = 63 FOR UPDATE")
	must(t, err)
	settled := make(chan error, 1)
	go func() {
		_, err := s.SettledSeq(context.Background(), "shop")
		settled <- err
	}()
	for waiting := 0; waiting == 0; {
		must(t, db.QueryRow("SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND info LIKE 'INSERT INTO tenant_slot%'").Scan(&waiting))
	}
	for i := range 20 {
		call := host.CallID(fmt.Sprint("call", i))
		if slotOf(string(call), "s1") != 1<<63 {
			must(t, record(t, s, call))
		}
	}
	must(t, tx.Commit())
	if err := <-settled; err != nil { // the calls took longer than anybody waits for a lock
		wantCode(t, err, abi.StoreConflict)
	}
}
