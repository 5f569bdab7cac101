#!/bin/bash
# Forward 3x3x3 convolutions of credence and of oneDNN on this machine, size by size, and the ratio of their times.
#
#     bench/onednn/compare.sh [build/credence]        needs Debian's libdnnl-dev
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
credence=${1:-build/credence}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cc -O2 -o "$folder/onednn" "$here/onednn.c" -ldnnl -lm
export OMP_NUM_THREADS=2
for precision in f32 bf16; do
    # only the forward convolutions, as "layer size milliseconds"; 16+16 channels are 32 to oneDNN
    "$credence" bench ops --layers --chunk 88,176,176 --precision $precision --threads 2 --json --quiet 2>/dev/null |
        tr '{' '\n' | sed -n 's/.*"layer": "\([^"]*\)", "operation": "conv", "size": "\([^"]*\)", "milliseconds": \([0-9.]*\).*/\1 \2 \3/p' \
        >"$folder/ours"
    printf '%-13s %-5s %-24s %10s %10s %7s\n' layer type size ours,ms theirs,ms ratio
    while read -r layer extent channels ours; do
        in=$((${channels%->*})) out=${channels#*->}
        IFS=x read -r depth height width <<<"$extent"
        theirs=$("$folder/onednn" "$depth" "$height" "$width" "$in" "$out" $precision)
        awk -v l="$layer" -v p=$precision -v s="$extent $channels" -v a="$ours" -v b="$theirs" \
            'BEGIN { printf "%-13s %-5s %-24s %10.2f %10.2f %7.2f\n", l, p, s, a, b, b / a }'
    done <"$folder/ours"
done
