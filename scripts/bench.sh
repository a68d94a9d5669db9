#!/usr/bin/env bash
# bench.sh [NAME [ARG...]]: builds what it measures and runs one benchmark; without a name it lists them.
# A benchmark is bench/NAME.py (drives the real program) or the target bench_NAME (measures parts). Results go to stdout as JSON.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$CHELA_ROOT"

names() {
  find bench -maxdepth 1 \( -name 'bench_*.cc' -o -name '*.py' \) 2>/dev/null |
    sed -E 's#^bench/(bench_)?(.*)\.(cc|py)$#\2#' | grep -v '^_' | sort
}

name=${1:-}
if [ -z "$name" ]; then
  echo "benchmarks: $(names | tr '\n' ' ')"
  exit 0
fi
shift
names | grep -qxF "$name" || die "there is no benchmark '$name'" "choose one of: $(names | tr '\n' ' ')"
if [ -f "bench/$name.py" ]; then
  scripts/build.sh release chela chela-infer scripted-model bench__http_load bench__http_rate bench__budget bench__bus_load bench__bus_delivery bench__bus_http bench__nats_load >&2
  scripts/venv.sh
  CHELA_BUILD=$CHELA_ROOT/build/release exec .venv/bin/python "bench/$name.py" "$@"
fi
scripts/build.sh release "bench_$name" >&2
exec "build/release/bin/bench_$name" "$@"
