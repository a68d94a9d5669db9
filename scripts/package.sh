#!/usr/bin/env bash
# package.sh [FOLDER]: a tarball and a Debian package of the release build in FOLDER (default build/package). Their bytes depend on the
# commit and the build alone: times are SOURCE_DATE_EPOCH, by default the commit's.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
cd "$CHELA_ROOT"

out=$(realpath -m "${1:-build/package}")
bin=build/release/bin
programs=(chela chela-infer chela-guard)
version=$(sed -n 's/^project(chela VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
umask 022

# tree ROOT PREFIX: the files that both packages have, below ROOT; PREFIX is where they will be.
tree() {
  local root=$1 prefix=$2 each shell
  mkdir -p "$root/bin" "$root/share/chela" "$root/lib/systemd/user"
  for each in "${programs[@]}"; do
    install -m 755 "$bin/$each" "$root/bin/$each"
    strip --strip-unneeded --remove-section=.comment "$root/bin/$each"
  done
  git ls-files -z share | while IFS= read -r -d '' each; do
    install -D -m 644 "$each" "$root/share/chela/${each#share/}"
  done
  # The program's own unit, for where the package puts it and each user's own home.
  "$bin/chela" service print |
    sed "s|^ExecStart=.*|ExecStart=$prefix/bin/chela run --headless --no-onboard|" >"$root/lib/systemd/user/chela.service"
  for each in bash:bash-completion/completions/chela zsh:zsh/vendor-completions/_chela fish:fish/vendor_completions.d/chela.fish; do
    shell=${each%%:*}
    mkdir -p "$(dirname "$root/share/${each#*:}")"
    "$bin/chela" completion "$shell" >"$root/share/${each#*:}"
  done
}

# same_times FOLDER: every file has the time of the commit.
same_times() { find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +; }

tarball() {
  local name root
  name=chela-$version-linux-$(uname -m)
  root=$work/$name
  tree "$root" /usr/local
  cp LICENSE README.md "$root/"
  same_times "$root"
  tar --create --sort=name --owner=0 --group=0 --numeric-owner --format=gnu --directory="$work" "$name" | gzip -n -9 >"$out/$name.tar.gz"
  say "made $out/$name.tar.gz"
}

debian() {
  local root=$work/debian-root arch depends size
  arch=$(dpkg --print-architecture)
  tree "$root/usr" /usr
  mkdir -p "$root/usr/share/doc/chela" "$root/DEBIAN" "$work/debian"
  cp LICENSE "$root/usr/share/doc/chela/copyright"
  cp README.md "$root/usr/share/doc/chela/README.md"
  # What the programs are linked with; libcurl and OpenSSL are opened at run time and so not seen.
  printf 'Source: chela\n\nPackage: chela\nArchitecture: any\n' >"$work/debian/control"
  depends=$(cd "$work" && dpkg-shlibdeps -O -edebian-root/usr/bin/chela -edebian-root/usr/bin/chela-infer 2>/dev/null |
    sed -n 's/^shlibs:Depends=//p')
  [ -n "$depends" ] || die "dpkg-shlibdeps names no dependency" "install dpkg-dev, and the packages of ./dev setup"
  size=$(du -k --summarize --apparent-size "$root/usr" | cut -f1)
  cat >"$root/DEBIAN/control" <<CONTROL
Package: chela
Version: $version
Architecture: $arch
Maintainer: The Chela project <chela@localhost>
Installed-Size: $size
Depends: $depends, libcurl4, libssl3
Recommends: ca-certificates, python3, python3-pip, tzdata
Section: net
Priority: optional
Description: self-hosted AI agent engine
 Chela runs agents on your own machine: they remember, use tools, and answer
 on the command line, in the browser and over an HTTP API.
CONTROL
  same_times "$root"
  dpkg-deb --root-owner-group -Zxz --build "$root" "$out/chela_${version}_$arch.deb" >/dev/null
  say "made $out/chela_${version}_$arch.deb"
}

command -v dpkg-shlibdeps >/dev/null || die "dpkg-shlibdeps is missing" "run ./dev setup"
scripts/build.sh release "${programs[@]/chela-guard/chela_guard}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$out"
mkdir -p "$out"
tarball
debian
