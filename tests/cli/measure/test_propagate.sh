#!/usr/bin/env bash
# credence export and propagate from outside: files, values, intervals, resuming, commands that fail or are stopped.
. "$(dirname "$0")/../common.sh"
/usr/bin/python3 -c 'import numpy' 2>/dev/null || { echo "skipped: no numpy"; exit 77; }

# Realisation i has the phase where x < 16 + i, and the segmentation where x < 20; the folder's name has what a shell
# would make something of.
there="$folder/a run; \$(echo x)"
/usr/bin/python3 - "$there" <<'PY'
import json, os, sys
import numpy as np
folder = sys.argv[1]
os.makedirs(folder)
z, y, x = np.mgrid[:6, :7, :40]
words = np.zeros(x.shape, "u8")
for i in range(8):
    words |= np.where(x < 16 + i, np.uint64(1 << i), np.uint64(0))
outputs = []
for name, values, role in (("seg", (x < 20).astype("u1"), "segmentation"), ("samples", words, "bits of samples")):
    np.save(f"{folder}/s_{name}.npy", values)
    json.dump({"spacing": [2, 0.5, 0.5], "unit": "um", "samples": 8, "first_sample": 0},
              open(f"{folder}/s_{name}.npy.json", "w"))
    outputs.append({"file": f"s_{name}.npy", "role": role, "type": values.dtype.name, "scale": 1})
json.dump({"format": "credence-run", "scan": {"name": "s", "shape": list(x.shape)}, "plan": {"samples": 8},
           "settings": {"samples": 8}, "outputs": outputs}, open(f"{folder}/manifest.json", "w"))
np.save(f"{folder}/../labels.npy", (x % 3).astype("u1"))
PY

# ---- export
for solver in tiff raw vti npy nrrd hdf5 taufactor porespy puma geodict openlbm paraview; do
    run export "$there" --solver $solver -o "$folder/$solver" --json -q
    expect 0; no_err
    same "$(json 'd["realisations"], d["segmentation"], d["voxels"]')" "8 True 1680"
done
/usr/bin/python3 - "$folder" <<'PY' || complain "what was exported isn't what the run holds"
import json, sys
import numpy as np
folder = sys.argv[1]
listed = json.load(open(f"{folder}/raw/realisations.json"))
assert listed["shape"] == [6, 7, 40] and listed["spacing"] == [2, 0.5, 0.5] and listed["unit"] == "um"
assert listed["segmentation"]["fraction"] == 0.5 and len(listed["realisations"]) == 8
for i, entry in enumerate(listed["realisations"]):
    assert entry["sample"] == i and entry["voxels"] == (16 + i) * 42
    voxels = np.fromfile(f"{folder}/raw/" + entry["file"].replace(".mhd", ".raw"), "u1").reshape(6, 7, 40)
    assert (voxels == (np.arange(40) < 16 + i)).all()
    assert (np.load(f"{folder}/npy/sample_{i:03d}.npy") == voxels).all()
    blob = open(f"{folder}/vti/sample_{i:03d}.vti", "rb").read()
    start = blob.index(b"\n_") + 2
    assert int.from_bytes(blob[start:start + 8], "little") == 1680
    assert blob[start + 8:start + 8 + 1680] == voxels.tobytes()
PY
# in a mask the fraction is that of the mask's voxels, as measure's is
cp -r "$there" "$folder/masked"
sed -i 's/"settings": {/"settings": {"mask": "cylinder", /' "$folder/masked/manifest.json"
run export "$folder/masked" --solver npy -o "$folder/inside" -q; expect 0
run measure "$folder/masked" --properties fraction --json -q; expect 0
same "$("$python" -c "
import json, sys; listed = json.load(open('$folder/inside/realisations.json')); found = json.load(open('$folder/out'))
print(listed['window_voxels'] == found['window_voxels'] < 1680, [r['fraction'] for r in listed['realisations']] == found['properties'][0]['values'])")" "True True"
run export "$there" --samples 2-3 --values 7,2 --solver npy -o "$folder/two"; expect 0; err 'wrote 2 realisations and the seg'
same "$(/usr/bin/python3 -c "import numpy, sys; a = numpy.load(sys.argv[1]); print(a[0, 0, 18], a[0, 0, 19], a.shape)" \
    "$folder/two/sample_003.npy")" "7 2 (6, 7, 40)"
run export "$folder/labels.npy" --solver npy -o "$folder/three" -q; expect 0
cmp -s "$folder/labels.npy" "$folder/three/segmentation.npy" || complain "three phases don't keep their values"
run export "$folder/labels.npy" --phase 2 --solver npy -o "$folder/three" -q; expect 0
same "$(/usr/bin/python3 -c "import numpy, sys; print(numpy.load(sys.argv[1])[0, 0, :4])" "$folder/three/segmentation.npy")" \
    "[0 0 1 0]"
run export "$there" --samples 3-5 --solver npy -o "$folder/two" -q; expect 0; err 'two has 1 files? of an earlier export .* sample_002.npy'
run export "$there" --samples 3-5 --solver npy -o "$folder/two" -q; expect 0; no_err
run export "$there" -o "$folder/x" --solver word;      expect 2; err '--solver must be one of tiff, raw'
run export "$there" -o "$folder/x" --samples 3-1;      expect 2; err '--samples must be a number'
run export "$there" -o "$folder/x" --samples 9;        expect 1; err '0 to 7'
run export "$there" -o "$folder/x" --values 1,1;       expect 1; err 'two different'
run export "$there";                                   expect 2; err '--output'
run export "$folder/labels.npy" --phase 5 -o "$folder/x"; expect 1; err 'no voxels of value 5'
[ ! -e "$folder/x" ] || complain "a refused export made its folder"

