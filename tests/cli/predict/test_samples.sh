#!/usr/bin/env bash
# credence predict --save-samples bits: the samples' own bits in both modes, in any format, resumed and masked; measure reads them.
. "$(dirname "$0")/../common.sh"
cd "$folder" || exit 1
/usr/bin/python3 -c 'import numpy, h5py' 2>/dev/null || { echo "skipped: no numpy or h5py"; exit 77; }
/usr/bin/python3 - <<'PYTHON' || exit 1
import numpy as np
z, y, x = np.mgrid[:18, :20, :28]
rng = np.random.default_rng(1)
wave = np.sin(z / 5) * np.sin(y / 6) * np.sin(x / 7)
np.save("scan.npy", (3000 + 900 * wave + rng.normal(0, 150, z.shape)).astype(np.uint16))
np.save("label.npy", (wave > 0).astype(np.uint8))
PYTHON
run train --scan scan.npy --label label.npy -o m.h5 --filters 8 --chunk 16,16,16 --batch 2 --max-steps 8 --norm levels \
    --valid-fraction 0 --quiet
expect 0

# bits FOLDER FILE SAMPLES: are they those of the f32 samples in FOLDER?
bits() {
    /usr/bin/python3 - "$@" <<'PYTHON' || complain "the bits aren't the samples'"
import sys, numpy as np, h5py
folder, file, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
words = np.load(file) if file.endswith(".npy") else h5py.File(file)["data" if "data" in h5py.File(file) else list(h5py.File(file))[0]][:]
first = 64 if "_64" in file else 0
assert words.dtype == np.uint64, words.dtype
for i in range(first, min(count, first + 64)):
    sample = np.load(f"{folder}/scan_sample_{i + 3}.npy") > 0.5
    assert (sample == (words >> np.uint64(i - first) & np.uint64(1)).astype(bool)).all(), i
if count - first < 64:
    assert (words >> np.uint64(count - first) == 0).all()
PYTHON
}
for mode in overlap seamless; do
    common=(--model m.h5 --scan scan.npy --mode $mode --first-sample 3 --quiet)
    [ $mode = overlap ] && common+=(--step 2)
    run predict "${common[@]}" --samples 66 --save-samples f32 -o $mode-f32; expect 0
    run predict "${common[@]}" --samples 66 --save-samples bits -o $mode-bits; expect 0
    bits $mode-f32 $mode-bits/scan_samples.npy 66
    bits $mode-f32 $mode-bits/scan_samples_64.npy 66
    cmp $mode-f32/scan_prob.npy $mode-bits/scan_prob.npy || complain "keeping bits changes the probability"
    run predict "${common[@]}" --samples 66 --save-samples bits -o $mode-h5 --format h5; expect 0
    bits $mode-f32 $mode-h5/scan_samples.h5 66
    run predict "${common[@]}" --samples 66 --save-samples bits -o $mode-zarr --format zarr; expect 0
    run convert $mode-zarr/scan_samples.zarr from-$mode.npy --quiet; expect 0
    cmp from-$mode.npy $mode-bits/scan_samples.npy || complain "zarr holds other bits"
    for kind in f32 bits h5 zarr; do
        run measure $mode-$kind --quiet; expect 0
        cmp $mode-f32/measure.csv $mode-$kind/measure.csv || complain "measure: $kind isn't f32"
    done
done
run predict --model m.h5 --scan scan.npy --mode overlap --step 2 --aggregate samples --first-sample 3 --samples 66 --save-samples bits \
    -o aggregated --quiet
expect 0; cmp aggregated/scan_samples.npy overlap-bits/scan_samples.npy || complain "aggregated samples have other bits"
run predict --model m.h5 --scan scan.npy --mode overlap --samples 4 --draws per-chunk --save-samples bits -o refused
expect 1; err 'no realisations to keep'
# little memory: tiles of sums come and go
run predict --model m.h5 --scan scan.npy --mode overlap --step 2 --first-sample 3 --samples 66 --save-samples bits --max-memory 60M -o little --quiet
[ "$code" -eq 0 ] && { cmp little/scan_samples.npy overlap-bits/scan_samples.npy || complain "little memory gives other bits"; }
finish
