#!/bin/sh
# The paper's second experiment on phantoms: three welds to learn from, seven others to be segmented, BCNN against MCDN.
# experiments/README.md says how it is run and what its scales mean.
#
#   SCALE=small experiments/weld/run.sh
experiment=weld
. "$(dirname "$0")/../common.sh"
unit_of_uncertainty=1e-3

case $SCALE in
tiny) # seconds; to see that it runs, its figures mean nothing
    train_shape=32,64,64 test_shape=16,32,32 chunk=16,32,32 step=2 steps=6
    : "${SEEDS:=1}" "${PRESETS:=small weld}"
    ;;
small) # two cores, under an hour
    train_shape=32,96,96 test_shape=32,96,96 chunk=16,32,32 step=2 steps=1500
    : "${SEEDS:=1 2}" "${PRESETS:=small weld}"
    ;;
medium) # a GPU
    train_shape=128,256,256 test_shape=128,256,256 chunk=48,96,96 step=2 steps=3000
    : "${SEEDS:=1 2 3}" "${PRESETS:=small weld}"
    ;;
large) # a fast GPU; the paper's chunks for the paper's preset
    train_shape=192,384,384 test_shape=256,512,512 chunk=88,176,176 own_chunk=48,96,96 step=2 steps=3000
    : "${SEEDS:=1 2 3}" "${PRESETS:=small weld}"
    ;;
paper) # chunks of the paper's size
    train_shape=256,512,512 test_shape=512,768,768 chunk=88,176,176 step=3 steps=3000
    : "${SEEDS:=1 2 3}" "${PRESETS:=small weld}"
    ;;
*) fail "SCALE=$SCALE is not tiny, small, medium, large or paper" ;;
esac
begin

for number in 1 2 3; do phantom "train$number" weld --shape "$train_shape" --seed "$number"; done
test_samples=
# A row has the paper's name of the sample that it stands in for; nothing of that weld is imitated.
sample() {
    test_samples="$test_samples $1"
    phantom "$1" weld --shape "$test_shape" --seed "$2" $3
}
sample S1 1001 ""
sample S4 1002 "--fraction 0.12"
sample S15 1003 "--fraction 0.06 --void-size 4"
sample S26 1004 "--contrast 0.17 --noise 0.030"
sample S31 1005 "--void-size 7"
sample S32 1006 "--blur 1.2 --rings 0.03"
sample S33 1007 "--contrast 0.15 --noise 0.035 --void-size 4"

for seed in $SEEDS; do
    for preset in $PRESETS; do
        for kind in $KINDS; do
            set --
            for number in 1 2 3; do
                set -- "$@" --scan "$out/data/train$number/scan.tif" --label "$out/data/train$number/label.tif"
            done
            unit "$preset-$kind-seed$seed" "$seed" "$@" $(preset_options "$preset") --kind "$kind"
        done
    done
done
for preset in $PRESETS; do paper_tables "$preset"; done