# ---- propagate
cat >"$folder/solve.py" <<'PY'
import os, sys
import numpy as np
name, sample, what = sys.argv[1:4]
with open(os.path.join(os.path.dirname(sys.argv[0]), "calls"), "a") as calls:
    calls.write(sample + "\n")
if what == "fail" and sample == "3":
    print("no convergence after 7 steps", file=sys.stderr)
    sys.exit(5)
print("read 6 slices of", name)
print("fraction:", np.load(name).mean(), flush=True)
if what != "quiet":
    print("took 12 seconds")
PY
solve=(/usr/bin/python3 "$folder/solve.py")
form=(--solver npy --pattern 'fraction: ([-+.0-9e]+)')
run propagate "$there" "${form[@]}" --name phi --json -j 3 -q -- "${solve[@]}" {} {sample} all
expect 0; err 'an interval from 8'
same "$(json 'd["name"], d["segmentation"], round(d["median"], 9), [round(v, 9) for v in d["interval"]], d["defined"]')" \
    "phi 0.5 0.4875 [0.40875, 0.56625] 8"
same "$(wc -l <"$folder/calls")" 9
same "$(wc -l <"$there/propagate/phi/propagate.csv")" 10
[ -z "$(find "$there/propagate" -name '*.npy')" ] || complain "voxel files stay behind"
[ ! -e "$folder/x" ] && [ ! -e x ] || complain "a shell has looked at the words"
run propagate "$there" "${form[@]}" --name phi -q -- "${solve[@]}" {} {sample} all;     expect 1; err '--resume goes on'
run propagate "$there" "${form[@]}" --name phi --resume -- "${solve[@]}" {} {sample} all; expect 0; err '9 of 9 values'
same "$(wc -l <"$folder/calls")" 9
run propagate "$there" "${form[@]}" --name phi --resume -q -- "${solve[@]}" {} {sample} quiet
expect 1; err 'another command'
# Without a pattern the last number counts.
run propagate "$there" --solver npy --samples 2 --name last -q --keep-files -- "${solve[@]}" {} {sample} quiet; expect 0
out '^last +0\.5 +0\.4125 '; [ -e "$there/propagate/last/sample_001.npy" ] || complain "--keep-files keeps none"

# One command fails: the rest is kept, and a second call does only what is missing.
rm "$folder/calls"
run propagate "$there" "${form[@]}" --name bad -q -- "${solve[@]}" {} {sample} fail
expect 1; err 'realisation 3 ended with code 5 and said "no convergence after 7 steps"'
same "$(sort -n "$folder/calls" | tr '\n' ' ')" "-1 0 1 2 3 "
run propagate "$there" "${form[@]}" --name bad --resume --keep-going --json -q -- "${solve[@]}" {} {sample} fail
expect 0; err '1 of 9 commands gave no number'
same "$(json 'd["defined"], d["values"][3]')" "7 None"
same "$(sort -n "$folder/calls" | tr '\n' ' ')" "-1 0 1 2 3 3 4 5 6 7 "

# Of a volume alone nothing but its name, size and time says that the values are another's. A value that isn't finite is
# none, whatever other numbers are printed.
cp "$folder/labels.npy" "$folder/other.npy"
run propagate "$folder/labels.npy" -o "$folder/alone" --phase 2 --name x -q -- echo 5 {}; expect 0
run propagate "$folder/labels.npy" -o "$folder/alone" --phase 2 --name x --resume -- echo 5 {}; expect 0; err '1 of 1 values'
run propagate "$folder/other.npy" -o "$folder/alone" --phase 2 --name x --resume -q -- echo 5 {}; expect 1; err 'another command, run'
run propagate "$folder/labels.npy" -o "$folder/nan" --phase 2 --name x -q -- echo step 500, k = nan for {}; expect 1
err 'printed no number and said "step 500, k = nan for'

run propagate "$there" -- "${solve[@]}";                            expect 1; err 'holds \{\}'
run propagate "$there";                                             expect 2; err 'behind --'
run propagate;                                                      expect 2; err 'needs a run folder'
run propagate "$there" --name a/b -- echo {};                       expect 1; err 'without slashes'
run propagate "$there" --pattern '[' -- echo {};                    expect 2; err 'regular expression'
run propagate "$there" --name e1 -q -- /no/such/program {};         expect 1; err "can't start the command /no/such/program"
run propagate "$there" --name e2 -q -- true {};                     expect 1; err 'printed no number, saying nothing'
run propagate "$there" --name e3 -q --timeout 0.2 -- sleep 30 {};   expect 1; err 'code 1 and said|longer than the 0.2'
run propagate "$there" --name e4 -q --timeout 0.3 -- sh -c 'sleep 30; echo 1' {}; expect 1; err 'longer than the 0.3 seconds'

# A signal ends the commands, too.
"$CREDENCE_PROGRAM" propagate "$there" --name stopped -j 2 -q -- \
    sh -c 'echo $$ >>"$1"; sleep 60 & wait; echo 1' sh "$folder/pids" {} 2>"$folder/err" &
job=$!
for _ in $(seq 200); do [ "$(cat "$folder/pids" 2>/dev/null | wc -l)" -ge 2 ] && break; sleep 0.05; done
kill -TERM $job; code=0; wait $job || code=$?
last=(propagate "and a signal")
[ "$code" -ne 0 ] || complain "a stopped propagation ends with 0"
for pid in $(cat "$folder/pids"); do
    for _ in $(seq 60); do kill -0 -- "-$pid" 2>/dev/null || break; sleep 0.05; done
    ! kill -0 -- "-$pid" 2>/dev/null || complain "command $pid still runs"
done
[ -z "$(find "$there/propagate/stopped" -name '*.tif')" ] || complain "a stopped propagation leaves voxel files"
finish
