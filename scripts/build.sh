#!/usr/bin/env bash
# build.sh [PRESET] [TARGET...]: what is missing is installed first; the tree is configured when it is new, then built.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$CHELA_ROOT"

preset=${1:-release}
[ $# -eq 0 ] || shift
case $preset in
  release | dev | tsan | fuzz) ;;
  *) die "there is no preset '$preset'" "use release, dev, tsan or fuzz" ;;
esac

scripts/setup.sh
tree=build/$preset
if [ ! -f "$tree/build.ninja" ]; then
  say "configuring $tree"
  quietly "$tree/configure.log" cmake --preset "$preset" -DCHELA_CACHE="$CHELA_CACHE" ||
    die "the configure step failed" "read the lines above"
fi
# On a terminal ninja rewrites one line; elsewhere only what fails is worth a line.
options=()
[ -t 1 ] || options=(--quiet)
say "building $tree ${*:-(everything)}"
NINJA_STATUS='[%f/%t, %es] ' ninja -C "$tree" "${options[@]}" "$@" ||
  die "the build of $tree failed" "mend the first error above"
