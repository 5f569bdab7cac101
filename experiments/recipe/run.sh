#!/bin/sh
# Which temperature of the KL term and which learning rate give an uncertainty that can be relied on, and does it depend on how
# long one trains? The same training is looked at after several numbers of steps. experiments/README.md says how it is run.
#
#   SCALE=small experiments/recipe/run.sh
#   VARIANTS="100:0.003 30:0.003" MATERIALS=weld experiments/recipe/run.sh      # temperature:learning rate
experiment=recipe
. "$(dirname "$0")/../common.sh"

case $SCALE in
tiny) # seconds; to see that it runs, its figures mean nothing
    train_shape=32,64,64 test_shape=16,32,32 chunk=16,32,32 step=2 lengths="3 6"
    : "${SEEDS:=1}" "${VARIANTS:=100:0.003 10:0.003}"
    ;;
small) # two cores, under an hour
    train_shape=64,128,128 test_shape=32,64,64 chunk=16,32,32 step=2 lengths="500 1000 1500"
    : "${SEEDS:=1}" "${VARIANTS:=100:0.003 10:0.003 1000:0.003 100:0.001}"
    ;;
medium) # a GPU
    train_shape=156,308,308 test_shape=128,256,256 chunk=48,96,96 step=2 lengths="1500 3000 6000"
    : "${SEEDS:=1 2 3}" "${VARIANTS:=100:0.003 10:0.003 1000:0.003 100:0.001}"
    ;;
*) fail "SCALE=$SCALE is not tiny, small or medium" ;;
esac
: "${MATERIALS:=graphite weld}"
PRESETS=small
begin

for material in $MATERIALS; do
    phantom "$material-train" "$material" --shape "$train_shape" --seed 1
    phantom "$material-alike" "$material" --shape "$test_shape" --seed 1001
done
phantom graphite-faint graphite --shape "$test_shape" --seed 1002 --contrast 0.13 --noise 0.04
phantom weld-faint weld --shape "$test_shape" --seed 1002 --contrast 0.15 --noise 0.035

variant_name() { # variant_name MATERIAL TEMPERATURE:RATE
    echo "$1-T${2%:*}-lr${2#*:}"
}

for variant in $VARIANTS; do
    for seed in $SEEDS; do
        for material in $MATERIALS; do
            test_samples="$material-alike $material-faint"
            continue_from=
            for steps in $lengths; do
                name=$(variant_name "$material" "$variant")-$steps-seed$seed
                unit "$name" "$seed" --scan "$out/data/$material-train/scan.tif" \
                    --label "$out/data/$material-train/label.tif" --kind bcnn $(preset_options small) \
                    --lr "${variant#*:}" --kl-initial 1 --kl-step 0 --kl-batches 1638 --kl-temperature "${variant%:*}"
                continue_from=$out/$name
            done
        done
    done
done

for material in $MATERIALS; do
    printf '\n## recipe, scale %s: %s, bcnn, mean over seeds %s\n\n' "$SCALE" "$material" "$SEEDS"
    for variant in $VARIANTS; do
        for steps in $lengths; do
            name=$(variant_name "$material" "$variant")-$steps
            [ ! -f "$out/$name-seed${SEEDS%% *}.csv" ] || variant_rows "$name"
        done
    done | one_table
done
