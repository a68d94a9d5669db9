#!/usr/bin/env bash
# lint.sh [fmt|tidy]: without a word all fast checks; fmt formats instead; tidy adds clang-tidy over changed files.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$CHELA_ROOT"
"$CHELA_ROOT/scripts/setup.sh"

# Files of the repository, those not yet added included.
files() { git ls-files --cached --others --exclude-standard --deduplicate -- "$@" | while read -r file; do [ ! -f "$file" ] || printf '%s\n' "$file"; done; }

tidy() {
  local changed base
  [ -f build/release/compile_commands.json ] || die "clang-tidy needs a configured tree" "run ./dev build first"
  base=$(git merge-base HEAD origin/main 2>/dev/null || git rev-parse HEAD)
  mapfile -t changed < <({
    git diff --name-only --diff-filter=d "$base" -- '*.cc'
    git ls-files --others --exclude-standard -- '*.cc'
  } | sort -u)
  [ ${#changed[@]} -gt 0 ] || { say "clang-tidy: no C++ file is changed" && return 0; }
  say "clang-tidy over ${#changed[@]} changed files (slow)"
  clang-tidy-19 -p build/release --quiet "${changed[@]}"
}

failed=()
# check NAME COMMAND...
check() {
  local name=$1
  shift
  "$@" || failed+=("$name")
}

mapfile -t cpp < <(files '*.cc' '*.h')
mapfile -t shell < <(files dev .ci/run 'scripts/*.sh')

case "${1:-}" in
  fmt)
    clang-format-19 -i "${cpp[@]}"
    exit 0
    ;;
  "" | tidy) ;;
  *) die "lint does not know '$1'" "./dev lint, ./dev lint tidy or ./dev fmt" ;;
esac

check format clang-format-19 --dry-run -Werror --ferror-limit=1 "${cpp[@]}"
check layers python3 scripts/check_layers.py
check text python3 scripts/check_text.py
check limits python3 scripts/check_limits.py
check shell shellcheck "${shell[@]}"
[ "${1:-}" != tidy ] || check tidy tidy
[ ${#failed[@]} -eq 0 ] || die "lint failed: ${failed[*]}" "mend what is named above (./dev fmt formats)"
say "lint: clean"
