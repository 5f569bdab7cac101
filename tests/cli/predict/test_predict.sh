#!/usr/bin/env bash
# credence predict from outside: what it prints and writes, the plan, repeating a run, and what it refuses.
. "$(dirname "$0")/../common.sh"
cd "$folder" || exit 1
model="$CREDENCE_BUILD/tests/make_model"
[ -x "$model" ] || { echo "there is no tool $model"; exit 1; }
"$model" model.h5 bcnn 8 16,16,16 || exit 1
/usr/bin/python3 - <<'PYTHON' || exit 1
import numpy as np
z, y, x = np.mgrid[:20, :24, :40]
rng = np.random.default_rng(1)
np.save("scan.npy", (3000 + 900 * np.sin(z / 3) * np.sin(y / 4) * np.sin(x / 5) + rng.normal(0, 150, z.shape)).astype(np.uint16))
PYTHON
run convert scan.npy scan.tif --spacing 2,1,1,um; expect 0
other=(predict --model model.h5 --samples 4 --step 2)
base=("${other[@]}" --scan scan.tif)

# The run folder, and the manifest.
run "${base[@]}" -o run; expect 0
out '^run: volume fraction of the segmentation 0\.[0-9]{4}, percentiles 33-67 of the samples 0\.[0-9]{4} to 0\.[0-9]{4}, mean uncertainty '
err '16 of 16 chunks of 16,16,16 \(z,y,x\) with 4 samples to compute: about [0-9.]+ (s|min), .* of memory, .* of disk'
run convert scan.tif packed.tif --compress 4; expect 0
run predict --model model.h5 --scan packed.tif --samples 2 --step 1 -o packed; expect 0
! grep -qE 'decoded|GPU' "$folder/err" || complain "chatter about caches, or a GPU that wouldn't pay"
run "${base[@]}" --overwrite -o run; expect 0
same "$(ls -A run | tr '\n' ' ')" "log.jsonl manifest.json probe.h5 scan_prob.tif scan_seg.tif scan_unc.tif "
cp run/manifest.json out; same "$(json 'd["format"], d["device"].split()[0], d["seed"], d["plan"]["chunks"], len(d["volume_fraction"]["samples"]), d["warnings"]')" "credence-run cpu 0 16 4 []"
same "$(json 'd["model"]["sha256"]')" "$(sha256sum model.h5 | cut -d' ' -f1)"
same "$(json 'd["scan"]["sha256"]')" "$(/usr/bin/python3 - <<'PYTHON'
import hashlib, numpy
scan = numpy.load("scan.npy")                 # here u16
lead = ",".join(map(str, scan.shape)) + " u16\n"
print(hashlib.sha256(lead.encode() + scan.tobytes()).hexdigest())
PYTHON
)"
same "$(json 'd["outputs"][2]["file"], d["outputs"][2]["percentiles"], d["uncertainty"]["interval"]')" "scan_unc.tif [33, 67] 33-67"
events() { /usr/bin/python3 -c "import json, sys; print([{k: v for k, v in json.loads(line).items() if k != 'times' or not v['seconds'] >= 0} for line in open(sys.argv[1])])" "$1/log.jsonl"; }
run info --json run/scan_prob.tif; expect 0; same "$(json 'd["shape"], d["type"], d["spacing"], d["unit"]')" "[20, 24, 40] f32 [2, 1, 1] um"

# Borders that can be seen are a warning: in the run, in a preview, and on their report. Of chunks that overlap enough they can't.
/usr/bin/python3 - <<'PYTHON' || exit 1
import numpy as np
z, y, x = np.mgrid[:48, :48, :48]
np.save("smooth.npy", (3000 + 900 * np.sin(z / 14) * np.sin(y / 12) * np.sin(x / 17)).astype(np.uint16))
PYTHON
seams='warning: the borders of chunks can be seen in the result: there the probability changes [0-9.]+ times as much'
smooth=(predict --model model.h5 --scan smooth.npy --samples 4)
run "${smooth[@]}" --step 1 --trim 0 -o seen; expect 0; err "$seams.*; a larger --step averages more chunks"
run "${smooth[@]}" --preview -o looked; expect 0; err "$seams.*; a preview doesn.t average chunks that overlap"
run "${smooth[@]}" --step 3 -o unseen; expect 0; ! grep -q 'borders of' "$folder/err" || complain "borders that can't be seen are warned of"
if "$CREDENCE_PROGRAM" --version | grep -q '^PNG pictures and slices: yes'; then
    for page in seen looked unseen; do run report $page -o $page.html --small -q; expect 0; done
    for page in seen looked; do grep -q 'Read this first.*the borders of chunks can be seen' $page.html || complain "the page of $page has no warning"; done
    ! grep -q 'borders of chunks can be seen' unseen.html || complain "a page warns of borders that can't be seen"
