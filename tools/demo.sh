#!/bin/sh
# The main job of credence from end to end on a made-up material, each command shown before it runs. A minute or two.
#
#   tools/demo.sh build/credence build/demo
set -eu
program=$1
folder=$2

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

rm -rf "$folder"
mkdir -p "$folder"
say "What this build can do."
show --version

say "Two samples of a material: one to learn from, with a hand label that errs as people do, and one to be segmented."
for sample in 1 2; do
    show phantom graphite --shape 48,96,96 --spacing 0.65,0.65,0.65,um --seed $sample --format "$format" \
        -o "$folder/sample$sample"
done
show info "$folder/sample1/scan.$suffix"

say "Learn from the first."
show train --scan "$folder/sample1/scan.$suffix" --label "$folder/sample1/label.$suffix" --max-steps 250 \
    -o "$folder/model.h5"

say "Segment the second, 16 times with weights drawn from what was learnt, and see where the answers differ."
show predict --model "$folder/model.h5" --scan "$folder/sample2/scan.$suffix" --samples 16 --step 2 -o "$folder/run"

say "Here the truth is known: how right is the result, and does the uncertainty say where it is wrong?"
show validate "$folder/run" --label "$folder/sample2/truth.$suffix"

say "All of it on one page."
show report "$folder/run" --label "$folder/sample2/truth.$suffix" -o "$folder/report.html"

printf '\nOpen %s in a browser; the volumes in %s open in ImageJ, napari or ParaView.\n' "$folder/report.html" "$folder/run"
