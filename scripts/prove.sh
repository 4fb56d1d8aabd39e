#!/usr/bin/env bash
# prove.sh PART...: runs the long verbs of the Makefile one after the other, each to its end even where one before it failed, and prints a row for
# each. What a part printed is in bin/prove/PART.txt, and the rows are in bin/prove/README.md: the figures for docs/prove/figures.md.
set -euo pipefail

[ $# -gt 0 ] || { echo "usage: prove.sh PART..." >&2 && exit 1; }

out=bin/prove
mkdir -p "$out"
TIMEFORMAT="%R %U %S"
summary=$out/README.md
commit=$(git rev-parse --short HEAD)
[ -z "$(git status --porcelain)" ] || commit="$commit with changes"
{
	echo "\`make prove\` of $commit, $(date -u +%Y-%m-%d), $(nproc) processors, load $(cut -d' ' -f1 /proc/loadavg) at its beginning."
	echo
	echo "| part | result | time | processor time |"
	echo "|---|---|--:|--:|"
} | tee "$summary"

failed=()
for part in "$@"; do
	result=passed
	{ time make --no-print-directory "$part" >"$out/$part.txt" 2>&1; } 2>"$out/time" || { result=FAILED && failed+=("$part"); }
	awk -v part="$part" -v result="$result" '{ printf "| %s | %s | %d s | %d s |\n", part, result, $1, $2 + $3 }' "$out/time" | tee -a "$summary"
	[ $result = passed ] || tail -n 40 "$out/$part.txt" >&2
done
[ ${#failed[@]} -eq 0 ] || { echo "make prove: failed: ${failed[*]}; see $out/" >&2 && exit 1; }
echo "make prove: passed; figures are in $out/"
