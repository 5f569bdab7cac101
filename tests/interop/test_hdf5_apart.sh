#!/usr/bin/env bash
# HDF5 files on which libhdf5 crashes: one sentence, exit code 1, nothing written, and no process is left.
. "$(dirname "$0")/../cli/common.sh"
cd "$folder" || exit 1
broken=$CREDENCE_SOURCE/fuzz/libhdf5
crashed=0
for name in attribute compact datatype filter_name link_table text_index; do
    for part in "" :/x; do
        run convert "$broken/$name.h5$part" out.npy
        [ "$code" = 0 ] || [ "$code" = 1 ] || complain "exit $code"
        if grep -q "makes libhdf5 crash" "$folder/err"; then
            crashed=$((crashed + 1))
            expect 1; err '^credence: .*makes libhdf5 crash \(.*\): it is damaged, or made to do harm; nothing of it is used$'
            same "$(wc -l <"$folder/err")" 1
            same "$(find . -name 'out.npy*')" ""
        fi
        rm -f out.npy*
    done
done
echo "$crashed of 12 crashed libhdf5"
/usr/bin/python3 -c 'import numpy as np; np.save("scan.npy", np.arange(24000, dtype="u2").reshape(20, 30, 40))' || exit 77
run convert scan.npy scan.h5 --compress 3; expect 0
for flag in "" --trust; do
    run convert scan.h5 back.npy $flag; expect 0; no_err
    cmp -s scan.npy back.npy || complain "other voxels with '$flag'"
done
# A program that isn't where it should be, or is another one.
mkdir alone
printf '#!/bin/sh\nexit 3\n' >alone/credence-hdf5; chmod +x alone/credence-hdf5
CREDENCE_PLUGINS=$folder/alone run info scan.h5; expect 1; err "ended without an answer \(exit 3\)"
CREDENCE_PLUGINS=$folder/alone run info scan.h5 --trust; expect 0; no_err
"$CREDENCE_BUILD/credence-hdf5" >out 2>err2 </dev/null; same "$?" 2
finish
