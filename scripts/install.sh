#!/usr/bin/env bash
# Installs the C library that make lib built: install.sh FOLDER PREFIX [DESTDIR].
set -euo pipefail

from=${1:?usage: install.sh FOLDER PREFIX [DESTDIR]} prefix=${2:?} to=${3:-}${2}

[ -e "$from/libsnowfence-go.so" ] || { echo "make install: run make lib first" >&2 && exit 1; }
install -d "$to/lib/pkgconfig" "$to/include"
install -m 0755 "$from"/libsnowfence.so.[0-9]* "$from/libsnowfence-go.so" "$from/libsnowdrift.so" "$to/lib/"
cp -P "$from/libsnowfence.so" "$to/lib/"
[ ! -e "$from/libsnowfence.a" ] || install -m 0644 "$from/libsnowfence.a" "$to/lib/"
install -m 0644 "$from/snowfence.h" "$from/snowdrift.h" "$to/include/"
sed "s|^prefix=.*|prefix=$prefix|" "$from/snowfence.pc" >"$to/lib/pkgconfig/snowfence.pc"
chmod 0644 "$to/lib/pkgconfig/snowfence.pc"
