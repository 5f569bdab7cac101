#!/bin/sh
# Made the files in tests/data/golden, with credence 0.1.0: one of every format and version that it writes. They are
# kept and read for ever (tests/volume/test_golden.c), so nothing here is run again on files that exist; a new version of a
# format gets a new file.   tests/data/make_golden.sh build/credence
set -eu
program=$(realpath "$1")
cd "$(dirname "$0")/golden"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
/usr/bin/python3 - "$scratch" <<'PYTHON'
import json, sys
import numpy as np
np.save(sys.argv[1] + "/volume.npy", (7 * np.arange(24) + 1).astype("<u2").reshape(2, 3, 4))
json.dump({"spacing": [2, 0.65, 0.5], "unit": "um", "origin": [4, 5, 6], "scale": 1 / 255},
          open(sys.argv[1] + "/volume.npy.json", "w"))
np.save(sys.argv[1] + "/long.npy", (np.arange(32768) % 251).astype("u1").reshape(1, 1, 32768))
json.dump({"spacing": [2, 0.65, 0.5], "unit": "um"}, open(sys.argv[1] + "/long.npy.json", "w"))
PYTHON
make() { # make SOURCE TARGET FLAGS...
    source=$1
    target=$2
    shift 2
    [ -e "$target" ] || "$program" convert "$scratch/$source.npy" "$target" "$@"
}
make volume classic.tif
make volume deflate.tif --compress 6
make volume ome.ome.tif
make volume plain.h5
make volume packed.h5 --compress 6
make volume volume.npy
make volume volume.raw
make volume nifti1.nii
make volume nifti1.nii.gz
make long nifti2.nii.gz
make volume attached.nrrd
make volume packed.nrrd --compress 6
make volume detached.nhdr
make volume packed_detached.nhdr --compress 6
make volume attached.mha
make volume packed.mha --compress 6
make volume separate.mhd
make volume packed_separate.mhd --compress 6
make volume raw.zarr --levels 2
make volume packed.zarr --compress 6
