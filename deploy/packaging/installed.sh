#!/bin/sh
# Runs after the package was installed. The service needs /etc/snowfence/serve.yaml, so it is not started here.
set -e
if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers snowfence.conf
elif ! getent passwd snowfence >/dev/null; then
	useradd --system --user-group --no-create-home --home-dir /var/lib/snowfence --shell /usr/sbin/nologin snowfence
fi
install -d -m 0750 -o root -g snowfence /etc/snowfence
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart snowfence.service snowfence-agent.service # where it runs already: it gives its nodes back first
fi
