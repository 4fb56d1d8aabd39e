#!/usr/bin/env bash
# proto.sh [FOLDER]: writes the Go code of proto/ into FOLDER, which is remote/ unless another one is named, as the test does that compares.
# definition.binpb is the same with its comments, for the document of OpenAPI.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-remote}
comments=${1:-cmd/internal/rest}

tool() { GOWORK=off go tool -n -modfile=tools.mod "$1"; }
command -v protoc >/dev/null || { echo "proto.sh: protoc is missing: make test installs it" >&2 && exit 1; }
protoc -I proto --plugin="$(tool protoc-gen-go)" --plugin="$(tool protoc-gen-connect-go)" \
	--go_out="$out" --go_opt=module=github.com/snowfence/snowfence/remote \
	--descriptor_set_out="$comments/definition.binpb" --include_source_info \
	--connect-go_out="$out" --connect-go_opt=module=github.com/snowfence/snowfence/remote \
	snowfence/v1/snowfence.proto
"$(tool gofumpt)" -w "$out"/snowfencev1/*.pb.go "$out"/snowfencev1/*/*.go