fi

# Of a GPU that isn't there a run of minutes speaks, once; it is stopped as soon as it has said how long it will take.
if "$CREDENCE_PROGRAM" --version | grep -q '^GPU (CUDA): yes' && ! grep -qi nvidia /proc/devices; then
    last=("${smooth[@]}" --samples 1000 --step 3 -o long)
    "$CREDENCE_PROGRAM" "${last[@]}" >out 2>err &
    for _ in $(seq 300); do ! grep -q 'to compute: about [0-9.]* min' err || break; sleep 0.1; done
    sleep 0.3; kill -TERM $!; wait $! && complain "a run of minutes was over at once"
    err 'to compute: about [0-9.]+ min'; same "$(grep -c 'GPU' err)" 1; err '^the CPU computes: no GPU was found'
else
    echo "skipped: part: there is a GPU, or the part for it wasn't built"
fi

# The config file of the paper's own code, which serves its training and its testing.
cat >paper.json <<'JSON'
{"orig_test_dir": "toy_data/orig/test", "data_dir": "toy_data", "weights_dir": "w", "weights_path": "model.h5", "predict_dir": "p",
 "norm": true, "step": 2, "window": [8, 16, 16], "resume": true, "bayesian": true, "vnet": true, "ensemble": false,
 "prior_std": 1, "kernel_size": 3, "activation": "relu", "padding": "SAME", "kl_alpha": 0, "kl_start_epoch": 2,
 "kl_alpha_increase_per_epoch": 0.5, "epochs": 5, "initial_epoch": 0, "initial_learning_rate": 0.001,
 "lr_decay_start_epoch": 10, "batch_size": 16, "num_gpus": 2, "mc_samples": 3, "border_trim": 0.2,
 "lower_percentile": 30, "upper_percentile": 70}
JSON
run predict --config paper.json --scan scan.npy -o paper; expect 0
cp paper/manifest.json out
same "$(json '[d["settings"][k] for k in ("chunk", "step", "samples", "trim", "intervals", "norm")]')" \
    "['8,16,16', 2, 3, 0.2, '30-70', 'scan']"
run predict --config paper.json --scan scan.npy -o flags --samples 2 --intervals 20-80 --dry-run; expect 0; out '^samples +2'
printf '{"weights_path": null, "mc_samples": 2}' >paper.json
run predict --config paper.json --scan scan.npy -o none; [ "$code" -ne 0 ] || complain "no model"; err '^credence: .*model'
for key in lower_percentile upper_percentile; do
    printf '{"%s": 30}' $key >paper.json
    run predict --config paper.json --model model.h5 --scan scan.npy -o none; expect 2; err 'lower_percentile and upper_percentile must be two numbers'
done
printf '{"mc_sample": 2}' >paper.json
run predict --config paper.json --model model.h5 --scan scan.npy -o none; expect 2; err "there is no setting 'mc_sample'"

# The same run again: from the manifest, from the same scan in another format, with other threads.
run predict --config run/manifest.json -o again; expect 0
same "$(cat again/*.tif again/probe.h5 | sha256sum)" "$(cat run/*.tif run/probe.h5 | sha256sum)"
run predict --config run/manifest.json -o portable --isa portable; expect 0; err "warning: run/manifest.json was made on cpu \(.*\) and this is cpu \(portable\): the last digits may differ"
same "$(events again)" "$(events run)"
run "${other[@]}" -o npy --scan scan.npy --format npy --json --quiet; expect 0; no_err
same "$(json 'd["path"], d["chunks"], d["computed"], d["samples"]')" "npy 16 16 4"
findings=$(json '[v for k, v in d.items() if k not in ("computed", "seconds")]')
run convert npy/scan_prob.npy npy_prob.tif --spacing 2,1,1,um; expect 0
/usr/bin/python3 -c "
import json
a, b = (json.load(open(p + '/manifest.json')) for p in ('run', 'npy'))
assert a['scan']['sha256'] == b['scan']['sha256'] and a['uncertainty'] == b['uncertainty'] and a['seams'] == b['seams']" || complain "the scan's fingerprint depends on its format"

