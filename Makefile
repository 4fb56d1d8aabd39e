# The verbs of this repository. `make help` lists them.
#
# A verb that cannot do its work fails and says why: a check that did not run never counts as passed.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-builtin-rules

# What the tests need beyond Go, as Debian packages. `make test` installs what is missing (as root), or names it and
# fails. The race detector links against libc, hence a C compiler. The servers are started by the tests themselves.
PACKAGES = gcc libc6-dev protobuf-compiler libprotobuf-dev redis-server redis-sentinel postgresql mariadb-server etcd-server etcd-client spin qemu-user libfaketime strace prometheus chromium

# Every package of every module in go.work. By import path, since patterns of folders leave out those that begin with _.
ALL = $$(go list -m -f '{{.Path}}/...')

# Limits. FUZZTIME is for one target; SMOKETIME is the same for the short pass over the library inside `make test`, in inputs.
FUZZTIME  = 30s
SMOKETIME = 5000x
TIMEOUT   = 12m

# The stores that `make scale` measures, as a regular expression: memory, SQLite, PostgreSQL, MariaDB, etcd, Redis.
STORE = .

# What `make simulate` runs: virtual hours under faults, and the first seed.
HOURS = 100
SEED  = 1

# The packages whose goroutines share words with each other; `make test` runs them under the race detector. `make race`
# runs everything there.
RACY = . ./lease/... ./internal/world

# The tools have their own modfile, so that their requirements reach no module of ours. -modfile and workspaces exclude
# each other; -n prints the path of the built tool, which then runs inside the workspace.
tool = $$(GOWORK=off go tool -n -modfile=tools.mod $(1))

.DEFAULT_GOAL := help
.PHONY: help test setup unit stalls others smoke cross race race-short lint bench fuzz gen model faults simulate scale crowd web dashboard-test

help: ## list the verbs
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

test: ## everything a change must pass: installs what it needs, all tests of all modules, a fuzz smoke, a race run
	@$(MAKE) --no-print-directory setup
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory --output-sync=target -j2 stalls others
	@echo "make test: passed"

setup: ## install what the tests need (as root on Debian), or say what is missing and fail
	@scripts/setup.sh $(PACKAGES)

unit: ## the tests of all modules; a test that skips itself is a failure here
	@echo "== tests"
	@go run ./scripts/strict -count=1 -vet=off -ldflags=-s -timeout=$(TIMEOUT) $(ALL) # make lint vets; to link without symbols takes half the time

stalls: ## the generator under all schedules with one or two preemptions, and what else is behind a build tag
	@echo "== tests behind build tags"
	@scripts/tagged.sh test

others: # beside stalls, which has one thread
	@$(MAKE) --no-print-directory race-short
	@$(MAKE) --no-print-directory smoke
	@$(MAKE) --no-print-directory cross

race-short:
	@echo "== race detector, short"
	@CGO_ENABLED=1 go test -race -short -count=1 -timeout=$(TIMEOUT) $(RACY)

smoke:
	@echo "== fuzz smoke, $(SMOKETIME) a target"
	@scripts/fuzz.sh $(SMOKETIME) ./... # of the library; to build the program and its drivers for fuzzing takes ten minutes of processor time

cross: ## the cipher's tests on other architectures, emulated (installs qemu-user-static)
	@scripts/setup.sh qemu-user-static
	@echo "== other architectures"
	@scripts/cross.sh ./internal/sparx

race: ## the whole test suite under the race detector (slow)
	@CGO_ENABLED=1 go test -race -count=1 -timeout=60m $(ALL)

faults: ## hurt real stores and processes in every way, for some minutes, and print what was seen as a table
	@scripts/setup.sh $(PACKAGES)
	@seen=$$(mktemp); ended=0; (cd test && go test ./faults -count=1 -timeout=60m -long -table "$$seen") || ended=$$?; cat "$$seen"; rm -f "$$seen"; exit $$ended

model: ## search the Promela model of the lease rules completely, and with each rule broken (many minutes), and print a table
	@scripts/setup.sh $(PACKAGES)
	@seen=$$(mktemp); ended=0; (cd test && go test ./model -count=1 -timeout=120m -long -table "$$seen") || ended=$$?; cat "$$seen"; rm -f "$$seen"; exit $$ended

fuzz: ## fuzz every target for FUZZTIME (30s)
	@scripts/fuzz.sh $(FUZZTIME)

simulate: ## simulate fleets under faults for HOURS virtual hours (100) from SEED (1), print the row for docs/reliability.md
	@scripts/simulate.sh $(SEED) $(HOURS)

lint: ## gofumpt (gofmt -s included), go vet, staticcheck, tidy go.mod files
	@scripts/lint.sh "$(call tool,gofumpt)" "$(call tool,staticcheck)"

bench: ## measure side by side with other libraries and servers, print the tables, write docs/benchmarks.md (PARTS: library server holders)
	@scripts/setup.sh $(PACKAGES) wrk
	@PARTS="$(PARTS)" scripts/bench.sh

scale: ## hold all 131,072 nodes of Randflake in each store (STORE: which), for 8 minutes in all, and print the tables for docs/reliability.md
	@scripts/setup.sh $(PACKAGES)
	@scripts/scale.sh "$(STORE)"

crowd: ## 10,000 idle connections, 1,000 slow clients and damaged requests on one server, and print the table for docs/reliability.md
	@seen=$$(mktemp); ended=0; (cd test && go test ./load -run '^TestCrowd$$' -count=1 -timeout=20m -long -table "$$seen") || ended=$$?; cat "$$seen"; rm -f "$$seen"; exit $$ended

web: ## build the page of the dashboard from its sources (needs Node.js)
	@scripts/web.sh

dashboard-test: ## the tests of the dashboard alone, in Chromium (needs Node.js; part of make test)
	@scripts/setup.sh chromium
	@go test -count=1 ./cmd/internal/dashboard ./test/dashboard

gen: ## run every go:generate directive
	@go generate $(ALL)
	@n=$$(git grep -lE '^//go:generate ' -- '*.go' | wc -l); echo "make gen: ran the directives of $$n file(s)"
