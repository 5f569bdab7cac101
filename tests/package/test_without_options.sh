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
printf '\x89PNG\r\n\x1a\n' >"$folder/slice.png"; printf '\xff\xd8\xff\xe0' >"$folder/slice.jpg"
golden=$folder refused slice.png libpng
golden=$folder refused slice.jpg libjpeg
# Nor can they be written: the sentence is about the library and not about the name.
for pair in a.tif:libtiff a.ome.tif:libtiff a.nii:libnifti a.nii.gz:libnifti; do
    if "$folder/build/credence" convert "$golden/volume.npy" "$folder/${pair%:*}" >"$folder/log" 2>&1; then fail "${pair%:*} was written"; fi
    grep -q "${pair#*:}" "$folder/log" || fail "${pair%:*}: $(cat "$folder/log")"
done
# A report is pictures; a training goes without its own.
mkdir "$folder/run"; cp "$golden/volume.npy" "$folder/run/x_prob.npy"
if "$folder/build/credence" report "$folder/run" -o "$folder/page.html" >"$folder/log" 2>&1; then fail "a report without libpng"; fi
grep -q 'without libpng' "$folder/log" || fail "report: $(cat "$folder/log")"
"$folder/build/credence" phantom graphite -o "$folder/p" --shape 16,24,24 --grain-size 5 --format npy -q || fail "no phantom"
"$folder/build/credence" train --scan "$folder/p/scan.npy" --label "$folder/p/label.npy" -o "$folder/m.h5" --filters 4 --chunk 8,8,8 \
    --max-steps 1 --device cpu >"$folder/log" 2>&1 || fail "a training without libpng: $(cat "$folder/log")"
[ -s "$folder/m.h5" ] && [ ! -e "$folder/m.progress.png" ] || fail "a training without libpng left: $(ls "$folder")"
if grep -q 'progress.png first' "$folder/log"; then fail "a training names a picture that it can't draw"; fi
for file in attached.nrrd packed.mha raw.zarr volume.npy plain.h5; do
    "$folder/build/credence" convert "$golden/$file" "$folder/${file%.*}.zarr" --compress 5 || fail "$file can't be converted"
    "$folder/build/credence" info "$folder/${file%.*}.zarr" >"$folder/log" || fail "what was made of $file can't be read"
done
