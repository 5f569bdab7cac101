#!/usr/bin/env bash
# credence measure from outside: runs, segmentations, tables, files, refusals.
. "$(dirname "$0")/../common.sh"
/usr/bin/python3 -c 'import numpy' 2>/dev/null || { echo "skipped: no numpy"; exit 77; }

/usr/bin/python3 - "$folder" <<'PY'
import json, os, sys
import numpy as np
folder = sys.argv[1]
generator = np.random.default_rng(5)
shape = (12, 20, 30)
samples = [np.kron(generator.random((4, 5, 6)) < 0.5, np.ones((3, 4, 5))) > 0 for _ in range(24)]
seg = sum(s.astype(int) for s in samples) > 12
def run(name, outputs, count, **settings):
    os.makedirs(f"{folder}/{name}")
    listed = [{"file": "s_seg.npy", "role": "segmentation", "type": "u8", "scale": 1}]
    np.save(f"{folder}/{name}/s_seg.npy", seg.astype("u1"))
    for file, role, values in outputs:
        np.save(f"{folder}/{name}/{file}", values)
        scale = 1 / 255 if values.dtype == "u1" else 1
        json.dump({"scale": scale}, open(f"{folder}/{name}/{file}.json", "w"))
        listed.append({"file": file, "role": role, "type": "u8", "scale": scale})
    json.dump({"format": "credence-run", "scan": {"shape": shape, "spacing": [2, 1, 1], "unit": "um"},
               "plan": {"samples": count, "shape": shape, "origin": [0, 0, 0]},
               "settings": settings, "outputs": listed}, open(f"{folder}/{name}/manifest.json", "w"))
run("volumes", [(f"s_sample_{i}.npy", "sample", np.where(s, 200, 50).astype("u1")) for i, s in enumerate(samples)], 24)
bits = sum(s.astype("u8") << np.uint64(i) for i, s in enumerate(samples))
run("bits", [("s_samples.npy", "bits of samples", bits)], 24)
run("masked", [("s_samples.npy", "bits of samples", bits)], 24, mask="cylinder")
run("none", [], 24)
run("per-chunk", [], 24, draws="per-chunk")
# three classes: label volumes, and the bits of their class numbers; 70 samples take two words
values = np.array([7, 0, 128], "u1") # in the model's order, which isn't rising
classes = [np.kron(generator.integers(0, 3, (4, 5, 6)), np.ones((3, 4, 5), int)) for _ in range(70)]
for i, c in enumerate(classes): np.save(f"{folder}/class_{i}.npy", values[c])
os.makedirs(f"{folder}/classes")
np.save(f"{folder}/classes/s_seg.npy", values[classes[3]])
listed = [{"file": "s_seg.npy", "role": "segmentation", "type": "u8", "scale": 1}]
for first, tag in ((0, ""), (64, "_64")):
    for plane in (0, 1):
        file = f"s_samples{tag}_b{plane}.npy"
        part = classes[first:first + 64]
        np.save(f"{folder}/classes/{file}", sum((c >> plane & 1).astype("u8") << np.uint64(i) for i, c in enumerate(part)))
        listed.append({"file": file, "role": "bits of samples", "type": "u64", "scale": 1})
json.dump({"format": "credence-run", "scan": {"shape": shape, "spacing": [2, 1, 1], "unit": "um"},
           "plan": {"samples": 70, "shape": shape, "origin": [0, 0, 0]}, "settings": {}, "outputs": listed,
           "classes": [{"name": str(v), "value": int(v), "segmentation": 0.3, "mean": 0.3, "interval90": [0, 1], "samples": []} for v in values]},
          open(f"{folder}/classes/manifest.json", "w"))
np.save(f"{folder}/seg.npy", seg.astype("u1"))
np.save(f"{folder}/prob.npy", generator.random(shape).astype("f4"))
np.save(f"{folder}/other.npy", seg[1:].astype("u1"))
np.save(f"{folder}/alike.npy", np.full(shape, 3, "u1"))
os.makedirs(f"{folder}/begun/.partial")
open(f"{folder}/begun/.partial/run.json", "w").write("{}")
PY

