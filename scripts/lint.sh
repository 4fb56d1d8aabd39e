#!/usr/bin/env bash
# lint.sh: runs all checks of all modules, then fails if any of them found something.
set -euo pipefail
cd "$(dirname "$0")/.."

# The tools have their own modfile, so that their requirements reach no module of ours. -modfile and workspaces exclude
# each other; -n prints the path of the built tool, which then runs inside the workspace.
tool() { GOWORK=off go tool -n -modfile=tools.mod "$1"; }
gofumpt=$(tool gofumpt) staticcheck=$(tool staticcheck) actionlint=$(tool actionlint)
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

# Comments over 76 columns, and code over 120, with a tab of four. Excepted are generated files, raw strings (the \0), code inside comments, the output
# of examples, rows of tables in tests, and words without a space to break at. Files that git does not know yet count too.
narrow() {
	git ls-files --cached --others --exclude-standard -z '*.go' | xargs -0 perl -CSD -0777 -ne '
		next if m{^// Code generated .* DO NOT EDIT\.$}m;
		s{(//.*|/\*[\s\S]*?\*/|"(?:\\.|[^"\\])*"|\x27(?:\\.|[^\x27\\])*\x27)|`[^`]*`}{$1 // $& =~ s/.+/\0/gr}ge;
		my ($n, $output) = (0, 0);
		for (split /\n/) {
			my ($comment, $width) = (scalar m{^\s*//}, length s/\t/    /gr);
			$n++, $output = $comment && ($output || m{^\s*// Output:});
			next if $width <= ($comment ? 76 : 120) || /\0/ || $output || m{^\s*//(\t|[a-z]+:| (\[\w+\]: )?\S+$)};
			next if !$comment && $ARGV =~ /_test\.go$/ && /^\s*[{"]/;
			print "$ARGV:$n: $width columns\n" and $bad = 1;
		}
		END { exit $bad }'
}

# What a merge left.
merged() { ! git grep -nE '^(<{7}|>{7}) '; }

# A module outside go.work would be checked by nothing. docs, clients, deploy and site have no Go code: a go.mod keeps
# them out of the zip. deploy/packaging has the tools of a release. make prove PART=chart checks the chart, which takes minutes to compile.
outside='docs clients deploy site deploy/packaging deploy/chart'
listed() {
	local found known
	found=$(find . -name go.mod -not -path '*/node_modules/*' -not -path '*/testdata/*' \
		$(printf -- '-not -path ./%s/go.mod ' $outside) -printf '%h\n' | xargs realpath | sort)
	known=$(go list -m -f '{{.Dir}}' | xargs realpath | sort)
	diff <(echo "$found") <(echo "$known") || { echo "go.work does not list exactly the modules of this repository" && return 1; }
}

# As make test and a release build, so that make test finds the packages compiled.
export GOFLAGS="${GOFLAGS:-} -tags=grpcnotrace"

# Without the examples over ORMs: their modules take minutes to check. make full vets them.
mapfile -t modules < <(go list -m -f '{{.Path}}/...')
mapfile -t all < <(go list "${modules[@]}" | grep -vE '/integrations(/internal/.*)?$')

check gofumpt formatted
check columns narrow
check "conflict markers" merged
check "go vet" go vet "${all[@]}"
check staticcheck "$staticcheck" "${all[@]}"
check modules listed
check "go mod tidy" scripts/tidy.sh -diff
check workflows "$actionlint" -shellcheck= -pyflakes=
[ $failed -eq 0 ] || { echo "make lint: failed" >&2 && exit 1; }
echo "make lint: passed"
