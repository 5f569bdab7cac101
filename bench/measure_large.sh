#!/bin/bash
# Wall time and memory of `credence measure` on 742 x 1100 x 1100 voxels with 48 realisations, within 4 GiB: the first pass with all its
# properties, local thickness of the segmentation and of one realisation, diffusivity of both along z. For a machine that has nothing else
# to do: some 4 minutes on two cores, 10 GB of disk. Needs NumPy.
#
#   bench/measure_large.sh build/credence /scratch/large
set -eu
program=$1 folder=$2
mkdir -p "$folder"
[ -e "$folder/run/manifest.json" ] || python3 - "$folder" "$(dirname "$0")" <<'PY'
import json, os, sys
import numpy as np
folder, bench = sys.argv[1:]
sys.path.insert(0, bench)
import measure
shape = (742, 1100, 1100)
measure.make_run(os.path.join(folder, "tile"), 256, 48) if not os.path.exists(os.path.join(folder, "tile")) else None
run = os.path.join(folder, "run")
os.makedirs(run, exist_ok=True)
# Tiles side by side, every second one mirrored, so that nothing tears at their borders.
places = [np.where(np.arange(n) // 256 % 2 == 0, np.arange(n) % 256, 255 - np.arange(n) % 256) for n in shape]
for name, kind in (("s_seg", "u1"), ("s_samples", "u8")):
    tile = np.load(os.path.join(folder, "tile", "run", f"{name}.npy"))
    out = np.lib.format.open_memmap(os.path.join(run, f"{name}.npy"), "w+", kind, shape)
    for z, from_z in enumerate(places[0]):
        out[z] = tile[from_z][np.ix_(places[1], places[2])]
    out.flush()
with open(os.path.join(folder, "tile", "run", "manifest.json")) as file:
    manifest = json.load(file)
manifest["scan"]["shape"] = manifest["plan"]["shape"] = shape
with open(os.path.join(run, "manifest.json"), "w") as file:
    json.dump(manifest, file)
PY
for properties in fast thickness transport; do
    cat "$folder"/run/*.npy >/dev/null # into the page cache, as far as it fits
    echo "$properties (load $(cut -d ' ' -f 1 /proc/loadavg))"
    /usr/bin/env time -f '%e s, %U s of user time, %M KiB' "$program" measure "$folder/run" --properties "$properties" --axis z \
        --slow-samples 1 --max-memory 4G --quiet >"$folder/$properties.txt"
done
