# The verbs of this repository. `make help` lists them.
#
# `make test` is what every change must pass: the argument for safety in short form, in about ten minutes on an
# idle machine with two cores. `make prove` is everything that takes long, in many hours.
#
# A verb that cannot do its work fails and says why: a check that did not run never counts as passed.

SHELL       := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS   += --no-builtin-rules

# What the tests need beyond Go, as Debian packages. `make test` installs what is missing (as root), or names it and
# fails. The race detector links against libc, hence a C compiler. The servers are started by the tests themselves.
PACKAGES = gcc g++ libc6-dev valgrind python3 protobuf-compiler libprotobuf-dev redis-server redis-sentinel python3-redis postgresql mariadb-server etcd-server etcd-client spin qemu-user libfaketime strace prometheus chromium

# The languages whose clients are tested at full length only.
LANGUAGES = openjdk-17-jdk-headless cargo php-cli libffi-platypus-perl mono-mcs mono-runtime fpc gdc mypy

# Every package of every module in go.work. By import path, since patterns of folders leave out those that begin with _.
ALL = $$(go list -m -f '{{.Path}}/...')

# The same without what takes long and has a verb of its own: the examples over ORMs (make full), the model, the
# measurements of scale, and crowds of clients. TESTS are those of servers, which begin first.
QUICK = $$(go list $(ALL) | grep -vE '/integrations(/internal/.*)?$$|/test/|/lab/model$$')
TESTS = $$(go list github.com/snowfence/snowfence/test/... | grep -vE '/(scale|load)$$')

# Limits. FUZZTIME is for one target; SMOKETIME is the same for the short pass over the library inside `make test`, in
# inputs. TIMEOUT is for one package in `make test`, whose longest take about two minutes on an idle machine; LONG is for
# one in `make prove`. They end what hangs, also on a machine that is several times slower.
FUZZTIME  = 30s
SMOKETIME = 2000x
TIMEOUT   = 40m
LONG      = 6h

# The stores that `make scale` measures, as a regular expression: memory, SQLite, PostgreSQL, MariaDB, etcd, Redis.
STORE = .

# For which systems and architectures make release builds. A release is complete with all of them only.
RELEASED = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64

# What make image makes.
IMAGE = localhost/snowfence

# Where make install puts the C library.
PREFIX = /usr/local
TAGS   =

# What `make platforms` checks: platforms, and tags; empty for all.
PLATFORMS =

# What `make simulate` runs: virtual hours under faults, and the first seed.
HOURS = 100
SEED  = 1

# The parts that `make prove` runs, in this order.
PARTS_OF_PROOF = full stalls mutants model simulate faults scale crowd sql race fuzz cross platforms versions release-check reproduce chart site

# The packages whose goroutines share words with each other; `make test` runs them under the race detector. `make race`
# runs everything there.
RACY = . ./lease/... ./sequence ./compat/... ./internal/world

# Long tests that have one goroutine, in which the race detector sees nothing, and two long walks whose goroutines other
# tests have, too. `make race` runs them all.
ALONE = TestCheckTellsForgedFromReal|TestRotatedKeysDoNotCollide|TestEncodingChunkDivision|TestBlocksOfNodes|TestOracle|TestCheckCharacterFinds|TestPastOtherNumbersUnseen|TestPastOfLongLayoutsFitsIntoARecord|TestPastTicksOfEachLayout|TestGrantsOfSmallRecords|TestQueryOfEachRecord|TestSQLNodesWalk|TestPastKeepsWhatWasMade

# Tests that make full runs and make test does not: each takes long, and one beside it sees the same kind of fault.
LATER = TestConformanceCluster|TestSetBackBetween|TestPutBackBetween|TestEtcdCluster|TestBaseBackupWithoutRecovery|TestColdCopyUnderConnectedProgram|TestDumpRestoredBetweenRuns|TestUpkeepIsNoReload|TestLanguagesOverOneFile|TestKilledClients|TestSignalsOfLanguages|TestPreload|TestValgrind|TestThreadSanitizer|TestRedisTLS|TestRedisSentinel|TestEtcdTLS

# The newest release of Go. go.mod names the one before it.
NEWEST_GO = go1.27.1

# The tools have their own modfile, so that their requirements reach no module of ours. -modfile and workspaces exclude
# each other; -n prints the path of the built tool, which then runs inside the workspace.
tool = $$(GOWORK=off go tool -n -modfile=tools.mod $(1))

.DEFAULT_GOAL := help
.PHONY: help test prove setup unit beside full stalls stalls-short mutants smoke cross platforms race race-short lint tidy versions release-check release reproduce image bench fuzz gen model faults simulate scale crowd sql web site lib install chart

