#!/usr/bin/env bash
# Rules of the tree that a compiler doesn't check: which folder may include which, what the library must not call, sizes.
. "$(dirname "$0")/common.sh"
cd "$CREDENCE_SOURCE"
code=(--include='*.[ch]' --include='*.inc' --include='*.cu' --include='*.cuh')

{
    # A folder includes those of its own level and below; docs/ARCHITECTURE.md says the same in words.
    grep -rnE '^ *#include "' src "${code[@]}" | awk -F: '
        BEGIN {
            split("credence build_config.h 0 base 1 draw 2 volume 3 phantom chunk 4 run 5 net ops backend bayes 6 " \
                  "predict train dist 7 validate measure surface propagate 8 report 9 view 10", words, " ")
            for (i = 1; i in words; i++)
                if (words[i] ~ /^[0-9]+$/) { for (name in waiting) level[name] = words[i]; split("", waiting) }
                else waiting[words[i]]
        }
        {
            split($1, path, "/")
            split($3, quoted, "\"")
            n = split(quoted[2], included, "/")
            if (n == 1 && !(included[1] in level)) next # a neighbour in the same folder
            if (!(path[2] in level) || !(included[1] in level))
                print $1 ":" $2 ": the order of folders in this test does not know " path[2] " or " included[1]
            else if (level[included[1]] + 0 > level[path[2]] + 0)
                print $1 ":" $2 ": src/" path[2] " comes before src/" included[1] " and must not include it"
        }'
    grep -rnE '^ *#include ".*/' cli "${code[@]}" | grep -vE '"(credence|talk)/' |
        sed 's/$/: the program includes only credence\/ headers and its own/'
    grep -rnE '\b((printf|puts|putchar|perror|exit|_exit|abort|assert) *\(|stdout\b|stderr\b)' src "${code[@]}" |
        grep -v '^src/base/assert\.h:' | sed 's/$/: the library never prints, exits or aborts/'
    grep -rnE '([]A-Za-z_.[>-]+) = fm(ax|in)f?\(\1\b|fmaxf?\((error|worst|largest|difference)\b' tests bench fuzz "${code[@]}" |
        sed 's/$/: fmax and fmin drop NaN; tests\/compare.h has what sees it/'
    # All that is written by hand: not files that tests read, nor what experiments found.
    find . \( -path './.*' -o -path './build*' -o -path ./shared -o -path ./tests/data -o -path ./tests/golden/texts -o -path ./fuzz/corpus \
        -o -path ./experiments/results -o -name __pycache__ \) -prune -o -type f -printf '%P\n' >"$folder/files"
    grep -E '\.([ch]|inc|cuh?|py|sh|js|css|html|cmake)$|^tools/' "$folder/files" | tr '\n' '\0' | xargs -0 wc -l |
        awk '$2 != "total" && $1 > 600 {print $2 " has " $1 " lines: look for a natural split"}'
    sed 's|[^/]*$||' "$folder/files" | sort | uniq -c |
        awk '$1 > 40 {print $2 " has " $1 " files side by side: look for natural rooms"}'
    for name in src/ cli/ web/paint/ python/ bench/ helper/ experiments/ tests/cli/; do
        grep -q "^$name" "$folder/files" || echo "this test doesn't see $name"
    done
} >"$folder/complaints" || true # grep found nothing: good

[ ! -s "$folder/complaints" ] || fail "$(cat "$folder/complaints")"