# The volumes are of the scan's kind, or as the suffix that is asked for; --overwrite removes both files of a volume.
run convert scan.npy scan.mhd; expect 0
run "${other[@]}" -o kind --scan scan.mhd --quiet; expect 0
same "$(ls kind | tr '\n' ' ')" "log.jsonl manifest.json probe.h5 scan_prob.mhd scan_prob.raw scan_seg.mhd scan_seg.raw scan_unc.mhd scan_unc.raw "
run convert kind/scan_prob.mhd kind.npy; expect 0; cmp kind.npy npy/scan_prob.npy || complain "MetaImage holds other values"
run validate kind --label npy/scan_seg.npy --quiet; expect 0; out 'accuracy +1\.0'
run "${base[@]}" -o kind --format NHDR --overwrite --quiet; expect 0
same "$(ls kind | tr '\n' ' ')" "log.jsonl manifest.json probe.h5 scan_prob.nhdr scan_prob.raw scan_seg.nhdr scan_seg.raw scan_unc.nhdr scan_unc.raw "
run "${base[@]}" -o kind --format npy --overwrite --quiet; expect 0
same "$(ls kind | tr '\n' ' ')" "log.jsonl manifest.json probe.h5 scan_prob.npy scan_prob.npy.json scan_seg.npy scan_seg.npy.json scan_unc.npy scan_unc.npy.json "
run "${base[@]}" -o kind --format ome.tif --overwrite --quiet; expect 0
same "$(ls kind | tr '\n' ' ')" "log.jsonl manifest.json probe.h5 scan_prob.ome.tif scan_seg.ome.tif scan_unc.ome.tif "
if "$CREDENCE_PROGRAM" --version | grep -q 'NIfTI volumes: yes'; then
    run convert scan.npy scan.nii.gz; expect 0
    run "${other[@]}" -o packed_kind --scan scan.nii.gz --quiet; expect 0
    run convert packed_kind/scan_prob.nii.gz kind.npy; expect 0; cmp kind.npy npy/scan_prob.npy || complain "NIfTI holds other values"
fi
run "${base[@]}" -o bad --format tiffs; expect 2; err "--format must be a format .* not 'tiffs'"
"$model" model2.h5 bcnn 8 16,16,16 9; cp model.h5 kept.h5; cp model2.h5 model.h5
run predict --config run/manifest.json -o changed; expect 0; err '^credence: warning: the model is not the one that run/manifest.json was made with'
cp kept.h5 model.h5

# A raw mask of one byte a voxel needs no description, here either.
/usr/bin/python3 -c "
import numpy
mask = (numpy.load('scan.npy') > 900).astype('u1')
numpy.save('inside.npy', mask); mask.tofile('inside.raw')"
for mask in npy raw; do run "${base[@]}" -o "by_$mask" --mask "inside.$mask" --quiet; expect 0; done
same "$(cat by_raw/*.tif by_raw/probe.h5 | sha256sum)" "$(cat by_npy/*.tif by_npy/probe.h5 | sha256sum)"

# What would be done.
run "${base[@]}" --dry-run --json; expect 0; [ ! -e undefined ] || complain "a dry run wrote something"
same "$(json 'd["shape"], d["chunk"], d["step"], d["trim"], len(d["chunks"]), d["min_coverage"], d["max_coverage"]')" "[20, 24, 40] [16, 16, 16] 2 0.1 16 1 8"
same "$(json 'd["chunks"][0], d["chunks"][-1]')" "{'origin': [0, 0, 0], 'keep': [[0, 14], [0, 14], [0, 14]]} {'origin': [4, 8, 24], 'keep': [[6, 20], [10, 24], [26, 40]]}"
same "$(json 'd["memory_bytes"] > 0 and d["disk_bytes"] > 20*24*40*18 and d["eta_seconds"] > 0')" "True"
run "${base[@]}" --dry-run --bbox 0:4,0:4,0:4 --json; expect 0; same "$(json 'len(d["chunks"])')" 1
run "${base[@]}" --dry-run; expect 0; out '^chunks +16 of 16,16,16 \(z,y,x\), step 2, trim 0.1$'; out ' from z 0, y 0, x 0$'; out '^memory +[0-9.]+ GiB$'

