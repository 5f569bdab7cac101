#!/usr/bin/env bash
# A seamless prediction writes its tiles straight into files of the final format: killed at random moments, in every kind
# of file, by one process or several, it goes on with --resume and gives the bytes of a run that nobody disturbed. One
# kill of each; ten with CREDENCE_LONG=1.
. "$(dirname "$0")/../common.sh"
cd "$folder" || exit 1
"$CREDENCE_BUILD/tests/make_model" model.h5 bcnn 8 16,16,16 || exit 1
/usr/bin/python3 - <<'PYTHON' || exit 1
import numpy as np
rng = np.random.default_rng(1)
np.save("scan.npy", rng.normal(0, 1, (40, 40, 56)).cumsum(0).astype(np.float32))
PYTHON
base=(predict --model model.h5 --scan scan.npy --samples 3 --mode seamless --norms scan --tile 16,16,16 --halo 8 --intervals 33-67,5-95 --quiet)
volumes() { (cd "$1" && find . -type f ! -name manifest.json ! -name log.jsonl -print0 | sort -z | xargs -0 sha256sum); }
seed=${CREDENCE_SEED:-$$}
RANDOM=$seed
kills=1
[ "${CREDENCE_LONG:-}" != 1 ] || kills=10
seconds() { /usr/bin/python3 -c "import json; print(json.load(open('$1/manifest.json'))['times']['seconds'])"; }

for format in npy tif mhd nrrd nii nii.gz h5 zarr; do
    run "${base[@]}" -o whole_$format --format $format; expect 0
    duration=$(seconds whole_$format)
    echo "$format: random moments from seed $seed, of $duration s"
    "$CREDENCE_PROGRAM" "${base[@]}" -o killed_$format --format $format >/dev/null 2>&1 &
    for ((i = 0; i < kills; i++)); do
        sleep "$(/usr/bin/python3 -c "print((0.3 + 0.7 * $RANDOM / 32767) * $duration)")"
        kill -9 $! 2>/dev/null; wait $! 2>/dev/null
        "$CREDENCE_PROGRAM" "${base[@]}" -o killed_$format --format $format --resume --threads $((RANDOM % 3 + 1)) >/dev/null 2>"$folder/err" &
    done
    wait $!; code=$?
    last=("${base[@]}" -o killed_$format --resume); expect 0
    same "$(volumes killed_$format)" "$(volumes whole_$format)"
    # The same voxels in all formats.
    run convert whole_$format/scan_prob.$format $format.npy --quiet; expect 0
    same "$(/usr/bin/python3 -c "import numpy as np; print((np.load('$format.npy') == np.load('whole_npy/scan_prob.npy')).all())")" True
done

# A disk that fills up: no file may grow beyond 256 KiB, and the volumes have 360. What can reserve its room says so at once,
# the others on the way.
for format in npy h5; do
    ( ulimit -f 256; trap '' XFSZ; exec "$CREDENCE_PROGRAM" "${base[@]}" --trust -o full_$format --format $format >"$folder/out" 2>"$folder/err" ); code=$?
    last=("${base[@]}" -o full_$format); expect 1; err '^credence: '
    run "${base[@]}" -o full_$format --format $format --resume; expect 0
    same "$(volumes full_$format)" "$(volumes whole_$format)"
done

# What is finished when a signal comes is kept.
"$CREDENCE_PROGRAM" "${base[@]}" -o stopped >"$folder/out" 2>"$folder/err" &
sleep "$(/usr/bin/python3 -c "print($(seconds whole_npy) * 0.7)")"
kill -TERM $! 2>/dev/null; wait $!; code=$?
if [ "$code" -ne 0 ]; then # it may have been faster than the signal
    expect 1; err '^credence: stopped while '
    run "${base[@]}" -o stopped --resume; expect 0
fi
same "$(volumes stopped)" "$(volumes whole_npy)"

# OME-Zarr can be looked at while it grows.
"$CREDENCE_PROGRAM" "${base[@]}" -o growing --format zarr >/dev/null 2>&1 &
for ((i = 0; i < 200; i++)); do [ ! -e growing/scan_prob.zarr/0/0/0/0 ] || break; sleep 0.05; done
kill -9 $! 2>/dev/null; wait $! 2>/dev/null
if [ ! -e growing/manifest.json ]; then
    run info growing/scan_prob.zarr; expect 0; err "isn.t complete: it is still being written"
    run "${base[@]}" -o growing --format zarr --resume; expect 0
fi
same "$(volumes growing)" "$(volumes whole_zarr)"

if command -v mpirun >/dev/null && "$CREDENCE_PROGRAM" --version | grep -q 'clusters (MPI): yes'; then
    for format in tif zarr; do
        mpirun --oversubscribe -n 3 "$CREDENCE_PROGRAM" "${base[@]}" -o ranks_$format --format $format >/dev/null 2>&1 &
        sleep "$(/usr/bin/python3 -c "print(0.5 + $(seconds whole_$format) * 0.5)")"
        kill -9 $(pgrep -P $!) 2>/dev/null; wait $! 2>/dev/null
        mpirun --oversubscribe -n 2 "$CREDENCE_PROGRAM" "${base[@]}" -o ranks_$format --format $format --resume >out 2>err
        code=$?; last=("${base[@]}" "$format on ranks"); expect 0; same "$(volumes ranks_$format)" "$(volumes whole_$format)"
    done
else
    echo "skipped: ranks: no MPI here"
fi
finish
