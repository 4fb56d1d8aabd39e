#!/usr/bin/env bash
# Measures a million holders at two servers over each store, and prints the tables. The argument is a regular expression of the stores' names. A
# store that could not be measured is a failure.
set -euo pipefail

cd test
raw=$(mktemp)
trap 'rm -f "$raw"' EXIT
go test ./stores/scale -run '^$' -bench "^BenchmarkMillion\$/${1:-.}" -benchtime 1x -timeout 3h >"$raw" || { cat "$raw" >&2 && exit 1; }
if grep -q -- '--- SKIP' "$raw"; then
	cat "$raw" >&2
	exit 1
fi
grep -E '^(\||$)' "$raw"
