#!/usr/bin/env bash
# Runs the benchmarks in rounds and makes docs/prove/benchmarks.md of them: of the library beside others (lab/bench), of a server beside redis-server and bare
# net/http (lab/bench/served), of many holders behind a server over each store (test/server/load), of sequences (lab/bench, test/stores/sequences), of the layers in compat/ beside their originals (lab/bench), and of the C library (test/clients/clib).
#
# Each round measures every row once, so that a minute in which the machine was busy with something else touches all
# rows and not one: the ratios between rows are the point. ROUNDS and TIME are for trying things out; fewer than 6
# rounds have no 95 % confidence interval. PARTS says what is measured; of the rest the last results in bin/ stand.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh tests
scripts/setup.sh wrk

rounds=${ROUNDS:-10} time=${TIME:-100ms} parts=${PARTS:-library server holders sequences compat clib}
mkdir -p bin docs

library() {
	local raw=$PWD/bin/bench.txt
	(
		cd lab
		go test -c -o ../bin/bench.test ./bench

		# The facts beside the figures: which libraries repeat IDs after a restart.
		rm -f "$raw"
		../bin/bench.test -test.run '^TestRestartRepeats$' -figures "$raw" >&2

		for ((i = 1; i <= rounds; i++)); do
			echo "round $i of $rounds" >&2
			../bin/bench.test -test.run '^$' -test.bench '^BenchmarkID$' -test.benchtime "$time" -test.cpu 2 -figures "$raw" >&2
		done
	)
}

server() {
	(cd cmd && go build -o ../bin/snowfence ./snowfence)
	(cd lab && go build -o ../bin/bare ./bench/bare && go build -o ../bin/served ./bench/served)
	bin/served -snowfence "$PWD/bin/snowfence" -bare "$PWD/bin/bare" -rounds "${SERVER_ROUNDS:-5}" -time "${SERVER_TIME:-2s}" >bin/served.txt
}

holders() {
	local log
	log=$(mktemp)
	(cd test && go test ./server/load -run '^$' -bench '^BenchmarkHolders$' -benchtime 1x -timeout 30m -figures "$PWD/../bin/holders.txt" >"$log") || { cat "$log" >&2 && exit 1; }
	if grep -q -- '--- SKIP' "$log"; then
		cat "$log" >&2
		exit 1
	fi
	rm -f "$log"
}

sequences() {
	local raw=$PWD/bin/sequences
	rm -f "$raw"-*.txt
	(cd lab && go test ./bench -run '^$' -bench '^BenchmarkSequence$' -benchtime 1x -timeout 30m -rounds "$rounds" -figures "$raw-numbers.txt") >&2
	for name in Strict SequenceTx; do
		(cd test && go test ./stores/sequences -run '^$' -bench "^Benchmark$name\$" -benchtime 1x -timeout 30m -rounds "$rounds" -figures "$raw-$name.txt") >&2
	done
	cat "$raw-numbers.txt" "$raw-Strict.txt" "$raw-SequenceTx.txt" >"$raw.txt"
}

compat() {
	rm -f bin/compat.txt
	(cd lab && go test ./bench -run '^$' -bench '^BenchmarkCompat$' -benchtime 1x -timeout 30m -rounds "$rounds" -figures "$PWD/../bin/compat.txt") >&2
}

btree() {
	local page=docs/prove/keys.md rows=${ROWS:-5000000} log
	log=$(mktemp)
	(cd test && go test ./stores/btree -run '^$' -bench '^BenchmarkKeys$' -benchtime 1x -timeout 12h -rows "$rows") | tee "$log" >&2
	{
		sed '/^[0-9]* rows in each table/,$d' $page
		printf '%s rows in each table.\n\n' "$rows"
		grep -B 1 '^|--' $page
		grep '^| ' "$log"
		sed -n '/^<!-- end/,$p' $page
	} >"$log.md"
	mv "$log.md" $page && rm -f "$log"
	echo "make bench: wrote $page" >&2
}

clib() {
	rm -f bin/languages.txt
	(cd test && go test ./clients/clib -run '^$' -bench '^BenchmarkLanguages$' -benchtime 1x -timeout 60m -rounds "$rounds" -figures "$PWD/../bin/languages.txt") >&2
	[ -s bin/languages.txt ] || { echo "bench: the languages were not measured: make test installs them" >&2 && exit 1; }
}

# The databases print their ratios, and have no table.
sql() {
	local log
	log=$(mktemp)
	(cd test && go test ./stores/insql -run '^$' -bench '^BenchmarkInserts$' -benchtime 1x -timeout 30m -rounds "${ROUNDS:-5}") | tee "$log"
	[ "$(grep -c 'median of' "$log")" = 4 ] || { echo "bench: a database was not measured: make test installs it" >&2 && exit 1; }
	rm -f "$log"
}

for part in $parts; do
	case $part in
	library | server | holders | sequences | compat | btree | clib | sql) $part ;;
	*) echo "bench: there is no part $part: library, server, holders, sequences, compat, btree, clib, sql" >&2 && exit 2 ;;
	esac
done
[[ $parts != btree && $parts != sql ]] || exit 0 # they have no table on the page
raw=(../bin/bench.txt ../bin/served.txt ../bin/holders.txt ../bin/sequences.txt ../bin/compat.txt ../bin/languages.txt)
(cd lab && go run ./bench/table -o ../docs/prove/benchmarks.md "${raw[@]}")
echo "make bench: wrote docs/prove/benchmarks.md" >&2
