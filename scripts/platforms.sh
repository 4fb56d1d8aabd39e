#!/usr/bin/env bash
# platforms.sh PACKAGE...: compiles packages of the root module, their tests included, for other systems and architectures.
set -euo pipefail

[ $# -gt 0 ] || { echo "usage: platforms.sh PACKAGE..." >&2 && exit 1; }

failed=0
for platform in linux/386 linux/arm linux/arm64 linux/ppc64le linux/riscv64 linux/s390x darwin/amd64 darwin/arm64 \
	windows/amd64 windows/arm64 freebsd/amd64 openbsd/amd64 netbsd/amd64 js/wasm wasip1/wasm; do
	if CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} go vet "$@"; then
		echo "ok	$platform"
	else
		echo "FAIL	$platform"
		failed=1
	fi
done
exit $failed
