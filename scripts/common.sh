# Shared by dev and the scripts it calls: messages, the cache folder, small helpers. Sourced, never run.
# shellcheck shell=bash disable=SC2034

CHELA_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
CHELA_CACHE=${CHELA_CACHE:-$HOME/.cache/chela}

# Progress goes to stderr: stdout belongs to results (`./dev run -m ...` prints only the reply).
say() {
  if [ -t 2 ]; then printf '\033[1m==>\033[0m %s\n' "$*" >&2; else printf '==> %s\n' "$*" >&2; fi
}

# die MESSAGE NEXT-STEP: one line that says what went wrong and what to do about it.
die() {
  printf 'dev: %s. Next step: %s\n' "$1" "$2" >&2
  exit 1
}

# quietly LOG COMMAND...: runs a command with its output in LOG; on failure shows the log's end.
quietly() {
  local log=$1
  shift
  mkdir -p "$(dirname "$log")"
  if ! "$@" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    printf 'dev: the whole log is in %s\n' "$log" >&2
    return 1
  fi
}

# key_of WORD...: a short key that changes when any of the words does.
key_of() { printf '%s\n' "$@" | sha256sum | cut -c1-12; }

# cargo_at_least MINOR: prints the cargo to use, 1.MINOR or later: the one of the PATH, else Debian's (a rustup without a toolchain stands
# before it in many a PATH). Status 1 when there is none.
cargo_at_least() {
  local found minor
  for found in cargo /usr/bin/cargo; do
    minor=$("$found" --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p')
    if [ "${minor:-0}" -ge "$1" ]; then
      printf '%s\n' "$found"
      return
    fi
  done
  return 1
}

# The oldest cargo that reads today's registry index. Debian 12's own (0.66) cannot, its cargo-web can.
cargo_minor_wanted=70

# check_sha256 FILE HASH
check_sha256() {
  local got
  got=$(sha256sum "$1" | cut -d' ' -f1)
  [ "$got" = "$2" ] || die "checksum of $1 is $got, expected $2" "delete the file and run ./dev setup again; if it stays so, do not use it"
}

# with_lock NAME COMMAND...: one process at a time, so that two `./dev` runs never build the same thing.
with_lock() {
  local name=$1
  shift
  mkdir -p "$CHELA_CACHE"
  (
    flock 9
    "$@" 9>&-
  ) 9>"$CHELA_CACHE/$name.lock"
}

# npm_folder NAME: where in the cache the packages of ./package-lock.json are, or will be. node is in the PATH.
npm_folder() { printf '%s/%s-%s\n' "$CHELA_CACHE" "$1" "$(key_of "$(sha256sum package-lock.json)" "$(node --version)")"; }

# npm_fetch NAME FOLDER WHAT: fills that folder once; the lock file pins each package with its checksum.
npm_fetch() { with_lock "$1" npm_fetch_missing "$@"; }
npm_fetch_missing() {
  local work
  [ -d "$2/node_modules" ] && return 0
  say "fetching $3"
  work=$(mktemp -d "$CHELA_CACHE/$1.XXXXXX")
  cp package.json package-lock.json .npmrc "$work/"
  quietly "$CHELA_CACHE/logs/$1.log" npm ci --ignore-scripts --prefix "$work" ||
    { rm -rf "$work"; die "npm could not fetch $3" "check the network and try again"; }
  # The folder appears complete or not at all.
  mv -T "$work" "$2"
}
