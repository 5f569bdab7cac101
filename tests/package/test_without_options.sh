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
if grep -E 'libtiff|libpng|libjpeg|libnifti|libblosc' "$folder/linked"; then fail "linked to a library that was switched off"; fi
[ "$(grep -oF 'no (switched off' "$folder/build/generated/build_config.h" | wc -l)" = "$(wc -w <<<"$options")" ] ||
    fail "the description does not name every part that was switched off"
"$folder/build/credence" --version | grep -q '^credence [0-9]'

# A file of a format that was left out is recognised, and the sentence says what is missing; all others work.
golden=$CREDENCE_SOURCE/tests/data/golden
refused() { # refused FILE LIBRARY
    if "$folder/build/credence" info "$golden/$1" >"$folder/log" 2>&1; then fail "$1 was read without $2"; fi
    grep -q "built without $2" "$folder/log" || fail "$1: $(cat "$folder/log")"
}
refused classic.tif libtiff
refused nifti1.nii libnifti
refused nifti1.nii.gz libnifti
refused packed.zarr c-blosc
for file in attached.nrrd packed.mha raw.zarr volume.npy plain.h5; do
    "$folder/build/credence" convert "$golden/$file" "$folder/${file%.*}.zarr" --compress 5 || fail "$file can't be converted"
    "$folder/build/credence" info "$folder/${file%.*}.zarr" >"$folder/log" || fail "what was made of $file can't be read"
done
