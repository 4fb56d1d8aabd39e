#!/usr/bin/env bash
# prove.sh [PART...]: runs what takes long, all of it without a PART: one part after the other, each to its end even where one before it failed, and
# prints a row for each. What a part printed is in bin/prove/PART.txt, and the rows are in bin/prove/README.md: the figures for docs/prove/figures.md.
# `prove.sh only PART` runs one, and prints what it prints.
set -euo pipefail
cd "$(dirname "$0")/.."

parts=(full stalls mutants model simulate faults scale crowd sql race fuzz cross platforms versions release-check reproduce chart site)

limit=6h # for one package
mapfile -t all < <(go list -m -f '{{.Path}}/...')
strict() { go run "$(git rev-parse --show-toplevel)/scripts/strict" -count=1 "$@"; }

# measured MODULE PACKAGE [FLAG...]: runs tests at length, and prints the table that they write.
measured() {
	local table ended=0
	table=$(mktemp)
	(cd "$1" && strict -timeout=$limit "${@:2}" -long -table "$table") || ended=$?
	cat "$table"
	rm -f "$table"
	return $ended
}

# run PART
run() {
	case $1 in
	# The tests of all modules at their full length.
	full) scripts/test.sh full ;;
	# The generator under all schedules with one or two preemptions, and what else is behind a build tag.
	stalls) scripts/tagged.sh -timeout=$limit ;;
	# Breaks every rule of leases, stores and generators in copies of the code, one at a time: each has to be noticed.
	mutants) scripts/setup.sh tests && cd lab && strict -timeout=$limit ./mutants -long ;;
	# Searches the Promela model of the lease rules completely, and with each rule broken.
	model) scripts/setup.sh tests && measured lab ./model ;;
	# Simulates fleets under faults for HOURS virtual hours from SEED.
	simulate) cd lab && go test -count=1 -v -timeout=$limit ./simulate -run '^TestNothingCollides$' -seed "${SEED:-1}" -hours "${HOURS:-100}" ;;
	# Hurts real stores and processes in every way.
	faults) scripts/setup.sh tests && measured test ./stores/faults ;;
	# Holds a million subleases of two servers over each store (STORE: which).
	scale) scripts/setup.sh tests && scripts/scale.sh "${STORE:-.}" ;;
	# 10,000 idle connections, 1,000 slow clients, damaged requests, a million resets, and an hour of connections that come and go, on one server.
	crowd) measured test ./server/load -run '^Test(Crowd|Resets|Churn)$' ;;
	# Makes a million IDs inside PostgreSQL and MariaDB, takes 100,000 numbers there, and breaks every term of the functions that `snowfence sql` prints.
	sql) scripts/setup.sh tests && cd test && strict -timeout=$limit ./stores/insql -long ;;
	# The tests of all modules in short form, under the race detector. The simulation runs one goroutine at a time, and would take 24 GB there.
	race) scripts/setup.sh tests && go list "${all[@]}" | grep -v /lab/simulate$ | CGO_ENABLED=1 xargs go run ./scripts/strict -count=1 -race -short -timeout=$limit ;;
	# Fuzzes every target for FUZZTIME.
	fuzz) scripts/fuzz.sh "${FUZZTIME:-30s}" ;;
	# The cipher's tests on other architectures, emulated.
	cross) scripts/setup.sh qemu-user-static && scripts/cross.sh ./internal/sparx ;;
	# The table in docs/prove/platforms.md: builds, tests emulated, sizes of the program (PLATFORMS: such as "linux/arm64 tags").
	platforms) scripts/setup.sh qemu-user && scripts/platforms.sh ${PLATFORMS:-} ;;
	# The tests on the newer one of the two Go releases that we support; make test is for the older one, which go.mod names.
	versions) GOTOOLCHAIN=${NEWEST_GO:-go1.27.1} strict -vet=off -ldflags=-s -short -p=4 -timeout=$limit "${all[@]}" ;;
	# Packs all modules, and runs each go get and go install of the pages from a file proxy in empty folders.
	release-check) measured test ./release ;;
	# Builds the files of a release twice in different folders, compares byte for byte, and looks into all files and the image.
	reproduce) scripts/setup.sh buildah qemu-user rpm ruby && scripts/reproduce.sh bin/release ;;
	# Renders, lints and validates the Helm chart, and does what its notes say. Its module is not in go.work: it takes minutes to compile.
	chart)
		scripts/setup.sh openssl curl
		go build -o bin/strict ./scripts/strict
		cd deploy/chart && GOWORK=off go mod tidy -diff && GOWORK=off go vet ./... && GOWORK=off ../../bin/strict -count=1 -timeout=$limit ./...
		;;
	# Builds the site of the documentation into bin/site, and tests it in Chromium (SITE_BASE: where it stands, as in /snowfence/).
	site) scripts/setup.sh chromium && scripts/node.sh && scripts/site.sh ;;
	*) echo "make prove: there is no part $1: ${parts[*]}" >&2 && exit 2 ;;
	esac
}

if [ "${1:-}" = only ]; then
	run "${2:?usage: prove.sh only PART}"
	exit
fi
[ $# -gt 0 ] || set -- "${parts[@]}"

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
	# In a process of its own: bash does not end a function at an error whose result somebody asks for.
	{ time "$0" only "$part" >"$out/$part.txt" 2>&1; } 2>"$out/time" || { result=FAILED && failed+=("$part"); }
	awk -v part="$part" -v result="$result" '{ printf "| %s | %s | %d s | %d s |\n", part, result, $1, $2 + $3 }' "$out/time" | tee -a "$summary"
	[ $result = passed ] || tail -n 40 "$out/$part.txt" >&2
	[ $# -gt 1 ] || [ $result != passed ] || cat "$out/$part.txt"
done
[ ${#failed[@]} -eq 0 ] || { echo "make prove: failed: ${failed[*]}; see $out/" >&2 && exit 1; }
echo "make prove: passed; figures are in $out/"
