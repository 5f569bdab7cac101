#!/usr/bin/env bash
# credence validate and compare from outside: run folders, manifests, tables, refusals.
. "$(dirname "$0")/common.sh"
/usr/bin/python3 -c 'import numpy' 2>/dev/null || { echo "skipped: no numpy"; exit 77; }

/usr/bin/python3 - "$folder" <<'PY'
import json, os, sys
import numpy as np
folder = sys.argv[1]
generator = np.random.default_rng(5)
shape = (9, 12, 15)
prob = generator.random(shape).astype("f4")
seg = (prob > 0.5).astype("u1")
unc = (prob * (1 - prob) * generator.random(shape)).astype("f4")
np.save(f"{folder}/label.npy", np.where(generator.random(shape) < 0.1, 1 - seg, seg).astype("u1"))
np.save(f"{folder}/whole.npy", np.pad(np.load(f"{folder}/label.npy"), ((2, 1), (3, 0), (0, 4))))
mean = float(np.rint(unc.astype("f8") * 2**32).sum() / unc.size / 2**32)
for run, kind in (("a,b", "bcnn"), ("c", "mcdn"), ("old", "bcnn"), ("box", "bcnn")):
    os.makedirs(f"{folder}/{run}")
    for name, values in (("prob", prob), ("seg", seg), ("unc", unc), ("unc_5-95", np.minimum(1, 2 * unc)), ("std", unc / 2),
                         ("seg_lower", seg)):
        np.save(f"{folder}/{run}/s_{name}.npy", values)
    open(f"{folder}/{run}/s_prob.npy.json", "w").write("{}")
    manifest = {"model": {"kind": kind}, "settings": {}, "uncertainty": {"interval": "33-67", "mean": mean}}
    if run == "old":
        manifest["uncertainty"]["mean"] = mean * 2
    if run == "box":
        manifest.update(scan={"shape": [12, 15, 19]}, plan={"origin": [2, 3, 0], "shape": list(shape)})
    json.dump(manifest, open(f"{folder}/{run}/manifest.json", "w"))
os.makedirs(f"{folder}/two")
for name in ("a_seg", "b_seg"):
    np.save(f"{folder}/two/{name}.npy", seg)
os.makedirs(f"{folder}/empty")
os.makedirs(f"{folder}/far")
far = np.zeros((4, 4, 60), "f4")
far[..., :2] = 0.9
np.save(f"{folder}/far/s_prob.npy", far)
np.save(f"{folder}/far/s_unc.npy", np.broadcast_to((np.arange(60) % 7 / 8).astype("f4"), far.shape))
np.save(f"{folder}/far_label.npy", (np.arange(60) % 5 < 2).astype("u1") * np.ones(far.shape, "u1"))
PY

run validate "$folder/a,b" --label "$folder/label.npy" -q --json
expect 0; no_err
same "$(json 'd["growth"]["map"], d["pavpu"]["edge"], d["voxels"]')" "['33-67', '5-95'] 2 1620"
diff -q "$folder/out" "$folder/a,b/validation.json" || complain "validation.json isn't what was printed"
cp "$folder/out" "$folder/once"
# Two passes over bare files give what the manifest's mean gives in one.
run validate --prob "$folder/c/s_prob.npy" --seg "$folder/c/s_seg.npy" --unc "$folder/c/s_unc.npy" \
    --label "$folder/label.npy" -q --json
expect 0
same "$(json 'd["pavpu"] == json.load(open(sys.argv[1][:-3] + "once"))["pavpu"]')" True
[ ! -e "$folder/c/validation.json" ] || complain "bare files wrote into a folder"

run validate "$folder/c" --label "$folder/label.npy" --measure std -q;  expect 0; out 'uncertainty \(std\)'
run validate "$folder/c" --label "$folder/label.npy" -q
expect 0; out '^accuracy +0\.[0-9]{6}$'; out 'PAvPU3D +0\.[0-9]+'; out 'P\(uncertain \| inaccurate\)'
run validate "$folder/old" --label "$folder/label.npy" -q;              expect 0; err 'was changed after the run'
run validate "$folder/c" --label "$folder/label.npy" --csv -q;          expect 0
same "$(sed -n 1p "$folder/out" | tr -cd , | wc -c)" "$(sed -n 2p "$folder/out" | tr -cd , | wc -c)"

# Raw files: --shape is for all of them, the label is --type (u8 without it), maps are what their size says, a mask is u8.
/usr/bin/python3 - "$folder" <<'PY'
import sys
import numpy as np
folder = sys.argv[1]
for name in ("prob", "seg", "unc", "unc_5-95"):
    np.load(f"{folder}/c/s_{name}.npy").tofile(f"{folder}/{name}.raw")
