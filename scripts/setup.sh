#!/usr/bin/env bash
# Installs what a build needs: Debian packages, libSQL, llama.cpp. What is there already is skipped within a second, so
# every other command of ./dev calls this first.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

packages() { grep -v '^#' "$CHELA_ROOT/scripts/packages.txt" | grep -v '^$'; }

# Prints the packages that are not installed.
missing_packages() {
  local installed name
  installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' 2>/dev/null | sed -n 's/^installed //p')
  packages | while read -r name; do
    grep -qxF "$name" <<<"$installed" || printf '%s\n' "$name"
  done
  # cargo fetches the libSQL sources.
  cargo_at_least "$cargo_minor_wanted" >/dev/null || printf 'cargo-web\n'
}

install_packages() {
  local missing as_root=()
  mapfile -t missing < <(missing_packages)
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || die "this is no Debian-like system" "install the packages of scripts/packages.txt by hand"
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || die "these packages are missing and there is no sudo: ${missing[*]}" \
      "as root: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  quietly "$CHELA_CACHE/logs/apt-update.log" "${as_root[@]}" apt-get update -q ||
    die "apt-get update failed" "check the network and /etc/apt/sources.list"
  quietly "$CHELA_CACHE/logs/apt-install.log" "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}" ||
    die "apt-get install failed" "read the lines above; the release must be Debian 12 or one that has these packages"
}

install_packages
"$CHELA_ROOT/scripts/libsql.sh" build
"$CHELA_ROOT/scripts/llama.sh" build
