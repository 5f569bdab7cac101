#!/usr/bin/env bash
# credence info against numpy.
. "$(dirname "$0")/common.sh"
cd "$folder" || exit 1

/usr/bin/python3 - <<'PYTHON' || exit 1
import json, numpy as np
rng = np.random.default_rng(1)
scan = rng.normal(1000, 200, (5, 6, 7)).clip(0, 65535).astype(np.uint16)
np.save("scan.npy", scan)
json.dump({"spacing": [2.5, 0.65, 0.65], "unit": "micron"}, open("scan.npy.json", "w"))
np.save("label.npy", (scan > 1100).astype(np.uint8))
np.save("mask.npy", np.where(scan > 1100, 255, 0).astype(np.uint8))
noisy = rng.normal(0, 1, (4, 5, 6)).astype(np.float32)
noisy[0, 0, 0], noisy[1, 2, 3], noisy[3, 4, 5] = np.nan, np.inf, -np.inf
np.save("noisy.npy", noisy)
np.save("hopeless.npy", np.full((2, 2, 2), np.nan, np.float32))
scan.astype(">u2").tofile("scan.raw")
PYTHON

# against FILE: stdout, read as one JSON object, must agree with numpy
against() {
    /usr/bin/python3 - "$folder/out" "$1" <<'PYTHON' || complain "numpy disagrees"
import json, sys, numpy as np
d = json.load(open(sys.argv[1]))
v = np.load(sys.argv[2])
f = v[np.isfinite(v)].astype(np.float64)
assert d["shape"] == list(v.shape), d["shape"]
assert d["nonfinite"] == v.size - f.size, d["nonfinite"]
assert (d["min"], d["max"]) == (f.min(), f.max()), d
assert abs(d["mean"] - f.mean()) <= 1e-12 * abs(f).mean(), (d["mean"], f.mean())
assert abs(d["variance"] - f.var()) <= 1e-10 * f.var(), (d["variance"], f.var())
assert sum(d["histogram"]["counts"]) == f.size
PYTHON
}

# Nobody waits for the other end of a pipe, and no name in a file speaks to the terminal.
mkfifo pipe.tif pipe.h5 other.npy.json; cp scan.npy other.npy
for file in pipe.tif pipe.h5 other.npy; do
    timeout -s KILL 20 "$CREDENCE_PROGRAM" info "$file" >/dev/null 2>"$folder/waited"; same $? 1
    grep -Eq 'neither a file nor a folder|no plain file' "$folder/waited" || complain "$file: $(cat "$folder/waited")"
done
mkdir loud; cp scan.npy loud/$'a\033]0;x\007.npy'; printf 'II*\0' > loud/a.tif
run info loud; expect 1; ! grep -q $'\033' "$folder/err" || complain "an escape sequence reached the terminal"

run info --json scan.npy;  expect 0; no_err; against scan.npy
same "$(json '" ".join(d)')" "path format shape type spacing unit origin scale min max mean variance nonfinite histogram"
same "$(json 'd["path"], d["format"], d["type"], d["spacing"], d["unit"]')" "scan.npy npy u16 [2.5, 0.65, 0.65] um"
run info --json noisy.npy; expect 0; against noisy.npy
same "$(json 'd["spacing"], d["unit"], d["nonfinite"]')" "None None 3"
run info --json scan.raw --shape 5,6,7 --type u16be; expect 0; no_err; against scan.npy
run info --json scan.npy --spacing 1,2,3,mm; expect 0; same "$(json 'd["spacing"], d["unit"]')" "[1, 2, 3] mm"
run info --json hopeless.npy; expect 0; same "$(json 'd["min"], d["mean"], d["variance"], d["nonfinite"]')" "None None None 8"
run info --json --header scan.npy; expect 0; same "$(json 'd["shape"], d["min"], d["nonfinite"], "histogram" in d')" "[5, 6, 7] None None False"

# Several files: a list; one that can't be read costs the exit code, not the others.
run info --json scan.npy label.npy; expect 0; same "$(json '[e["path"] for e in d]')" "['scan.npy', 'label.npy']"
run info --json scan.npy absent.npy label.npy; expect 1; err '^credence: absent\.npy'
same "$(json '[e["path"] for e in d]')" "['scan.npy', 'label.npy']"

# For people.
run info scan.npy; expect 0; no_err
out '^scan\.npy$'; out '^  format     npy$'; out '^  shape      z 5, y 6, x 7 \(210 voxels, 420 bytes\)$'; out '^  type       u16$'
out '^  spacing    z 2\.5, y 0\.65, x 0\.65 um$'; out '^  range      [0-9]+ to [0-9]+$'; out '^  mean       '; out '^  std        '; out '^  nonfinite  0$'
out '^  histogram .*%  #'
[ "$(grep -c ' %' "$folder/out")" -le 16 ] || complain "the histogram is long"
! grep -qE '.{80}' "$folder/out" || complain "the histogram is wider than a terminal"
run info --header scan.npy; expect 0; out 'z 5, y 6, x 7'; ! grep -q range "$folder/out" || complain "--header measures"
run info label.npy; expect 0; out '^  histogram +0 +[0-9.]+ %  #+$'; out '^ +1 +[0-9.]+ %  #+$'; out 'spacing    not given'
same "$(grep -c '%' "$folder/out")" 2
run info mask.npy; expect 0; out '^  histogram +0 +[0-9.]+ %  #+$'; out '^ +255 +[0-9.]+ %  #+$'
same "$(grep -c '%' "$folder/out")" 2
run info hopeless.npy; expect 0; out 'nonfinite  8: not one voxel is a finite number'
run info scan.npy label.npy; expect 0; out '^scan\.npy$'; out '^label\.npy$'
finish