np.load(f"{folder}/label.npy").tofile(f"{folder}/label.raw")
np.load(f"{folder}/label.npy").astype(">i2").tofile(f"{folder}/label16.raw")
inside = np.random.default_rng(6).random((9, 12, 15)) < 0.5
np.save(f"{folder}/inside.npy", inside.astype("u1"))
inside.astype("u1").tofile(f"{folder}/inside.raw")
PY
run validate --prob "$folder/c/s_prob.npy" --seg "$folder/c/s_seg.npy" --unc "$folder/c/s_unc.npy" --label "$folder/label.npy" \
    --intervals "$folder/c/s_unc_5-95.npy" --mask "$folder/inside.npy" -q --json; expect 0
sed 's/s_unc_5-95.npy/unc_5-95.raw/' "$folder/out" >"$folder/figures"
raw=(validate --prob "$folder/prob.raw" --seg "$folder/seg.raw" --unc "$folder/unc.raw" --intervals "$folder/unc_5-95.raw" --mask "$folder/inside.raw"
    --shape 9,12,15 -q --json)
run "${raw[@]}" --label "$folder/label.raw"; expect 0; cmp -s "$folder/out" "$folder/figures" || complain "raw files gave other figures"
run "${raw[@]}" --label "$folder/label16.raw" --type i16be; expect 0; cmp -s "$folder/out" "$folder/figures" || complain "a raw label of i16be gave other figures"
run "${raw[@]}" --label "$folder/label16.raw" --type foo; expect 2; err "--type: 'foo' is no voxel type"

# One value is no proof of what it means: said, and --foreground says otherwise.
run validate --prob "$folder/c/s_prob.npy" --label "$folder/label.npy" --ignore 0 -q --json
expect 0; err 'warning: .*label\.npy.* is 1: it is taken for the foreground'; same "$(json 'd["tn"], d["fp"]')" "0 0"
run validate --prob "$folder/c/s_prob.npy" --label "$folder/label.npy" --ignore 0 --foreground 2 -q --json
expect 0; err 'warning: .*label\.npy has no foreground'; 
# The table has the classes' names and values, rows of distance say what they are of.
run validate "$folder/a,b" --label "$folder/label.npy" -q; expect 0
out '^ +foreground \(1\) +background \(0\)$'; out '^foreground \(1\) +[0-9]+ +[0-9]+$'; out '^  1 to 2 +'
# A segmentation alone: what can be said of it, and not a word n/a.
run validate --seg "$folder/c/s_seg.npy" --label "$folder/label.npy" -q; expect 0
out '^accuracy +0\.[0-9]{6}$'; out '^  1 to 2 '; out 'without an uncertainty map \(--unc\) there is no PAvPU3D'; out 'without probabilities \(--prob\) there is no calibration'
same "$(grep -cE '^ *(ECE|mean|P\(|PAvPU3D|autocorrelation) ' "$folder/out")" 0

# Together they hold all voxels: 2 and 58 in a row, so that of 1 voxel there are two, of 2 as well, and so on.
run validate "$folder/far" --label "$folder/far_label.npy" -q; expect 0
/usr/bin/python3 - "$folder/out" <<'PY' || complain "the rows of distance don't hold all voxels, or other ones"
import re, sys
rows = re.findall(r"^  (\d+) (?:to (\d+)|and more) +(\S+) +(\S+) +(\S+)$", open(sys.argv[1]).read(), re.M)
distance = [2 - x if x < 2 else x - 1 for x in range(60)]
ends = [(1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 9), (9, 17), (17, 99)]
assert [(int(a), int(b or 99)) for a, b, *_ in rows] == ends, rows
for (a, b), row in zip(ends, rows):
    inside = [x for x in range(60) if a <= distance[x] < b]
    share, unc, error = (float(text) for text in row[2:])
    assert abs(share - len(inside) / 60) < 1e-4, row
    assert abs(unc - sum(x % 7 / 8 for x in inside) / len(inside)) < 1e-4, row
    assert abs(error - sum((x % 5 < 2) != (x < 2) for x in inside) / len(inside)) < 1e-4, row
PY

