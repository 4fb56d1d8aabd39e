#!/usr/bin/env bash
# tidy.sh [-diff]: runs go mod tidy in every module of go.work. go mod tidy does not look at go.work, and asks the proxy for versions of our own
# modules without a tag. So it works on a copy of go.mod that finds them in their folders. With -diff it changes nothing and fails.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mapfile -t modules < <(go list -m -f '{{.Path}}={{.Dir}}')

bad=0
for module in "${modules[@]}"; do
	dir=${module#*=}
	# A module that has no package yet would lose the requirements that its first one needs.
	packages=$(cd "$dir" && go list ./...) || bad=1
	[ -n "$packages" ] || continue
	cp "$dir/go.mod" "$work/go.mod"
	cp "$dir/go.sum" "$work/go.sum" 2>/dev/null || : >"$work/go.sum"
	for other in "${modules[@]}"; do
		[ "$other" = "$module" ] || go mod edit -replace="$other" "$work/go.mod"
	done
	if [ "${1:-}" = -diff ]; then
		(cd "$dir" && go mod tidy -diff -modfile="$work/go.mod") || bad=1
		continue
	fi
	(cd "$dir" && go mod tidy -modfile="$work/go.mod") || { bad=1 && continue; }
	for other in "${modules[@]}"; do
		go mod edit -dropreplace="${other%%=*}" "$work/go.mod"
	done
	cp "$work/go.mod" "$dir/go.mod"
	if [ -s "$work/go.sum" ]; then cp "$work/go.sum" "$dir/go.sum"; else rm -f "$dir/go.sum"; fi
done
exit $bad
