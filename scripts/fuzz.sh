#!/usr/bin/env bash
# Fuzzes every Fuzz target of every module in go.work for the time given (fuzz.sh 30s), one after the other: the go
# command takes one target at a time. No target at all is a failure, since it means that the search is broken.
set -euo pipefail

time=${1:?usage: fuzz.sh TIME}
mapfile -t patterns < <(go list -m -f '{{.Dir}}/...')

# go test -list prints the names of a package, then its "ok" line.
targets=$(go test -list '^Fuzz' "${patterns[@]}" |
	awk '/^Fuzz/ { name[n++] = $1 } /^ok/ { for (i = 0; i < n; i++) print $2, name[i]; n = 0 }')
if [ -z "$targets" ]; then
	echo "fuzz: found no targets" >&2
	exit 1
fi

count=0
while read -r pkg name; do
	echo "-- $pkg $name"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$pkg" | grep -v '^fuzz: elapsed'
	count=$((count + 1))
done <<<"$targets"
echo "fuzz: $count targets, $time each"
