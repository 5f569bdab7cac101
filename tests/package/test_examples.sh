#!/usr/bin/env bash
# The examples compile and run against the installed library, through pkg-config, like a user's own program.
. "$(dirname "$0")/common.sh"
only_plain_builds
DESTDIR=$folder/stage cmake --install "$CREDENCE_BUILD" --prefix /opt/credence >"$folder/log"
PKG_CONFIG_PATH=$(dirname "$(find "$folder/stage" -name credence.pc)")
export PKG_CONFIG_PATH
LD_LIBRARY_PATH=$(pkg-config --variable=libdir credence)
export LD_LIBRARY_PATH
cd "$folder"
for source in "$CREDENCE_SOURCE"/examples/*.c; do
    # shellcheck disable=SC2046 # flags are separate words
    cc -std=c11 -Wall -Wextra -Werror "$source" -o "$(basename "$source" .c)" $(pkg-config --cflags --libs credence) -lm
    [ "$(wc -l <"$source")" -le 60 ] || fail "$source has become too long for an example"
done

"$CREDENCE_BUILD/tests/make_model" model.h5 bcnn 8 16,16,16
"$CREDENCE_BUILD/credence" phantom graphite -o phantom --shape 16,24,24 --format npy --quiet
./predict model.h5 phantom/scan.npy run >said 2>log || fail "$(cat log)"
grep -qE '^volume fraction 0\.[0-9]{4}; a third ' said || fail "the example said: $(cat said)"
[ -s run/scan_unc.npy ] || fail "the example wrote no uncertainty"
if ./predict model.h5 absent.npy run2 2>log; then fail "a missing scan went unnoticed"; fi
grep -q '^predict: absent.npy' log || fail "the example said: $(cat log)"

# A program that was built when there were fewer options: with the last of the struct cut out of the headers.
cp -r "$(pkg-config --variable=includedir credence)" older
sed -i "/What the scan's file doesn't say/,/char \*spacing;/d" older/credence/predict.h
grep -q 'char \*spacing;' older/credence/predict.h && fail "the older headers are as new as these"
# shellcheck disable=SC2046 # flags are separate words
cc -std=c11 -Wall -Wextra -Werror -Iolder "$CREDENCE_SOURCE/examples/predict.c" -o older_predict $(pkg-config --libs credence)
mv said said_now
./older_predict model.h5 phantom/scan.npy older_run >said 2>log || fail "$(cat log)"
cmp said said_now && cmp run/scan_unc.npy older_run/scan_unc.npy || fail "a program built with fewer options computes something else"

# From memory and into memory; and box by box, against the volume of a run folder.
./segment_array model.h5 >said 2>log || fail "$(cat log)"
grep -qE '^volume fraction [01]\.[0-9]{4}; slice 12:$' said || fail "the example said: $(cat said)"
[ "$(grep -cE '^[#.]{32}$' said)" = 16 ] || fail "the example drew: $(cat said)"
if ./segment_array absent.h5 >said 2>log; then fail "a missing model went unnoticed"; fi
grep -q '^segment_array: absent.h5' log || fail "the example said: $(cat log)"
"$CREDENCE_BUILD/credence" predict --model model.h5 --scan phantom/scan.npy -o own --format npy --quiet
./own_sink model.h5 phantom/scan.npy >said 2>log || fail "$(cat log)"
# The file's last 16*24*24 floats are its voxels: the place of the largest.
place=$(tail -c $((16 * 24 * 24 * 4)) own/scan_unc.npy | od -An -v -t f4 -w4 |
    awk '$1 + 0 > most { most = $1 + 0; at = NR - 1 } END { printf "%d,%d,%d", at / 576, at / 24 % 24, at % 24 }')
[ "$(cat said)" = "least sure at $place" ] || fail "the example said $(cat said), the run folder $place"
