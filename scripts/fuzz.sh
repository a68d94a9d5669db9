#!/usr/bin/env bash
# fuzz.sh [SECONDS] [TARGET...]: builds the fuzz targets and runs each for so long, as many at a time as there are cores.
# Seeds lie in fuzz/corpus/<target>/; what fuzzing learns is kept in the cache for the next run. An input that breaks
# something is kept too, in build/fuzz/found/, and its path is printed.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$CHELA_ROOT"

seconds=30
if [[ ${1:-} =~ ^[0-9]+$ ]]; then
  seconds=$1
  shift
fi

run_one() {
  local name=$1 learnt log
  learnt=$CHELA_CACHE/fuzz/$name
  log=build/fuzz/logs/$name.log
  local corpus=("$learnt")
  [ ! -d "fuzz/corpus/$name" ] || corpus+=("fuzz/corpus/$name")
  mkdir -p "$learnt" build/fuzz/found "${log%/*}"
  if "build/fuzz/bin/$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="build/fuzz/found/$name-" "${corpus[@]}" >"$log" 2>&1; then
    say "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs, nothing found"
  else
    tail -n 30 "$log" >&2
    say "$name: FAILED (log $log)"
    return 1
  fi
}
export -f run_one say
export seconds CHELA_CACHE

# fuzz/NAME_fuzz.cc is the target NAME_fuzz.
mapfile -t names < <(find fuzz -maxdepth 1 -name '*_fuzz.cc' -printf '%f\n' 2>/dev/null | sed 's/\.cc$//' | sort)
[ ${#names[@]} -gt 0 ] || die "there are no fuzz targets" "look into fuzz/"
if [ $# -gt 0 ]; then
  wanted=()
  for name in "$@"; do
    name=${name%_fuzz}_fuzz
    [ -f "fuzz/$name.cc" ] || die "there is no fuzz target '$name'" "they are: ${names[*]}"
    wanted+=("$name")
  done
  names=("${wanted[@]}")
fi
scripts/build.sh fuzz "${names[@]}"
say "fuzzing ${#names[@]} targets, $seconds seconds each"
# shellcheck disable=SC2016  # the inner shell expands it
printf '%s\0' "${names[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'run_one "$1"' run_one ||
  die "fuzzing found something" "run the target named above with the file kept in build/fuzz/found"
