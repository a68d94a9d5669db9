#!/usr/bin/env bash
# llama.cpp: fetches the sources with pip (they are inside a source archive) and builds static libraries once.
#   llama.sh prefix   prints where this version, these options and this compiler put it
#   llama.sh build    makes that folder (lib/lib{llama,ggml*}.a, include/) unless it is there
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

version=0.3.36
commit=0c1e57098
requirements=$CHELA_ROOT/scripts/llama/requirements.txt
compiler=clang++-19

options=(
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19
  '-DCMAKE_C_FLAGS=-w -ffunction-sections -fdata-sections' '-DCMAKE_CXX_FLAGS=-w -ffunction-sections -fdata-sections'
  -DCMAKE_POSITION_INDEPENDENT_CODE=ON -DCMAKE_INSTALL_LIBDIR=lib
  -DLLAMA_BUILD_NUMBER=0 "-DLLAMA_BUILD_COMMIT=$commit"
  # Not tuned to this very processor: AVX2 on x86-64 is the floor, and the program can be copied to another machine.
  -DBUILD_SHARED_LIBS=OFF -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF -DGGML_CCACHE=OFF -DLLAMA_OPENSSL=OFF
  -DLLAMA_BUILD_COMMON=OFF -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_TOOLS=OFF
  -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF
)

prefix() {
  local made_by
  made_by=$("$compiler" -dumpversion 2>/dev/null) || die "$compiler is missing" "run ./dev setup"
  printf '%s/llama-%s-%s\n' "$CHELA_CACHE" "$version" "$(key_of "$(cat "$requirements")" "${options[@]}" "$made_by")"
}

# Called in a condition, where bash does not stop at errors by itself.
fetch_into() {
  python3 -m venv "$1/venv" &&
    "$1/venv/bin/python" -m pip download --disable-pip-version-check --no-deps --no-binary llama-cpp-python --require-hashes \
      -r "$requirements" -d "$1/download" &&
    mkdir "$1/source" || return 1
  # Only llama.cpp itself, without the archive's other top-level folders.
  tar -xzf "$1/download/llama_cpp_python-$version.tar.gz" -C "$1/source" --strip-components=3 \
    "llama_cpp_python-$version/vendor/llama.cpp" || return 1
  # A leftover of the archive that points to a repository which is not there; with it ninja configures for ever.
  rm -f "$1/source/.git"
}

compile() {
  cmake -S "$1/source" -B "$1/build" -G Ninja "-DCMAKE_INSTALL_PREFIX=$1/install" "${options[@]}" &&
    cmake --build "$1/build" &&
    cmake --install "$1/build"
}

build() {
  local out work
  out=$(prefix)
  [ -f "$out/lib/libllama.a" ] && return 0
  work=$(mktemp -d "$CHELA_CACHE/llama.XXXXXX")
  # shellcheck disable=SC2064  # the folder of now is meant
  trap "rm -rf '$work'" EXIT
  say "llama.cpp (inside llama-cpp-python $version): fetching 77 MB"
  quietly "$CHELA_CACHE/logs/llama-fetch.log" fetch_into "$work" ||
    die "pip could not fetch llama-cpp-python $version" "check the network and run ./dev setup again"
  say "llama.cpp: compiling (about 2 minutes on two cores)"
  quietly "$CHELA_CACHE/logs/llama-build.log" compile "$work" ||
    die "llama.cpp does not compile" "read the lines above"
  # The folder appears complete or not at all.
  mv -T "$work/install" "$out"
}

case "${1:-}" in
  prefix) prefix ;;
  build) with_lock llama build ;;
  *) die "usage: llama.sh prefix|build" "call it through ./dev setup" ;;
esac