help: ## list the verbs
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

test: ## everything a change must pass, in short form: installs what it needs, tests of all modules, a race run, a fuzz smoke
	@$(MAKE) --no-print-directory setup
	@$(MAKE) --no-print-directory unit
	@$(MAKE) --no-print-directory --output-sync=target -j2 stalls-short beside
	@echo "make test: passed"

prove: ## everything that takes long, for many hours: prints a row a part, writes bin/prove/ (PARTS_OF_PROOF: which parts)
	@$(MAKE) --no-print-directory setup
	@scripts/prove.sh $(PARTS_OF_PROOF)

setup: ## install what the tests need (as root on Debian), or say what is missing and fail
	@scripts/setup.sh $(PACKAGES)
	@[ -z "$(strip $(PACKAGES))" ] || scripts/node.sh
	@[ -z "$(strip $(PACKAGES))" ] || (cd clients/node && npm ci --omit=dev --no-audit --no-fund --silent)

# To link without symbols takes half the time, and make lint vets.
strict = go run ./scripts/strict -count=1 -vet=off -ldflags=-s

unit:
	@echo "== tests, in short form"
	@# The tests of servers begin first, because they take longest, and more packages than cores, because they mostly wait.
	@TMPDIR=$$(scripts/tmp.sh) $(strict) -short -p=4 -timeout=$(TIMEOUT) -skip='^($(LATER))$$|^TestFaults$$/^(etcd|MariaDB)$$' $(TESTS) $(QUICK)

full: ## the tests of all modules at their full length, and go vet over the examples that make lint leaves out
	@go vet $(ALL)
	@[ -z "$(strip $(PACKAGES))" ] || scripts/setup.sh $(LANGUAGES)
	@[ -z "$(strip $(PACKAGES))" ] || (cd clients/node && npm ci --no-audit --no-fund --silent)
	@$(strict) -timeout=$(LONG) $(ALL)

stalls-short:
	@echo "== tests behind build tags, in short form"
	@scripts/tagged.sh test -short -timeout=$(TIMEOUT)

stalls: ## the generator under all schedules with one or two preemptions, and what else is behind a build tag
	@scripts/tagged.sh test -timeout=$(LONG)

beside: # stalls-short has one thread
	@$(MAKE) --no-print-directory race-short
	@$(MAKE) --no-print-directory smoke

race-short:
	@echo "== race detector, in short form"
	@CGO_ENABLED=1 go run ./scripts/strict -race -short -count=1 -vet=off -timeout=$(TIMEOUT) -skip='^($(ALONE))$$' $(RACY)

smoke:
	@echo "== fuzz smoke, $(SMOKETIME) a target"
	@scripts/fuzz.sh $(SMOKETIME) ./... ./internal/audit/... # of the library; to build the program and its drivers for fuzzing takes ten minutes of processor time

mutants: ## break every rule of leases, stores and generators in copies of the code, one at a time: each has to be noticed
	@cd lab && go run ../scripts/strict -count=1 -timeout=$(LONG) ./mutants -long

cross: ## the cipher's tests on other architectures, emulated (installs qemu-user-static)
	@scripts/setup.sh qemu-user-static
	@scripts/cross.sh ./internal/sparx

versions: ## the tests of all modules in short form on the newer one of the two Go releases that we support (make test is for the older)
	@GOTOOLCHAIN=$(NEWEST_GO) $(strict) -short -p=4 -timeout=$(LONG) $(ALL)

release-check: ## pack all modules, run each go get and go install of the pages from a file proxy in empty folders, and print sizes and times
	@seen=$$(mktemp); ended=0; (cd test && go run ../scripts/strict -count=1 -timeout=$(LONG) ./release -long -table "$$seen") || ended=$$?; cat "$$seen"; rm -f "$$seen"; exit $$ended

release: ## build the files of a release into bin/release: archives, packages of Debian and Red Hat, formula, lists of parts, checksums (publishes nothing)
	@rm -rf bin/release
	@scripts/files.sh bin/release $(RELEASED)

reproduce: ## make release twice in different folders, compare byte for byte, and look into all files and the image
	@scripts/setup.sh buildah qemu-user rpm ruby
	@scripts/reproduce.sh bin/release $(RELEASED)

image: ## build the image IMAGE (localhost/snowfence) for amd64 and arm64 from bin/release
	@scripts/setup.sh buildah
	@scripts/image.sh bin/release "$(IMAGE)"

platforms: ## check the table in docs/prove/platforms.md, run tests emulated, print the sizes of the program (PLATFORMS: such as "linux/arm64 tags")
	@scripts/setup.sh qemu-user
	@scripts/platforms.sh $(PLATFORMS)

