#!/usr/bin/env bash
# test.sh [full]: runs what every change must pass, in short form; with full, the tests of all modules at their full length, and go vet over the
# examples that make lint leaves out.
set -euo pipefail
cd "$(dirname "$0")/.."

# For one package: it ends what hangs, also on a machine that is several times slower.
timeout=40m

# Every package of every module, by import path: patterns of folders leave out those that begin with _.
mapfile -t all < <(go list -m -f '{{.Path}}/...')

# As a release is built: gRPC without its pages of traces.
export GOFLAGS="${GOFLAGS:-} -tags=grpcnotrace"

# Without symbols it links in half the time, and make lint vets.
strict() { go run ./scripts/strict -count=1 -vet=off -ldflags=-s "$@"; }

case ${1:-} in
full)
	scripts/setup.sh tests
	go vet "${all[@]}"
	scripts/setup.sh languages
	strict -timeout=6h "${all[@]}"
	exit
	;;
tagged)
	echo "== tests behind build tags, in short form"
	scripts/tagged.sh -short -timeout=$timeout
	exit
	;;
race)
	echo "== race detector, in short form: the packages whose goroutines share words"
	# TestOracle has one goroutine, and takes longest.
	CGO_ENABLED=1 go run ./scripts/strict -race -short -count=1 -vet=off -timeout=$timeout -skip '^TestOracle$' . ./lease \
		./lease/internal/claim ./lease/store ./sequence ./compat/internal/process
	exit
	;;
esac

scripts/setup.sh tests

# Left out: the examples over ORMs (make full), the model, measurements of scale, crowds of clients (make prove). Tests of servers begin first, because
# they mostly wait, then those that compile, and more packages than cores at once.
echo "== tests, in short form"
mapfile -t quick < <(go list "${all[@]}" | grep -vE '/integrations(/internal/.*)?$|/lab/model$|/test/stores/scale$|/test/server/load$')
servers='/test/(server|stores)/' compiles='/(test|lab)/'
mapfile -t ordered < <(
	printf '%s\n' "${quick[@]}" | grep -E "$servers"
	printf '%s\n' "${quick[@]}" | grep -vE "$servers" | grep -E "$compiles"
	printf '%s\n' "${quick[@]}" | grep -vE "$compiles"
)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# As the tests' own Program builds it, once for all packages.
go build -tags=grpcnotrace,snowfence_amazon -ldflags=-s -o "$work/snowfence" ./cmd/snowfence
TEST_PROGRAMS=$work TMPDIR=$(scripts/tmp.sh) strict -short -p=6 -timeout=$timeout "${ordered[@]}"

# Beside each other, because the first has one thread.
mkdir "$work/logs"
failed=0
printf 'tagged\nrace\n' | xargs -P 2 -I% sh -c 'scripts/test.sh % >"$0/%" 2>&1' "$work/logs" || failed=1
cat "$work/logs"/*
[ $failed -eq 0 ] || { echo "make test: failed" >&2 && exit 1; }
echo "make test: passed"
