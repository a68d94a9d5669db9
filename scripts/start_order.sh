#!/usr/bin/env bash
# start_order.sh: writes cmake/start.order, the functions that run before `chela engine` and `chela run` are ready. The linker lays them side
# by side: a page of the program that holds one start function and fifteen others is memory that an idle engine has for nothing.
# Names that are gone are passed over, so the file need not follow every change. Needs valgrind.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$CHELA_ROOT"
command -v valgrind > /dev/null || die "valgrind is not installed" "install it, then run scripts/start_order.sh again"
scripts/build.sh release chela
program=$CHELA_ROOT/build/release/bin/chela
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ready_file ARGUMENT...: runs chela until it has written that file, then ends it.
trace() {
  local ready=$1 pid
  shift
  (cd "$work" && exec env CHELA_HOME="$work/home" CHELA_GATEWAY_PORT=0 CHELA_BUS_PORT=0 CHELA_BUS_HTTP_PORT=0 CHELA_BUS_STREAM_PORT=0 \
    LLM_BACKEND=openai_compatible LLM_BASE_URL=http://127.0.0.1:9/v1 LLM_MODEL=none GATEWAY_AUTH_TOKEN=none \
    valgrind --tool=callgrind --callgrind-out-file="$work/calls.%p" --compress-strings=no --demangle=no "$program" "$@") > "$work/said" 2>&1 &
  pid=$!
  for _ in $(seq 600); do
    [ ! -f "$ready" ] || break
    sleep 0.1
  done
  [ -f "$ready" ] || die "chela $1 did not start" "read what it said: $(tail -n 3 "$work/said")"
  kill -TERM "$pid"
  wait "$pid" || true
}

cat > "$work/config.yaml" << 'CONFIG'
port: 0
modules:
  - class: modules::api::RestApiModule
    config: { port: 0 }
  - class: modules::pubsub::PubSubModule
  - class: modules::state::StateModule
    config: { adapter: { class: "modules::state::adapters::KvStore", config: { store_method: file_based, file_path: state } } }
  - class: modules::queue::QueueModule
    config: { adapter: { class: "modules::queue::BuiltinQueueAdapter", config: { store_method: file_based, file_path: queue } } }
  - class: modules::cron::CronModule
CONFIG
trace "$work/announced" engine --config "$work/config.yaml" --announce "$work/announced"
trace "$work/home/run/engine.json" run --headless --no-onboard
nm "$program" | awk '$2 ~ /[tTwW]/ { print $3 }' | sort -u > "$work/own"
sed -n 's/^fn=//p' "$work"/calls.* | sort -u | comm -12 - "$work/own" > cmake/start.order
say "cmake/start.order: $(wc -l < cmake/start.order) functions"
