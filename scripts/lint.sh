#!/usr/bin/env bash
# lint.sh GOFUMPT STATICCHECK: runs all checks of all modules, then fails if any of them found something.
set -euo pipefail

gofumpt=$1 staticcheck=$2
failed=0
check() { # check NAME COMMAND...: the command must succeed
	local name=$1
	shift
	echo "== $name"
	"$@" || failed=1
}

# gofumpt applies gofmt -s and more. Versions differ in whether a diff is an exit code, so any output fails.
formatted() {
	local diff bad=0
	diff=$("$gofumpt" -d . 2>&1) || bad=1
	[ -z "$diff" ] || { printf '%s\n' "$diff" && bad=1; }
	return $bad
}

# Lines that are too wide to read. Files that git does not know yet count too.
narrow() { git ls-files --cached --others --exclude-standard -z '*.go' | xargs -0 go run ./scripts/columns; }

# What a merge left.
merged() { ! git grep -nE '^(<{7}|>{7}) '; }

# A module outside go.work would be checked by nothing.
listed() {
	local found known
	found=$(find . -name go.mod -not -path '*/node_modules/*' -not -path '*/testdata/*' -printf '%h\n' | xargs realpath | sort)
	known=$(go list -m -f '{{.Dir}}' | xargs realpath | sort)
	diff <(echo "$found") <(echo "$known") || { echo "go.work does not list exactly the modules of this repository" && return 1; }
}

tidy() {
	local dir packages bad=0
	for dir in $(go list -m -f '{{.Dir}}'); do
		# A module that has no package yet would lose the requirements that its first one needs.
		packages=$(cd "$dir" && go list ./...) || bad=1
		[ -z "$packages" ] || (cd "$dir" && go mod tidy -diff) || bad=1
	done
	return $bad
}

# What is compiled elsewhere only: the root module where int has 32 bits, the cipher on the architectures that make cross
# emulates, and without assembly. To compile the standard library for each is most of the work.
elsewhere() {
	local arch bad=0
	CGO_ENABLED=0 GOARCH=386 go vet ./... || bad=1
	for arch in arm64 s390x arm; do
		CGO_ENABLED=0 GOARCH=$arch go vet ./internal/sparx || bad=1
	done
	go vet -tags purego ./internal/sparx || bad=1
	return $bad
}

mapfile -t all < <(go list -m -f '{{.Path}}/...')

check gofumpt formatted
check columns narrow
check "conflict markers" merged
check "go vet" go vet "${all[@]}"
check "go vet, build tags" scripts/tagged.sh vet
check "go vet, other architectures" elsewhere
check staticcheck "$staticcheck" "${all[@]}"
check modules listed
check "go mod tidy" tidy
[ $failed -eq 0 ] || { echo "make lint: failed" >&2 && exit 1; }
echo "make lint: passed"