# a run: table, files, and the same values from volumes and from bits
run measure "$folder/volumes" -q
expect 0; no_err
out '12 x 20 x 30 voxels \(z, y, x\) of 2 x 1 x 1 um, phase 1, 24 realisations'
out 'volume fraction .* 0\.[0-9]+ \.\. 0\.[0-9]+'
out 'specific surface +[0-9.]+ +[0-9.]+ +[0-9.]+ \.\. [0-9.]+ .* 1/um'
out 'percolates in [0-9]+ of 24'
out 'all values are in .*volumes/measure\.csv, all of this and the distributions in .*volumes/measure\.json$'
cp "$folder/volumes/measure.csv" "$folder/values.csv"
same "$(head -n 1 "$folder/values.csv")" "property,axis,phase,sample,value,unit"
same "$(grep -c '^volume_fraction,,1' "$folder/values.csv")" 25
run measure "$folder/bits" -q --json
expect 0; no_err
cmp "$folder/values.csv" "$folder/bits/measure.csv" || complain "bits and volumes give different values"
diff -q "$folder/out" "$folder/bits/measure.json" || complain "measure.json isn't what was printed"
same "$(json '[k for k in d]')" "['shape', 'spacing', 'unit', 'phase', 'samples', 'first_sample', 'window_voxels', 'properties', 'distributions', 'rev', 'notes', 'times']"
same "$(json 'sorted(d["properties"][0])')" "['axis', 'bounds', 'coverage', 'coverage_shown', 'defined', 'interval', 'label', 'mean', 'median', 'name', 'note', 'percent', 'phase', 'segmentation', 'size_error', 'std', 'unit', 'values']"
same "$(json '[p["name"] for p in d["properties"] if p["coverage_shown"]]')" "[]"
same "$(json 'sorted(d["distributions"])')" "['chord_x', 'chord_y', 'chord_z', 'component_size', 's2_x', 's2_y', 's2_z']"
run measure "$folder/bits" -q --json --samples 4-9 --interval 25-75 --properties fraction --lags 3
expect 0
same "$(json 'd["samples"], d["first_sample"], d["properties"][0]["percent"], len(d["properties"][0]["values"])')" "6 4 [25, 75] 6"
run measure "$folder/bits" --samples 5
expect 0; err '5 realisations are few for the percentiles 5 and 95'
run measure "$folder/masked"
expect 0; err "the run's mask is used: cylinder"; out 'voxels inside the mask'
run measure "$folder/masked" --mask none -q
expect 0; cmp "$folder/values.csv" "$folder/masked/measure.csv" || complain "without its mask it is another run"
run measure "$folder/bits" -q --phase all
expect 0; out '^phase 0'; out '^phase 1'

# three classes: a run's bits are what label volumes say
run measure "$folder/classes" -q --properties fast
expect 0; no_err
out '^phase 128'; out '^several phases'; out 'interface 7-128 +[0-9.]+ .* 1/um'; out 'triple line 7-0-128 .* 1/um\^2'
awk -F, '$4 != -1' "$folder/classes/measure.csv" | sed 's/_7-0-128/_0-7-128/; s/_7-0,/_0-7,/' | sort > "$folder/bits.csv"
run measure $(seq -f "$folder/class_%g.npy" 0 69) -q --spacing 2,1,1,um --csv "$folder/labels.csv"
expect 0
cmp <(sort "$folder/labels.csv") "$folder/bits.csv" || complain "bits of classes and label volumes give different values"
run measure "$folder/classes" -q --json --phase 128 --samples 60-69 --properties surface
expect 0; same "$(json 'd["phase"], d["samples"], d["first_sample"]')" "128 10 60"
run measure "$folder/classes" --phase 5; expect 1; err 'no phase 5'
# The classes' names stand beside their values, and label volumes have none.
cp -r "$folder/classes" "$folder/named"; sed -i 's/"name": "7"/"name": "a pore"/' "$folder/named/manifest.json"
run measure "$folder/named" --properties fraction; expect 0
out ', phases 7 \(a pore\), 0, 128, '; out '^phase 7 \(a pore\)$'
run measure "$folder/named" --properties fraction --phase 7 --json; expect 0; same "$(json 'd["phase_names"]["7"]')" "a pore"
run measure "$folder/class_0.npy" --properties fraction; expect 0; out '^phase 7$'

