#!/usr/bin/env bash
# libSQL: fetches the amalgamation (one C file with SQLite's API) with cargo, checks it and compiles it once.
#   libsql.sh prefix   prints where this version, these flags and this compiler put it
#   libsql.sh build    makes that folder (lib/libsql.a, include/sqlite3.h) unless it is there
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=0.10.0
source_sha256=0eb52e017a09ddb955a7fbaa5c2e5c39ed238f7480ec485e45f64fbb624ee7fb
header_sha256=ee6eab8416938332fb2aa93e257a07773cb2721661a293ce4e227c7a1ea9aa63
compiler=clang-19

flags=(
  -std=gnu11 -O2 -fPIC -w -ffunction-sections -fdata-sections
  # One connection is used by one thread at a time, so connections need no lock of their own.
  -DSQLITE_CORE -DSQLITE_THREADSAFE=2
  -DSQLITE_ENABLE_FTS5
  # "text" is never a string literal: a misspelt column is an error instead of a constant.
  -DSQLITE_DQS=0
  -DSQLITE_DEFAULT_FOREIGN_KEYS=1
  -DSQLITE_OMIT_DEPRECATED -DSQLITE_OMIT_LOAD_EXTENSION
  # No global counters behind a global mutex; temporary tables stay in memory.
  -DSQLITE_DEFAULT_MEMSTATUS=0 -DSQLITE_TEMP_STORE=2
  # What a configure script would find out on Linux. Without HAVE_FDATASYNC every commit pays for a full fsync.
  -DHAVE_FDATASYNC=1 -DHAVE_USLEEP=1 -DHAVE_LOCALTIME_R=1 -DHAVE_GMTIME_R=1 -DHAVE_STRERROR_R=1
  -DHAVE_MALLOC_USABLE_SIZE=1 -DUSE_PREAD=1
)

prefix() {
  local made_by
  made_by=$("$compiler" -dumpversion 2>/dev/null) || die "$compiler is missing" "run ./dev setup"
  printf '%s/libsql-%s-%s\n' "$CHELA_CACHE" "$version" "$(key_of "$source_sha256" "${flags[@]}" "$made_by")"
}

# Prints the folder with sqlite3.c. cargo verifies the archive against Cargo.lock; the file itself is checked again below.
fetch() {
  local home=$CHELA_CACHE/cargo cargo found
  cargo=$(cargo_at_least "$cargo_minor_wanted") || die "there is no cargo 1.$cargo_minor_wanted or later" "run ./dev setup"
  # A cargo home of our own: whatever a person configured for their cargo does not matter here.
  CARGO_HOME=$home quietly "$CHELA_CACHE/logs/libsql-fetch.log" \
    "$cargo" fetch --locked --target "$(uname -m)-unknown-linux-gnu" --manifest-path "$CHELA_ROOT/scripts/libsql/Cargo.toml" ||
    die "cargo could not fetch libsql-ffi $version" "check the network and run ./dev setup again"
  found=$(find "$home/registry/src" -maxdepth 2 -type d -name "libsql-ffi-$version" -print -quit)
  [ -n "$found" ] || die "cargo fetched libsql-ffi $version but its folder is not in $home" "delete $home and run ./dev setup again"
  printf '%s/bundled/src\n' "$found"
}

build() {
  local out work source
  out=$(prefix)
  [ -f "$out/lib/libsql.a" ] && return 0
  say "libSQL $version: fetching"
  source=$(fetch)
  check_sha256 "$source/sqlite3.c" "$source_sha256"
  check_sha256 "$source/sqlite3.h" "$header_sha256"
  say "libSQL $version: compiling (about 30 seconds)"
  work=$(mktemp -d "$CHELA_CACHE/libsql.XXXXXX")
  mkdir -p "$work/lib" "$work/include"
  quietly "$CHELA_CACHE/logs/libsql-build.log" "$compiler" "${flags[@]}" -c "$source/sqlite3.c" -o "$work/sqlite3.o" ||
    die "libSQL does not compile" "read the lines above"
  llvm-ar-19 rcs "$work/lib/libsql.a" "$work/sqlite3.o"
  rm "$work/sqlite3.o"
  cp "$source/sqlite3.h" "$work/include/"
  # The folder appears complete or not at all.
  mv -T "$work" "$out"
}

case "${1:-}" in
  prefix) prefix ;;
  build) with_lock libsql build ;;
  *) die "usage: libsql.sh prefix|build" "call it through ./dev setup" ;;
esac
