#!/bin/sh
# The main job of credence from end to end on a made-up material, each command shown before it runs: two kinds of network
# learn from one labelled scan, segment two others, and are compared with the truth. About four minutes on two cores: the
# trainings take a seventh of the default's steps.
#
#   tools/demo.sh build/credence build/demo
#   tools/demo.sh build/credence build/demo short      seconds, for the tests: shows the commands, its figures mean nothing
set -eu
program=$1
folder=$2
train_shape=64,128,128 test_shape=48,96,96 steps=500 samples=48
[ "${3:-}" != short ] || { train_shape=16,32,40 test_shape=16,32,40 steps=4 samples=4; }

show() {
    printf '\n$ credence %s\n' "$*"
    "$program" "$@"
}

say() {
    printf '\n# %s\n' "$*"
}

# TIFF is what people have; a build without it shows the same with NumPy's files.
format=tiff suffix=tif
"$program" --version | grep -q '^TIFF volumes: no' && format=npy suffix=npy

began=$(date +%s)
rm -rf "$folder"
mkdir -p "$folder"
say "What this build can do."
show --version

# sample NAME SEED SHAPE OPTIONS...
sample() {
    name=$1 seed=$2 shape=$3
    shift 3
    show phantom graphite --shape "$shape" --spacing 0.65,0.65,0.65,um --seed "$seed" --format "$format" "$@" \
        -o "$folder/$name"
}
say "Three samples of a material: one to learn from, with a hand label that errs as people do, and two to be segmented," \
    "the second of them a fainter and noisier scan than the network will have seen."
sample labelled 1 $train_shape
sample new 2024 $test_shape
sample faint 2025 $test_shape --contrast 0.15 --noise 0.035
show info "$folder/labelled/scan.$suffix"

say "Learn from the first: a Bayesian network (bcnn), and a dropout network (mcdn) with the same data, steps and rate."
for kind in bcnn mcdn; do
    show train --scan "$folder/labelled/scan.$suffix" --label "$folder/labelled/label.$suffix" --kind $kind \
        --max-steps $steps -o "$folder/$kind.h5"
done

say "Segment the others, $samples times with what is drawn from each network, and see where the answers differ." \
    "Nothing was ever tuned on these two scans."
for scan in new faint; do
    for kind in bcnn mcdn; do
        show predict --model "$folder/$kind.h5" --scan "$folder/$scan/scan.$suffix" --samples $samples \
            --intervals 33-67,20-80,5-95 --save-samples bits -o "$folder/$scan-$kind"
    done
done

say "Here the truth is known: how right is the result, and does the uncertainty say where it is wrong?"
show validate "$folder/new-bcnn" --label "$folder/new/truth.$suffix"
for run in new-mcdn faint-bcnn faint-mcdn; do
    set -- validate "$folder/$run" --label "$folder/${run%-*}/truth.$suffix" --quiet
    printf '\n$ credence %s    # as above, into validation.txt\n' "$*"
    "$program" "$@" >"$folder/$run/validation.txt"
done

say "What segmentations are made for: properties of the material, of every sample of the network, beside those of the" \
    "truth. A star marks intervals that were seen to hold the truth; the others are what the samples spread over."
show measure "$folder/new-bcnn" --properties fast,transport --axis z --tolerance 1e-3
show measure "$folder/new/truth.$suffix" --properties fraction,surface,transport --axis z
show surface "$folder/new-bcnn" -o "$folder/new.ply"

say "Everything on one page for each scan, both networks side by side."
for scan in new faint; do
    show report "$folder/$scan-bcnn" "$folder/$scan-mcdn" --label "$folder/$scan/truth.$suffix" -o "$folder/$scan.html"
done

say "What is to be made of it."
show compare "$folder/new-bcnn" "$folder/new-mcdn" "$folder/faint-bcnn" "$folder/faint-mcdn"

printf '\nThe reports: %s and %s (open them in a browser).\n' "$folder/new.html" "$folder/faint.html"
printf 'To look at the result in the browser: %s view %s\n' "$program" "$folder/new-bcnn"
printf 'The volumes in %s and its neighbours open in ImageJ, napari or ParaView. This took %s s.\n' "$folder/new-bcnn" \
    $(($(date +%s) - began))
