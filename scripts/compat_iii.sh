#!/usr/bin/env bash
# compat_iii.sh: the tests that iii's published packages ship, fetched on first use with what runs them; prints their folder:
#   node, node_modules    the program, and the packages of tests/compat/iii/package-lock.json
#   node-VERSION/         the tests of that npm package
#   python-VERSION/       venv, and the sdist as sdk/packages/python/iii
#   rust-VERSION/         the crate as sdk/packages/rust/iii, where Rust is new enough for it
# Lock and requirements files pin each package with its checksum; nothing of the suites is kept in this repository.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$CHELA_ROOT/tests/compat/iii"

node_bin=$("$CHELA_ROOT/scripts/node.sh")
export PATH=$node_bin:$PATH
# The crates are of the edition 2024.
rust_minor_wanted=85
# SHA-256 of the crates; what they depend on is pinned by the Cargo.lock in each.
crate_0_11_6=6feab7af22d4f583024c5515139b3430c8f4ad1b7a7956351fa52079f05b2dab
crate_0_22_1=4c69998aa40a9951fc7856a768a6b167b8f9aa5996b60fb0458464b19a3623a9

rust_is_new_enough() {
  local minor
  minor=$(cargo --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p')
  [ "${minor:-0}" -ge "$rust_minor_wanted" ] && command -v rustc >/dev/null
}

rust=no
! rust_is_new_enough || rust=yes
files=(package-lock.json .npmrc vitest.config.mjs requirements-*.txt sdist-*.txt)
out=$CHELA_CACHE/compat-iii-$(key_of "$(sha256sum "${files[@]}" "$CHELA_ROOT/scripts/compat_iii.sh")" "$(node --version)" "$rust")
log=$CHELA_CACHE/logs/compat-iii.log

node_suites() {
  local version
  cp package.json package-lock.json .npmrc "$1/"
  # Not `npm ci`, which misses rollup's packages for other machines in the lock file; what is in it is checked all the same.
  quietly "$log" npm install --ignore-scripts --prefix "$1" || return 1
  ln -s "$node_bin/node" "$1/node"
  for version in 0.2.1 0.3.0; do
    mkdir "$1/node-$version"
    cp -r "$1/node_modules/iii-sdk-$version/tests" vitest.config.mjs "$1/node-$version/"
  done
}

python_suite() {
  local version=$1 place=$2/python-$1
  mkdir -p "$place/sdk/packages/python"
  quietly "$log" python3 -m venv "$place/venv" || return 1
  quietly "$log" "$place/venv/bin/python" -m pip install --disable-pip-version-check --require-hashes \
    -r "requirements-$version.txt" || return 1
  quietly "$log" "$place/venv/bin/python" -m pip download --disable-pip-version-check --no-deps --no-binary iii-sdk --require-hashes \
    -d "$place" -r "sdist-$version.txt" || return 1
  tar -xzf "$place/iii_sdk-$version.tar.gz" -C "$place/sdk/packages/python"
  mv "$place/sdk/packages/python/iii_sdk-$version" "$place/sdk/packages/python/iii"
  handbook "$place"
}

# The file that suites stream up and down and compare, where each looks for it.
handbook() {
  mkdir -p "$1/sdk/test-assets"
  { printf '%%PDF-1.4\n' && head -c 300000 /dev/urandom; } >"$1/sdk/test-assets/handbook.pdf"
}

rust_suite() {
  local version=$1 sum=$2 place=$3/rust-$1 archive
  mkdir -p "$place/sdk/packages/rust"
  # `cargo info` brings this one archive; its dependencies come when the tests are built. The cargo home is our own, as in libsql.sh.
  CARGO_HOME=$CHELA_CACHE/cargo quietly "$log" cargo info --quiet "iii-sdk@$version" || return 1
  archive=$(find "$CHELA_CACHE/cargo/registry/cache" -name "iii-sdk-$version.crate" -print -quit)
  [ -n "$archive" ] || return 1
  (check_sha256 "$archive" "$sum") || return 1
  tar -xzf "$archive" -C "$place/sdk/packages/rust"
  mv "$place/sdk/packages/rust/iii-sdk-$version" "$place/sdk/packages/rust/iii"
  handbook "$place"
}

rust_suites() {
  [ "$rust" = yes ] || return 0
  rust_suite 0.11.6 "$crate_0_11_6" "$1" && rust_suite 0.22.1 "$crate_0_22_1" "$1"
}

fetch() {
  local work
  [ -d "$out" ] && return 0
  say "fetching iii's own tests"
  work=$(mktemp -d "$CHELA_CACHE/compat-iii.XXXXXX")
  { node_suites "$work" && python_suite 0.11.6 "$work" && python_suite 0.22.1 "$work" && rust_suites "$work"; } || {
    rm -rf "$work"
    die "iii's packages could not be fetched, see $log" "check the network and try again"
  }
  mv -T "$work" "$out"
}

with_lock compat-iii fetch >&2
printf '%s\n' "$out"
