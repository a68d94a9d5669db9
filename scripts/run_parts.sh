#!/usr/bin/env bash
# run_parts.sh test|check|ci [part...]: python3 has to be there before run_parts.py can start.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
started=$(date +%s)
"$CHELA_ROOT/scripts/setup.sh"
exec python3 "$CHELA_ROOT/scripts/run_parts.py" --started "$started" "$@"
