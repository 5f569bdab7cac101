#!/usr/bin/env bash
# The documentation names only what is there: relative links lead to files, `make X` is a target, `tools/x` exists.
. "$(dirname "$0")/common.sh"
cd "$CREDENCE_SOURCE"
status=0
for page in *.md docs/*.md; do
    for link in $(grep -oE '\]\([^)#]+' "$page" | cut -c 3- | grep -v '^https:' || true); do
        [ -e "$(dirname "$page")/$link" ] || { echo "$page links to $link, which is not there"; status=1; }
    done
    for target in $(grep -oE '(^ +|`)(sudo )?make [a-z][a-z-]*' "$page" | grep -oE '[a-z-]+$' || true); do
        grep -qE "^([a-z -]+ )?$target( [a-z -]+)?:" Makefile || { echo "$page names make $target"; status=1; }
    done
    for tool in $(grep -oE '\btools/[a-z][a-z.-]*[a-z]' "$page" || true); do
        [ -e "$tool" ] || { echo "$page names $tool, which is not there"; status=1; }
    done
done
exit $status
