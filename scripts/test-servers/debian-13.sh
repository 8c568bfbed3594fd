#!/bin/bash
# debian-13.sh FOLDER: a Debian 13 in a folder, with RabbitMQ 4 and nats-server, which Debian 12 has in older versions.
# Needs root and debootstrap.
set -euo pipefail
root=$1

# The machine's own mirror, so that a machine in a closed network asks where its apt asks.
mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 2>/dev/null | sed -n 's/^Debian //p' | head -n 1)
debootstrap --variant=minbase trixie "$root" "${mirror:-http://deb.debian.org/debian}"

# Debian starts a server when its package is installed.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
DEBIAN_FRONTEND=noninteractive chroot "$root" apt-get install -y --no-install-recommends rabbitmq-server nats-server

# More than half of the folder, and no server reads it.
rm -rf "$root"/var/cache/apt/* "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,locale,man,info}
