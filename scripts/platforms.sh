#!/usr/bin/env bash
# platforms.sh [PART...]: checks the table in docs/prove/platforms.md, row by row: builds and vets what a row names, and runs tests where it says "tested" or
# "emulated". A part is a platform, such as linux/arm64, or `tags`, which builds the program without each driver and prints the sizes. Without a part,
# it checks all.
#
# A test that skips itself fails the run. What is left out is named below, with the reason.
set -euo pipefail
cd "$(dirname "$0")/.."

export CGO_ENABLED=0 GOWORK="$PWD/go.work"
export GOFLAGS="${GOFLAGS:-} -trimpath -tags=grpcnotrace" # as in a release, so that what is compiled here serves make release, too
ours=github.com/snowfence/snowfence
limit=${LIMIT:-6h} # for one package: an emulator is some twenty times slower than the machine
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/strict" ./scripts/strict

stores=("$ours"/{redisstore,etcdstore,remote}/...)
program=("$ours"/cmd/snowfence)
wasm=(. ./lease/... ./sqlstore/...) # what a program in a browser can use

# Tests of what depends on the order of bytes or the size of a word: texts, ciphers, files, records, arithmetic at the edges of a layout. `make prove PART=cross` runs
# the cipher's.
words=(. ./internal/ff1 ./internal/disk ./sequence)
chosen='Encod|^TestID|Layout|StateFile|Vectors|Mask|Decimal|Prefix|Typed|Compose|Count64|Ticks|Reciprocal|GraphQL|Record|Serial|Period|Oracle|EveryLength|Permutation'
# Not these: they go through all IDs of a layout, which takes an emulator minutes, or mount a file for a child.
left_out='AllIDs|ChunkDivision|Reference|MountedAlone'

build() { # build GOOS GOARCH PROGRAM: vets the library, and the stores and the program where there is one
	export GOOS=$1 GOARCH=$2
	if [ "$3" = – ]; then
		go vet "${wasm[@]}"
		return
	fi
	go vet ./... "${stores[@]}" "${program[@]}" && go build -ldflags='-s -w' -o "$work/program" "${program[@]}"
}

tests() { # tests GOOS GOARCH WORD: runs what the word promises
	local emulator
	case $3 in
	tested) GOOS=$1 GOARCH=$2 "$work/strict" -short -count=1 -vet=off -timeout="$limit" ./... ;;
	emulated)
		emulator=qemu-${2/arm64/aarch64}
		command -v "$emulator" >/dev/null || { echo "make prove PART=platforms: $emulator is missing (Debian: qemu-user)" >&2 && return 1; }
		# A test that runs its own binary again does so in the emulator.
		SNOWFENCE_EMULATOR=$emulator GOOS=$1 GOARCH=$2 "$work/strict" -exec "$emulator" -short -count=1 -vet=off -timeout="$limit" -run="$chosen" -skip="$left_out" "${words[@]}"
		;;
	"built only") ;;
	*) echo "docs/prove/platforms.md says \"$3\", which is neither tested, emulated nor built only" >&2 && return 1 ;;
	esac
}

# The rows of the table, as GOOS, GOARCH, and what is promised of the library and of the program.
rows() {
	sed -n '/^| system |/,/^$/p' docs/prove/platforms.md | awk -F ' *[|] *' 'NR > 2 && NF > 4 {
		n = split($2, systems, ", "); m = split($3, archs, ", ")
		for (i = 1; i <= n; i++) for (j = 1; j <= m; j++) {
			s = tolower(systems[i]); sub(/^macos$/, "darwin", s); print s "\t" archs[j] "\t" $4 "\t" $5
		}
	}'
}

tags() {
	local all=() tag
	echo "| the program without | tag | bytes |"
	echo "|---|---|--:|"
	size "nothing left out" "" || return 1
	for tag in sqlite postgres mysql redis etcd; do
		size "$tag" snowfence_no_$tag || return 1
		all+=(snowfence_no_$tag)
	done
	size "any driver" "$(IFS=, && echo "${all[*]}")" || return 1
	size "nothing left out, with Amazon's stores" snowfence_amazon
}

size() { # size NAME TAGS: builds the program, and refuses one that is larger than promised
	go build -tags "grpcnotrace,$2" -ldflags='-s -w' -o "$work/program" "${program[@]}" || return 1
	local bytes
	bytes=$(stat -c %s "$work/program")
	echo "| $1 | ${2:+\`$2\`} | $bytes |"
	[ "$bytes" -le 45000000 ] || { echo "the program has more than 45 MB" >&2 && return 1; }
}

wanted() { [ ${#parts[@]} -eq 0 ] || [[ " ${parts[*]} " == *" $1 "* ]]; }

parts=("$@") failed=0 seen=0
[ "$(rows | wc -l)" -ge 16 ] || { echo "docs/prove/platforms.md has no table of platforms, or not all of them" >&2 && exit 1; }
while IFS=$'\t' read -r os arch library whole; do
	wanted "$os/$arch" || continue
	seen=$((seen + 1)) began=$SECONDS
	if (build "$os" "$arch" "$whole") && tests "$os" "$arch" "$library"; then
		echo "ok	$os/$arch	library $library, program $whole	$((SECONDS - began)) s"
	else
		echo "FAIL	$os/$arch"
		failed=1
	fi
done < <(rows)
if wanted tags; then
	seen=$((seen + 1))
	tags || failed=1
fi
[ $seen -gt 0 ] || { echo "platforms.sh: no part is called ${parts[*]}" >&2 && exit 1; }
exit $failed