# Refusals: one sentence, and nothing left behind.
run predict --model model.h5; expect 2; err '^credence: .*--scan'
run predict --model model.h5 --scan scan.tif; expect 2; err '^credence: .*--output'
run "${base[@]}" -o run; expect 1; err '^credence: run is not empty: it holds the result of an earlier run; .*--overwrite'
run "${base[@]}" -o run --resume; expect 0; err 'run is complete'; out '^run: volume fraction of the segmentation 0\.[0-9]{4}'
run "${base[@]}" -o npy --format npy --resume --json --quiet; expect 0; no_err
same "$(json '[v for k, v in d.items() if k not in ("computed", "seconds")]')" "$findings"; same "$(json 'd["computed"]')" 0
run "${base[@]}" -o run --overwrite --resume; expect 2; err '--resume goes on with a run and --overwrite replaces it'
echo 'elsewhere 17 4711 0' >run/.lock
SLURM_JOB_ID=4712 SLURM_RESTART_COUNT=1 run "${base[@]}" -o run --resume; expect 1; err 'process 17 on elsewhere is already writing'
SLURM_JOB_ID=4711 SLURM_RESTART_COUNT=1 run "${base[@]}" -o run --resume; expect 0; err 'process 17 on elsewhere, in an earlier run of this job'
run "${base[@]}" -o no --samples 0; expect 2; err '^credence: .*samples'
run "${base[@]}" -o no --trim 1.1; expect 2; err '^credence: --trim must lie between 0 and 1'
run "${base[@]}" -o no --trim 1 --dry-run --json; expect 0; same "$(json 'd["trim"], d["min_coverage"]')" "1 1"
run "${base[@]}" -o no --step 0; expect 2; err '^credence: .*step'
run "${base[@]}" -o no --percentiles 50,101; expect 2; err '^credence: .*percentiles'
run "${base[@]}" -o no --dtype u32; expect 2; err '^credence: .*dtype'
run "${base[@]}" -o no --chunk 16,16,12; expect 2; err '^credence: --chunk: .*use 16,16,8 or 16,16,16'
run "${base[@]}" -o no --chunk 24,16,16; expect 1; err '^credence: the chunk is 24 voxels along z and the volume only 20; a chunk of 16'
run "${base[@]}" -o no --bbox 0:20,0:24,0:41; expect 1; err '^credence: bbox asks for x from 0 to 41; it must lie in 0:40'
run "${base[@]}" -o no --mask scan.npy/x; expect 1
run "${base[@]}" -o no --max-memory 10M; expect 1; err '^credence: the run needs [0-9]+ MiB of memory .*max-memory allows 10 MiB'
# A chunk that is said to need so much memory does run with it, and with less is refused in the same numbers.
run "${base[@]}" -o no --device cpu --max-memory 10M; expect 1
err 'with chunk 16,16,16 \(z,y,x\) and max-memory allows 10 MiB; no chunk is small enough for that, even 8,8,8 would need [0-9]+ MiB$'
need=$(sed -n 's/.*even 8,8,8 would need \([0-9]*\) MiB$/\1/p' "$folder/err")
run "${base[@]}" -o no --device cpu --chunk 8,8,8 --max-memory 10M; expect 1; err "the run needs $need MiB of memory with chunk 8,8,8 .*; no smaller chunk needs less$"
run "${base[@]}" -o no --device cpu --chunk 8,8,8 --max-memory "${need}M" --dry-run; expect 0
run "${base[@]}" -o no --device cpu --chunk 16,24,40 --max-memory "$((need + 1))M"; expect 1; err '; chunk [0-9,]+ would need [0-9]+ MiB$'
chunk=$(sed -n 's/.*; chunk \([0-9,]*\) would need .*/\1/p' "$folder/err")
run "${base[@]}" -o no --device cpu --chunk "$chunk" --max-memory "$((need + 1))M" --dry-run; expect 0
run "${base[@]}" -o no --device cuda; expect 1; err '^credence: .*GPU'
run predict --model scan.tif --scan scan.tif -o no; expect 1; err '^credence: .*scan\.tif'
run "${base[@]}" -o scan.tif; expect 1; err '^credence: '
[ ! -e no ] || complain "refused runs left: $(ls -A no)"
run "${base[@]}" -o run --overwrite --dtype u8 --quiet; expect 0; no_out
same "$(cat run/scan_seg.tif | sha256sum)" "$(cat again/scan_seg.tif | sha256sum)"
run info --json run/scan_prob.tif; same "$(json 'd["type"]')" u8
finish
