#!/usr/bin/env bash
# Seamless runs of credence predict from outside: when a run is one, every voxel once, the same bytes however the work is
# divided, tiles that meet, a certificate that says when they don't, and what is refused.
. "$(dirname "$0")/../common.sh"
cd "$folder" || exit 1
"$CREDENCE_BUILD/tests/make_model" bare.h5 bcnn 8 16,16,16 || exit 1
/usr/bin/python3 - <<'PYTHON' || exit 1
import numpy as np
z, y, x = np.mgrid[:44, :61, :70]
rng = np.random.default_rng(1)
wave = np.sin(z / 5) * np.sin(y / 6) * np.sin(x / 7)
np.save("scan.npy", (3000 + 900 * wave + rng.normal(0, 150, z.shape)).astype(np.uint16))
np.save("label.npy", (wave > 0).astype(np.uint8))
np.save("mask.npy", (x + y > 40).astype(np.uint8))
np.save("flat.npy", (3000 + 900 * wave[:5, :13, :]).astype(np.float32))
np.save("constant.npy", np.full((16, 24, 24), 7000, np.uint16))
np.save("binary.npy", (wave[:16, :24, :24] > 0).astype(np.uint8))
lone = np.load("scan.npy").astype(np.float32)
lone[20, 30, 40], lone[3, 3, 3] = 1e30, -1e30
np.save("lone.npy", lone)
PYTHON
for kind in bcnn mcdn; do
    run train --scan scan.npy --label label.npy -o $kind.h5 --kind $kind --filters 8 --chunk 24,32,32 --batch 2 --max-steps 12 \
        --norm levels --augment full --valid-fraction 0 --quiet; expect 0
done
volumes() { (cd "$1" && cat -- *_prob.npy *_seg.npy *_unc.npy probe.h5 norms.h5 | sha256sum); }
apart() { # the largest difference of probability between two runs; within a box of the first, where the second is smaller
    /usr/bin/python3 - "$@" <<'PYTHON'
import sys, numpy as np
a, b = (np.load(f"{d}/scan_prob.npy") for d in sys.argv[1:3])
if len(sys.argv) > 3: a = a[tuple(slice(*map(int, s.split(":"))) for s in sys.argv[3].split(","))]
print(f"{np.abs(a - b).max():.9f}")
PYTHON
}
below() { /usr/bin/python3 -c "import sys; sys.exit(not float(sys.argv[1]) <= float(sys.argv[2]))" "$1" "$2" || complain "$1 is not below $2"; }
manifest() { cp "$1/manifest.json" out; json "$2"; }

for kind in bcnn mcdn; do
    base=(predict --model $kind.h5 --scan scan.npy --samples 3 --mode seamless --tile 24,32,32 --halo 24 --quiet)
    run "${base[@]}" -o $kind; expect 0
    same "$(manifest $kind 'd["mode"], d["norms"], d["plan"]["chunks"], d["plan"]["min_coverage"], d["plan"]["max_coverage"]')" "seamless training 12 1 1"
    same "$(manifest $kind 'd["settings"]["mode"], "step" in d["settings"], d["certificate"]["places"] >= 1')" "seamless False True"
    # The halo of 64 leaves nothing out; one tile has nothing to leave out. Tiles of any size come close.
    run "${base[@]}" --tile 64,64,64 --halo 64 -o $kind.64; expect 0
    run "${base[@]}" --tile 48,64,72 -o $kind.one; expect 0
    same "$(manifest $kind.one 'd["certificate"]')" "{'places': 0, 'largest_probability': 0, 'mean_probability': 0, 'largest_uncertainty': 0}"
    below "$(apart $kind.64 $kind.one)" 0.000002
    below "$(apart $kind $kind.one)" 0.2
done

# The same bytes for any threads, memory, interruption, and repetition; a box is a part of the whole.
base=(predict --model bcnn.h5 --scan scan.npy --samples 3 --mode seamless --tile 24,32,32 --halo 24 --quiet)
expected=$(volumes bcnn)
run "${base[@]}" -o one_thread --threads 1; expect 0; same "$(volumes one_thread)" "$expected"
run "${base[@]}" -o little --max-memory 170M; expect 0; same "$(volumes little)" "$expected"
( ulimit -f 400; trap '' XFSZ; exec "$CREDENCE_PROGRAM" "${base[@]}" --trust -o stopped >"$folder/out" 2>"$folder/err" ); code=$?
# It says how to go on, too, where the scan's fingerprint was known by then, without which there is nothing to go on with.
last=("${base[@]}" -o stopped); expect 1; err "stopped/scan_.* can't be given its .* MiB: File too large"
run "${base[@]}" -o stopped --resume; expect 0; same "$(volumes stopped)" "$expected"
run "${base[@]}" -o stopped --resume --halo 16; expect 1; err 'halo was 24 and is 16 now|tile|chunk'
run predict --config bcnn/manifest.json -o again --quiet; expect 0; same "$(volumes again)" "$expected"
run "${base[@]}" -o box --bbox 20:40,30:61,1:33; expect 0; same "$(apart bcnn box 20:40,30:61,1:33)" 0.000000000
run "${base[@]}" -o masked --mask mask.npy; expect 0
same "$(/usr/bin/python3 -c "import numpy as np; print(np.abs(np.load('masked/scan_prob.npy')[np.load('mask.npy') == 0]).max())")" 0.0
run "${base[@]}" -o saved --save-samples f32 --std --bounds 5-95 --percentiles 50; expect 0; same "$(apart saved bcnn)" 0.000000000
run "${base[@]}" -o preview --preview --samples 5; expect 0; same "$(manifest preview 'd["plan"]["samples"], d["plan"]["shape"]')" "4 [20, 61, 70]"
if command -v mpirun >/dev/null && "$CREDENCE_PROGRAM" --version | grep -q 'clusters (MPI): yes'; then
    for ranks in 2 3; do
        mpirun --oversubscribe -n $ranks "$CREDENCE_PROGRAM" "${base[@]}" -o ranks$ranks >out 2>err
        code=$?; last=("${base[@]}" "on $ranks ranks"); expect 0; same "$(volumes ranks$ranks)" "$expected"
    done
