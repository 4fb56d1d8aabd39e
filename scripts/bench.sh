#!/usr/bin/env bash
# Runs the benchmarks of bench/ in rounds and makes docs/benchmarks.md of them.
#
# Each round measures every row once, so that a minute in which the machine was busy with something else touches all
# rows and not one: the ratios between rows are the point. ROUNDS and TIME are for trying things out; fewer than 6
# rounds have no 95 % confidence interval.
set -euo pipefail

rounds=${ROUNDS:-10} time=${TIME:-100ms}
mkdir -p bin docs
raw=$PWD/bin/bench.txt
cd bench
go test -c -o ../bin/bench.test .

# The facts beside the figures: which libraries repeat IDs after a restart.
../bin/bench.test -test.run '^TestRestartRepeats$' -test.v >"$raw" || { cat "$raw" && exit 1; }

for ((i = 1; i <= rounds; i++)); do
	echo "round $i of $rounds" >&2
	../bin/bench.test -test.run '^$' -test.bench '^BenchmarkID$' -test.benchtime "$time" -test.cpu 2 >>"$raw" || { tail -n 20 "$raw" && exit 1; }
done
go run ./table -o ../docs/benchmarks.md "$raw"
echo "make bench: wrote docs/benchmarks.md" >&2