# triple lines of what joins both faces: no longer than all of them, kept while unfinished, refused where there are none
active() { sed 's/"times".*//' "$folder/classes/measure.json"; }
run measure "$folder/classes" -q --json --properties interfaces --active --axis zx --slow-samples 9
expect 0; active > "$folder/active.json"
same "$(json '[(p["name"], p["axis"], p["unit"], len(p["values"]), p["note"]) for p in d["properties"] if p["name"][:6] == "active"]')" "[('active_triple_line_7-0-128_z', 'z', '1/um^2', 9, 'first 9 of 70 realisations'), ('active_triple_line_7-0-128_x', 'x', '1/um^2', 9, 'first 9 of 70 realisations')]"
same "$(json 'all(a <= b for p in d["properties"] if p["name"][:6] == "active" for q in d["properties"] if q["name"][:6] == "triple" for a, b in zip(p["values"], q["values"]))')" True
run measure "$folder/classes" -q --properties interfaces --active --axis zx --slow-samples 9 --csv /dev/full; expect 1
[ -e "$folder/classes/.measure/active-101-8" ] || complain "no active triple line of an unfinished measurement is kept"
rm "$folder/classes/.measure/active-101-3"
run measure "$folder/classes" -q --properties interfaces --active --axis zx --slow-samples 9 --resume
expect 0; diff -q <(active) "$folder/active.json" || complain "a resumed measurement has other active triple lines"
run measure "$folder/classes" -q --active --axis y; expect 0; out 'active line 7-0-128 along y .* 1/um\^2'
run measure "$folder/classes" --active --dry-run; expect 0; out 'active triple lines +[0-9]+ MiB'
run measure "$folder/bits" --active; expect 1; err 'active: triple lines are measured where there are 3 to 6 phases, and .*bits has 2'
run measure "$folder/classes" --active --connectivity 26; expect 1; err 'leave out --connectivity 26'
mv "$folder/classes/s_samples_64_b1.npy" "$folder/kept.npy"
run measure "$folder/classes"; expect 1; err 's_samples_64_b1.npy of the run'
mv "$folder/kept.npy" "$folder/classes/s_samples_64_b1.npy"

# transport: details, in a mask, on coarse cells
run measure "$folder/bits" -q --json --properties transport --axis x --slow-samples 4
expect 0
same "$(json '[[k for k in ("error", "flux_difference", "converged", "correction", "percolating_part") if k in p] for p in d["properties"][1:4]]')" "[['error', 'flux_difference', 'converged'], ['percolating_part'], []]"
same "$(json 'd["properties"][1]["converged"]["values"], len(d["properties"][1]["values"])')" "[1, 1, 1, 1] 4"
run measure "$folder/masked" --properties transport --axis z --slow-samples 2
expect 0; err 'largest box in the middle of the mask: 12 x [0-9]+ x [0-9]+ voxels from 0,'
run measure "$folder/bits" --properties transport --axis z --transport fast --slow-samples 2
expect 0; err 'cells of 2x2x2 voxels, corrected by up to [0-9.]+ %'
run measure "$folder/classes" -q --json --axis x --conductivity 7=1,128=0.1 --slow-samples 3
expect 0
same "$(json '[(p["name"], p["phase"], len(p["values"])) for p in d["properties"] if p["name"][-9:] == "_factor_x" or p["name"] == "d_rel_x"]')" "[('d_rel_x', None, 3), ('formation_factor_x', None, 3)]"
same "$(json '0.1 < [p["median"] for p in d["properties"] if p["name"] == "d_rel_x"][0] < 1')" True
run measure "$folder/classes" -q --axis x --conductivity 7=1,128=0.1 --slow-samples 3; expect 0; out '^several phases'; out 'D_rel along x'
run measure "$folder/bits" -q --json --axis x --conductivity 0=1,1=1 --slow-samples 2
expect 0; same "$(json '[round(p["median"], 5) for p in d["properties"] if p["name"] == "d_rel_x"]')" "[1.0]"
run measure "$folder/classes" --conductivity 5=1;     expect 1; err 'conductivity: there is no phase 5'
run measure "$folder/classes" --conductivity 7;       expect 2; err 'such as 1=1,2=0.3'
run measure "$folder/classes" --conductivity 7=1,7=0.1; expect 2; err 'names phase 7 twice'
run measure "$folder/classes" --conductivity 7=-1;    expect 2; err 'from 0 on'
run measure "$folder/bits" --transport slow; expect 2; err 'must be exact or fast'

