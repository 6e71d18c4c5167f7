# Sluice. `make demo` shows it, `make test` proves it; both do their own set-up.

GO ?= go
BIN := .cache/bin/sluice

# How long the fuzz targets run together, and the mixed calls.
FUZZTIME ?= 1h
SOAK ?= 1h

# Beside the system that this runs on; see also host/systems_test.go.
SYSTEMS := linux/arm64 darwin/arm64 windows/amd64 freebsd/amd64

.PHONY: all build demo test test-unraced test-plaincopy stress test-arm64 vet-others fuzz soak bench bench-engine replay deps deps-guests deps-mariadb deps-arm64 clean

all: build

build: deps
	@mkdir -p $(dir $(BIN))
	$(GO) build -o $(dir $(BIN)) ./cmd/sluice ./cmd/precheck

# Builds the shop's skills, publishes them to a git registry, loads them from
# there, runs a short conversation, proves what was done, and shows what is
# remembered. Needs no key and no network beyond Go's module proxy on the first run.
demo: build
	$(BIN) --home .cache/demo demo

# The recorded airline conversations, every result compared.
replay: build
	$(BIN) --home .cache/demo replay ../shared/data/tau-airline

# What the race detector does not watch: the packing of files, which shares nothing
# and is slow; and SQLite, which is C turned into Go, does
# its own locking, and would take most of the time. The driver above it is
# watched, as everything of ours is.
UNWATCHED := modernc.org/sqlite/lib modernc.org/libc/... modernc.org/memory compress/flate
RACE := -race $(foreach p,$(UNWATCHED),-gcflags=$(p)=-race=false)

# Everything that a change must keep: with the race detector, the packages in
# which it has something to find (.ci/concurrent says which); then, without it,
# the other ones, the commands, whose doors and halls were tested with it, and
# precheck; then what the detector would make too slow: the tests of files that
# say `!race` (.ci/unraced finds them), and by name what it makes thinner (a crash
# after each step, all attacks). What leaves packages or names out of a line here
# must not leave them out of all.
# Guests are compiled by a plain binary into .cache/test first, since the race
# detector makes that ten times slower; the next package takes one from there if all
# that it was made of is the same. What go vet has seen, go test does not vet again. No result is taken from an earlier run: the go command does not see
# that ../shared, a compiler, a database or a skill's source is another one now.
# One package more than there are processors runs at once, since tests wait for
# disks, databases and compilers; those that take longest begin.
TEST := $(GO) test -vet=off -timeout 14m -count=1 -p $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
test: deps-guests deps-mariadb
	$(GO) vet ./...
	GOOS=wasip1 GOARCH=wasm $(GO) build ./sdk ./skills/...
	$(TEST) $(RACE) $$(.ci/concurrent | grep -v -e /cmd/ -e /precheck)
	$(TEST) ./cmd/... ./precheck/... $$(.ci/concurrent -v)
	$(MAKE) --no-print-directory -j2 test-unraced test-plaincopy

# The last two of them, of which one alone would leave a processor idle.
test-unraced: deps-guests deps-mariadb
	$(TEST) -run "$(SLOW)|$$(.ci/unraced)" -skip 'KilledProcess|KilledReplicasDo|ServerThatIsKilled' $$(.ci/unraced -l)

test-plaincopy: deps-guests
	$(GO) test -timeout 14m -count=1 -short -tags plaincopy -run '$(PLAIN)' ./host/sandbox

# What is thinner with the race detector; and not what only has a name like it.
SLOW := Crash|Killed|EveryHistory|EqualInput|NoAttack|Script|TenMegabytes|SpilledData|NotSeeWhole|LargestBlob|ReplaysToTheByte|Parsers|RefusalsAreSeen

# Tests of guests' memory as systems without Linux's means have it: a copy of
# the image, all of it compared.
PLAIN := PlainCopy|ThreeLanguages|Memory|Clos|LeavesNothing

# Long seeded runs: crashes, races, faults; and the sandbox as it is on systems
# that do not tell which pages were written.
stress: deps-guests deps-mariadb test-arm64 vet-others
	$(GO) test -tags stress -run Stress -timeout 30m -count=1 -v ./host/...
	$(GO) test -tags plaincopy -short -timeout 20m ./host/sandbox

# What depends on the processor, on an emulated arm64. Guests are still built by
# and for this machine's own tools. The emulator has no PAGEMAP_SCAN: the next
# best way to find changed pages is taken, and the tests say so.
ARM64 := GOARCH=arm64 CGO_ENABLED=0 $(GO) test -exec 'env -u GOARCH -u CGO_ENABLED qemu-aarch64-static' -timeout 20m -short
test-arm64: deps-guests deps-arm64
	$(ARM64) -v -run 'EveryWay|OnlyWritten|SpacesShare|ASpaceGrows|AuditNotices|ATracker' ./host/sandbox
	$(ARM64) -run 'Kernel|Load|Code|Clos|MemoryIs|BlocksAre|Traps|TheABI|HostFunction' ./host/sandbox
	$(ARM64) -run 'ThreeLanguages/^(C|AssemblyScript)$$' ./host/sandbox
	$(ARM64) -skip 'Go|BombsAreRewritten' ./host/rewrite

# Builds and vets everything for other systems. The first time takes minutes
# for each; `make test` checks the types alone, in seconds.
vet-others: deps
	@for s in $(SYSTEMS); do echo "vet $$s"; \
	  GOOS=$${s%/*} GOARCH=$${s#*/} CGO_ENABLED=0 $(GO) vet ./abi/... ./host/... ./memory/... ./precheck/... ./registry/... ./cmd/... ./sdk/... || exit 1; done

# Every fuzz target of what reads guests' bytes, or others' texts and files, for an
# equal part of FUZZTIME.
fuzz: deps
	@.ci/fuzz $(FUZZTIME) ./host/rewrite ./host/sandbox ./host/egress ./host/dispatch ./memory ./memory/tokens ./memory/documents ./memory/embed ./memory/qdrant

# Mixed calls for an hour (SOAK=10m for less): memory, mappings, files and
# goroutines stay flat.
soak: deps-guests
	SOAK=$(SOAK) $(GO) test -tags stress -run Soak -timeout 0 -count=1 -v ./host/sandbox

# Figures beside the reference host, in one run.
bench: deps deps-mariadb
	$(GO) test -run '^$$' -bench . -benchtime 2s ./host/sandbox ./host/dispatch ./host/state
	$(GO) test -run '^$$' -bench . -benchtime 1x ./memory/measure ./memory/keeper

# The engine's table beside the reference host; fails where a ratio misses what
# it must be. The second line is what metering costs.
bench-engine: deps
	$(GO) test -run '^$$' -bench '^BenchmarkEngine$$' -benchtime 1x -timeout 20m ./host/sandbox
	$(GO) test -run '^$$' -bench . -benchtime 1x -timeout 20m ./host/rewrite

deps:
	@.ci/deps

deps-guests:
	@.ci/deps guests

deps-mariadb:
	@.ci/deps mariadb

deps-arm64:
	@.ci/deps arm64

clean:
	rm -rf .cache
