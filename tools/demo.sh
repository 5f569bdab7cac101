#!/bin/sh
# The main job of credence from end to end on a made-up scan, each command shown before it runs.
#
#   tools/demo.sh build/credence build/demo
#
# The steps stand in the order in which a user takes them. A step whose command this version does not have yet is named
# at the end instead.
set -eu
program=$1
folder=$2
later=

has() { # whether the program lists that command
    "$program" --help 2>/dev/null | grep -qE "^ +(credence )?$1( |$)" || { later="$later $1"; return 1; }
}

show() {
    printf '\n$ credence %s\n' "$*"
    "$program" "$@"
}

# TIFF is what people have; a build without it shows the same with NumPy's files.
format=tiff suffix=tif
"$program" --version | grep -q '^TIFF volumes: no' && format=npy suffix=npy

rm -rf "$folder"
mkdir -p "$folder"
show --version

if has phantom; then
    # Graphite particles as a CT sees them, with the exact truth and a hand label that errs as people do.
    show phantom graphite --shape 64,128,128 --spacing 0.65,0.65,0.65,um --seed 1 --format "$format" -o "$folder/graphite"
fi
if has info && [ -d "$folder/graphite" ]; then
    show info "$folder/graphite/scan.$suffix" "$folder/graphite/label.$suffix"
fi
for command in train predict validate report; do has "$command" || true; done

printf '\n'
[ -z "$(ls "$folder")" ] || echo "The files are in $folder."
[ -z "$later" ] || echo "Not part of this version yet, so not shown:$later."
