#!/usr/bin/env bash
# Builds the C library. lib.sh OUT [TAGS] writes to the folder OUT:
#
#   libsnowfence.so.N libsnowfence.so   what programs link or load: small, starts no thread
#   libsnowfence-go.so                  what it loads at the first open
#   libsnowdrift.so                     the C calls of snow-drift, over libsnowfence.so
#   libsnowfence.a                      all in one, which starts with the program
#   snowfence.h snowdrift.h snowfence.pc
#
# TAGS leave drivers out, to make it smaller: snowfence_no_sqlite, …_postgres, …_mysql, …_redis, …_etcd. PARTS=shared leaves
# the archive out. PARTS=windows builds for Windows instead, by MinGW: snowfence.dll, snowfence.def, libsnowfence.dll.a.
set -euo pipefail

out=${1:?usage: lib.sh OUT [TAGS]} tags=${2:-} parts=${PARTS:-shared archive}
cc=${CC:-gcc}
here=cmd/libsnowfence/c
abi=$(sed -nE 's/^#define SNOWFENCE_ABI_VERSION ([0-9]+)$/\1/p' $here/snowfence.h)
flags=(-std=gnu11 -O2 -g1 -Wall -Wextra -Werror -fPIC -fvisibility=hidden -fno-plt)

if ldd --version 2>&1 | grep -qi musl; then
	echo "make lib: this system has musl, where a Go library crashes when it is loaded: use snowfence serve" >&2
	exit 1
fi
mkdir -p "$out"
out=$(realpath "$out")
go_build() { # go_build MODE FILE: the Go part. With gRPC's pages of traces the linker would keep every exported method
	(cd cmd && CGO_ENABLED=1 go build -tags "grpcnotrace,$tags" -trimpath -buildmode="$1" -ldflags='-s -w' -o "$2" ./libsnowfence)
}

cp $here/snowfence.h $here/snowdrift.h "$out/"
for part in $parts; do
	case $part in
	shared)
		"$cc" "${flags[@]}" -shared -Wl,-soname,libsnowfence.so."$abi" -Wl,-z,nodelete -Wl,-z,defs -s \
			-o "$out/libsnowfence.so.$abi" $here/shim.c $here/calls.c $here/ring.c $here/drift.c -ldl -lpthread
		ln -sf libsnowfence.so."$abi" "$out/libsnowfence.so"
		"$cc" "${flags[@]}" -shared -Wl,-soname,libsnowdrift.so -Wl,-z,defs -s '-Wl,-rpath,$ORIGIN' \
			-o "$out/libsnowdrift.so" $here/snowdrift.c -L"$out" -lsnowfence
		go_build c-shared "$out/libsnowfence-go.so"
		rm -f "$out/libsnowfence-go.h" # its calls are for the shim alone
		;;
	archive)
		go_build c-archive "$out/libsnowfence.a"
		rm -f "$out/libsnowfence.h"
		"$cc" "${flags[@]}" -DSNOWFENCE_ARCHIVE -r -nostdlib -o "$out/shim.o" $here/{shim,calls,ring,drift,snowdrift}.c
		objcopy --localize-hidden "$out/shim.o" # names such as fail are the program's
		ar rs "$out/libsnowfence.a" "$out/shim.o"
		rm "$out/shim.o"
		;;
	windows) # one DLL: its shim has no fork to watch for
		mingw=x86_64-w64-mingw32-gcc go=$(mktemp -d)
		CC=$mingw GOOS=windows GOARCH=amd64 go_build c-archive "$go/go.a"
		"$mingw" -std=gnu11 -O2 -Wall -Wextra -Werror -DSNOWFENCE_ARCHIVE -shared -static-libgcc -s -o "$out/snowfence.dll" \
			$here/windows.c $here/calls.c $here/ring.c "$go/go.a" -lws2_32 \
			-Wl,--out-implib,"$out/libsnowfence.dll.a" -Wl,--output-def,"$out/snowfence.def"
		sed -i /snowfence_go_/d "$out/snowfence.def"
		rm -r "$go"
		;;
	esac
done
cat >"$out/snowfence.pc" <<PC
prefix=/usr/local
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: snowfence
Description: 64-bit IDs that never repeat within a namespace of a store
Version: $abi
Libs: -L\${libdir} -lsnowfence
Libs.private: -lpthread -ldl -lresolv
Cflags: -I\${includedir}
PC
