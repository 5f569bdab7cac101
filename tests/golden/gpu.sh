#!/usr/bin/env bash
# Prints a line "NAME SHA256" for each of some predictions and trainings on this machine's GPU, sorted. Kernels may give
# other bytes on another model of GPU, so nothing is recorded: two builds are compared on one machine.
#
#   CREDENCE_PROGRAM=build/credence bash tests/golden/gpu.sh >before
#
# All volumes are npy, which needs no optional library. Without a GPU, ends with 77.
set -euo pipefail
program=$(realpath "${CREDENCE_PROGRAM:-$(dirname "$0")/../../build/credence}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
failed=0
credence() { # NAME WORDS...
    local name=$1
    shift
    if "$program" "$@" --quiet </dev/null >out 2>err; then return 0; fi
    echo "$name: credence $*: $(cat err)" >&2
    echo "$name failed" >>hashes
    failed=1
    return 1
}
hash() { # NAME FILES...
    echo "$1 $(cat -- "${@:2}" | sha256sum | cut -d ' ' -f 1)" >>hashes
}
if ! "$program" bench train --device cuda --chunk 8,8,8 --batch 1 --seconds 0.01 --json >out 2>err </dev/null; then
    echo "skipped: $(cat err)" >&2
    exit 77
fi

credence phantom phantom graphite -o made --shape 40,64,72 --seed 3 --format npy
train() { # NAME OPTIONS...
    local name=$1
    shift
    credence "train-$name" train --scan made/scan.npy --label made/label.npy -o "$name.h5" --chunk 16,32,32 --batch 3 --step 2 \
        --max-steps 20 --device cuda "$@" || return 0
    sed -E 's/"(seconds|examples_per_second)":[^,}]*//' "$name.log.jsonl" >"$name.log"
    hash "train-$name" "$name.h5" "$name.best.h5" "$name.log"
}
predict() { # NAME OPTIONS...
    local name=$1
    shift
    credence "predict-$name" predict --scan made/scan.npy -o "$name" --samples 20 --step 2 --format npy --device cuda "$@" ||
        return 0
    hash "predict-$name" "$name"/scan_*.npy "$name/probe.h5"
}

train bcnn-bf16
train bcnn-f32 --precision f32 --max-steps 4
train mcdn-bf16 --kind mcdn
train several --device cuda:0,0 --valid-samples 2
predict fp16 --model bcnn-bf16.h5
predict fp16-sm80 --model bcnn-bf16.h5 --isa sm80
predict bf16 --model bcnn-bf16.h5 --precision bf16
predict f32 --model bcnn-bf16.h5 --precision f32 --samples 4
predict mcdn --model mcdn-bf16.h5 --aggregate samples --save-samples u8 --std
predict mcdn-sm80 --model mcdn-bf16.h5 --isa sm80 --draws per-chunk
predict workers --model bcnn-bf16.h5 --device cuda:0,0 --intervals 33-67,5-95 --mask cylinder
LC_ALL=C sort hashes
exit $failed