# Figures elsewhere, and from a folder that is only read.
rm -f "$folder/a,b/validation.json"
run validate "$folder/a,b" --label "$folder/label.npy" -o "$folder/kept.json" -q --json; expect 0
cmp -s "$folder/out" "$folder/kept.json" || complain "--output has other figures"
[ ! -e "$folder/a,b/validation.json" ] || complain "--output writes into the run folder all the same"
run validate "$folder/a,b" --label "$folder/label.npy" -o "$folder/label.npy" -q; expect 1; err 'is there already and holds no figures'
run validate "$folder/a,b" --label "$folder/label.npy" -o "$folder/none/x.json" -q; expect 1; err 'there is no folder'
if [ "$(id -u)" != 0 ]; then
    chmod a-w "$folder/a,b"
    run validate "$folder/a,b" --label "$folder/label.npy" --json; expect 0; err "can.t be written to, so the figures aren.t kept there"
    chmod u+w "$folder/a,b"
    cmp -s "$folder/out" "$folder/kept.json" || complain "a folder that is only read gives other figures"
elif command -v setpriv >/dev/null && chmod -R a+rX "$folder" && setpriv --reuid 65534 --clear-groups test -x "$CREDENCE_PROGRAM" -a -r "$folder/label.npy"; then
    setpriv --reuid 65534 --clear-groups "$CREDENCE_PROGRAM" validate "$folder/a,b" --label "$folder/label.npy" --json >"$folder/out" 2>"$folder/err" ||
        complain "a folder that is only read gives no figures"
    err "can.t be written to, so the figures aren.t kept there"
    cmp -s "$folder/out" "$folder/kept.json" || complain "a folder that is only read gives other figures"
fi
run validate "$folder/a,b" --label "$folder/label.npy" -q; expect 0

run compare "$folder/a,b" "$folder/c"
expect 0; out 'accuracy +UQ mean/1e-02 +P\(A\|C\)'; out '/c +mcdn +0\.'; out 'autocorr'
# Equal maps are level in everything, and said to be.
out '^Voxels that are segmented right: bcnn ([0-9.]+) %, mcdn \1 %; level\.$'
out '^In all, of 8 figures: bcnn is ahead in 0, mcdn is ahead in 0, 8 level'
run compare "$folder/a,b"; expect 0
! grep -q 'In all' "$folder/out" || complain "one run is compared with itself"
run compare --json "$folder/a,b" "$folder/c"; expect 0
same "$(json 'len(d), d[0]["run"][-3:], d[1]["accuracy"] == d[0]["accuracy"]')" '2 a,b True'
run compare --csv "$folder/a,b" "$folder/c"; expect 0; out '^"[^"]*a,b",bcnn,1620,0'
rm "$folder/c/validation.json"
run compare "$folder/a,b" "$folder/c";                                  expect 1; err 'c hasn.t been validated'
run compare "$folder/a,b" "$folder/c" --label "$folder/label.npy" -q;   expect 0
[ -e "$folder/c/validation.json" ] || complain "compare --label didn't validate"

run validate;                                                    expect 2; err 'needs --label'
run validate --label "$folder/label.npy";                        expect 2; err 'say what to validate'
run validate "$folder/empty" --label "$folder/label.npy";        expect 1; err 'is no run folder'
run validate "$folder/none" --label "$folder/label.npy";         expect 1; err "can't open the run folder"
run validate "$folder/two" --label "$folder/label.npy";          expect 1; err 'more than one run'
run validate "$folder/c" --label "$folder/label.npy" --threshold 7; expect 2; err "threshold must be mean or a number"
run validate "$folder/c" --label "$folder/whole.npy" -q;         expect 1; err 'it must be that of the same scan'
# The label of the whole scan serves a run of a box in it.
run validate "$folder/box" --label "$folder/whole.npy" -q --json; expect 0
cp "$folder/out" "$folder/boxed"
# Where the scan is a part of something itself, a label of all of that serves, too: the maps' files say where they lie.
for file in "$folder"/box/s_*.npy; do echo '{"origin": [7, 4, 2]}' >"$file.json"; done
run validate "$folder/box" --label "$folder/whole.npy" -q --json; expect 0
cmp -s "$folder/boxed" "$folder/out" || complain "an origin in the files moved the label of the scan"
/usr/bin/python3 -c "
import sys, numpy as np
np.save(sys.argv[1] + '/all.npy', np.pad(np.load(sys.argv[1] + '/label.npy'), ((7, 2), (4, 3), (2, 5))))" "$folder"
run validate "$folder/box" --label "$folder/all.npy" -q --json; expect 0
cmp -s "$folder/boxed" "$folder/out" || complain "a label of more than the scan is read at another place"
diff -q "$folder/out" "$folder/once" || complain "the box isn't where the manifest says"
rm "$folder/c/s_std.npy"
run validate "$folder/c" --label "$folder/label.npy" --measure std; expect 1; err 'predict with --std'
finish
