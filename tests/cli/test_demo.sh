#!/usr/bin/env bash
# tools/demo.sh from end to end, in its short form: it runs, compares two kinds, and leaves reports with pictures.
. "$(dirname "$0")/common.sh"
last=(demo)
demo=$(dirname "$0")/../../tools/demo.sh
code=0
sh "$demo" "$CREDENCE_PROGRAM" "$folder/demo" short >"$folder/out" 2>"$folder/err" </dev/null || code=$?
expect 0
out '^\$ credence train .*--kind mcdn'
out 'new-mcdn +mcdn +0\.'
out 'faint-bcnn +bcnn +0\.'
out '^Voxels that are segmented right: bcnn [0-9.]+ %, mcdn [0-9.]+ %; (level|bcnn is ahead|mcdn is ahead)\.$'
out '^In all, of [0-9]+ figures: bcnn is ahead in [0-9]+, mcdn is ahead in [0-9]+, [0-9]+ level'
out "The reports: $folder/demo/new.html and $folder/demo/faint.html"
for page in new faint; do
    [ "$(grep -o 'Run B' "$folder/demo/$page.html" | wc -l)" -gt 3 ] || complain "$page.html doesn't show two runs"
    ls "$folder/demo/${page}_pictures/"*.png >/dev/null 2>&1 || complain "$page has no pictures"
done
# Both were trained alike: the logs have as many steps, at the same rate.
rates() { grep -o '"lr":[0-9.e-]*' "$folder/demo/$1.log.jsonl" | sort -u; }
same "$(rates bcnn)" "$(rates mcdn)"
same "$(tail -n 1 "$folder/demo/bcnn.log.jsonl" | grep -o '"step":[0-9]*')" \
    "$(tail -n 1 "$folder/demo/mcdn.log.jsonl" | grep -o '"step":[0-9]*')"
finish
