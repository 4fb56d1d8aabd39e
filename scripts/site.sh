#!/usr/bin/env bash
# site.sh: builds the site of the documentation into bin/site, and tests it in Chromium. SITE_BASE is where it stands on its host.
set -euo pipefail
cd "$(dirname "$0")/.."

rm -rf bin/man && mkdir -p bin/man
go test ./cmd/snowfence -run '^TestManPages$' -count=1 -man "$PWD/bin/man"

cd site
if ! cmp -s package-lock.json node_modules/.installed; then
	npm ci --no-audit --no-fund --ignore-scripts
	cp package-lock.json node_modules/.installed
fi
node generate.js
rm -rf ../bin/site
npx vitepress build
echo "== the site's tests"
node --test --test-reporter=spec test/
