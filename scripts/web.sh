#!/usr/bin/env bash
# web.sh: the page of web/, built with npm's packages.
#   web.sh build OPENAPI OUT   fills OUT with what the program embeds; the same sources are built once for all clones and presets
#   web.sh check OPENAPI       types of the page, and its unit tests (report in CHELA_RESULTS when that is set)
#   web.sh modules             fetches the packages of web/package-lock.json, which pins each with its checksum
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# Paths count from where the caller stands.
[ $# -lt 2 ] || set -- "$1" "$(realpath "$2")" "${@:3}"
cd "$CHELA_ROOT/web"

kept_builds=12

node_bin=$("$CHELA_ROOT/scripts/node.sh")
export PATH=$node_bin:$PATH
modules=$(npm_folder web-modules)

modules() {
  npm_fetch web-modules "$modules" "the packages of the web page"
  # What is found under web/ is what the lock file says, whatever somebody installed there before.
  [ "$(readlink node_modules)" = "$modules/node_modules" ] && return 0
  rm -rf node_modules
  ln -sfn "$modules/node_modules" node_modules
}

sources() { find . -type f -not -path './node_modules/*' -not -path './generated/*' -print0 | sort -z | xargs -0 sha256sum; }

types() {
  mkdir -p generated
  node build_tools/api_types.ts "$1" generated/api.ts
}

# Everything lands in the cache first, so that two builds at once never see each other's half.
make_page() {
  local openapi=$1 made=$2 work
  [ -f "$made/page.S" ] && return 0
  modules
  types "$openapi"
  work=$(mktemp -d "$CHELA_CACHE/web.XXXXXX")
  CHELA_WEB_OUT=$work/dist CHELA_WEB_TEMP=$work/temp quietly "$CHELA_CACHE/logs/web-build.log" node_modules/.bin/vite build ||
    { rm -rf "$work"; die "the web page does not build" "mend what the lines above name"; }
  node build_tools/pack.ts "$work/dist" "$work/page" >&2 ||
    { rm -rf "$work"; die "the web page cannot be packed" "read the line above"; }
  mkdir -p "$(dirname "$made")"
  mv -T "$work/page" "$made"
  rm -rf "$work"
  find "$(dirname "$made")" -mindepth 1 -maxdepth 1 -printf '%T@ %p\0' | sort -zrn | tail -z -n "+$((kept_builds + 1))" |
    cut -z -d' ' -f2- | xargs -0r rm -rf
}

build() {
  local openapi=$1 out=$2 made
  made=$CHELA_CACHE/web/$(key_of "$(sources)" "$(sha256sum <"$openapi")" "$(sha256sum <"$CHELA_ROOT/scripts/web.sh")" "$(node --version)")
  with_lock web make_page "$openapi" "$made"
  touch "$made"
  rm -rf "$out"
  mkdir -p "$(dirname "$out")"
  cp -r "$made" "$out"
}

check() {
  local reports=()
  modules
  types "$1"
  say "the web page: types"
  node_modules/.bin/svelte-check --tsconfig ./tsconfig.json --fail-on-warnings --output human ||
    die "the types of the web page do not fit" "mend the lines above"
  say "the web page: unit tests"
  [ -z "${CHELA_RESULTS:-}" ] || reports=(--reporter=default --reporter=junit "--outputFile.junit=$CHELA_RESULTS/vitest.xml")
  node_modules/.bin/vitest run "${reports[@]}"
}

case "${1:-}" in
  build) build "${2:?OPENAPI}" "${3:?OUT}" ;;
  check) check "${2:?OPENAPI}" ;;
  modules) modules ;;
  *) die "usage: web.sh build OPENAPI OUT | check OPENAPI | modules" "./dev build calls it" ;;
esac
