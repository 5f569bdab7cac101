#!/usr/bin/env bash
# credence measure with input that isn't as hoped: what is said, what is null, and what is refused.
. "$(dirname "$0")/../common.sh"
/usr/bin/python3 -c 'import numpy' 2>/dev/null || { echo "skipped: no numpy"; exit 77; }

/usr/bin/python3 - "$folder" <<'PY'
import json, os, sys
import numpy as np
folder = sys.argv[1]
generator = np.random.default_rng(9)
shape = (12, 16, 20)
def run(name, samples, shapes=None, seg=None):
    os.makedirs(f"{folder}/{name}")
    listed = []
    seg = samples[0] if seg is None else seg
    for file, role, values in [("s_seg.npy", "segmentation", seg)] + [(f"s_sample_{i}.npy", "sample", s) for i, s in enumerate(samples)]:
        np.save(f"{folder}/{name}/{file}", values.astype("u1"))
        listed.append({"file": file, "role": role, "type": "u8", "scale": 1})
    json.dump({"format": "credence-run", "scan": {"shape": seg.shape, "spacing": [1, 1, 1], "unit": "um"},
               "plan": {"samples": len(samples), "shape": seg.shape, "origin": [0, 0, 0]}, "settings": {}, "outputs": listed},
              open(f"{folder}/{name}/manifest.json", "w"))
blobs = [np.kron(generator.random((4, 4, 5)) < .6, np.ones((3, 4, 4))) > 0 for _ in range(24)]
empty, full = np.zeros(shape, bool), np.ones(shape, bool)
run("empty", [empty] * 24)
run("full", [full] * 24)
run("sometimes", blobs[:22] + [empty, full])
wall = [b.copy() for b in blobs]
for b in wall: b[6] = False
run("wall", wall)
run("one", blobs[:1])
run("slice", [b[:1] for b in blobs])
run("row", [b[:1, :1] for b in blobs])
run("other-shape", blobs)
np.save(f"{folder}/other-shape/s_sample_7.npy", blobs[7][:, 1:].astype("u1"))
run("short", blobs)
with open(f"{folder}/short/s_sample_5.npy", "r+b") as file: file.truncate(2000)
run("fine", blobs)
np.save(f"{folder}/many.npy", (np.arange(3840).reshape(shape) % 17).astype("u1"))
np.save(f"{folder}/scan.npy", generator.normal(1000, 200, shape).astype("f4"))
np.save(f"{folder}/probability.npy", generator.random(shape).astype("f4"))
np.save(f"{folder}/seg.npy", blobs[0].astype("u1"))
np.save(f"{folder}/none.npy", empty.astype("u1"))
np.save(f"{folder}/random.npy", (np.random.default_rng(3).random((20, 24, 28)) < .6).astype("u1"))
thin = empty.copy(); thin[::2, ::2, ::2] = True
np.save(f"{folder}/thin.npy", thin.astype("u1"))
np.save(f"{folder}/wide.npy", np.ones((12, 16, 21), "u1"))
PY
value() { json "[p['$2'] for p in d['properties'] if p['name'] == '$1'][0]"; }

# a phase that is empty, or fills the window, in all or some realisations
run measure "$folder/empty" --json --properties all -q; expect 0
for p in volume_fraction specific_surface mean_curvature euler_6 euler_26 components; do same "$(value $p median)" 0; done
for p in mean_intercept_x thickness_mean largest_share tortuosity_factor_z; do same "$(value $p median)" None; done
same "$(value d_rel_y median)" 0; same "$(value volume_fraction note)" "the phase is empty in 25 of 25 segmentations"
same "$(value thickness_mean note), $(value mean_intercept_y note), $(value largest_share note)" \
    "the phase is empty or fills the window, the phase has no boundary across y, the phase is empty"
run measure "$folder/full" --json --properties all -q; expect 0
for p in volume_fraction euler_6 euler_26 components largest_share; do same "$(value $p median)" 1; done
same "$(json "[p['median'] == 1 for p in d['properties'] if p['name'] == 'd_rel_x'][0]")" True
for p in specific_surface mean_curvature; do same "$(value $p median)" 0; done
for p in mean_intercept_x thickness_mean; do same "$(value $p median)" None; done
run measure "$folder/sometimes" --json --properties all --axis z -q; expect 0
same "$(json "[(p['defined'], p['values'][22]) for p in d['properties'] if p['name'] in ('thickness_mean', 'tortuosity_factor_z')]")" "[(22, None), (23, None)]"
same "$(value volume_fraction note)" "the phase is empty in 1 of 25 segmentations, and fills the window in others"
same "$(value thickness_std note), $(value tortuosity_factor_z note)" \
    "n/a in 2 of 24: the phase is empty or fills the window, n/a in 1 of 24: nothing percolates along z"
run measure "$folder/sometimes" --properties thickness --slow-samples 23 --json -q; expect 0
same "$(value thickness_max note)" "first 23 of 24 realisations, n/a in 1 of 23: the phase is empty or fills the window"
run measure "$folder/none.npy" --phase 1 --properties fraction,transport --axis z --spacing 1,1,1,um -q; expect 0
out '^  volume fraction +0          the phase is empty$'; out '^  D_rel along z +0          nothing percolates along z$'
out '^  tortuosity factor along z +n/a$' # for the same reason

# nothing percolates
run measure "$folder/wall" --properties transport --axis z -q; expect 0; out 'D_rel along z +0 +0 .*percolates in 0 of 24'; out 'tortuosity factor along z +n/a'
run measure "$folder/wall" --json --properties transport --axis z -q; expect 0
same "$(value d_rel_z segmentation), $(value tortuosity_factor_z segmentation), $(value tortuosity_factor_z defined)" "0, None, 0"

