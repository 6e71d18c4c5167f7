package host

import (
	"fmt"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestTheFailuresOfATenantNeitherHideNorDrownAnothers(t *testing.T) {
	r := NewRates(map[AlertKind]Threshold{AlertFailures: {3, time.Minute}})
	alerts := map[TenantID]int{}
	observe := func(tenant TenantID, after time.Duration) {
		for _, f := range r.Observe(tenant, AlertFailures, noon.Add(after)) {
			alerts[f.Tenant]++
		}
	}
	for i := range 100 {
		observe("loud", time.Duration(i)*time.Millisecond)
	}
	for i := range 3 {
		observe("quiet", time.Second+time.Duration(i)*time.Millisecond)
	}
	observe("seldom", 2*time.Second)
	if alerts["loud"] != 1 || alerts["quiet"] != 1 || alerts["seldom"] != 0 {
		t.Errorf("alerts by tenant are %v", alerts)
	}
	if alerts[""] != 1 {
		t.Errorf("%d alerts are of all tenants together", alerts[""])
	}
}

// TestAFaultThatEveryTenantMeetsALittleIsAlerted: no tenant reaches its own
// threshold.
func TestAFaultThatEveryTenantMeetsALittleIsAlerted(t *testing.T) {
	r := NewRates(map[AlertKind]Threshold{AlertFailures: {3, time.Minute}})
	for i := range 3*AllTenants - 1 {
		if due := r.Observe(TenantID(fmt.Sprint(i)), AlertFailures, noon); due != nil {
			t.Fatalf("end %d is alerted: %+v", i, due)
		}
	}
	due := r.Observe("last", AlertFailures, noon)
	if len(due) != 1 || due[0] != (Frequent{"", Threshold{3 * AllTenants, time.Minute}}) {
		t.Errorf("alerted are %+v", due)
	}
}

func TestTenantsAreCountedInBoundedMemory(t *testing.T) {
	r := NewRates(map[AlertKind]Threshold{AlertFailures: {maxThreshold, time.Minute}, AlertLoops: {2, time.Hour}})
	for i := range maxCounted + 10 {
		r.Observe(TenantID(fmt.Sprint(i)), AlertLoops, noon)
	}
	if len(r.tenants) != maxCounted || r.recent.Len() != maxCounted || r.times != maxCounted {
		t.Fatalf("%d tenants with %d times are kept", len(r.tenants), r.times)
	}
	if due := r.Observe("0", AlertLoops, noon); len(due) != 1 || due[0].Tenant != "0" {
		t.Errorf("a tenant that was there is not counted any more: %+v", due)
	}
	// One window later nothing of them counts, and there is room again.
	later := noon.Add(time.Hour + time.Second)
	r.Observe("new", AlertLoops, later)
	if due := r.Observe("new", AlertLoops, later); len(r.tenants) != 1 || r.times != 2 || len(due) == 0 || due[0].Tenant != "new" {
		t.Errorf("%d tenants with %d times are kept, %+v", len(r.tenants), r.times, due)
	}
	for i := range maxTimes + 1000 {
		r.Observe(TenantID(fmt.Sprint("flood", i%200)), AlertFailures, later)
	}
	if r.times > maxTimes {
		t.Errorf("%d times are kept", r.times)
	}
}
