#!/usr/bin/env bash
# bus_clients.sh: the published SDKs of tests/bus/package.json, fetched by npm on first use; prints two lines: the program node, and
# the folder whose node_modules has them. The lock file pins each package with its checksum.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$CHELA_ROOT/tests/bus"

node_bin=$("$CHELA_ROOT/scripts/node.sh")
export PATH=$node_bin:$PATH
out=$(npm_folder bus-clients)
npm_fetch bus-clients "$out" "the SDKs that the bus is tested with"
printf '%s\n%s\n' "$node_bin/node" "$out"
