#!/usr/bin/env bash
# Debian packages: lintian has nothing to say, and what they hold runs from elsewhere. A whole build, so only where long
# tests are asked for.
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/hardening.sh"
only_plain_builds
[ -n "${CREDENCE_LONG:-}" ] || skip "a whole build; CREDENCE_LONG=1 asks for it"
command -v dpkg-shlibdeps >/dev/null || skip "no dpkg-dev: packages are made on Debian"
git -C "$CREDENCE_SOURCE" ls-files -z | (cd "$CREDENCE_SOURCE" && xargs -0 cp --parents -t "$folder")
cd "$folder"
CREDENCE_CMAKE="-DCREDENCE_WITH_CUDA=OFF" tools/make-deb >log 2>&1 || fail "$(tail -n 20 log)"
if command -v lintian >/dev/null; then
    said=$(lintian --allow-root build/packages/*.deb)
    [ -z "$said" ] || fail "lintian says: $said"
else
    echo "skipped: part: lintian isn't installed"
fi
for package in build/packages/*.deb; do dpkg-deb -x "$package" root; done
library=$(dirname "$(find "$PWD/root" -name 'libcredence.so.0.1')")
env -i LD_LIBRARY_PATH="$library" root/usr/bin/credence --version | grep -q '^credence ' || fail "the program doesn't run"
[ -e root/usr/share/man/man1/credence.1.gz ] && [ -e root/usr/include/credence/credence.h ] || fail "files are missing"
mapfile -t files < <(find root -type f \( -name 'lib*.so*' -o -path '*/bin/*' -o -name credence-hdf5 \))
is_hardened "${files[@]}"
is_checked root/usr/bin/credence "$library/libcredence.so.0.1"
