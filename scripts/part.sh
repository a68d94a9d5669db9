#!/usr/bin/env bash
# part.sh NAME: runs one part of `./dev test` or `./dev check`. Reports of tests (JUnit XML) go to the folder CHELA_RESULTS.
#   part.sh list test|check   prints the names
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$CHELA_ROOT"

test_parts=(unit e2e clients bus)
check_parts=(lint attack web package crash compat-iii dev-unit dev-e2e fuzz tsan-unit tsan-e2e)

export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
export UBSAN_OPTIONS=print_stacktrace=1
export TSAN_OPTIONS=second_deadlock_stack=1

# The local model, which tests of local answers use: 180 MB once, afterwards a look at two files.
models() { python3 share/models/pull_local_small.py --dest "$CHELA_CACHE/models" --cache "$CHELA_CACHE/models"; }

# Unit tests of a preset. Each test program also writes its own report, so that single tests are counted.
unit() {
  scripts/build.sh "$1"
  models
  GTEST_OUTPUT=xml:$CHELA_RESULTS/ ctest --test-dir "build/$1" --output-on-failure --no-tests=error \
    --parallel "$(nproc)" --output-junit "$CHELA_RESULTS/ctest.xml"
}

# pytest_on PRESET PATH...: Python tests that drive the programs of a preset.
pytest_on() {
  local preset=$1
  shift
  scripts/build.sh "$preset" chela chela-infer scripted-model
  scripts/venv.sh
  models
  CHELA_BUILD=$CHELA_ROOT/build/$preset .venv/bin/python -m pytest -q --timeout=300 -p no:cacheprovider \
    --junitxml "$CHELA_RESULTS/pytest-$preset.xml" "$@"
}

# The bus with workers of the published SDKs.
bus() {
  local clients
  clients=$(scripts/bus_clients.sh)
  CHELA_NODE=$(head -1 <<<"$clients") CHELA_BUS_CLIENTS=$(tail -1 <<<"$clients") pytest_on "$1" tests/bus
}

case "${1:-}" in
  list)
    case "${2:-}" in
      test) printf '%s\n' "${test_parts[@]}" ;;
      check) printf '%s\n' "${check_parts[@]}" ;;
      *) die "usage: part.sh list test|check" "see ./dev help" ;;
    esac
    ;;
  unit) unit release ;;
  e2e) pytest_on release tests/e2e tests/faults tests/replay ;;
  clients) pytest_on release tests/clients ;;
  bus) bus release ;;
  web)
    scripts/build.sh release chela scripted-model
    scripts/web.sh check build/release/web/openapi.json
    pytest_on release tests/web
    ;;
  lint) scripts/lint.sh ;;
  dev-unit) unit dev ;;
  dev-e2e) pytest_on dev tests/e2e tests/faults tests/replay ;;
  tsan-unit) unit tsan ;;
  tsan-e2e) pytest_on tsan tests/e2e tests/faults tests/replay ;;
  crash)
    pytest_on dev tests/crash/test_crash_points.py tests/crash/test_client_results.py
    pytest_on release tests/crash/test_random_kills.py
    ;;
  attack) pytest_on release tests/attack ;;
  package) pytest_on release tests/package ;;
  compat-iii)
    scripts/build.sh release chela
    suites=$(scripts/compat_iii.sh)
    CHELA_BUILD=$CHELA_ROOT/build/release python3 tests/compat/iii/run.py "$suites" "$CHELA_RESULTS"
    ;;
  fuzz) scripts/fuzz.sh 30 ;;
  *) die "unknown part '${1:-}'" "./dev check runs all; parts: ${test_parts[*]} ${check_parts[*]}" ;;
esac
