#!/usr/bin/env bash
# fuzz.sh TIME [PATTERN...] fuzzes every Fuzz target of the packages given, or of every module in go.work, for a time
# (30s) or a number of inputs (20000x), one after the other: the go command takes one target at a time. No target at all
# is a failure, since it means that the search is broken.
set -euo pipefail

time=${1:?usage: fuzz.sh TIME [PATTERN...]}
shift
patterns=("$@")
[ $# -gt 0 ] || mapfile -t patterns < <(go list -m -f '{{.Path}}/...')

quick=(-vet=off -ldflags=-s) # make lint vets, and without symbols it links faster

# go test -list prints the names of a package, then its "ok" line.
targets=$(go test "${quick[@]}" -list '^Fuzz' "${patterns[@]}" |
	awk '/^Fuzz/ { name[n++] = $1 } /^ok/ { for (i = 0; i < n; i++) print $2, name[i]; n = 0 }')
if [ -z "$targets" ]; then
	echo "fuzz: found no targets" >&2
	exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The go command now and then takes the end of the fuzzing time for a failure of the target (golang.org/issue/48591). It says
# "context deadline exceeded" and has no failing input to show, which a real failure has. Only then is there a second try.
fuzz() { # fuzz PACKAGE NAME
	local try
	for try in 1 2 3; do
		go test "${quick[@]}" -run '^$' -fuzz "^$2\$" -fuzztime "$time" "$1" >"$log" 2>&1 && return
		grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input written' "$log" || return 1
	done
	return 1
}

count=0
while read -r pkg name; do
	echo "-- $pkg $name"
	fuzz "$pkg" "$name" || { cat "$log" && exit 1; }
	count=$((count + 1))
done <<<"$targets"
echo "fuzz: $count targets, $time each"
