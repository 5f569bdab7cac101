#!/usr/bin/env bash
# How fast `credence convert` is, against what the disk can do by itself.
#
#   bench/io.sh PROGRAM FOLDER [z,y,x]
#
# Makes a volume of random u16 voxels in FOLDER (default 512,2048,2048: two billion voxels, 4.3 GB; twice that must be free),
# measures dd reading and writing it, then each conversion, and removes what it made. Reading is from the disk, not from
# memory, where this may empty the page cache (root); writing ends when the data are on the disk. One JSON object a line:
# "share" is the conversion's speed over the slower of dd's reading and writing. dd reads the same file right after the
# conversion did: a virtual disk's speed changes from minute to minute, and what its host still remembers helps dd then.
set -euo pipefail
program=$1
folder=$2
shape=${3:-512,2048,2048}
IFS=, read -r nz ny nx <<<"$shape"
bytes=$((nz * ny * nx * 2))
work=$(mktemp -d "$folder/credence-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT

cold() {
    sync
    if [ -w /proc/sys/vm/drop_caches ]; then echo 3 >/proc/sys/vm/drop_caches; fi
}
seconds() { # seconds COMMAND...: how long it takes
    local start
    start=$(date +%s.%N)
    "$@" >/dev/null 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
    echo "$start $(date +%s.%N)" | awk '{printf "%.3f", $2 - $1}'
}
rate() { awk -v b="$bytes" -v s="$1" 'BEGIN {printf "%.0f", b / s / 1e6}'; }

head -c "$bytes" /dev/urandom >"$work/scan.raw"
cold
read_s=$(seconds dd if="$work/scan.raw" of=/dev/null bs=16M)
cold
write_s=$(seconds dd if=/dev/zero of="$work/zero" bs=16M count="$bytes" iflag=count_bytes conv=fsync)
rm "$work/zero"
printf '{"what":"dd read","mb_per_s":%s,"seconds":%s}\n' "$(rate "$read_s")" "$read_s"
printf '{"what":"dd write","mb_per_s":%s,"seconds":%s}\n' "$(rate "$write_s")" "$write_s"

convert() { # convert FROM TO [FLAGS...]
    local from=$1 to=$2 s peak read_again
    shift 2
    cold
    s=$(seconds command time -o "$work/peak" -f %M "$program" convert "$work/$from" "$work/$to" --quiet "$@")
    peak=$(tail -n 1 "$work/peak")
    cold
    read_again=$(seconds dd if="$work/$from" of=/dev/null bs=16M)
    printf '{"what":"%s to %s","mb_per_s":%s,"seconds":%s,"dd_read_seconds":%s,"share":%s,"peak_mib":%s}\n' "$from" "$to" \
        "$(rate "$s")" "$s" "$read_again" \
        "$(awk -v a="$read_again" -v b="$write_s" -v s="$s" 'BEGIN {printf "%.2f", (a > b ? a : b) / s}')" "$((peak / 1024))"
}
described=(--shape "$shape" --type u16le)
for format in raw npy h5 tif; do
    convert scan.raw "out.$format" "${described[@]}"
    [ "$format" = raw ] || convert "out.$format" back.raw
    rm -f "$work/out.$format" "$work"/*.json "$work/back.raw"
done
convert scan.raw packed.h5 "${described[@]}" --compress 1
convert packed.h5 back.raw
cold
s=$(seconds "$program" info "$work/scan.raw" "${described[@]}" --quiet)
printf '{"what":"info scan.raw","mb_per_s":%s,"seconds":%s}\n' "$(rate "$s")" "$s"
