#!/usr/bin/env bash
# setup.sh tests | languages | NAME...: makes sure that Debian packages are installed: as root by itself, otherwise by saying what to type. Beyond
# Go, `tests` are what make test needs (the race detector links against libc, hence a C compiler), `languages` the clients that only make full runs.
# Elsewhere than on Debian, install the same things, and empty the list: PACKAGES= make test
set -euo pipefail
cd "$(dirname "$0")/.."

tests=${PACKAGES-gcc g++ libc6-dev valgrind python3 protobuf-compiler libprotobuf-dev redis-server redis-sentinel python3-redis postgresql pgbouncer mariadb-server etcd-server etcd-client spin qemu-user libfaketime strace prometheus chromium}
languages=${PACKAGES-openjdk-17-jdk-headless libspring-context-java libhibernate3-java libhsqldb-java libjavassist-java cargo php-cli ruby libffi-platypus-perl mono-mcs mono-runtime libmono-system-net-http4.0-cil fpc gdc gcc-mingw-w64-x86-64-win32 wine64 mypy python3-build python3-setuptools python3-wheel python3-venv python3-pip python3-django python3-djangorestframework python3-psycopg2 python3-sqlalchemy}

case $* in
tests) wanted=($tests) ;;
languages) wanted=($languages) ;;
*) wanted=("$@") ;;
esac
[ ${#wanted[@]} -gt 0 ] || exit 0

if ! command -v dpkg-query >/dev/null; then
	echo "make test: this is no Debian machine. Install the equivalents of: ${wanted[*]}" >&2
	echo "make test: then run: make test PACKAGES=" >&2
	exit 1
fi

missing=()
for p in "${wanted[@]}"; do
	status=$(dpkg-query -W -f '${db:Status-Abbrev}' "$p" 2>/dev/null || true)
	[[ $status == ii* || $status == hi* ]] || missing+=("$p")
done
if [ ${#missing[@]} -gt 0 ]; then
	if [ "$(id -u)" -ne 0 ]; then
		echo "make test: missing: ${missing[*]}" >&2
		echo "make test: run: sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
		exit 1
	fi
	echo "== installing ${missing[*]}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get update -qq
	apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

case $* in
tests)
	scripts/node.sh
	(cd test/harness/amazon/dynalite && npm ci --ignore-scripts --no-audit --no-fund --silent)
	;;
esac
