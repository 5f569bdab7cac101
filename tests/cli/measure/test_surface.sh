#!/usr/bin/env bash
# credence surface from outside: runs, percentiles, realisations, vertex data, refusals, a full disk, interruption.
. "$(dirname "$0")/../common.sh"
/usr/bin/python3 -c 'import numpy' 2>/dev/null || { echo "skipped: no numpy"; exit 77; }

# A run whose surface is the plane x = 20.3 voxels, with percentiles 2.5 voxels to either side, and eight realisations
# that are cut at x = 16 .. 23.
/usr/bin/python3 - "$folder" <<'PY'
import json, os, sys
import numpy as np
folder = sys.argv[1]
z, y, x = np.mgrid[:12, :14, :40].astype("f4")
prob = np.clip(0.5 + (20.3 - x) * 0.04, 0, 1).astype("f4")
volumes = {"prob": (prob, "probability", None), "seg": ((prob > 0.5).astype("u1"), "segmentation", None),
           "unc": (np.full_like(prob, 0.1), "uncertainty", [33, 67]),
           "unc_5-95": (np.full_like(prob, 0.2), "uncertainty", [5, 95])}
percentiles = {"p5": (np.clip(prob - 0.1, 0, 1), "percentile", [5]), "p95": (np.clip(prob + 0.1, 0, 1), "percentile", [95])}
words = np.zeros(prob.shape, "u8")
for i in range(8):
    words |= np.where(x < 16 + i, np.uint64(1 << i), np.uint64(0))
bits = {"samples": (words, "bits of samples", None)}
cut = {"sample_3": ((x < 19).astype("f4"), "sample", None)}

def write(run, volumes):
    os.makedirs(f"{folder}/{run}")
    outputs = []
    for name, (values, role, percents) in volumes.items():
        np.save(f"{folder}/{run}/s_{name}.npy", values)
        about = {"spacing": [2, 0.5, 0.5], "unit": "um", "samples": 8, "first_sample": 0}
        json.dump(about, open(f"{folder}/{run}/s_{name}.npy.json", "w"))
        outputs.append({"file": f"s_{name}.npy", "role": role, "type": values.dtype.name, "scale": 1})
        if percents:
            outputs[-1]["percentiles"] = percents
    json.dump({"format": "credence-run", "scan": {"name": "s", "shape": [12, 14, 40]}, "plan": {"samples": 8},
               "settings": {"samples": 8}, "outputs": outputs}, open(f"{folder}/{run}/manifest.json", "w"))

write("plain", volumes)
write("full", {**volumes, **percentiles, **cut})
write("bits", {**volumes, **bits})
np.save(f"{folder}/noise.npy", np.random.default_rng(1).random((64, 64, 64)).astype("f4"))
PY

# mesh FILE: largest x of vertices inside the window, vertex data there, as Python sees them
mesh() {
    /usr/bin/python3 - "$1" <<'PY'
import sys
import numpy as np
blob = open(sys.argv[1], "rb").read()
head, rest = blob[:1024].decode(), blob[1024:]
assert head.endswith("end_header\n")
count = int(head.split("element vertex ")[1].split()[0])
names = [line.split()[2] for line in head.splitlines() if line.startswith("property float")]
values = np.frombuffer(rest, "<f4", count * len(names)).reshape(count, -1)
face = values[:, 0] > values[:, 0].max() - 1e-3
middle = values[face][:, 3:].mean(0)
print(f"{values[:, 0].max():.3f}", *(f"{n} {v:.3f}" for n, v in zip(names[3:], middle)))
PY
}

run surface "$folder/plain" -o "$folder/plain.ply" --json -q
expect 0; no_err
same "$(json 'd["closed"], d["euler_number"], d["unit"], d["data"], d["spacing"]')" \
    "True 2 um probability,uncertainty,displacement [2, 0.5, 0.5]"
same "$(mesh "$folder/plain.ply")" "10.150 probability 0.500 uncertainty 0.100 displacement 2.500"
# Of three classes a surface is of one: the sentence names the two files that can be given, with --phase as without.
cp -r "$folder/plain" "$folder/three"
/usr/bin/python3 - "$folder/three/manifest.json" <<'PY'
import json, sys
manifest = json.load(open(sys.argv[1]))
manifest["classes"] = [{"name": name, "value": value, "segmentation": 0.3, "mean": 0.3, "interval90": [0, 1], "samples": []}
                       for name, value in (("pore", 0), ("ysz", 1), ("nickel", 2))]
json.dump(manifest, open(sys.argv[1], "w"))
PY
for words in "" "--phase 1"; do
    # shellcheck disable=SC2086
    run surface "$folder/three" $words -o "$folder/no.ply"; expect 1; err 'three/s_prob.npy, or the segmentation with a class.s value, .*three/s_seg.npy --phase 2$'