# where it is computed: so few voxels are the CPU's, and a GPU that is named must be there, but for transport alone
transport=(--properties transport --axis x --slow-samples 1)
run measure "$folder/bits" -q --json "${transport[@]}"; expect 0; same "$(json 'd["transport_device"]')" cpu
run measure "$folder/bits" -q --json "${transport[@]}" --device cpu; expect 0; same "$(json 'd["transport_device"]')" cpu
run measure "$folder/bits" -q --json --properties fraction --device cuda:999; expect 0; same "$(json '"transport_device" in d')" False
run measure "$folder/bits" --dry-run --json "${transport[@]}"
expect 0; same "$(json 'd["transport_device"], d["transport_device_bytes"]')" "cpu 0"
run measure "$folder/bits" "${transport[@]}" --device cuda:999; expect 1; err 'GPU'
run measure "$folder/bits" --dry-run "${transport[@]}" --device cuda:999; expect 1; err 'GPU'
run measure "$folder/bits" "${transport[@]}" --device abacus; expect 2; err "device must be auto, cpu, cuda, .* not 'abacus'"
run measure "$folder/bits" "${transport[@]}" --max-gpu-memory some; expect 2; err 'max-gpu-memory'

# what was finished is kept, and the end is the same
whole() { sed 's/"times".*//' "$folder/bits/measure.json"; }
run measure "$folder/bits" -q --properties all --transport fast
expect 0; whole > "$folder/whole.json"; cp "$folder/bits/measure.csv" "$folder/whole.csv"
[ ! -e "$folder/bits/.measure" ] || complain "a finished measurement leaves its journal"
run measure "$folder/bits" -q --properties all --transport fast --csv /nowhere/values.csv; expect 1
run measure "$folder/bits" -q --properties all --transport fast --threads 1 --csv /dev/full; expect 1 # found out when all is measured
[ -e "$folder/bits/.measure/first" ] && [ -e "$folder/bits/.measure/transport-1-x-23" ] || complain "nothing is kept of an unfinished measurement"
rm "$folder/bits/.measure/transport-1-y-7" "$folder/bits/.measure/thickness-1-3"
run measure "$folder/bits" -q --properties all --transport fast --resume
expect 0; diff -q <(whole) "$folder/whole.json" || complain "a resumed measurement differs"
cmp "$folder/whole.csv" "$folder/bits/measure.csv" || complain "a resumed measurement's table differs"
[ ! -e "$folder/bits/.measure" ] || complain "a resumed measurement leaves its journal"
run measure "$folder/bits" --resume; expect 0; err 'begins anew'
run measure "$folder/bits" --properties all --dry-run
expect 0; no_err; out 'all properties of one pass +[0-9]+ MiB +about [0-9]+ s'; out 'local thickness +[0-9]+ MiB'; out 'transport +[0-9]+ MiB'
run measure "$folder/bits" --dry-run --json --properties thickness
expect 0; same "$(json '[p["name"] for p in d["passes"]], d["samples"]')" "['first', 'thickness'] 24"

# a label, blocks, a picture, the report
run measure "$folder/bits" -q --label "$folder/seg.npy" --rev --plot "$folder/plot.png"
expect 0; out 'against the label, 7200 labelled voxels'; out 'specific surface +[0-9.]+ +[0-9.]+'
[ "$(head -c 4 "$folder/plot.png" | tail -c 3)" = PNG ] || complain "no picture"
same "$(python3 -c "
import json; d = json.load(open('$folder/bits/measure.json')); p = d['properties'][0]
print(p['label']['value'] == p['segmentation'] == p['label']['segmentation'], sorted(p['label']), d['labelled_voxels'], d['rev'])")" \
    "True ['difference', 'inside', 'interval', 'median', 'segmentation', 'value'] 7200 []"
