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
    cc -std=c11 -Wall -Wextra -Werror "$source" -o "$(basename "$source" .c)" $(pkg-config --cflags --libs credence)
    [ "$(wc -l <"$source")" -le 60 ] || fail "$source has become too long for an example"
done

"$CREDENCE_BUILD/tests/make_model" model.h5 bcnn 8 16,16,16
"$CREDENCE_BUILD/credence" phantom graphite -o phantom --shape 16,24,24 --format npy --quiet
./predict model.h5 phantom/scan.npy run >said 2>log || fail "$(cat log)"
grep -qE '^volume fraction 0\.[0-9]{4}; a third ' said || fail "the example said: $(cat said)"
[ -s run/scan_unc.npy ] || fail "the example wrote no uncertainty"
if ./predict model.h5 absent.npy run2 >said 2>log; then fail "a missing scan went unnoticed"; fi
grep -q '^predict: absent.npy' log || fail "the example said: $(cat log)"