else
    echo "skipped: ranks: no MPI here"
fi

# Norms of this scan, for a model without pieces; axes shorter than a tile, than the halo, and than 8 voxels.
run predict --model bare.h5 --scan scan.npy -o scan_norms --samples 3 --mode seamless --norms scan --quiet; expect 0
same "$(manifest scan_norms 'd["norms"]')" scan
run predict --model bcnn.h5 --scan flat.npy -o flat --samples 3 --mode seamless --quiet; expect 0
run info --json flat/flat_prob.npy; expect 0; same "$(json 'd["shape"], d["nonfinite"]')" "[5, 13, 70] 0"
# Scans of one grey value and of two, and a few that can't be: every voxel has a probability, and those far from outliers theirs.
for name in constant binary lone; do
    run predict --model bcnn.h5 --scan $name.npy -o of_$name --samples 3 --mode seamless --tile 24,32,32 --halo 24 --quiet; expect 0
    run info --json of_$name/${name}_prob.npy; expect 0; same "$(json 'd["nonfinite"]')" 0
done
/usr/bin/python3 - <<'PYTHON' || complain "outliers moved what is far from them"
import sys, numpy as np
apart = np.abs(np.load("of_lone/lone_prob.npy") - np.load("bcnn/scan_prob.npy"))
sys.exit(not np.median(apart) < 0.002)
PYTHON
# Levels of phases: what is learnt with them is predicted with them, and outliers and scans of one or two grey values hold.
run train --scan scan.npy --label label.npy -o phases.h5 --filters 8 --chunk 24,32,32 --batch 2 --max-steps 2 --norm phases --valid-fraction 0 --quiet; expect 0
run info --json phases.h5; expect 0; same "$(json 'd["norm"]')" phases
for name in scan constant binary lone; do
    run predict --model phases.h5 --scan $name.npy -o phases_$name --samples 2 --mode seamless --tile 24,32,32 --halo 24 --quiet; expect 0
    run info --json phases_$name/${name}_prob.npy; expect 0; same "$(json 'd["nonfinite"]')" 0
done
/usr/bin/python3 - <<'PYTHON' || complain "outliers moved what is far from them, by phases"
import sys, numpy as np
apart = np.abs(np.load("phases_lone/lone_prob.npy") - np.load("phases_scan/scan_prob.npy"))
sys.exit(not np.median(apart) < 0.002)
PYTHON
run predict --model bcnn.h5 --scan scan.npy -o none --mode seamless --dry-run --json; expect 0
same "$(json 'len(d["chunks"]), d["mode"], d["halo"]')" "1 seamless 40"
[ ! -e none ] || complain "a dry run wrote something"

# Which mode a run has: what is given decides, be it a default, then the model and the chunks that it learnt from.
/usr/bin/python3 - <<'PYTHON' || exit 1
import numpy as np
rng = np.random.default_rng(2)
grey = rng.normal(3000, 300, (32, 64, 72))
np.save("wide.npy", grey.astype(np.float32))
np.save("wide_label.npy", (grey > 3000).astype(np.uint8))
PYTHON
wide=(--scan wide.npy --label wide_label.npy --filters 8 --batch 1 --max-steps 1 --epochs 1 --valid-fraction 0 --quiet)
run train "${wide[@]}" -o wide.h5 --chunk 32,64,64; expect 0
run train "${wide[@]}" -o flat.h5 --chunk 24,64,64; expect 0
mode() { run predict --model "$1" --scan wide.npy -o none --dry-run --json "${@:3}"; expect 0; same "$(json 'd["mode"]')" "$2"; }
mode wide.h5 seamless; err 'every voxel is computed once, in tiles with frozen norms; --step 3 averages'
mode flat.h5 overlap; err 'chunks overlap and are averaged: the model learnt from chunks of less than 32,64,64; --mode seamless'
mode wide.h5 seamless --draws shared --estimator mean
mode wide.h5 overlap --norm none
for words in '--step 3' '--trim 0.1' '--aggregate chunks' '--chunk auto' '--draws per-chunk' '--norms chunk' '--mode overlap'; do
    mode wide.h5 overlap $words