run measure "$folder/bits" --label "$folder/other.npy"; expect 1; err '11,20,30'
run measure "$folder/bits" --label "$folder/nowhere.npy"; expect 1
run measure "$folder/bits" --properties fraction --plot "$folder/plot.png"; expect 1; err 'no distribution was measured'
# the segmentation beside its samples is said: here one that none of them resembles
cp "$folder/bits/s_seg.npy" "$folder/kept.npy"
"$python" -c "import numpy, sys; numpy.save(sys.argv[1], numpy.ones((12, 20, 30), 'u1'))" "$folder/bits/s_seg.npy"
run measure "$folder/bits" -q --properties fraction,surface; expect 0
out 'volume fraction +1> +0\.'; out 'specific surface +0< +[0-9.]'; out '^< > the segmentation lies below or above the spread'
[ "$(grep -E ' 1/um[^ ]*$' "$folder/out" | awk '{ print length }' | sort -n | tail -n 1)" -le 101 ] || complain "the table is wider than it was"
run report "$folder/bits" -o "$folder/report.html" -q
expect 0; grep -q 'The segmentation lies below the spread' "$folder/report.html" || complain "the report doesn't say where the segmentation lies"
mv "$folder/kept.npy" "$folder/bits/s_seg.npy"
run measure "$folder/seg.npy" "$folder/alike.npy" --phase 1 -q; expect 0; out 'the interval is the spread of these segmentations$'
on_screen 80 measure "$folder/bits" --properties fraction; expect 0; out '100 %'
! tr '\r' '\n' <"$folder/out" | sed 's/\x1b\[[0-9;]*[A-Za-z]//g' | grep -E '^measuring.*, *$' || complain "a bar that goes on about nothing"
# in the report: several phases, blocks
run measure "$folder/bits" -q --phase all; expect 0
"$python" - "$folder/bits/measure.json" <<'PY'
import json, sys
document = json.load(open(sys.argv[1]))
row = {"property": "volume_fraction", "phase": 1, "voxels": 32, "blocks": 27, "mean": 0.5, "std": 0.02, "interval": [0.47, 0.53], "representative": True}
document["rev"] = [row, {**row, "voxels": 64, "blocks": 1, "std": None, "interval": [None, None], "representative": False}]
json.dump(document, open(sys.argv[1], "w"))
PY
run report "$folder/bits" -o "$folder/report.html" -q
expect 0; grep -q 'Chords along z, numbers, phase 0' "$folder/report.html" && grep -q 'Chords along z, numbers, phase 1' "$folder/report.html" ||
    complain "the report draws no distributions of several phases"
grep -q '0.47 to 0.53</td><td class="words">representative<' "$folder/report.html" || complain "the report has no blocks"
run measure "$folder/bits" -q; expect 0
run report "$folder/bits" -o "$folder/report.html" -q
expect 0; grep -q '<section id="measured"><h2>Properties</h2>' "$folder/report.html" && grep -q 'Chords along z' "$folder/report.html" || complain "the report says nothing of the properties"
grep -q '<a href="#measured">Properties</a>' "$folder/report.html" || complain "nothing leads to the properties"
"$python" - "$folder/report.html" <<'PY' || complain "properties aren't called as measure calls them"
import re, sys
page = open(sys.argv[1], encoding="utf-8").read().split('<section id="measured">')[1].split("</section>")[0]
seen, rest = page.split("<details>")
names = re.findall(r'<th scope="row"(?: class="under")?>([^<]*)', seen)
assert names[:3] == ["volume fraction", "specific surface", "by marching cubes"] and "mean intercept along z" in names, names
assert not any("_" in name for name in names) and "chord_mean_z" in re.findall(r'<th scope="row">([^<]*)', rest), names
assert not re.search(r'"words">1/[a-z]*\^|"words">um<', page), "units as files have them"
PY
cp "$folder/bits/measure.json" "$folder/kept.json"; echo "{" > "$folder/bits/measure.json"
run report "$folder/bits" -o "$folder/report.html" -q; expect 1; err 'measure.json in .* is no JSON'
mv "$folder/kept.json" "$folder/bits/measure.json"

