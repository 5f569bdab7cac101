#!/usr/bin/env bash
# The experiments at their tiny scale: they run, print complete tables, leave a file a unit, and do nothing twice. The short run has
# the one that all others are built like; CREDENCE_LONG=1 has all.
. "$(dirname "$0")/common.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
export CREDENCE=$CREDENCE_PROGRAM OUT=$folder/results SCALE=tiny SAMPLES=2 DEVICE=cpu

experiment() { # experiment NAME ROWS REGEX: so many rows match, and none lacks a figure
    last=(experiments/"$1"/run.sh)
    code=0
    "$root/experiments/$1/run.sh" >"$folder/out" 2>"$folder/err" </dev/null || code=$?
    expect 0
    same "$(grep -cE "$3" "$folder/out")" "$2"
    same "$(grep -E "$3" "$folder/out" | grep -cE '\| *\||nan')" 0
}

PRESETS=small experiment weld 4 '^\| S33 \| (BCNN|MCDN) \| 0' # in each of two tables
same "$(ls "$OUT"/weld-tiny/*.json | wc -l)" 2
# One unit is done again, and only that one.
rm -r "$OUT"/weld-tiny/small-bcnn-seed1 "$OUT"/weld-tiny/small-bcnn-seed1.*
PRESETS=small experiment weld 4 '^\| S33 \| (BCNN|MCDN) \| 0'
same "$(grep -c ': trained in' "$folder/err")" 1
long_ones() {
    KINDS=bcnn PRESETS=graphite experiment graphite 2 '^\| Litarion \| BCNN \| 0[.0-9]* \| 0'
    VARIANTS=100:0.003 SEEDS="1 2" MATERIALS=weld experiment recipe 4 \
        '^\| weld-T100-lr0.003-[36] \| weld-(alike|faint) \| 0.* ± 0'
    experiment ablation 2 '^\| prior-std-3 \| (alike|faint) \| 0'
    coverage
    rows=$(cat "$OUT/coverage/rows.csv")
    truncate -s -20 "$OUT/coverage/rows.csv"
    coverage
    same "$(cat "$OUT/coverage/rows.csv")" "$rows"
    three_phase
    same "$(ls "$folder"/three/*.html | wc -l)" 4
    before=$(md5sum "$folder/three/rows.csv")
    three_phase
    same "$(md5sum "$folder/three/rows.csv")" "$before"
    exams
    before=$(md5sum "$folder/exams/rows.csv")
    exams
    same "$(md5sum "$folder/exams/rows.csv")" "$before"
    class_weights
    if "$CREDENCE" --version | grep -q '^page in the browser (view): yes'; then
        loop
        before=$(md5sum "$folder/loop/rounds.csv")
        loop
        same "$(md5sum "$folder/loop/rounds.csv")" "$before"
    fi
}

# Coverage of intervals: a line for every prediction; one that was cut off is made again, and no other.
coverage() {
    last=(experiments/coverage/run.py)
    code=0
    python3 "$root/experiments/coverage/run.py" --credence "$CREDENCE" --out "$OUT/coverage" --scale tiny --device cpu --trainings 1 \
        --phantoms 1 --trainers 1 --predictors 1 --makers 1 >"$folder/out" 2>"$folder/err" </dev/null || code=$?
    expect 0
    same "$(grep -cE '^\| all, one model \| (interval90|samples alone|systematic alone) \| 2 \| 0' "$folder/out")" 3
    same "$(wc -l <"$OUT/coverage/rows.csv")" 3
}
# Three phases: a row for each network and test, pages, and nothing done twice.
three_phase() {
    last=(experiments/three_phase/run.py)
    code=0
    "$root/experiments/three_phase/run.py" --out "$folder/three" --scale tiny --seeds 1 --networks 2 --device cpu --credence "$CREDENCE" \
        >"$folder/out" 2>"$folder/err" </dev/null || code=$?
    expect 0
    same "$(grep -cE '^\| (bcnn, normal prior|mcdn) \| 1 \| 0\.' "$folder/out")" 4
}

# Exams: a line for every training, and nothing done twice.
exams() {
    last=(experiments/exams/run.py)
    code=0
    "$root/experiments/exams/run.py" --out "$folder/exams" --scale tiny --device cpu --jobs 1 --credence "$CREDENCE" \
        >"$folder/out" 2>"$folder/err" </dev/null || code=$?
    expect 0
    same "$(grep -cE '^\| (graphite|weld|all) \| [12] \| [0-2] of [12] \|' "$folder/out")" 3
}

# Without weights, as the product has none; both arms need a program that has them, and are told.
class_weights() {
    last=(experiments/class_weights/run.py)
    for arms in 1 2; do
        code=0
        "$python" "$root/experiments/class_weights/run.py" --out "$folder/weights" --arms $arms --seeds 1 --steps 4 --samples 2 --shape 32,64,64 \
            --credence "$CREDENCE" >"$folder/out" 2>"$folder/err" </dev/null || code=$?
        expect $((arms - 1))
    done
    err 'takes no CREDENCE_CLASS_WEIGHTS'
    same "$(wc -l <"$folder/weights/rows.csv")" 3
}

# The viewer's loop: a line for the phantom in each table, and nothing done twice. Only where the program has the viewer.
loop() {
    last=(experiments/loop/run.py)
    code=0
    python3 "$root/experiments/loop/run.py" --out "$folder/loop" --scale tiny --credence "$CREDENCE" >"$folder/out" 2>"$folder/err" </dev/null || code=$?
    expect 0
    same "$(grep -cE '^\| fine \| [0-9.]+ \|( [0-9.]+ \([0-9.]+\) \|){3}( [0-9.]+ \|){2}$' "$folder/out")" 2
    same "$(wc -l <"$folder/loop/rounds.csv")" 7
}
[ "${CREDENCE_LONG:-}" != 1 ] || long_ones

run_unknown() { SCALE=huge "$root/experiments/weld/run.sh" >"$folder/out" 2>"$folder/err"; }
run_unknown && complain "a scale that doesn't exist was taken"
err 'SCALE=huge is not tiny'
finish
