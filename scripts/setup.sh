#!/usr/bin/env bash
# Makes sure that the Debian packages named as arguments are installed: as root by itself, otherwise by saying what to
# type. Elsewhere than on Debian the list may be emptied by whoever has installed the same things:
# make test PACKAGES=
set -euo pipefail

[ $# -gt 0 ] || exit 0

if ! command -v dpkg-query >/dev/null; then
	echo "make test: this is no Debian machine. Install the equivalents of: $*" >&2
	echo "make test: then run: make test PACKAGES=" >&2
	exit 1
fi

missing=()
for p in "$@"; do
	status=$(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null || true)
	[[ $status == ii* || $status == hi* ]] || missing+=("$p")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
	echo "make test: missing: ${missing[*]}" >&2
	echo "make test: run: sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
	exit 1
fi

echo "== installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
