# Sluice. `make demo` shows it, `make test` proves it; both do their own set-up.

GO ?= go
BIN := .cache/bin/sluice

.PHONY: all build demo test stress bench replay deps clean

all: build

build: deps
	@mkdir -p $(dir $(BIN))
	$(GO) build -o $(BIN) ./cmd/sluice

# Builds the shop's skills, publishes them to a git registry, loads them from
# there and runs a short conversation. Needs no key and no network beyond Go's
# module proxy on the first run.
demo: build
	$(BIN) --home .cache/demo demo

# The recorded airline conversations, every result compared.
replay: build
	$(BIN) --home .cache/demo replay ../shared/data/tau-airline

# Everything that a change must keep, with the race detector; then, without it,
# the packages that have proofs which it would make too slow (the WebAssembly
# specification's suite). Guests are compiled by a plain binary into .cache/test
# first, since the race detector makes that ten times slower.
test: deps
	$(GO) vet ./...
	GOOS=wasip1 GOARCH=wasm $(GO) build ./sdk ./skills/...
	$(GO) test -race -timeout 14m ./...
	$(GO) test -timeout 14m ./host/rewrite ./sdk

# Long seeded runs: crashes, races, faults.
stress: deps
	$(GO) test -tags stress -run Stress -timeout 30m -count=1 -v ./host/...

# Figures beside the reference host, in one run.
bench: deps
	$(GO) test -run '^$$' -bench . -benchtime 2s ./host/sandbox ./host/dispatch ./host/state

deps:
	@.ci/deps

clean:
	rm -rf .cache
