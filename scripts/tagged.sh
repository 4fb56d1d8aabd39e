#!/usr/bin/env bash
# Tests behind a build tag of ours (snowfence_...) are built into nothing by default. This finds them by their go:build
# line, and vets and runs them with the tag: tagged.sh [FLAG...].
set -euo pipefail

while read -r tag; do
	mapfile -t files < <(grep -rlxE "//go:build $tag" --include='*_test.go' .)
	mapfile -t dirs < <(printf '%s\n' "${files[@]}" | xargs -n 1 dirname | sort -u)
	names=$(sed -nE 's/^func (Test[A-Za-z0-9_]*)\(.*/\1/p' "${files[@]}" | paste -sd '|')
	echo "-- tag $tag: ${dirs[*]}"
	go run ./scripts/strict -tags "$tag,grpcnotrace" -count=1 -run "^($names)\$" "$@" "${dirs[@]}"
done < <(grep -rhxE '//go:build snowfence_[a-z_]+' --include='*_test.go' . | sed 's/.* //' | sort -u)
