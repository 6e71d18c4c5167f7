package main

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluicehq/sluice/memory/memorytest"
)

// TestServeIsDegradedWhileItsIndexIsGone: /readyz tells it and does not take the host
// out of service, a turn is answered, what is said is remembered, and the index comes back
// without a restart.
func TestServeIsDegradedWhileItsIndexIsGone(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
	shop := aShop(t)
	env := func(name string) string {
		if name == "SLUICE_MEMORY_INDEX" {
			return "qdrant://" + server.Address()
		}
		return shop(name)
	}
	url, stop := serve(t, env)
	if body := get(t, url+"/readyz", http.StatusOK); !strings.Contains(body, `{"name":"memory index","ok":true}`) || strings.Contains(body, "degraded") {
		t.Errorf("/readyz says %s", body)
	}
	server.Interfere(func(_ context.Context, r memorytest.Request) (any, error) {
		if r.Name == "Collections/Create" {
			return nil, status.Error(codes.Internal, "No space left on device")
		}
		return r.Serve()
	})
	server.DropCollections()
	if body := get(t, url+"/readyz", http.StatusOK); !strings.Contains(body, `"ready":true,"degraded":true`) || !strings.Contains(body, `{"name":"memory index","ok":false,"problem":{"code":5002`) {
		t.Errorf("/readyz says %s", body)
	}
	var made struct{ Session string }
	if err := json.Unmarshal(post(t, url+"/v1/sessions", `{}`), &made); err != nil {
		t.Fatal(err)
	}
	post(t, url+"/v1/sessions/"+made.Session+"/turns", `{"text":"I prefer jasmine tea."}`)
	server.Interfere(nil)
	for strings.Contains(get(t, url+"/readyz", http.StatusOK), "degraded") {
		time.Sleep(50 * time.Millisecond) // until the test's own time is over
	}
	stop()
	if found := run(t, env, "memory", "search", "--user", "mia", "jasmine"); !strings.Contains(found, "jasmine tea") {
		t.Errorf("found %s", found)
	}
}
