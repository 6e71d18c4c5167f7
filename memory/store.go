package memory

import (
	"context"
	"time"

	"github.com/sluicehq/sluice/host"
	"github.com/sluicehq/sluice/memory/tokens"
)

// An Entry is what an index holds of one memory.
type Entry struct {
	ID       ID
	Tenant   host.TenantID
	User     host.UserID
	Session  host.SessionID
	Live     host.LiveID
	Entity   string
	Platform string
	Kind     Kind
	Layer    Layer
	Status   Status
	Order    int64 // place within its session
	At       time.Time
	Sparse   tokens.Vector
	Dense    []float32 // nil where there is no embedder; else of the store's one length, normalised
}

// A Filter says which memories a search may find. Each field that is set must
// match exactly; of a list, one. A search never finds another tenant's memories.
type Filter struct {
	Tenant   host.TenantID // always set
	User     host.UserID   // "" for all users of the tenant
	Session  host.SessionID
	Live     host.LiveID
	Entity   string
	Platform string
	Kinds    []Kind
	Layers   []Layer
	Statuses []Status  // Active where empty
	Since    time.Time // At is not before
	Until    time.Time // At is before
}

// A Found is a candidate of one leg of a search.
type Found struct {
	ID      ID
	Score   float64 // of BM25, or the cosine
	User    host.UserID
	Session host.SessionID
	Order   int64
	At      time.Time
}

// A StoreState is what a Store holds.
type StoreState struct {
	Version string // what made it, see Store.Reset; "" for one that was never filled
	Entries int64
}

// A Store is an index of memories. It is derived from the truth: whoever finds its
// version to be another than the keeper's rebuilds it. Implementations are safe for
// concurrent use; their errors are of host.Fail. What Put and Delete did, a search
// that begins after they returned sees.
type Store interface {
	// Put adds entries, and replaces those that are there.
	Put(ctx context.Context, entries []Entry) error
	// Delete removes entries with all that the index made of them. Unknown ids are none.
	Delete(ctx context.Context, tenant host.TenantID, ids []ID) error
	// Sparse gives the limit best by BM25 over the terms of the query, best first. How rare a
	// term is may be counted among the tenant's entries or among all.
	// Of equal scores the lesser id comes first.
	Sparse(ctx context.Context, filter Filter, query tokens.Vector, limit int) ([]Found, error)
	// Dense gives the limit nearest by cosine, in the same order.
	Dense(ctx context.Context, filter Filter, query []float32, limit int) ([]Found, error)
	// State tells what the index holds.
	State(ctx context.Context) (StoreState, error)
	// Reset empties the index of all tenants and gives it a version.
	Reset(ctx context.Context, version string) error
	// Close ends the use of the index.
	Close() error
}

// A SharedStore is a Store that outlives its hosts, and that many of them use. What a Reset
// began is a filling, and its version names it. Whoever works with one that is gone gets
// StoreConflict, and never what is in another one.
type SharedStore interface {
	Store
	// Filling gives the Store that works with one filling, whether it is there or not. Its
	// State is that of an index that was never filled, unless the filling is there, is of
	// the shape that Reset gives it, and is the only one. It costs nothing, and is closed
	// with the SharedStore.
	Filling(version string) Store
}

// An Embedder gives vectors of texts. Implementations are safe for concurrent use.
type Embedder interface {
	// Name tells the model and its settings: vectors of different names are not compared.
	Name() string
	// Dimensions is the length of every vector.
	Dimensions() int
	// Embed gives a normalised vector for each text, in order; a nil one for a text of
	// which the model makes nothing, such as a blank one. It has no place in a dense leg.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}
