#!/usr/bin/env bash
# What `make install` lays down works from there, also after the tree has been moved: the program, the library through
# pkg-config, the headers, the man pages.
. "$(dirname "$0")/common.sh"
only_plain_builds
DESTDIR=$folder/stage cmake --install "$CREDENCE_BUILD" --prefix /opt/credence >"$folder/log"
mv "$folder/stage/opt/credence" "$folder/moved"
cd "$folder/moved"

bin/credence --version >"$folder/said"
grep -q '^credence [0-9]' "$folder/said" || fail "the installed program does not tell its version"
diff <(cd include && find . -name '*.h' | sort) <(cd "$CREDENCE_SOURCE/include" && find . -name '*.h' | sort)

[ -e share/man/man1/credence.1 ] || fail "no man pages were installed"
for command in $(bin/credence --help | sed -n '/^Commands:/,/^$/ s/^  \([a-z]\+\) .*/\1/p'); do
    [ -e "share/man/man1/credence-$command.1" ] || fail "$command has no man page"
done

cat >"$folder/user.c" <<'C'
#include <credence/credence.h>
#include <stdio.h>
int main(void)
{
    printf("%s\n%s\n", crd_version(), crd_build_description());
    return 0;
}
C
PKG_CONFIG_PATH=$(dirname "$(find "$PWD" -name credence.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046 # flags are separate words
cc -std=c11 "$folder/user.c" -o "$folder/user" $(pkg-config --cflags --libs credence)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir credence) "$folder/user" >"$folder/said"
[ "$(head -n 1 "$folder/said")" = "$(pkg-config --modversion credence)" ] ||
    fail "the library says it is $(head -n 1 "$folder/said"), pkg-config says $(pkg-config --modversion credence)"
grep -q '^TIFF volumes: ' "$folder/said" || fail "crd_build_description does not say whether TIFF is there"
