#!/usr/bin/env bash
# files.sh OUT [PLATFORM...]: builds the files of a release for these platforms, or for all, into the empty folder OUT, and publishes nothing. nfpm has a modfile of
# its own, so that its requirements reach no module of ours; NFPM names a built one.
set -euo pipefail
cd "$(dirname "$0")/.."

out=${1:?usage: files.sh OUT [PLATFORM...]}
shift
[ $# -gt 0 ] || set -- {linux,darwin,windows}/{amd64,arm64}
[ -z "$(ls -A "$out" 2>/dev/null)" ] || { echo "files.sh: $out is not empty" >&2 && exit 1; }
nfpm=${NFPM:-$(GOWORK=off go tool -n -modfile=deploy/packaging/go.mod nfpm)}
go run ./test/release/files -nfpm "$nfpm" -platforms "$*" "$out"
npm=$(scripts/npm.sh "$out")
(cd "$out" && sha256sum "$npm" >>SHA256SUMS)
(cd "$out" && sha256sum --check --quiet SHA256SUMS && ls -l)
