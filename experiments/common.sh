# Shared by the experiments beside it: sourced, not run. Everything is done by the credence program.
#
#   begin                              checks what the experiment has set, makes the folder of results, says what will be done
#   phantom NAME KIND OPTIONS...       makes a phantom once: $out/data/NAME
#   unit NAME SEED OPTIONS...          trains with OPTIONS, predicts every test sample, validates against the truth and
#                                      leaves $out/NAME.json and $out/NAME.csv; where that exists nothing is done again
#                                      Training goes on from the unit $continue_from, if that is set.
#   paper_tables PRESET                the units so far as Markdown, beside the paper's figures
#   variant_rows NAME | one_table      the same for units NAME-seed* of an experiment with variants
#
# A run that was stopped goes on where it was: training from its checkpoint, a prediction from its finished slices.
set -eu
: "${SCALE:=small}" "${DEVICE:=auto}" "${KINDS:=mcdn bcnn}" "${SAMPLES:=48}" "${KEEP:=no}"
root=$(cd "$(dirname "$0")/../.." && pwd)
: "${CREDENCE:=$root/build/credence}"
export LC_ALL=C

fail() {
    echo "$*" >&2
    exit 1
}

begin() {
    : "${OUT:=$root/build/experiments}"
    out=$OUT/$experiment-$SCALE
    [ -x "$CREDENCE" ] || fail "there is no program $CREDENCE; run make first, or set CREDENCE"
    : "${SEEDS:?}" "${PRESETS:?}" "${train_shape:?}" "${test_shape:?}" "${chunk:?}" "${step:?}"
    : "${own_chunk:=$chunk}"
    mkdir -p "$out/data"
    printf '%s, scale %s: training volumes of %s voxels, test volumes of %s, chunk %s (small: %s), presets %s, seeds %s,\n' \
        "$experiment" "$SCALE" "$train_shape" "$test_shape" "$chunk" "$own_chunk" "$PRESETS" "$SEEDS" >&2
    printf '%s samples, step %s. Results go to %s\n' "$SAMPLES" "$step" "$out" >&2
}

# preset_options PRESET: the paper's presets have their own length; ours has $steps
preset_options() {
    if [ "$1" = small ]; then
        echo "--preset small --chunk $own_chunk --max-steps $steps"
    else
        echo "--preset $1 --chunk $chunk"
    fi
}

say() {
    printf '%s  %s\n' "$(date -u +%H:%M:%S)" "$*" >&2
}

phantom() {
    sample=$1
    shift
    [ -f "$out/data/$sample/phantom.json" ] || "$CREDENCE" phantom "$@" --quiet -o "$out/data/$sample"
}

# train_once FOLDER OPTIONS...
train_once() {
    work=$1
    shift
    [ -f "$work/train.json" ] && return
    mkdir -p "$work"
    if [ -n "${continue_from:-}" ] && [ ! -f "$work/model.ckpt.h5" ]; then
        [ -f "$continue_from/model.ckpt.h5" ] || fail "$continue_from/model.ckpt.h5 is gone; remove $continue_from* to train again"
        cp "$continue_from/model.ckpt.h5" "$work/model.ckpt.h5.part"
        mv "$work/model.ckpt.h5.part" "$work/model.ckpt.h5"
    fi
    "$CREDENCE" train "$@" --device "$DEVICE" --resume --quiet --json -o "$work/model.h5" \
        >"$work/train.json.part"
    mv "$work/train.json.part" "$work/train.json"
    [ "$KEEP" = yes ] || rm -f "$work/model.best.h5"
    # continue_from, empty or not, says that the next unit may need the checkpoint.
    [ "$KEEP" = yes ] || [ -n "${continue_from+set}" ] || rm -f "$work/model.ckpt.h5"
}

# predict_once FOLDER SAMPLE SEED: afterwards FOLDER/SAMPLE has a manifest and a validation.json
predict_once() {
    run=$1/$2
    [ -f "$run/validation.json" ] && return
    # A finished prediction that wasn't validated has its manifest and volumes; predict --resume says so and is quick.
    "$CREDENCE" predict --model "$1/model.h5" --scan "$out/data/$2/scan.tif" --samples "$SAMPLES" --step "$step" \
        --seed "$3" --intervals 33-67,20-80,5-95 --device "$DEVICE" --resume --quiet -o "$run"
    "$CREDENCE" validate "$run" --label "$out/data/$2/truth.tif" --quiet --json >/dev/null
    [ "$KEEP" = yes ] || rm -f "$run"/scan_*
}

unit() {
    name=$1
    seed=$2
    shift 2
    [ -f "$out/$name.json" ] && return
    began=$(date +%s)
    train_once "$out/$name" "$@" --seed "$seed"
    trained=$(date +%s)
    for sample in $test_samples; do
        predict_once "$out/$name" "$sample" "$seed"
    done
    # The tables take a sample's name from its folder's.
    (cd "$out/$name" && "$CREDENCE" compare --csv $test_samples) >"$out/$name.csv.part"
    (cd "$out/$name" && "$CREDENCE" compare --json $test_samples) >"$out/$name.json.part"
    mv "$out/$name.csv.part" "$out/$name.csv"
    mv "$out/$name.json.part" "$out/$name.json"
    say "$name: trained in $((trained - began)) s, predicted and validated in $(($(date +%s) - trained)) s"
}

# paper_tables PRESET: the paper's table with ours beside it, and what else tells the two kinds apart
paper_tables() {
    set -- "$1" "$out/$1"-*-seed*.csv
    preset=$1
    shift
    [ -f "$1" ] || return 0
    printf '\n## %s, scale %s, preset %s\n\n' "$experiment" "$SCALE" "$preset"
    awk -v unit="$unit_of_uncertainty" -f "$root/experiments/tables.awk" \
        "$root/experiments/$experiment/paper.txt" "$@"
}

# variant_rows NAME: its rows, under a head of their own
variant_rows() {
    awk -v variant="$1" -f "$root/experiments/variants.awk" "$out/$1"-seed*.csv
}

# one_table: of several tables of variant_rows
one_table() {
    awk '!/^\| variant/ || !heads++ {print; if (/^\| variant/) print "|---|---|---|---|---|---|---|---|---|"}'
}
