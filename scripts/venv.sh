#!/usr/bin/env bash
# Makes .venv with the Python packages of the tests, pinned with checksums; skipped while tests/requirements.txt is the same.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$CHELA_ROOT"

stamp=.venv/requirements.sha256
sha256sum --check --status "$stamp" 2>/dev/null && exit 0
say "installing the Python packages of the tests into .venv"
rm -rf .venv
quietly "$CHELA_CACHE/logs/venv.log" python3 -m venv .venv ||
  die "python3 cannot make a virtual environment" "./dev setup installs python3-venv"
quietly "$CHELA_CACHE/logs/venv.log" .venv/bin/python -m pip install --disable-pip-version-check --require-hashes \
  -r tests/requirements.txt || die "pip could not install tests/requirements.txt" "check the network and try again"
sha256sum tests/requirements.txt >"$stamp"
