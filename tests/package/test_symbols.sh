#!/usr/bin/env bash
# The shared library exports what the public headers mark CRD_API, and nothing else; the GPU's plug-in throws nothing.
. "$(dirname "$0")/common.sh"
only_plain_builds

# Declarations run from CRD_API to the first "(" or ";", maybe over several lines: the name is the last word before it.
grep -hv '^#define' "$CREDENCE_SOURCE"/include/credence/*.h | tr '\n' ' ' | grep -oE '\bCRD_API [^(;]*[(;]' |
    grep -oE '[A-Za-z0-9_]+ *[(;]$' | tr -d ' (;' | sort -u >"$folder/declared"
nm -D --defined-only "$CREDENCE_BUILD/libcredence.so" | awk '{print $3}' | sort -u >"$folder/exported"
[ -s "$folder/exported" ] || fail "the library exports nothing"

status=0
for symbol in $(grep -v '^crd_' "$folder/exported"); do
    echo "exported without the prefix crd_: $symbol"
    status=1
done
for symbol in $(comm -13 "$folder/declared" "$folder/exported"); do
    echo "exported, but not declared CRD_API in include/credence: $symbol"
    status=1
done
for symbol in $(comm -23 "$folder/declared" "$folder/exported"); do
    echo "declared CRD_API in include/credence, but not exported: $symbol"
    status=1
done
# An exception would cross from C++ into C: what can throw it isn't even linked.
if [ -e "$CREDENCE_BUILD/libcredence_cuda.so" ]; then
    for symbol in $(nm -D --undefined-only "$CREDENCE_BUILD/libcredence_cuda.so" |
                        grep -oE '_Zn[aw]m(@.*)?$|[^ ]*(__|cxa_)(re)?throw[^ ]*'); do
        echo "libcredence_cuda.so can throw by $symbol"
        status=1
    done
fi
echo "$(wc -l <"$folder/exported") symbols exported, $(wc -l <"$folder/declared") declared"
exit $status
