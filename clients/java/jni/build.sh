#!/usr/bin/env bash
# Builds the jar and the library that the JVM loads: build.sh [OUT]. Needs a JDK from 17 on, gcc and the C library.
set -euo pipefail

cd "$(dirname "$0")"
out=$(realpath -m "${1:-build}")
home=${JAVA_HOME:-$(dirname "$(dirname "$(realpath "$(command -v javac)")")")}
mkdir -p "$out/classes"
javac -Xlint:all -Werror --release 17 -d "$out/classes" org/snowfence/*.java
jar --create --file "$out/snowfence.jar" -C "$out/classes" .
javac -cp "$out/snowfence.jar" -d "$out" Example.java Test.java
# shellcheck disable=SC2086 # flags of the user
gcc -std=gnu11 -O2 -Wall -Wextra -Werror -fPIC -shared -I"$home/include" -I"$home/include/linux" ${CFLAGS:-} \
	-o "$out/libsnowfence_jni.so" snowfence_jni.c ${LDFLAGS:-} -lsnowfence
