#!/usr/bin/env bash
# npm.sh OUT: builds the file of the npm package into a folder, in a copy of its folder as it is committed.
set -euo pipefail
cd "$(dirname "$0")/.."

out=$(realpath -m "${1:?usage: npm.sh OUT}")
scripts/node.sh >/dev/null
umask 022 # files have their modes in the package
export TZ=UTC
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git archive HEAD LICENSE clients/typescript | tar -x -C "$work"
cd "$work/clients/typescript"
npm ci --ignore-scripts --no-audit --no-fund --silent
npm pack --silent --pack-destination "$out"
