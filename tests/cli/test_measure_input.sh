#!/usr/bin/env bash
# credence measure of input that isn't as hoped: every row of the table in docs/MEASURE.md, "When something is odd".
. "$(dirname "$0")/common.sh"
/usr/bin/python3 -c 'import numpy' 2>/dev/null || { echo "skipped: no numpy"; exit 77; }
cd "$folder"
/usr/bin/python3 - <<'PY'
import json, os
import numpy as np
random, shape = np.random.default_rng(0), (16, 20, 24)
save = lambda name, values: np.save(name, values.astype("u1"))
save("empty", np.zeros(shape))
save("full", np.ones(shape))
save("sparse", random.random(shape) < .1)
save("slice", random.random((1, 20, 24)) < .5)
save("row", random.random((1, 1, 24)) < .5)
np.save("floats", random.random(shape).astype("f4"))
np.save("grey", random.integers(0, 60000, shape).astype("u2"))
save("many", np.arange(16 * 20 * 24).reshape(shape) % 17)
save("sixteen", np.arange(16 * 20 * 24).reshape(shape) % 16)
save("outside", np.zeros(shape))
dot = np.zeros(shape)
dot[5, 5, 5] = 1
save("dot", dot)
save("thin", np.ones((15, 20, 24)))
save("narrow", random.random((16, 20, 23)) < .5)
for i in range(3):
    save(f"r{i}", random.random(shape) < .5)
# a run of 20 samples, of which some are empty, some full, and some join the faces along z alone
os.makedirs("run")
columns = np.zeros(shape, bool)
columns[:, 4:9, 5:11] = True
samples = [np.zeros(shape, bool) if i < 3 else np.ones(shape, bool) if i < 5 else columns for i in range(20)]
save("run/s_seg", columns)
np.save("run/s_samples", sum(s.astype("u8") << np.uint64(i) for i, s in enumerate(samples)))
json.dump({"format": "credence-run", "scan": {"shape": shape, "spacing": [1, 1, 1], "unit": "um"},
           "plan": {"samples": 20, "shape": shape, "origin": [0, 0, 0]}, "settings": {}, "outputs": [
               {"file": "s_seg.npy", "role": "segmentation", "type": "u8", "scale": 1},
               {"file": "s_samples.npy", "role": "bits of samples", "type": "u64", "scale": 1}]}, open("run/manifest.json", "w"))
PY

# of KEY NAME: what a property says, numbers to nine digits
of() { json "(lambda v: round(v, 9) + 0 if isinstance(v, float) else [round(x) if x else x for x in v] if isinstance(v, list) else v)([p['$1'] for p in d['properties'] if p['name'] == '$2'][0])" | sed 's/^\(-\{0,1\}[0-9]*\)\.0$/\1/'; }

# a phase that is empty, and one that fills the window
run measure empty.npy --phase 1 --properties all -q --json
expect 0
for name in volume_fraction specific_surface mean_curvature euler_6 euler_26 components d_rel_z; do same "$(of segmentation $name)" 0; done
for name in thickness_mean mean_intercept_x tortuosity_factor_z largest_share; do same "$(of segmentation $name)" None; done
run measure full.npy --phase 1 --properties all -q --json
expect 0
for name in volume_fraction euler_6 euler_26 d_rel_z tortuosity_factor_x; do same "$(of segmentation $name)" 1; done
for name in specific_surface mean_curvature; do same "$(of segmentation $name)" 0; done
for name in thickness_mean mean_intercept_x; do same "$(of segmentation $name)" None; done
run measure full.npy; expect 0; err 'all voxels of full.npy are 1: there is one phase, and no boundary'
# in some realisations: the others count
run measure run --properties all -q --json
expect 0
same "$(of note volume_fraction)" "the phase is empty in 3 of 21 segmentations, and fills the window in others"
same "$(of defined volume_fraction) $(of defined thickness_mean) $(of defined tortuosity_factor_z)" "20 15 17"
same "$(of note d_rel_z) $(of note d_rel_x)" "percolates in 17 of 20 percolates in 2 of 20"
same "$(of mean d_rel_x) $(of defined d_rel_x) $(of defined tortuosity_factor_x)" "0.1 20 2"
same "$(of interval tortuosity_factor_x)" "[1, None]"
run measure run --properties transport -q
expect 0; out 'tortuosity factor along x .*  > 1 '

# nothing percolates
run measure sparse.npy --phase 1 --properties components,transport --axis z -q --json
expect 0
same "$(of segmentation d_rel_z) $(of segmentation tortuosity_factor_z) $(of note d_rel_z) $(of segmentation percolates_z)" "0 None nothing percolates along z 0"

# one slice, one row
for thin in slice row; do
    run measure $thin.npy --properties all -q --json
    expect 0
    for name in specific_surface specific_surface_mesh mean_curvature euler_6 euler_density_26 mean_intercept_z; do same "$(of segmentation $name)" None; done
    same "$(of note specific_surface)" "the window is one voxel thick: there are no cells of 2x2x2 voxels"
    same "$(json 'all(p["segmentation"] is not None for p in d["properties"] if p["name"] in ("mean_intercept_x", "components", "thickness_mean", "d_rel_z"))')" True
done

# masks and boxes
run measure r0.npy --mask outside.npy;  expect 1; err 'mask: no voxel of r0.npy \(16,20,24\) lies inside it'
run measure run --mask outside.npy;     expect 1; err 'mask: no voxel of run \(16,20,24\) lies inside it'
run measure r0.npy --mask dot.npy;      expect 1; err 'mask: no 2x2x2 voxels of r0.npy'
run measure r0.npy --mask thin.npy;     expect 1; err 'thin.npy has shape 15,20,24 .* 16,20,24'
run measure r0.npy --bbox 3:3,0:4,0:4;  expect 1; err 'z from 3 to 3, where no voxels are'
run measure r0.npy --bbox 0:17,0:4,0:4; expect 1; err 'must lie in 0:16'

# values
run measure floats.npy;  expect 1; err 'looks like a map of probabilities, not like a segmentation'
run measure grey.npy;    expect 1; err 'more than 16 different values: it looks like a scan'
run measure many.npy;    expect 1; err 'more than 16 different values'
run measure sixteen.npy --properties fraction -q; expect 0; out '^phase 15'

# spacing
run measure r0.npy; expect 0; err "the spacing isn't known: lengths are in voxels"; out '1/voxel'
run measure r0.npy --spacing 1,1,20,um; expect 0; err 'differ by more than a factor of 10'
run measure r0.npy --spacing 1um,1mm,1um; expect 2; err 'three positive numbers and a unit'
run measure r0.npy --spacing 1,0,1,um; expect 2; err 'three positive numbers'

# realisations
run measure run --samples 1 --properties fraction; expect 0; err 'one realisation, and so no interval'
run measure r0.npy r1.npy r2.npy; expect 0; err '3 realisations are few for the percentiles 5 and 95'
run measure r0.npy narrow.npy; expect 1; err 'narrow.npy has shape 16,20,23 .* r0.npy 16,20,24'
run measure r0.npy nowhere.npy; expect 1; err 'nowhere.npy'

# a file that ends before its time: an error, and nothing is written
head -c 30000 run/s_samples.npy > cut.npy
rm -f run/measure.*; cp run/s_samples.npy whole.npy; cp cut.npy run/s_samples.npy
run measure run; expect 1; err 's_samples.npy'
[ ! -e run/measure.json ] && [ ! -e run/measure.csv ] || complain "a run that can't be read whole was measured"

finish
