#!/usr/bin/env bash
# simulate.sh SEED HOURS: simulates fleets and prints the row for the table in docs/prove/figures.md.
set -euo pipefail
begun=$SECONDS
status=0
out=$(go run ./cmd/snowfence simulate --seed "$1" --hours "$2" --json) || status=$?
if ! field() { sed -nE 's/.*"'"$1"'":([0-9]+).*/\1/p' <<<"$out"; } || [ -z "$(field grants)" ] || ! grep -q '"collision":null' <<<"$out"; then
	echo "$out"
	echo "simulate: a promise was broken, or the simulation could not run" >&2
	exit "$((status > 0 ? status : 1))"
fi
echo "| seeds | virtual hours | grants | faults | IDs | duplicates | unseen by any lease | takes | numbers | repeated unseen | time |"
echo "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
echo "| $1 to $(($1 + $(field seeds) - 1)) | $(field virtual_hours) | $(field grants) | $(field faults) | $(field ids) | 0 | $(field unseen) | $(field takes) | $(field numbers) | $(field repeated) | $((SECONDS - begun)) s |"
