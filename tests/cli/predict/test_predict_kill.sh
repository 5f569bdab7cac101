#!/usr/bin/env bash
# A prediction that is killed at random moments, stopped by a signal or by a full disk, goes on with --resume and gives
# the bytes of a run that nobody disturbed. Three kills; thirty with CREDENCE_LONG=1.
. "$(dirname "$0")/../common.sh"
cd "$folder" || exit 1
"$CREDENCE_BUILD/tests/make_model" model.h5 bcnn 8 16,16,16 || exit 1
/usr/bin/python3 - <<'PYTHON' || exit 1
import numpy as np
rng = np.random.default_rng(1)
np.save("scan.npy", rng.normal(0, 1, (40, 24, 24)).cumsum(0).astype(np.float32))
PYTHON
base=(predict --model model.h5 --scan scan.npy --samples 24 --step 2 --intervals 33-67,5-95 --quiet)
volumes() { (cd "$1" && cat -- *.npy *.npy.json probe.h5 2>/dev/null | sha256sum; ls -A); }
run "${base[@]}" -o whole; expect 0
duration=$(/usr/bin/python3 -c "import json; print(json.load(open('whole/manifest.json'))['times']['seconds'])")
expected=$(volumes whole)

kills=3
[ "${CREDENCE_LONG:-}" != 1 ] || kills=30
seed=${CREDENCE_SEED:-$$}
echo "random moments from seed $seed, of $duration s"
RANDOM=$seed
"$CREDENCE_PROGRAM" "${base[@]}" -o killed >/dev/null 2>&1 &
for ((i = 0; i < kills; i++)); do
    sleep "$(/usr/bin/python3 -c "print($RANDOM / 32767 * $duration * 0.9)")"
    kill -9 $! 2>/dev/null; wait $! 2>/dev/null
    threads=$((RANDOM % 3 + 1))
    "$CREDENCE_PROGRAM" "${base[@]}" -o killed --resume --threads $threads >/dev/null 2>&1 &
done
wait $!; code=$?
last=("${base[@]}" -o killed --resume); expect 0
same "$(volumes killed)" "$expected"

# SIGTERM: a sentence, a clean end, and the rest later.
"$CREDENCE_PROGRAM" "${base[@]}" -o stopped >"$folder/out" 2>"$folder/err" &
sleep "$(/usr/bin/python3 -c "print($duration * 0.5)")"
kill -TERM $! 2>/dev/null; wait $!; code=$?
if [ "$code" -ne 0 ]; then # it may have been faster than the signal
    expect 1; err '^credence: stopped while .*; finished slices are kept, and the same command with --resume goes on in stopped'
    run "${base[@]}" -o stopped --resume; expect 0
fi
same "$(volumes stopped)" "$expected"

# A disk that fills up on the way: no file may grow beyond 64 KiB, the finished slices need 92.
# (The limit holds for shared memory, too, in which a model is handed over by the process that reads it: --trust reads it here.)
( ulimit -f 64; trap '' XFSZ; exec "$CREDENCE_PROGRAM" "${base[@]}" --trust -o full >"$folder/out" 2>"$folder/err" ); code=$?
last=("${base[@]}" -o full); expect 1; err '^credence: .*--resume goes on in full'
run "${base[@]}" -o full --resume; expect 0
same "$(volumes full)" "$expected"

# The same on a real file system of 8 MiB, where one can be had: something else takes the room once the run has begun.
cat >small_disk.sh <<'SCRIPT'
mkdir -p disk && mount -t tmpfs -o size=8m tmpfs disk || exit 77
"$@" -o disk/run >/dev/null 2>err &
until [ -e disk/run/.partial/run.json ]; do kill -0 $! 2>/dev/null || exit 3; done
dd if=/dev/zero of=disk/filler bs=4k >/dev/null 2>&1
wait $! && exit 4
rm disk/filler
"$@" -o disk/run --resume && cp -r disk/run small_disk
SCRIPT
unshare -rm bash small_disk.sh "$CREDENCE_PROGRAM" "${base[@]}" 2>/dev/null; code=$?
if [ "$code" -eq 77 ] || [ "$code" -eq 1 ] && [ ! -s err ]; then
    echo "no file system of our own can be mounted here: left out"
else
    last=("${base[@]}" -o disk/run); expect 0
    err '^credence: .*the disk is full.*--resume goes on in disk/run'
    same "$(volumes small_disk)" "$expected"
fi

# A disk that is too small is said before anything is read: a trillion voxels, which are a hole in a file.
if truncate -s 1000000000000 huge.raw 2>/dev/null && [ "$(df --output=avail . | tail -1)" -lt 8000000000 ]; then
    run predict --model model.h5 --scan huge.raw --shape 250000,2000,2000 --type u8 --step 1 -o huge; expect 1
    err '^credence: the run needs [0-9]+ MiB of disk and huge has [0-9]+ MiB free; free some, choose another folder'
    [ ! -e huge ] || complain "a refused run left its folder"
else
    echo "no file of a terabyte can be made here, or the disk is larger: left out"
fi
finish
