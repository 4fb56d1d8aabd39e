#!/usr/bin/env bash
# gen.sh: writes again what is generated and committed.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t all < <(go list -m -f '{{.Path}}/...')
go generate "${all[@]}"
scripts/proto.sh
scripts/web.sh
scripts/tidy.sh
