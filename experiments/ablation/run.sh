#!/bin/sh
# What the network's settings do: base width, number of groups of the norms, standard deviation of the prior. Each differs from
# the default (16, 4, 1) in one of them. experiments/README.md says how it is run and what its scales mean.
#
#   SCALE=small experiments/ablation/run.sh
experiment=ablation
. "$(dirname "$0")/../common.sh"

case $SCALE in
tiny) # seconds; to see that it runs, its figures mean nothing
    train_shape=32,64,64 test_shape=16,32,32 chunk=16,32,32 step=2 steps=6
    : "${SEEDS:=1}"
    ;;
small) # two cores, under an hour
    train_shape=64,128,128 test_shape=32,64,64 chunk=16,32,32 step=2 steps=600
    : "${SEEDS:=1}"
    ;;
medium) # a GPU
    train_shape=156,308,308 test_shape=128,256,256 chunk=48,96,96 step=2 steps=3000
    : "${SEEDS:=1 2 3}"
    ;;
*) fail "SCALE=$SCALE is not tiny, small or medium" ;;
esac
PRESETS=small
begin

phantom train graphite --shape "$train_shape" --seed 1
phantom alike graphite --shape "$test_shape" --seed 1001
phantom faint graphite --shape "$test_shape" --seed 1002 --contrast 0.13 --noise 0.04
test_samples="alike faint"

variants="filters-16 filters-8 filters-32 groups-1 groups-2 groups-8 prior-std-0.3 prior-std-3"
for seed in $SEEDS; do
    for variant in $variants; do # filters-16 is the default in everything
        unit "$variant-seed$seed" "$seed" --scan "$out/data/train/scan.tif" --label "$out/data/train/label.tif" \
            --kind bcnn $(preset_options small) "--${variant%-*}" "${variant##*-}"
    done
done

printf '\n## ablation, scale %s: bcnn, %s steps, mean over seeds %s\n\n' "$SCALE" "$steps" "$SEEDS"
for variant in $variants; do
    [ ! -f "$out/$variant-seed${SEEDS%% *}.csv" ] || variant_rows "$variant"
done | one_table