# a slice, a row: no cells
for kind in slice row; do
    run measure "$folder/$kind" --json --properties all --axis x -q; expect 0
    for p in specific_surface specific_surface_mesh mean_curvature euler_6 euler_density_26; do same "$(value $p median)" None; done
    same "$(value specific_surface note)" "the window is one voxel thick: there are no cells of 2x2x2 voxels"
    same "$(json "[p['defined'] > 0 for p in d['properties'] if p['name'] in ('volume_fraction', 'components', 'mean_intercept_x', 'd_rel_x', 'thickness_mean')]")" "[True, True, True, True, True]"
done

# a solver that can't get that near: voxels 300 times as long as wide
run measure "$folder/random.npy" --phase 1 --properties transport --axis z --spacing 1,1,300,um --tolerance 1e-9 --json; expect 0
err 'along z the solver stopped before its tolerance in 1 of 1 segmentations'; same "$(value d_rel_z converged)" "{'segmentation': 0, 'values': []}"
run measure "$folder/random.npy" "$folder/random.npy" --phase 1 --properties transport --axis z --spacing 1,1,300,um --tolerance 1e-9 -q; expect 0
out 'D_rel along z'; run measure "$folder/random.npy" "$folder/random.npy" --phase 1 --properties transport --axis z --spacing 1,1,300,um --tolerance 1e-9
expect 0; err 'in 2 of 2 segmentations'

# masks
run measure "$folder/fine" --mask "$folder/none.npy"; expect 1; err 'no voxel .* lies inside'
run measure "$folder/fine" --mask "$folder/thin.npy"; expect 1; err 'no 2x2x2 voxels'
run measure "$folder/fine" --mask "$folder/wide.npy"; expect 1; err '12,16,21'; err '12,16,20'

# a scan that is a part of another one: its own origin moves neither the mask nor the label
/usr/bin/python3 - "$folder" <<'PY'
import json, os, shutil, sys
import numpy as np
folder = sys.argv[1]
shutil.copytree(f"{folder}/fine", f"{folder}/part")
for name in os.listdir(f"{folder}/part"):
    if name.endswith(".npy"):
        json.dump({"origin": [2, 3, 4]}, open(f"{folder}/part/{name}.json", "w"))
manifest = json.load(open(f"{folder}/part/manifest.json"))
inside = np.zeros((12, 16, 20), "u1"); inside[:, :9, 2:] = 1
np.save(f"{folder}/inside.npy", inside)
manifest["settings"]["mask"] = f"{folder}/inside.npy"
json.dump(manifest, open(f"{folder}/part/manifest.json", "w"))
seg = np.load(f"{folder}/part/s_seg.npy")
for name, part in (("all", np.s_[:]), ("box", np.s_[:8, :12, :15])):
    print(f"{seg[part][inside[part] > 0].mean():.12f}", file=open(f"{folder}/share-{name}", "w"))
PY
run measure "$folder/part" --json --properties fraction -q; expect 0
same "$(json "['%.12f' % p['segmentation'] for p in d['properties'] if p['name'] == 'volume_fraction'][0]")" "$(cat "$folder/share-all")"
run measure "$folder/part" --json --properties fraction --bbox 0:8,0:12,0:15 -q; expect 0
same "$(json "['%.12f' % p['segmentation'] for p in d['properties'] if p['name'] == 'volume_fraction'][0]")" "$(cat "$folder/share-box")"
# a mask that was changed since
for sum in "$("$python" -c "
import hashlib, numpy as np
print(hashlib.sha256(b'12,16,20 u8\n' + np.load('$folder/inside.npy').tobytes()).hexdigest())")" "$(printf '%064d' 7)"; do
    "$python" - "$folder/part/manifest.json" "$sum" <<'PY'
import json, sys
manifest = json.load(open(sys.argv[1]))
manifest["mask"] = {"path": manifest["settings"]["mask"], "sha256": sys.argv[2]}
json.dump(manifest, open(sys.argv[1], "w"))
PY
    run measure "$folder/part" --properties fraction -q
    if [ "$sum" = "$(printf '%064d' 7)" ]; then
        expect 1; err 'the mask .*inside.npy has changed since the run .*part was made in it'
        run export "$folder/part" -o "$folder/none" -q; expect 1; err 'inside.npy has changed'
        run measure "$folder/part" --properties fraction -q --mask "$folder/inside.npy"
    fi
    expect 0
done

# no segmentation
run measure "$folder/many.npy"; expect 1; err 'more than 16 different values: it looks like a scan'
run measure "$folder/scan.npy"; expect 1; err 'looks like a scan, not like a segmentation'
run measure "$folder/probability.npy"; expect 1; err 'looks like a map of probabilities'

# spacings
run measure "$folder/seg.npy" --properties surface; expect 0; err "spacing isn't known: lengths are in voxels"; out '1/voxel'
run measure "$folder/seg.npy" --spacing 1,1,11,um; expect 0; err 'differ by more than a factor of 10'
run measure "$folder/seg.npy" --spacing 1,1,um,nm; expect 2

# few realisations
run measure "$folder/one"; expect 0; err 'there is one realisation, and so no interval'
run measure "$folder/fine" --samples 3; expect 0; err '3 realisations are few'

# samples that don't belong, and files that end too early: nothing is written
run measure "$folder/other-shape"; expect 1; err 's_sample_7.npy has shape 12,15,20'
run measure "$folder/short"; expect 1; err 's_sample_5.npy'
for kind in other-shape short; do [ ! -e "$folder/$kind/measure.json" ] && [ ! -e "$folder/$kind/measure.csv" ] || complain "$kind left files"; done
finish
