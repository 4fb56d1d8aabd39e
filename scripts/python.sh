#!/usr/bin/env bash
# python.sh FOLDER: builds the wheel and the sdist of the Python client into a folder, with what is installed and without the network.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "$1")
scripts/setup.sh python3-build python3-setuptools python3-wheel
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r clients/python LICENSE "$work"
mv "$work/LICENSE" "$work/python"
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)} # so that two builds are equal
/usr/bin/python3 -m build --no-isolation --outdir "$out" "$work/python" >"$work/log" 2>&1 || { cat "$work/log" >&2 && exit 1; }
