#!/usr/bin/env bash
# Builds the page of the dashboard. The built files are committed, so that building the program needs no Node.
set -euo pipefail
cd "$(dirname "$0")/../cmd/internal/dashboard/web"
command -v npm >/dev/null || {
	echo "make gen: npm is missing: install Node.js 20.19 or later" >&2
	exit 1
}
npm ci --no-audit --no-fund --ignore-scripts
npm run build
