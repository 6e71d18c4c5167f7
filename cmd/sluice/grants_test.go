package main

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/host/state"
)

// Whoever reads the log must find the grant that it tells of.
func TestTheRecordOfAStandingGrantNamesIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shared.db")
	environment := map[string]string{"SLUICE_HOME": t.TempDir(), "SLUICE_STORE": file}
	run(t, func(name string) string { return environment[name] }, "approvals", "grant", "shop.pricing.set_price", "--user", "mia", "--lasts", "2h")
	s, err := state.Open(t.Context(), file, state.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	grants, err := s.StandingGrantsOf(t.Context(), "local", "mia", "", 0)
	if err != nil || len(grants) != 1 {
		t.Fatalf("the grants are %+v, %v", grants, err)
	}
	records, err := s.Records(t.Context(), "local", state.RecordFilter{Kinds: []host.RecordKind{host.RecordGrant}})
	if err != nil || len(records) != 1 {
		t.Fatalf("the records are %+v, %v", records, err)
	}
	var told struct {
		Granted grantView `json:"granted"`
		Lasts   string    `json:"lasts"`
	}
	if err := json.Unmarshal(records[0].Detail, &told); err != nil || told.Granted != viewGrant(grants[0]) || told.Lasts != (2*time.Hour).String() {
		t.Errorf("the record says %s, %v; want %+v", records[0].Detail, err, viewGrant(grants[0]))
	}
}