done
run surface "$folder/three/s_seg.npy" --phase 1 -o "$folder/one.ply" -q; expect 0
[ "$(head -c 1024 "$folder/plain.ply" | awk '{ print length }' | sort -n | tail -n 1)" -lt 128 ] || complain "a line of the header is too long for MeshLab"
run surface "$folder/full" -o "$folder/full.ply" -q; expect 0
same "$(mesh "$folder/full.ply")" "10.150 probability 0.500 uncertainty 0.100 displacement 2.500"
run surface "$folder/full" --level p5 -o "$folder/p5.ply" -q; expect 0
same "$(mesh "$folder/p5.ply")" "8.900 probability 0.600 uncertainty 0.100 displacement 2.500"
run surface "$folder/full" --level p95 -o "$folder/p95.ply" --data probability -q; expect 0
same "$(mesh "$folder/p95.ply")" "11.400 probability 0.400"
run surface "$folder/full" --sample 3 -o "$folder/s3.ply" --data none -q; expect 0
same "$(mesh "$folder/s3.ply")" "9.250"
run surface "$folder/bits" --sample 3 -o "$folder/b3.ply" --data none -q; expect 0
cmp -s "$folder/s3.ply" "$folder/b3.ply" || complain "a realisation's bits give another surface than its volume"
# Just half of the realisations hold x = 19, which isn't more than half: the vertex lies 1/256 before it.
run surface "$folder/bits" --level p50 -o "$folder/p50.ply" --data none -q; expect 0
same "$(mesh "$folder/p50.ply")" "9.498"
run surface "$folder/plain/s_seg.npy" -o "$folder/seg.ply" -q; expect 0
same "$(mesh "$folder/seg.ply")" "10.250"
run surface "$folder/noise.npy" -o "$folder/noise.stl"; expect 0; err 'coordinates are in voxels'; err '^wrote .*triangles'

run surface;                                                    expect 2; err 'needs a run folder or a volume'
run surface "$folder/plain";                                    expect 2; err '--output'
run surface "$folder/plain" -o "$folder/a.obj";                 expect 1; err "doesn't end in .ply, .stl or .vtp"
run surface "$folder/plain" -o "$folder/a.ply" --level x;       expect 2; err "--level must be a value such as 0.5"
run surface "$folder/plain" -o "$folder/a.ply" --level p101;    expect 2; err 'p0 to p100'
run surface "$folder/plain" -o "$folder/a.ply" --sample -1;     expect 2; err 'from 0 on'
run surface "$folder/plain" -o "$folder/a.ply" --data colour;   expect 2; err '--data must be all, none'
run surface "$folder/plain" -o "$folder/a.ply" --level p5;      expect 1; err 'predict with --percentiles 5'
run surface "$folder/plain" -o "$folder/a.ply" --sample 2;      expect 1; err '--save-samples bits'
run surface "$folder/bits" -o "$folder/a.ply" --sample 8;       expect 1; err '0 to 7'
run surface "$folder/plain" -o "$folder/a.ply" --level 2;       expect 1; err 'no surface where the probability is 2'
run surface "$folder/missing" -o "$folder/a.ply";               expect 1; err 'missing'
run surface "$folder/noise.npy" -o "$folder/a.ply" --level p5;  expect 1; err 'no run folder'
run surface "$folder/noise.npy" -o "$folder/no/a.ply";          expect 1; err 'no'
[ -z "$(find "$folder" -name '.*tmp*' -o -name 'a.ply')" ] || complain "a failed surface left something behind"

# A disk that is too small, where this machine lets us make one.
mkdir "$folder/small"
if mount -t tmpfs -o size=256k none "$folder/small" 2>/dev/null; then
    run surface "$folder/noise.npy" -o "$folder/small/mesh.vtp" -q
    expect 1; err 'no space left|disk is full'
    [ -z "$(ls -A "$folder/small")" ] || complain "a full disk keeps parts of the mesh"
    umount "$folder/small"
else
    echo "skipped: a full disk needs the right to mount one"
fi

# A program that is stopped leaves nothing.
/usr/bin/python3 -c "
import numpy, sys
numpy.save(sys.argv[1], numpy.random.default_rng(2).random((160, 256, 256), 'f4'))" "$folder/large.npy"
"$CREDENCE_PROGRAM" surface "$folder/large.npy" -o "$folder/large.ply" -q 2>"$folder/err" &
job=$!
for _ in $(seq 200); do [ -z "$(find "$folder" -name '.large.ply.tmp*' -size +1M)" ] || break; sleep 0.02; done
kill -TERM $job; code=0; wait $job || code=$?
last=(surface "and a signal")
[ "$code" -ne 0 ] || complain "a stopped program ends with 0"
[ -z "$(find "$folder" -name '*large.ply*')" ] || complain "a stopped program left parts of the mesh"
finish
