#!/bin/sh
# The paper's first experiment on phantoms: one volume of graphite to learn from, seven with another resolution, contrast and
# noise to be segmented, BCNN against MCDN. experiments/README.md says how it is run and what its scales mean.
#
#   SCALE=small experiments/graphite/run.sh
experiment=graphite
. "$(dirname "$0")/../common.sh"
unit_of_uncertainty=1e-2

case $SCALE in
tiny) # seconds; to see that it runs, its figures mean nothing
    train_shape=32,64,64 test_shape=16,32,32 chunk=16,32,32 step=2 steps=6
    : "${SEEDS:=1}" "${PRESETS:=small graphite}"
    ;;
small) # two cores, under an hour
    train_shape=64,128,128 test_shape=32,64,64 chunk=16,32,32 step=2 steps=1500
    : "${SEEDS:=1 2 3}" "${PRESETS:=small graphite}"
    ;;
medium) # a GPU
    train_shape=156,308,308 test_shape=128,256,256 chunk=48,96,96 step=2 steps=3000
    : "${SEEDS:=1 2 3}" "${PRESETS:=small graphite}"
    ;;
large) # a fast GPU; the paper's chunks for the paper's preset
    train_shape=286,565,565 test_shape=256,512,512 chunk=88,176,176 own_chunk=48,96,96 step=2 steps=3000
    : "${SEEDS:=1 2 3}" "${PRESETS:=small graphite}"
    ;;
paper) # as many chunks, of the paper's size, as the paper had; test volumes of 900 million voxels
    train_shape=378,756,756 test_shape=742,1100,1100 chunk=88,176,176 step=3 steps=3000
    : "${SEEDS:=1 2 3}" "${PRESETS:=small graphite}"
    ;;
*) fail "SCALE=$SCALE is not tiny, small, medium, large or paper" ;;
esac
begin

phantom train graphite --shape "$train_shape" --seed 1
test_samples=
# A row has the paper's name of the sample that it stands in for, because its part is the same: how far it is from what was
# learnt. Nothing else of that material is imitated.
sample() {
    test_samples="$test_samples $1"
    phantom "$1" graphite --shape "$test_shape" --seed "$2" $3
}
sample I 1001 "--contrast 0.15 --noise 0.035 --rings 0.045"
sample III 1002 "--contrast 0.13 --noise 0.040 --blur 1.1 --drift 0.045"
sample IV 1003 "--contrast 0.11 --noise 0.045 --blur 1.3 --grain-size 11"
sample GCA2K 1004 "--grain-size 18 --blur 0.9"
sample 25R6 1005 "--grain-size 12 --grain-flatness 2.2"
sample E35 1006 "--grain-size 9 --grain-flatness 1.6 --blur 1.0"
sample Litarion 1007 "--grain-size 12 --noise 0.035"

for seed in $SEEDS; do
    for preset in $PRESETS; do
        for kind in $KINDS; do
            unit "$preset-$kind-seed$seed" "$seed" --scan "$out/data/train/scan.tif" --label "$out/data/train/label.tif" \
                $(preset_options "$preset") --kind "$kind"
        done
    done
done
for preset in $PRESETS; do paper_tables "$preset"; done
