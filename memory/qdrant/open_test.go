package qdrant_test

import (
	"context"
	"net"
	"strings"
	"testing"

	api "github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sluicehq/sluice/abi"
	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory"
	"github.com/sluicehq/sluice/memory/memorytest"
	"github.com/sluicehq/sluice/memory/qdrant"
)

const secret = "k3y-that-nobody-may-see"

func environment(name string) string {
	return map[string]string{"QDRANT_KEY": secret, "OLD_KEY": "an older key"}[name]
}

// mustFail fails unless an error has the code, says all of it, and tells no key.
func mustFail(t *testing.T, err error, code abi.Code, says ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %d", code)
	}
	problem := host.ProblemOf(err)
	if problem.Code != code {
		t.Errorf("got %v, want %d", err, code)
	}
	for _, text := range says {
		if !strings.Contains(problem.Error(), text) {
			t.Errorf("%v does not say %q", problem, text)
		}
	}
	if strings.Contains(err.Error(), secret) {
		t.Errorf("the error tells the key: %v", err)
	}
}

func TestAKeyOpensAServerOverTLS(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{Key: secret, TLS: true})
	store := open(t, server, qdrant.Options{URL: "?key_env=QDRANT_KEY&ca=" + server.CAFile(), Getenv: environment})
	fill(t, store, "v1", entry("a"))
	wantFound(t, store, "a")
}

func TestAServerThatRefusesTheKeyIsReportedByTheKeysName(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{Key: secret})
	url := "qdrant://" + server.Address()
	_, err := qdrant.Open(t.Context(), qdrant.Options{URL: url + "?key_env=OLD_KEY", Getenv: environment})
	mustFail(t, err, abi.StoreFailure, "refuses the API key in OLD_KEY", "set OLD_KEY to a key that may manage collections")
	_, err = qdrant.Open(t.Context(), qdrant.Options{URL: url})
	mustFail(t, err, abi.StoreFailure, "asks for an API key", "key_env=NAME")
	if n := server.Calls("Qdrant/HealthCheck"); n != 2 {
		t.Errorf("the key was refused %d times, want once for each", n)
	}
}

func TestAServerThatRepeatsTheKeyDoesNotGetItIntoAnError(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{Key: secret})
	server.Interfere(func(context.Context, memorytest.Request) (any, error) {
		return nil, status.Error(codes.PermissionDenied, "the key "+secret+" may not do this")
	})
	_, err := qdrant.Open(t.Context(), qdrant.Options{URL: "qdrant://" + server.Address() + "?key_env=QDRANT_KEY", Getenv: environment})
	mustFail(t, err, abi.StoreFailure, "refuses the API key in QDRANT_KEY")
	if !strings.Contains(err.Error(), "the key (the API key) may not do this") {
		t.Errorf("got %v", err)
	}
}

func TestAKeyIsNotSentToAServerWhoseCertificateIsAnothers(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{TLS: true})
	another := memorytest.StartQdrant(t, memorytest.QdrantOptions{TLS: true})
	for _, settings := range []string{"?key_env=QDRANT_KEY", "?key_env=QDRANT_KEY&ca=" + another.CAFile()} {
		_, err := qdrant.Open(t.Context(), qdrant.Options{URL: "qdrant://" + server.Address() + settings, Getenv: environment})
		mustFail(t, err, abi.Unavailable, "does not answer")
	}
	if n := server.Calls("Qdrant/HealthCheck"); n != 0 {
		t.Errorf("%d requests came through", n)
	}
}

func TestAServerThatIsNotThereIsReported(t *testing.T) {
	const nobody = "127.0.0.1:1" // a port that nobody is given by chance
	_, err := qdrant.Open(t.Context(), qdrant.Options{URL: "qdrant://" + nobody})
	mustFail(t, err, abi.Unavailable, nobody, "see that it runs")
}

func TestAServerThatIsTooOldIsReported(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{Version: "1.15.4"})
	_, err := qdrant.Open(t.Context(), qdrant.Options{URL: "qdrant://" + server.Address()})
	mustFail(t, err, abi.StoreFailure, `Qdrant "1.15.4"`, "needs 1.16", "upgrade Qdrant")
	if n := server.Calls("Collections/List"); n != 0 {
		t.Error("it was asked for more than its version")
	}
	open(t, memorytest.StartQdrant(t, memorytest.QdrantOptions{Version: "1.19.2"}), qdrant.Options{})
}

func TestAnIndexIsThereWhenItIsOpenedAgain(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
	fill(t, open(t, server, qdrant.Options{}), "v1", entry("a"), entry("b"))
	again := open(t, server, qdrant.Options{}).Filling("v1")
	wantFound(t, again, "a", "b")
	wantState(t, again, memory.StoreState{Version: "v1", Entries: 2})
}

// An index of a tenant with no model has no dense leg, and says so.
func TestAnIndexWithoutDimensionsHasNoDenseVectors(t *testing.T) {
	server := memorytest.StartQdrant(t, memorytest.QdrantOptions{})
	store, err := qdrant.Open(t.Context(), qdrant.Options{URL: "qdrant://" + server.Address()})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	plain := entry("a")
	plain.Dense = nil
	fill(t, store, "v1", plain)
	wantFound(t, store, "a")
	mustFail(t, store.Put(t.Context(), []memory.Entry{entry("b")}), abi.BadValue, "those of this index have 0")
	_, err = store.Dense(t.Context(), ofShop, make([]float32, memorytest.Dimensions), 1)
	mustFail(t, err, abi.BadValue, "those of this index have 0")
}

// rawClient speaks to a test's server without our code.
func rawClient(t *testing.T, server *memorytest.Qdrant) *api.Client {
	t.Helper()
	hostname, port, err := net.SplitHostPort(server.Address())
	if err != nil {
		t.Fatal(err)
	}
	return dialRaw(t, hostname, port, "")
}
