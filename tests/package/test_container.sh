#!/usr/bin/env bash
# The Containerfile, step by step, on two bare machines (tools/bare-machine.sh) in place of a container's: the packages are
# built from nothing on one; on the other apt installs them, the program works without a compiler, and goes again. Whole
# builds and a network, so only where long tests are asked for.
. "$(dirname "$0")/common.sh"
only_plain_builds
[ -n "${CREDENCE_LONG:-}" ] || skip "a whole build on a bare machine; CREDENCE_LONG=1 asks for it"
. "$CREDENCE_SOURCE/tools/bare-machine.sh"
lacks=$(bare_lacks)
[ -z "$lacks" ] || skip "$lacks"
base=$CREDENCE_BUILD/bare/base
bare_base "$base" || skip "debootstrap could make no machine, maybe without a network"

# The words of a COPY from `from` to `to`, which are roots of machines or the sources.
copy() { # copy FROM TO WORD...
    local from=$1 to=$2 target word
    shift 2
    target=$to${!#}
    mkdir -p "$target"
    for word in "${@:1:$#-1}"; do
        # shellcheck disable=SC2086 # patterns
        cp -a $from/$word "$target"
    done
}

machine= place=/ steps=0 entry=
while read -r step words; do
    [ -n "$machine" ] || [ "$step" = FROM ] || fail "the Containerfile begins with $step"
    steps=$((steps + 1))
    case $step in
    FROM)
        machine=$folder/${words##* AS } place=/
        [ "${words##* AS }" != "$words" ] || machine=$folder/last
        [[ $words == debian:12* ]] || fail "$words isn't what $base is"
        bare_machine "$base" "$machine"
        [ "$machine" = "$folder/build" ] || on_machine "$machine" / dpkg --purge make >"$folder/log" # a container has none
        ;;
    RUN) on_machine "$machine" "$place" sh -c "$words" >"$folder/log" 2>&1 || fail "RUN $words: $(tail -n 20 "$folder/log")" ;;
    WORKDIR)
        place=$words
        mkdir -p "$machine$place"
        ;;
    COPY)
        if [[ $words == --from=* ]]; then
            from=${words%% *}
            # shellcheck disable=SC2086 # separate words
            copy "$folder/${from#--from=}" "$machine" ${words#* }
        else
            [ "$words" = ". /source" ] || fail "COPY $words: this test doesn't know how"
            mkdir -p "$machine/source"
            (cd "$CREDENCE_SOURCE" && git ls-files -z | xargs -0 cp --parents -at "$machine/source")
        fi
        ;;
    ENTRYPOINT) entry=$(tr -d '[]",' <<<"$words") ;;
    *) fail "the Containerfile has a step that this test doesn't know: $step" ;;
    esac
done < <(sed -e ':a; /\\$/ {N; s/\\\n *//; ba}' -e '/^#/d; /^$/d' "$CREDENCE_SOURCE/Containerfile")
[ "$steps" -ge 8 ] && [ "$entry" = credence ] || fail "read $steps steps of the Containerfile, which ends with '$entry'"

# docker run ... credence WORD...
run() { on_machine "$machine" "$place" "$entry" "$@" >"$folder/log" 2>&1 || fail "$*: $(tail -n 20 "$folder/log")"; }
for tool in cc make python3; do
    if on_machine "$machine" / sh -c "command -v $tool" >/dev/null; then fail "the machine has $tool: it isn't bare"; fi
done
run --version
grep -q '^TIFF volumes: yes' "$folder/log" && grep -q '^page in the browser (view): yes' "$folder/log" || fail "$(cat "$folder/log")"
run phantom graphite -o p --shape 24,40,40
run train --scan p/scan.tif --label p/label.tif -o m.h5 --preset toy --max-steps 4
run predict --model m.h5 --scan p/scan.tif -o r --samples 4 --save-samples bits
run measure r --properties fraction,surface
run report r -o report.html
[ -s "$machine$place/report.html" ] && [ -s "$machine$place/r/scan_unc.tif" ] || fail "no results: $(ls "$machine$place")"

# The headers are a package, and all go without a trace.
mkdir "$machine/packages"
cp "$folder"/build/source/build/packages/libcredence-dev_*.deb "$machine/packages/"
cp "$CREDENCE_SOURCE/examples/segment_array.c" "$machine$place/"
on_machine "$machine" "$place" sh -ec 'apt-get -qq update && apt-get -qq install -y --no-install-recommends gcc libc6-dev pkg-config /packages/*.deb
    cc segment_array.c -o segment_array $(pkg-config --cflags --libs credence) -lm && ./segment_array m.h5' >"$folder/log" 2>&1 ||
    fail "$(tail -n 20 "$folder/log")"
grep -qE '^volume fraction [01]\.[0-9]{4}; slice 12:$' "$folder/log" || fail "the example said: $(tail -n 20 "$folder/log")"
on_machine "$machine" / sh -c 'dpkg --purge $(dpkg-query -W -f "\${Package}\n" "*credence*")' >"$folder/log" 2>&1 || fail "$(cat "$folder/log")"
left=$(find "$machine/usr" "$machine/etc" "$machine/var" -name '*credence*' -not -path '*/apt/*')
[ -z "$left" ] || fail "purged packages leave $left"