# segmentations
run measure "$folder/seg.npy"
expect 0; err "the spacing isn't known"; out '1/voxel'
run measure "$folder/seg.npy" --spacing 2,1,1,um -q --csv "$folder/seg.csv"
expect 0; no_err; out '1/um'
cmp <(head -n 1 "$folder/values.csv"; grep -E '^[^,]*,[^,]*,[^,]*,-1,' "$folder/values.csv") "$folder/seg.csv" || complain "the run's segmentation isn't the file's"
run measure "$folder/seg.npy" "$folder/alike.npy" --phase 1 -q --json
expect 0; same "$(json 'd["samples"], d["properties"][0]["segmentation"], d["properties"][0]["values"][1]')" "2 None 0"
run measure "$folder/alike.npy"
expect 0; err 'all voxels of .* are 3'

# of --transport fast a realisation's value doesn't depend on its neighbours where the first percolates nowhere
/usr/bin/python3 - "$folder" <<'PY'
import sys, numpy as np
generator = np.random.default_rng(1)
cut = np.ones((12, 16, 16), "u1"); cut[5:8] = 0
np.save(f"{sys.argv[1]}/cut.npy", cut)
for name, share in (("thin", 0.8), ("thick", 0.92)):
    np.save(f"{sys.argv[1]}/{name}.npy", (generator.random(cut.shape) < share).astype("u1"))
PY
relative='[p["values"] for p in d["properties"] if p["name"] == "d_rel_z"][0]'
fast=(--phase 1 --properties transport --transport fast --axis z -q --json)
run measure "$folder/cut.npy" "$folder/thin.npy" "$folder/thick.npy" "${fast[@]}"
expect 0; first=$(json "sorted($relative)")
run measure "$folder/cut.npy" "$folder/thick.npy" "$folder/thin.npy" "${fast[@]}"
expect 0; same "$(json "sorted($relative)")" "$first"

# the edge of a mask is no boundary of a phase, for blocks of --rev neither
/usr/bin/python3 - "$folder" <<'PY'
import sys, numpy as np
full = np.ones((96, 32, 64), "u1"); full[90, 5, 5] = 0
mask = np.ones_like(full); mask[32:64] = 0
np.save(f"{sys.argv[1]}/full.npy", full)
np.save(f"{sys.argv[1]}/slabs.npy", mask)
PY
run measure "$folder/full.npy" --mask "$folder/slabs.npy" --phase 1 --properties fraction,surface --rev -q --json
expect 0; same "$(json '[(r["blocks"], r["mean"] > 0.9999) for r in d["rev"] if r["property"] == "volume_fraction"]')" "[(4, True)]"
same "$(json '[r["mean"] < 1e-4 for r in d["rev"] if r["property"] == "specific_surface"]')" "[True]"

# refused
run measure; expect 2; err 'say what to measure'
run measure "$folder/none"; expect 1; err 'kept none of its samples; predict again with --save-samples bits'
run measure "$folder/per-chunk"; expect 1; err 'draws per-chunk'
run measure "$folder/begun"; expect 1; err "isn't complete; credence predict with --resume"
run measure "$folder/prob.npy"; expect 1; err 'a map of probabilities, not like a segmentation'
run measure "$folder/seg.npy" "$folder/other.npy"; expect 1; err '11,20,30.*12,20,30'
run measure "$folder/seg.npy" "$folder/bits"; expect 1; err 'is a run folder: give one alone'
run measure "$folder/bits" --samples 20-30; expect 1; err '20 to 30 are asked for'
run measure "$folder/bits" --samples x; expect 2; err 'samples must be a range'
run measure "$folder/bits" --properties porosity; expect 2; err 'no group of properties'
run measure "$folder/bits" --connectivity 18; expect 2; err 'must be 6 or 26'
run measure "$folder/bits" --phase 7; expect 1; err 'no phase 7'
run measure "$folder/bits" --bbox 0:12,0:20,0:31; expect 1; err 'x from 0 to 31'
run measure "$folder/bits" --bbox 0:12,5:5,0:30; expect 1; err 'y from 5 to 5'
run measure "$folder/bits" --max-memory 1M; expect 1; err 'max-memory'
rm "$folder/volumes/s_sample_7.npy"
run measure "$folder/volumes"; expect 1; err 's_sample_7.npy of the run'
cmp "$folder/values.csv" "$folder/volumes/measure.csv" || complain "a refused measurement changed the files"
# input that isn't as hoped: every row of docs/MEASURE.md, "When something is odd"
mkdir "$folder/odd"; cd "$folder/odd"
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
