#!/usr/bin/env bash
# release.sh [--tag | --notes]: prints the tags of the release that go.work names, in the order in which the modules need each other. With --tag it makes
# them. It never pushes: a person does, with the command that it prints. With --notes it prints the section of CHANGELOG.md instead.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() { echo "release.sh: $*" >&2 && exit 1; }

mapfile -t tags < <(go run ./test/release/tags .)
[ ${#tags[@]} -gt 0 ] || fail "go.work names no release"
version=${tags[0]}
grep -q "^## \[${version#v}\]" CHANGELOG.md || fail "CHANGELOG.md has no section [${version#v}]: name its section [Unreleased] so"
if [ "${1:-}" = --notes ]; then
	awk -v heading="## [${version#v}]" '/^## / { inside = index($0, heading) == 1; next } inside' CHANGELOG.md
	exit
fi
[ -z "$(git status --porcelain)" ] || fail "the folder has changes: commit them first"
for tag in "${tags[@]}"; do
	! git rev-parse -q --verify "refs/tags/$tag" >/dev/null || fail "tag $tag exists already: raise the version in go.work and in each go.mod"
done
for tag in "${tags[@]}"; do
	echo "git tag $tag"
	[ "${1:-}" != --tag ] || git tag "$tag"
done
echo "git push --atomic origin main ${tags[*]}"