race: ## the tests of all modules in short form, under the race detector
	@CGO_ENABLED=1 go run ./scripts/strict -race -short -count=1 -timeout=$(LONG) $(ALL)

faults: ## hurt real stores and processes in every way, for some minutes, and print what was seen as a table
	@scripts/setup.sh $(PACKAGES)
	@seen=$$(mktemp); ended=0; (cd test && go test ./stores/faults -count=1 -timeout=60m -long -table "$$seen") || ended=$$?; cat "$$seen"; rm -f "$$seen"; exit $$ended

model: ## search the Promela model of the lease rules completely, and with each rule broken (many minutes), and print a table
	@scripts/setup.sh $(PACKAGES)
	@seen=$$(mktemp); ended=0; (cd lab && go test ./model -count=1 -timeout=120m -long -table "$$seen") || ended=$$?; cat "$$seen"; rm -f "$$seen"; exit $$ended

fuzz: ## fuzz every target for FUZZTIME (30s)
	@scripts/fuzz.sh $(FUZZTIME)

simulate: ## simulate fleets under faults for HOURS virtual hours (100) from SEED (1), print the row for docs/prove/figures.md
	@scripts/simulate.sh $(SEED) $(HOURS)

lint: ## gofumpt (gofmt -s included), go vet, staticcheck, tidy go.mod files, workflows
	@scripts/lint.sh "$(call tool,gofumpt)" "$(call tool,staticcheck)" "$(call tool,actionlint)"

tidy: ## run go mod tidy in all modules (by itself it would ask for versions of ours that nobody has tagged yet)
	@scripts/tidy.sh

bench: ## measure side by side with other libraries and servers, print the tables, write docs/prove/benchmarks.md (PARTS: library server holders sequences compat clib; btree, with ROWS, writes docs/prove/keys.md; sql prints what IDs made in databases cost)
	@scripts/setup.sh $(PACKAGES) wrk openjdk-17-jdk-headless
	@scripts/node.sh
	@(cd clients/node && npm ci --omit=dev --no-audit --no-fund --silent)
	@PARTS="$(PARTS)" scripts/bench.sh

scale: ## hold all 131,072 nodes of Randflake in each store (STORE: which), for 8 minutes in all, and print the tables for docs/prove/figures.md
	@scripts/setup.sh $(PACKAGES)
	@scripts/scale.sh "$(STORE)"

crowd: ## 10,000 idle connections, 1,000 slow clients, damaged requests and a million resets on one server, and print the table for docs/prove/figures.md
	@seen=$$(mktemp); ended=0; (cd test && go test ./server/load -run '^Test(Crowd|Resets)$$' -count=1 -timeout=20m -long -table "$$seen") || ended=$$?; cat "$$seen"; rm -f "$$seen"; exit $$ended

sql: ## make a million IDs inside PostgreSQL and MariaDB, and break every term of the functions that `snowfence sql` prints: each has to be noticed
	@scripts/setup.sh $(PACKAGES)
	@cd test && go run ../scripts/strict -count=1 -timeout=$(LONG) ./stores/insql -long

lib: ## build the C library into build/ (TAGS: drivers to leave out, as in TAGS=snowfence_no_etcd,snowfence_no_redis)
	@scripts/lib.sh build "$(TAGS)"
	@ls -l build

install: ## install the C library below PREFIX (/usr/local), or in a package's tree (DESTDIR=)
	@scripts/install.sh build "$(PREFIX)" "$(DESTDIR)"

# Its module is not in go.work, so that nobody else waits for Helm and Kubernetes to compile.
chart: ## render, lint and validate the Helm chart, and do what its notes say (minutes to compile the first time)
	@scripts/setup.sh openssl curl
	@go build -o bin/strict ./scripts/strict
	@cd deploy/chart && GOWORK=off go mod tidy -diff && GOWORK=off go vet ./... && GOWORK=off ../../bin/strict -count=1 -timeout=$(TIMEOUT) ./...

web: ## build the page of the dashboard from its sources (needs Node.js)
	@scripts/web.sh

site: ## build the site of the documentation into bin/site, with its playground, and test it in Chromium (SITE_BASE: where it stands, as in /snowfence/)
	@scripts/setup.sh chromium
	@scripts/node.sh
	@SITE_BASE="$(SITE_BASE)" scripts/site.sh

gen: ## run every go:generate directive
	@go generate $(ALL)
	@n=$$(git grep -lE '^//go:generate ' -- '*.go' | wc -l); echo "make gen: ran the directives of $$n file(s)"
