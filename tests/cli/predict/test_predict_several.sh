#!/usr/bin/env bash
# credence predict with several scans: run folders, the table, what is kept, and one that fails.
. "$(dirname "$0")/../common.sh"
cd "$folder" || exit 1
model="$CREDENCE_BUILD/tests/make_model"
[ -x "$model" ] || { echo "there is no tool $model"; exit 1; }
"$model" model.h5 bcnn 8 16,16,16 || exit 1
/usr/bin/python3 - <<'PYTHON' || exit 1
import numpy as np, os
z, y, x = np.mgrid[:16, :16, :24]
rng = np.random.default_rng(1)
scan = lambda: (3000 + 900 * np.sin(z / 3) * np.sin(y / 4) * np.sin(x / 5) + rng.normal(0, 150, z.shape)).astype(np.uint16)
for name in ("a.npy", "b.npy", "monday/c.npy", "tuesday/c.npy"):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    np.save(name, scan())
bad = scan().astype(np.float32); bad[:] = np.inf
np.save("bad.npy", bad)
open("broken.npy", "w").write("no array")
PYTHON
base=(predict --model model.h5 --samples 2 --step 1)
hashes() { (cd "$1" && sha256sum ./*.npy) | sha256sum; }

# Each as if it had been alone.
run "${base[@]}" --scan a.npy -o alone; expect 0
run "${base[@]}" --scan a.npy b.npy -o runs; expect 0
err '^scan 1 of 2: a.npy$'; err '^scan 2 of 2: b.npy$'
out '^The runs are in runs:$'; out '^scan +volume fraction \(segmented\) +uncertainty +time$'; out '^a +[0-9.]+ % +0\.[0-9]{4} +[0-9]+ s$'; out '^b '
same "$(ls runs | tr '\n' ' ')" "a b "
same "$(hashes runs/a)" "$(hashes alone)"

# Not over earlier runs, but --resume keeps what is there and does the rest.
run "${base[@]}" --scan a.npy b.npy -o runs; expect 1; err '^credence: runs/a is not empty; --resume keeps what is finished'
rm -r runs/b; before=$(stat -c %Y.%i runs/a/manifest.json)
run "${base[@]}" -o runs --resume --scan a.npy b.npy monday/c.npy; expect 0; out '^a .* kept$'; out '^b .* s$'; out '^c .* s$'
same "$(stat -c %Y.%i runs/a/manifest.json)" "$before"

# Names that are the same twice have their folders' in front; the scans may stand alone, too.
run "${base[@]}" monday/c.npy tuesday/c.npy -o days --json --quiet; expect 0; no_err
same "$(json '[(r["scan"], r["path"]) for r in d["runs"]]')" "[('monday/c.npy', 'days/monday_c'), ('tuesday/c.npy', 'days/tuesday_c')]"
run "${base[@]}" a.npy ./a.npy a.npy -o twice; expect 2; err 'a.npy would both be written to the folder'
run "${base[@]}" a.npy -o single; expect 0; out '^single: volume fraction'; same "$(hashes single)" "$(hashes alone)"
run predict --model model.h5 -o none; expect 2; err 'predict needs --scan'

# What can't be read is known before anything is computed; what fails later doesn't keep the rest from being done.
run "${base[@]}" --scan a.npy broken.npy -o early; expect 1; err 'broken.npy'; [ ! -e early ] || complain "something was begun"
run "${base[@]}" --scan bad.npy b.npy -o late; expect 1; out '^bad +failed$'; out '^b .* s$'; err '^credence: 1 of 2 scans failed'
same "$(hashes late/b)" "$(hashes runs/b)"
run "${base[@]}" --scan bad.npy b.npy -o late --overwrite --json; expect 1
same "$(json '[("failure" in r, r["path"]) for r in d["runs"]]')" "[(True, 'late/bad'), (False, 'late/b')]"

# The plans of all.
run "${base[@]}" --scan a.npy b.npy --dry-run; expect 0; out '^a.npy$'; out '^b.npy$'; same "$(grep -c '^memory ' out)" 2
run "${base[@]}" --scan a.npy b.npy --dry-run --json; expect 0; same "$(json '[r["scan"] for r in d["runs"]], d["runs"][1]["samples"]')" "['a.npy', 'b.npy'] 2"

# A checkpoint says what it is.
if "$CREDENCE_PROGRAM" phantom graphite --shape 16,32,32 --grain-size 5 -o p --format npy --quiet >/dev/null; then
    run train --scan p/scan.npy --label p/label.npy -o t/m.h5 --filters 4 --chunk 8,16,16 --max-steps 3 --quiet; expect 0
    run "${base[@]:0:1}" --model t/m.ckpt.h5 --scan p/scan.npy --samples 1 --step 1 -o of_checkpoint; expect 0
    err "^credence: warning: t/m.ckpt.h5 is a training's checkpoint, after step 3: the last state, not the best"
    run info t/m.ckpt.h5; expect 0; out 'credence model, in a checkpoint after step 3'
    run info --json t/m.ckpt.h5; same "$(json 'd["checkpoint_step"]')" 3
fi
finish
