#!/usr/bin/env bash
# Every public header compiles by itself, as C11 and as C++, without our flags and without the private folders, and
# credence.h has them all.
. "$(dirname "$0")/common.sh"
cd "$CREDENCE_SOURCE"
flags="-Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only"
for header in include/credence/*.h; do
    name=${header#include/}
    [ "$name" = credence/credence.h ] || grep -q "^#include \"$name\"" include/credence/credence.h ||
        fail "credence/credence.h leaves out $name"
    # Included from a file, not compiled as one: "#pragma once" and the like would warn in a main file.
    printf '#include "%s"\n' "${header#include/}" >"$folder/user.c"
    cp "$folder/user.c" "$folder/user.cpp"
    # shellcheck disable=SC2086 # flags are separate words
    cc -std=c11 $flags "$folder/user.c"
    # shellcheck disable=SC2086
    if command -v c++ >/dev/null; then c++ -std=c++11 $flags "$folder/user.cpp"; fi
done
