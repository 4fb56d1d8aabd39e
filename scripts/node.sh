#!/usr/bin/env bash
# Makes sure that Node.js is there in a version that builds the dashboard's page: as root by itself, otherwise by saying what to type. Debian 12 has an
# older one, so it comes from npm's registry, beside Debian's.
set -euo pipefail

prefix=${NODE_PREFIX:-/usr/local}
wanted=node@22
install="npm install --global --prefix $prefix --no-audit --no-fund $wanted"

new() { command -v npm >/dev/null && command -v node >/dev/null && node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || a == 22 && b >= 12 || a == 20 && b >= 19 ? 0 : 1)'; }

new && exit 0
if [ "$(id -u)" -ne 0 ]; then
	echo "make test: missing: npm and Node.js 20.19, 22.12 or later" >&2
	echo "make test: run: sudo apt-get update && sudo apt-get install -y --no-install-recommends npm && sudo $install" >&2
	exit 1
fi
echo "== installing Node.js"
if ! command -v npm >/dev/null; then
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends npm >/dev/null
fi
$install >/dev/null
hash -r
new || { echo "make test: $(command -v node || echo node) is older than Node.js 20.19: $prefix/bin has to stand first in PATH" >&2 && exit 1; }
