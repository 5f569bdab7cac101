#!/usr/bin/env bash
# credence predict --mode seamless from outside: every voxel once, the same bytes however the work is divided, tiles that
# meet, a certificate that says when they don't, and what is refused.
. "$(dirname "$0")/common.sh"
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
    base=(predict --model $kind.h5 --scan scan.npy --samples 5 --mode seamless --tile 24,32,32 --halo 24 --quiet)
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
base=(predict --model bcnn.h5 --scan scan.npy --samples 5 --mode seamless --tile 24,32,32 --halo 24 --quiet)
expected=$(volumes bcnn)
run "${base[@]}" -o one_thread --threads 1; expect 0; same "$(volumes one_thread)" "$expected"
run "${base[@]}" -o little --max-memory 170M; expect 0; same "$(volumes little)" "$expected"
( ulimit -f 400; trap '' XFSZ; exec "$CREDENCE_PROGRAM" "${base[@]}" -o stopped >"$folder/out" 2>"$folder/err" ); code=$?
last=("${base[@]}" -o stopped); expect 1; err 'goes on in stopped'
run "${base[@]}" -o stopped --resume; expect 0; same "$(volumes stopped)" "$expected"
run "${base[@]}" -o stopped --resume --halo 16; expect 1; err 'halo was 24 and is 16 now|tile|chunk'
run predict --config bcnn/manifest.json -o again --quiet; expect 0; same "$(volumes again)" "$expected"
run "${base[@]}" -o box --bbox 20:40,30:61,1:33; expect 0; same "$(apart bcnn box 20:40,30:61,1:33)" 0.000000000
run "${base[@]}" -o masked --mask mask.npy; expect 0
same "$(/usr/bin/python3 -c "import numpy as np; print(np.abs(np.load('masked/scan_prob.npy')[np.load('mask.npy') == 0]).max())")" 0.0
run "${base[@]}" -o saved --save-samples f32 --std --bounds 5-95 --percentiles 50; expect 0; same "$(apart saved bcnn)" 0.000000000
run "${base[@]}" -o preview --preview; expect 0; same "$(manifest preview 'd["plan"]["samples"], d["plan"]["shape"]')" "4 [20, 61, 70]"
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
run predict --model bcnn.h5 --scan scan.npy -o none --mode seamless --dry-run --json; expect 0
same "$(json 'len(d["chunks"]), d["mode"], d["halo"]')" "1 seamless 40"
[ ! -e none ] || complain "a dry run wrote something"

# A halo that is far too small is noticed.
run "${base[@]}" -o no_halo --halo 0; expect 0; err 'warning: tiles can be seen: where their borders were looked at \(places: [1-9][0-9]*\), the probability changes by up to 0\.[0-9]{3}'

# What doesn't go together, or can't be.
refused() { run predict --model "$1" --scan scan.npy -o refused "${@:3}"; expect "${refusal:-1}"; err "$2"; [ ! -e refused ] || complain "a refused run left its folder"; }
refused bare.h5 'carries no pieces .*--norms scan' --mode seamless
refused bcnn.h5 'seamless doesn.t go with --norms chunk' --mode seamless --norms chunk
refused bcnn.h5 'norms training goes with --mode seamless' --norms training
for words in '--chunk 16,16,16' '--step 2' '--trim 0.2' '--aggregate samples' '--draws per-chunk'; do
    refused bcnn.h5 "seamless doesn.t go with ${words%% [0-9]*}" --mode seamless $words
done
refused bcnn.h5 'measuring the norms. statistics takes [0-9]+ MiB of memory, and max-memory allows 120 MiB' --mode seamless --tile 8,8,8 --halo 8 --samples 1 --max-memory 120M
refused bcnn.h5 'norm none doesn.t go with --norms training' --mode seamless --norm none
refused bcnn.h5 'halo goes with --mode seamless' --halo 16
refused bcnn.h5 'tile goes with --mode seamless' --tile 16,16,16
refusal=2 refused bcnn.h5 'halo must be a multiple of 8, not 20' --mode seamless --halo 20
refused bcnn.h5 'halo of 24 voxels is larger than the tile' --mode seamless --tile 16,16,16 --halo 24
refusal=2 refused bcnn.h5 'tile must be a multiple of 8 along every axis, not 16,12,16' --mode seamless --tile 16,12,16 --halo 8
refusal=2 refused bcnn.h5 'halo' --mode seamless --halo -8
refusal=2 refused bcnn.h5 'mode' --mode tiles

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
