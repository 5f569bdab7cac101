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
# A plug-in of libhdf5 that unpacks in threads, as those for bitshuffle often do.
mkdir plug
cat >plug/turn.c <<'end'
#include <H5PLextern.h>
static size_t turn(unsigned flags, size_t n, const unsigned v[], size_t bytes, size_t *room, void **buffer)
{
    unsigned char *b = *buffer;
#pragma omp parallel for
    for (long i = 0; i < (long)bytes; i++) b[i] ^= 90;
    return bytes;
}
static const H5Z_class2_t class = {H5Z_CLASS_T_VERS, 400, 1, 1, "turn", NULL, NULL, turn};
H5PL_type_t H5PLget_plugin_type(void) { return H5PL_TYPE_FILTER; }
const void *H5PLget_plugin_info(void) { return &class; }
end
export HDF5_PLUGIN_PATH=$folder/plug
if cc -fopenmp -shared -fPIC $(pkg-config --cflags hdf5-serial 2>/dev/null) plug/turn.c -o plug/libturn.so 2>err2 &&
    /usr/bin/python3 -c 'import h5py, numpy as np
h5py.File("turned.h5", "w").create_dataset("x", data=np.load("scan.npy"), chunks=(8, 30, 40), compression=400)' 2>err2; then
    rm -f back.npy
    run convert turned.h5 back.npy; expect 0; no_err
    cmp -s scan.npy back.npy || complain "other voxels by a plug-in with threads"
else
    echo "no plug-in with threads is tried: $(tail -1 err2)"
fi
unset HDF5_PLUGIN_PATH
# A program that isn't where it should be, or is another one.
mkdir alone
printf '#!/bin/sh\nexit 3\n' >alone/credence-hdf5; chmod +x alone/credence-hdf5
CREDENCE_PLUGINS=$folder/alone run info scan.h5; expect 1; err "ended without an answer \(exit 3\)"
CREDENCE_PLUGINS=$folder/alone run info scan.h5 --trust; expect 0; no_err
"$CREDENCE_BUILD/credence-hdf5" >out 2>err2 </dev/null; same "$?" 2
finish
