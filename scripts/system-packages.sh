#!/bin/bash
# Installs from Debian's packages what the tests need and the machine lacks: Redis, RabbitMQ, Chromium without windows, pip, which
# fetches Celery, the API fuzzer and, where there is none, Go, and what scripts/test-servers needs: Java, Maven, debootstrap. openssl
# makes the certificates of tests; zsh reads the completion of the command line; promtool of Prometheus checks the metrics and the
# rules of docs/monitoring, and Alertmanager takes alerts.
# Needs root and apt-get; prints one line and ends with 0 when it may do nothing, with 1 when an install failed.
set -euo pipefail

missing=()
command -v redis-server >/dev/null || missing+=(redis-server)
command -v rabbitmq-server >/dev/null || [ -x /usr/sbin/rabbitmq-server ] || missing+=(rabbitmq-server)
command -v "${PLAYWRIGHT_CHROMIUM:-chromium-headless-shell}" >/dev/null || missing+=(chromium-headless-shell)
python3 -m pip --version >/dev/null 2>&1 || missing+=(python3-pip)
command -v java >/dev/null || missing+=(default-jre-headless)
command -v mvn >/dev/null || missing+=(maven)
command -v debootstrap >/dev/null || [ -x /usr/sbin/debootstrap ] || missing+=(debootstrap)
command -v openssl >/dev/null || missing+=(openssl)
command -v zsh >/dev/null || missing+=(zsh)
command -v promtool >/dev/null || missing+=(prometheus)
command -v prometheus-alertmanager >/dev/null || missing+=(prometheus-alertmanager)

if [ ${#missing[@]} -eq 0 ]; then exit 0; fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "Not installed, and only root on Debian may install it from here: ${missing[*]}"
  exit 0
fi

echo "Installing ${missing[*]}"
# Debian starts a server when its package is installed; the tests start their own on free ports.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod +x "$policy"
  trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1 </dev/null; then
  tail -n 20 "$log"
  rm -f "$log"
  echo "apt-get could not install ${missing[*]}"
  exit 1
fi
rm -f "$log"
