#!/usr/bin/env bash
# The wheel and `pip install` on bare machines (tools/bare-machine.sh): Python alone, without compilers and without our
# libraries, from array to property interval; and with what building needs. Whole builds and a network, so only where long
# tests are asked for.
. "$(dirname "$0")/common.sh"
only_plain_builds
[ -n "${CREDENCE_LONG:-}" ] || skip "whole builds on bare machines; CREDENCE_LONG=1 asks for it"
. "$CREDENCE_SOURCE/tools/bare-machine.sh"
lacks=$(bare_lacks)
[ -z "$lacks" ] || skip "$lacks"
base=$CREDENCE_BUILD/bare/base
bare_base "$base" || skip "debootstrap could make no machine, maybe without a network"
machine=$folder/machine
bare_machine "$base" "$machine"
bare() { on_machine "$machine" /root "$@" >"$folder/log" 2>&1 || fail "$*: $(tail -n 20 "$folder/log")"; }
bare apt-get -qq update
bare apt-get -qq install -y --no-install-recommends python3 python3-venv

# NumPy comes from here, so that the machine needs no way to PyPI.
mkdir "$machine/root/wheels"
pip3 download -q --no-deps -d "$machine/root/wheels" --python-version 311 --platform manylinux_2_17_x86_64 \
    --platform manylinux_2_27_x86_64 --only-binary :all: numpy >"$folder/log" 2>&1 || skip "no NumPy from PyPI: $(tail -n 1 "$folder/log")"
printf '[global]\nno-index = true\nfind-links = /root/wheels\ndisable-pip-version-check = true\n' >"$machine/etc/pip.conf"

mkdir "$machine/root/source"
git -C "$CREDENCE_SOURCE" ls-files -z | (cd "$CREDENCE_SOURCE" && xargs -0 cp --parents -at "$machine/root/source")
(cd "$machine/root/source/python" && CREDENCE_WHEEL=all CREDENCE_WHEEL_BUILD="$CREDENCE_BUILD" "$CREDENCE_PYTHON" build_backend.py "$machine/root") \
    >"$folder/log" 2>&1 || fail "$(cat "$folder/log")"
cp -r "$machine/root/source/examples" "$machine/root/"

if on_machine "$machine" / sh -c 'command -v cc || command -v cmake' >/dev/null; then fail "the machine has a compiler"; fi
bare sh -c 'python3 -m venv v && v/bin/pip install credence-*.whl && v/bin/python examples/python/electrode.py'
grep -E '^(volume fraction|voxels|specific)' "$folder/log"
grep -qE '^volume fraction 0\.[0-9]{4} \((90 % interval|5-95 % of the samples) 0\.[0-9]{4} to 0\.[0-9]{4}\); truth 0\.[0-9]{4}$' "$folder/log" || fail "$(cat "$folder/log")"
grep -qE '^specific surface 0\.[0-9]+ \(0\.[0-9]+ to 0\.[0-9]+\) 1/um$' "$folder/log" || fail "$(cat "$folder/log")"
right=$(sed -nE 's/^voxels that are right: ([0-9]+).*/\1/p' "$folder/log")
[ "$right" -ge 85 ] || fail "it learnt nothing: $right % of the voxels are right"

# From the sources, where there is no library and no compiler: a sentence. With what building needs: the same.
if on_machine "$machine" /root v/bin/pip install --force-reinstall --no-deps ./source/python >"$folder/log" 2>&1; then fail "built without cmake"; fi
grep -q "there is no cmake to build it: docs/INSTALL.md says how" "$folder/log" || fail "$(tail -n 20 "$folder/log")"
# shellcheck disable=SC2046 # one argument per package
bare apt-get -qq install -y --no-install-recommends $(awk '$1 == "build" || $1 == "optional" {print $2}' "$CREDENCE_SOURCE/tools/packages.txt")
bare sh -c 'python3 -m venv w && w/bin/pip install ./source/python && w/bin/python examples/python/electrode.py --steps 3'
grep -q '^specific surface ' "$folder/log" || fail "$(cat "$folder/log")"
