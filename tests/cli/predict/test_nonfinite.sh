#!/usr/bin/env bash
# Numbers that grow beyond what the arithmetic holds: predict names chunk and sample and stops; it never writes an answer
# that nobody computed. What was finished before is kept.
. "$(dirname "$0")/../common.sh"
cd "$folder" || exit 1
"$CREDENCE_BUILD/tests/make_model" model.h5 bcnn 16 8,16,16 || exit 1
"$python" - <<'PYTHON' || { echo "skipped: no numpy or h5py"; exit 77; }
import h5py, numpy as np, shutil
z, y, x = np.mgrid[:24, :16, :16]
grey = np.sin(z / 3) * np.sin(y / 4) * np.sin(x / 5) + np.random.default_rng(1).normal(0, 0.2, z.shape)
def save(name, values):
    np.save(name, np.clip(values, -3.4e38, 3.4e38).astype(np.float32))
save("small.npy", grey)
save("large.npy", grey * 1e30)
save("largest.npy", grey * 1e39)
save("third.npy", np.concatenate([grey[:16], grey[16:] * 1e39]))
# Models whose first kernel is large, or huge, or holds what isn't a number.
def change(name, how):
    shutil.copy("model.h5", name)
    with h5py.File(name, "r+") as f:
        del f.attrs["checksum"]
        def visit(path, d):
            if isinstance(d, h5py.Dataset) and d.shape == (3, 3, 3, 1, 16):
                d[...] = how(d[...])
                return path
        assert f.visititems(visit)
change("strong.h5", lambda v: v * 1e4)
change("huge.h5", lambda v: np.sign(v) * 3e38)
for name, value in (("nan.h5", np.nan), ("inf.h5", np.inf)):
    change(name, lambda v: np.where(np.arange(v.size).reshape(v.shape) == 100, value, v))
PYTHON

paths=(portable)
grep -qw avx2 /proc/cpuinfo && grep -qw fma /proc/cpuinfo && paths+=(avx2)
grep -qw avx512f /proc/cpuinfo && grep -qw avx512bw /proc/cpuinfo && grep -qw avx512vl /proc/cpuinfo && paths+=(avx512)
grep -qw avx512_bf16 /proc/cpuinfo && paths+=(bf16)
echo "instruction paths: ${paths[*]}"
[ "${#paths[@]}" -eq 4 ] || echo "skipped: other paths: this machine lacks the instructions"

try() { # try PATH SCAN FOLDER OPTIONS...
    local how=(--isa "$1") scan=$2 into=$3
    [ "$1" = bf16 ] && how=(--precision bf16)
    shift 3
    run predict --scan "$scan" --norm none --device cpu --samples 3 --step 1 --chunk 8,16,16 -o "$into" "${how[@]}" "$@"
}
sentence='^credence: [0-9]+ values of chunk [0-9]+ \(at z, y, x = [0-9]+, [0-9]+, [0-9]+\) aren.t finite numbers, first in sample 0: .*--norm.*--precision f32.*model; finished slices are kept, and the same command with --resume goes on in '

for path in "${paths[@]}"; do
    try "$path" small.npy "small.$path" --model model.h5; expect 0
    # Grey values of 1e30: the norms take the factor away where the sums hold the squares; elsewhere it stops.
    try "$path" large.npy "large.$path" --model model.h5
    if [ "$code" -eq 0 ]; then
        [ "$path" = portable ] || complain "squares of 1e30 don't fit a float"
    else
        expect 1; err "$sentence"
    fi
    try "$path" largest.npy "largest.$path" --model strong.h5; expect 1; err "$sentence"
    try "$path" small.npy "huge.$path" --model huge.h5; expect 1; err "$sentence"
    for broken in nan inf; do
        try "$path" small.npy "broken.$path" --model $broken.h5; expect 1; err "the model $broken.h5 holds a value that isn't a finite number"
    done
done

# The first two rows of chunks are sound, the third isn't: with --resume only that one is computed again. Samples are
# numbered as --first-sample says.
third=(predict --scan third.npy --model strong.h5 --norm none --device cpu --isa portable --samples 2 --first-sample 7 --step 1
    --chunk 8,16,16)
run "${third[@]}" -o third
expect 1; err '^credence: [0-9]+ values of chunk 2 \(at z, y, x = 16, 0, 0\) aren.t finite numbers, first in sample 7: '
[ -d third/.partial ] || complain "nothing to resume"
[ ! -e third/third_prob.npy ] || complain "a volume was written"
run "${third[@]}" -o third --resume
expect 1; err '^1 of 3 chunks .* to compute'; err '^credence: [0-9]+ values of chunk 2 \(at z, y, x = 16, 0, 0\)'

# Every process of a job ends with it.
if "$CREDENCE_PROGRAM" --version | grep -q 'clusters (MPI): yes' && command -v mpirun >/dev/null; then
    code=0
    last=(-- mpirun)
    timeout 120 mpirun --oversubscribe -n 2 "$CREDENCE_PROGRAM" "${third[@]}" --threads 1 -o together >out 2>err </dev/null || code=$?
    [ "$code" -ne 0 ] && [ "$code" -ne 124 ] || complain "mpirun ended with $code"
    err 'values of chunk 2 \(at z, y, x = 16, 0, 0\) aren.t finite numbers'
else
    echo "skipped: several processes: no MPI here"
fi
finish
