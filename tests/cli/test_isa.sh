#!/usr/bin/env bash
# The same prediction and the same training on every instruction path that this CPU has (--isa): the results agree, and
# on each path they are the same bytes for any number of threads. Prediction in bf16, too.
. "$(dirname "$0")/common.sh"
cd "$folder" || exit 1
model="$CREDENCE_BUILD/tests/make_model"
"$model" model.h5 bcnn 16 16,24,32 || exit 1
/usr/bin/python3 - <<'PYTHON' || exit 1
import numpy as np
z, y, x = np.mgrid[:16, :24, :40]
rng = np.random.default_rng(2)
shape = np.sin(z / 3) * np.sin(y / 4) * np.sin(x / 5)
np.save("scan.npy", (3000 + 900 * shape + rng.normal(0, 150, z.shape)).astype(np.uint16))
np.save("label.npy", (shape > 0.2).astype(np.uint8))
PYTHON

has() { # has PATH: whether this CPU can run it, as the kernel sees it
    case $1 in
    portable) ;;
    avx2) grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo ;;
    avx512) grep -qw avx512f /proc/cpuinfo && grep -qw avx512bw /proc/cpuinfo && grep -qw avx512vl /proc/cpuinfo ;;
    bf16) has avx512 && grep -qw avx512_bf16 /proc/cpuinfo ;;
    esac
}

# Two numbers of threads, the same bytes.
predict() { # predict NAME OPTIONS...
    local name=$1 threads
    shift
    for threads in 1 3; do
        run predict --model model.h5 --scan scan.npy --device cpu --samples 2 --step 2 --quiet --threads $threads "$@" \
            -o "$name.$threads"
        expect 0
        same "$(cat "$name.$threads"/*.npy "$name.$threads"/probe.h5 | sha256sum)" \
            "$(cat "$name.1"/*.npy "$name.1"/probe.h5 | sha256sum)"
    done
}

for isa in portable avx2 avx512; do
    if ! has $isa; then
        run predict --model model.h5 --scan scan.npy --device cpu --isa $isa -o no; expect 1; err "can't run the \"$isa\""
        echo "skipped: $isa: this machine lacks the instructions"
        continue
    fi
    predict $isa --isa $isa
    cp $isa.1/manifest.json out; same "$(json 'd["device"]')" "cpu ($isa)"
    for threads in 1 2; do
        run train --scan scan.npy --label label.npy -o $isa.$threads.h5 --chunk 8,16,16 --batch 2 --max-steps 2 --filters 16 \
            --threads $threads --isa $isa --quiet --log $isa.$threads.jsonl
        expect 0
    done
    same "$(sha256sum <$isa.2.h5)" "$(sha256sum <$isa.1.h5)"
done
has bf16 || echo "skipped: bf16: this machine lacks the instructions"
if has bf16; then
    predict bf16 --precision bf16
    cp bf16.1/manifest.json out; same "$(json 'd["device"]')" "cpu (avx512, bf16)"
    run predict --model model.h5 --scan scan.npy --device cpu --precision bf16 --isa avx2 -o f32_path --quiet
    expect 0; no_err_but '^credence: warning: this instruction path computes in f32: bf16 needs --isa avx512$'
    cp f32_path/manifest.json out; same "$(json 'd["device"]')" "cpu (avx2)"
elif has avx512; then
    run predict --model model.h5 --scan scan.npy --device cpu --precision bf16 -o f32_cpu --quiet
    expect 0; no_err_but '^credence: warning: this CPU computes in f32: it has no instructions for bf16'
fi
# What it can't compute as it is asked to it computes in f32, with the bytes of f32, and says so.
usual=(predict --model model.h5 --scan scan.npy --device cpu --isa portable --samples 2 --quiet)
run "${usual[@]}" --precision fp16 -o fp16; expect 0; no_err_but '^credence: warning: the CPU computes in f32: fp16 is for GPUs$'
run "${usual[@]}" -o f32; expect 0; no_err
same "$(sha256sum <fp16/scan_prob.npy)" "$(sha256sum <f32/scan_prob.npy)"
cp fp16/manifest.json out; same "$(json 'd["device"]')" "cpu (portable)"
usual=(train --scan scan.npy --label label.npy --device cpu --isa portable --filters 4 --chunk 8,16,16 --max-steps 2 --quiet)
run "${usual[@]}" --precision bf16 -o bf16.h5; expect 0; err '^credence: warning: training on the CPU is in f32: bf16 is for predictions and GPUs$'
run "${usual[@]}" -o f32.h5; expect 0
same "$(sha256sum <bf16.h5)" "$(sha256sum <f32.h5)"
run predict --model model.h5 --scan scan.npy --device cpu --isa mmx -o no; expect 2; err "--isa must be auto, portable, .* not 'mmx'"

/usr/bin/python3 - <<'PYTHON' || complain "the paths don't agree"
import glob, json, sys
import numpy as np
def volume(path, name):
    return np.load(f"{path}.1/scan_{name}.npy").astype(np.float64)
failed = False
for path in sorted(p[:-2] for p in glob.glob("*.1") if p != "portable.1"):
    # of values up to 1; bf16: the mean difference of a network's output may be 2e-2, one voxel's is not bounded
    worst, mean = (f(np.abs(volume(path, "prob") - volume("portable", "prob"))) for f in (np.max, np.mean))
    spread = np.mean(np.abs(volume(path, "unc") - volume("portable", "unc")))
    fine = mean <= 2e-2 and spread <= 2e-2 if path == "bf16" else worst <= 1e-4 and spread <= 1e-4
    print(f"{path}: probability differs by {worst:.1e} at most, {mean:.1e} in the mean, uncertainty by {spread:.1e}")
    failed |= not fine
def losses(path):
    return np.array([json.loads(line)["loss"] for line in open(f"{path}.1.jsonl") if '"step"' in line])
for path in ("avx2", "avx512"):
    if glob.glob(f"{path}.1.jsonl"):
        # the first is that of the same weights; Adam's first steps make much of little
        first, *later = np.abs(losses(path) / losses("portable") - 1)
        print(f"{path}: the loss of the first step differs by {first:.1e} of its value, of those after by {later}")
        failed |= not (first <= 1e-5 and len(later) >= 1 and max(later) <= 1e-3)
sys.exit(failed)
PYTHON
finish
