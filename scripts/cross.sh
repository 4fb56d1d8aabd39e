#!/usr/bin/env bash
# Runs the tests of the packages named as arguments on other architectures, emulated by qemu-user: with ARM's 64 bits, a big-endian machine, one of
# 32 bits, and this one without vector instructions and without assembly. A test that skips itself fails the run.
#
# It takes the emulators by name, so binfmt_misc need not be set up. What is left out under x86_64 compares the emulated CPU with /proc/cpuinfo,
# which is the real one's.
set -euo pipefail

[ $# -gt 0 ] || { echo "usage: cross.sh PACKAGE..." >&2 && exit 1; }

mkdir -p bin
go build -o bin/strict ./scripts/strict

run() { # run GOARCH EMULATOR [FLAG...]
	local arch=$1 emulator=$2
	shift 2
	command -v "${emulator%% *}" >/dev/null || { echo "make prove PART=cross: ${emulator%% *} is missing (Debian: qemu-user-static)" >&2 && exit 1; }
	echo "-- $arch, $emulator"
	CGO_ENABLED=0 GOARCH=$arch bin/strict -exec "$emulator" -count=1 "$@" "${packages[@]}"
}

packages=("$@")
run arm64 qemu-aarch64-static
run s390x qemu-s390x-static
run arm qemu-arm-static
run amd64 "qemu-x86_64-static -cpu Nehalem" -skip '^TestEveryPathIsTested$'

echo "-- $(go env GOARCH), tag purego"
bin/strict -tags purego -count=1 "${packages[@]}"

echo "-- 386, the audit and the simulation"
CGO_ENABLED=0 GOARCH=386 go vet ./internal/audit/... ./lab/simulate/...
