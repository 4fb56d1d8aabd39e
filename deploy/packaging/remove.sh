#!/bin/sh
# Runs before the package is removed, but not before another version replaces it.
set -e
case ${1:-} in
remove | 0)
	[ ! -d /run/systemd/system ] || systemctl --no-reload disable --now snowfence.service snowfence-agent.service
	;;
esac
