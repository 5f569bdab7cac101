#!/bin/bash
# credence and PyTorch at the same work on this machine, one after the other, and the ratios of their times.
#
#     bench/torch/compare.sh [build/credence] [repetitions of PyTorch]
#
# PyTorch gets its best chance: two threads that don't burn the core the other needs, OpenBLAS for the convolutions that
# oneDNN doesn't take, and a malloc that keeps its memory and uses huge pages. Needs Debian's python3-torch and
# libopenblas0-openmp, and a few minutes on a free machine. PYTHON names another interpreter than /usr/bin/python3.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
credence=${1:-build/credence}
repeat=${2:-2}
threads=2
number='s/.*"\(milliseconds\|ms_per_[a-z]*\)": *\([0-9.]*\).*/\2/p'

peer() {
    LD_LIBRARY_PATH=/usr/lib/$(uname -m)-linux-gnu/openblas-openmp OMP_NUM_THREADS=$threads OMP_WAIT_POLICY=passive \
        MALLOC_MMAP_THRESHOLD_=8589934592 MALLOC_TRIM_THRESHOLD_=17179869184 MALLOC_TOP_PAD_=268435456 \
        GLIBC_TUNABLES=glibc.malloc.hugetlb=1 ${PYTHON:-/usr/bin/python3} "$here/speed.py" "$@" --threads $threads |
        sed -n "$number"
}

ours() {
    "$credence" bench "$@" --device cpu --threads $threads --json --quiet | sed -n "$number"
}

row() { # WHAT PRECISION PEER OURS THEIRS
    awk -v what="$1" -v precision="$2" -v peer="$3" -v ours="$4" -v theirs="$5" \
        'BEGIN { printf "%-8s %-5s %-28s %10.0f %10.0f %7.2f\n", what, precision, peer, ours, theirs, theirs / ours }'
}

least() { # of two numbers
    awk -v a="$1" -v b="$2" 'BEGIN { print a < b ? a : b }'
}

# Ours before and after PyTorch's, and the better of the two: a burst of other work on the machine passes.
printf '%-8s %-5s %-28s %10s %10s %7s\n' what type 'PyTorch does' 'ours, ms' 'theirs, ms' ratio
for precision in f32 bf16; do
    before=$(ours predict --precision $precision)
    paper=$(peer predict --precision $precision --repeat "$repeat")
    once=$(peer predict --procedure once --precision $precision --repeat "$repeat")
    mine=$(least "$before" "$(ours predict --precision $precision)")
    row predict $precision "the paper's procedure" "$mine" "$paper"
    row predict $precision 'encoder once, drawn weights' "$mine" "$once"
done
for estimator in flipout independent; do
    before=$(ours train --estimator $estimator)
    theirs=$(peer train --estimator $estimator --repeat $((4 * repeat)))
    row train f32 $estimator "$(least "$before" "$(ours train --estimator $estimator)")" "$theirs"
done
