#!/usr/bin/env bash
# credence builds and runs without any optional library, and says so. Compiled without optimisation, to stay cheap.
. "$(dirname "$0")/common.sh"
only_plain_builds
[ "$(cached CMAKE_BUILD_TYPE)" = Release ] || skip "the tests of the release build do this, and once is enough"
options=$(grep -oE '^CREDENCE_WITH_[A-Z0-9]+' "$CREDENCE_BUILD/CMakeCache.txt")

# shellcheck disable=SC2046,SC2086 # one argument per option
cmake -S "$CREDENCE_SOURCE" -B "$folder/build" -G "$(cached CMAKE_GENERATOR)" -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_C_FLAGS=-O0 $(printf -- '-D%s=OFF ' $options) >"$folder/log" 2>&1 || fail "$(cat "$folder/log")"
cmake --build "$folder/build" -j 2 --target credence_program >"$folder/log" 2>&1 || fail "$(cat "$folder/log")"

ldd "$folder/build/libcredence.so" >"$folder/linked"
if grep -E 'libtiff|libpng' "$folder/linked"; then fail "linked to a library that was switched off"; fi
[ "$(grep -oF 'no (switched off' "$folder/build/generated/build_config.h" | wc -l)" = "$(wc -w <<<"$options")" ] ||
    fail "the description does not name every part that was switched off"
"$folder/build/credence" --version | grep -q '^credence [0-9]'