done
mode wide.h5 overlap --mode overlap --step 3 --norms chunk
for words in '--mode seamless' '--halo 40' '--tile 32,64,72' '--norms training' '--norms scan'; do
    mode flat.h5 seamless $words
done
mode bare.h5 overlap
mode bare.h5 seamless --norms scan
echo '{"step": 3}' >step.json
mode wide.h5 overlap --config step.json
run predict --model wide.h5 --scan wide.npy -o plain --samples 2 --quiet; expect 0
same "$(manifest plain 'd["mode"], d["settings"]["mode"], d["settings"]["halo"], "chunk" in d["settings"]')" "seamless seamless 40 False"
mode flat.h5 seamless --config plain/manifest.json
run predict --model wide.h5 --scan wide.npy -o stepped --samples 2 --step 1 --quiet; expect 0
same "$(manifest stepped 'd["mode"], "mode" in d["settings"], d["settings"]["trim"]')" "overlap False 0.1"
mode wide.h5 overlap --config stepped/manifest.json
run report plain -o plain.html --quiet; expect 0
grep -q 'Every voxel was computed once, in tiles: .*pieces of the training scans\.' plain.html || complain "the report doesn't say how the scan was covered"
run report bcnn -o bcnn.html --quiet; expect 0
grep -qE 'Tiles (are invisible|can be seen</strong>): at [1-9][0-9]* places? on their borders the probability differs by' bcnn.html || complain "the report doesn't say whether tiles can be seen"
run report stepped -o stepped.html --quiet; expect 0
grep -q 'Every voxel is the mean of 1 to ' stepped.html || complain "the report doesn't say that chunks overlap"

# A halo that is far too small is noticed, in networks of both kinds.
for kind in bcnn mcdn; do
    run predict --model $kind.h5 --scan scan.npy --samples 3 --mode seamless --tile 24,32,32 --halo 0 --quiet -o no_halo_$kind; expect 0
    err 'warning: tiles can be seen: where their borders were looked at \(places: [1-9][0-9]*\), the probability changes by up to 0\.[0-9]{3}'
done

# What doesn't go together, or can't be.
refused() { run predict --model "$1" --scan scan.npy -o refused "${@:3}"; expect "${refusal:-1}"; err "$2"; [ ! -e refused ] || complain "a refused run left its folder"; }
refused bare.h5 'carries no pieces .*--norms scan' --mode seamless
refused bare.h5 'halo is about tiles, and the model bare.h5 carries no pieces .*--norms scan' --halo 40
refusal=2
refused bcnn.h5 'seamless doesn.t go with --norms chunk' --mode seamless --norms chunk
refused bcnn.h5 'norms training goes with --mode seamless and not with --mode overlap' --norms training --mode overlap
refused bcnn.h5 'norms scan goes with --mode seamless and not with --step' --norms scan --step 3
for words in '--chunk 16,16,16' '--step 3' '--trim 0.1' '--aggregate chunks' '--draws per-chunk'; do
    refused bcnn.h5 "seamless doesn.t go with ${words%% [0-9c]*}" --mode seamless $words
done
refused bcnn.h5 'halo goes with --mode seamless and not with --step' --halo 40 --step 3
refused bcnn.h5 'tile goes with --mode seamless and not with --norms chunk' --tile 16,16,16 --norms chunk
refused bcnn.h5 'halo' --mode seamless --halo -8
refused bcnn.h5 'mode' --mode tiles
refusal=1
refused bcnn.h5 'measuring the norms. statistics takes [0-9]+ MiB of memory, and max-memory allows 120 MiB' --mode seamless --tile 8,8,8 --halo 8 --samples 1 --max-memory 120M
refused bcnn.h5 'norm none doesn.t go with --norms training' --mode seamless --norm none
refusal=2 refused bcnn.h5 'halo must be a multiple of 8, not 20' --mode seamless --halo 20
refused bcnn.h5 'halo of 24 voxels is larger than the tile' --mode seamless --tile 16,16,16 --halo 24
refusal=2 refused bcnn.h5 'tile must be a multiple of 8 along every axis, not 16,12,16' --mode seamless --tile 16,12,16 --halo 8

# Damaged pieces.
/usr/bin/python3 - <<'PYTHON' || { echo "skipped: damaged pieces: no h5py here"; finish; }
import h5py, shutil
shutil.copy("bcnn.h5", "damaged.h5")
with h5py.File("damaged.h5", "r+") as f: f["pieces/voxels"][0, 0, 0, 0] = float("nan")
shutil.copy("bcnn.h5", "changed.h5")
with h5py.File("changed.h5", "r+") as f: f["pieces/voxels"][0, 0, 0, 0] = 3.25
PYTHON
refused damaged.h5 'a piece of the model damaged.h5 holds a value' --mode seamless
refused changed.h5 'checksum' --mode seamless
finish
