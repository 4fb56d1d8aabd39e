#!/usr/bin/env bash
# java.sh FOLDER: builds the jar of the Java client, those with its sources and its documentation, and its POM into a folder, with a JDK alone.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(realpath -m "${1:?usage: java.sh FOLDER}")
command -v javac >/dev/null || scripts/setup.sh openjdk-17-jdk-headless
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
mapfile -t sources < <(find clients/java/src -name '*.java')
javac -Xlint:all -Werror --release 17 -d "$work/classes" "${sources[@]}"
javadoc -quiet -notimestamp -Xdoclint:all,-missing -Werror --release 17 -d "$work/javadoc" "${sources[@]}"
version=$(sed -n 's|^  <version>\(.*\)</version>$|\1|p' clients/java/pom.xml)
date=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" +%Y-%m-%dT%H:%M:%SZ) # so that two builds are equal
jar --create --date="$date" --file "$out/snowfence-$version.jar" -C "$work/classes" . -C . LICENSE
jar --create --date="$date" --file "$out/snowfence-$version-javadoc.jar" -C "$work/javadoc" .
jar --create --date="$date" --file "$out/snowfence-$version-sources.jar" -C clients/java/src . -C . LICENSE
cp clients/java/pom.xml "$out/snowfence-$version.pom"
