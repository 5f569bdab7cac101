#!/usr/bin/env bash
# Wheels: `pip install` in an empty virtual environment without a network, with all libraries inside, and used from an
# empty environment beside other packages that bring libraries of the same names.
. "$(dirname "$0")/../package/common.sh"
. "$(dirname "$0")/../package/hardening.sh"
only_plain_builds
"$CREDENCE_PYTHON" -c 'import numpy' 2>/dev/null || skip "this Python has no numpy"
"$CREDENCE_PYTHON" -c 'import ensurepip, venv' 2>/dev/null || skip "this Python can't make virtual environments"
export CREDENCE_WHEEL_BUILD=$CREDENCE_BUILD
unset CREDENCE_LIBRARY
cd "$folder"
cp -r "$CREDENCE_SOURCE/python" "$CREDENCE_SOURCE/CMakeLists.txt" "$CREDENCE_SOURCE/LICENSE" . # nothing is written there
"$CREDENCE_BUILD/tests/make_model" model.h5 bcnn 8 16,16,16

cat >use.py <<'PYTHON'
import os, sys
import numpy as np
import credence
from credence._library import library
assert credence.__file__.startswith(sys.prefix), credence.__file__
assert library._name.startswith(sys.prefix), library._name
try:
    import h5py
except ImportError:
    print("skipped: no h5py to load a second HDF5 library")
scan = np.random.default_rng(1).random((16, 20, 24), "f4")
r = credence.Model("model.h5").predict(scan, samples=2, step=1, output="run", overwrite=True, format="tiff")
assert r.probability.shape == scan.shape and 0 < r.volume_fraction.segmentation < 1
inside = os.path.dirname(library._name)
places = {line.split()[-1] for line in open("/proc/self/maps") if "crdhdf5" in line}
assert not sys.argv[1:] or (places and all(p.startswith(inside) for p in places)), places
PYTHON

# By pip, from the folder: libcredence isn't installed here, so it goes inside.
"$CREDENCE_PYTHON" -m venv --system-site-packages one
one/bin/pip install --quiet --no-index --no-deps --disable-pip-version-check ./python --config-settings library=inside 2>log ||
    fail "pip install: $(cat log)"
env -i PATH=/usr/bin:/bin HOME="$folder" one/bin/python use.py >said 2>log || fail "$(cat log)"

# With everything inside, as `make wheel` makes it: twice the same bytes.
for name in a b; do
    mkdir $name
    (cd python && CREDENCE_WHEEL=all "$CREDENCE_PYTHON" build_backend.py ../$name) >said 2>log || fail "$(cat log)"
done
cmp a/*.whl b/*.whl || fail "two wheels of the same sources differ"
"$CREDENCE_PYTHON" -m venv --system-site-packages two
two/bin/pip install --quiet --no-index --no-deps --disable-pip-version-check a/*.whl
env -i PATH=/usr/bin:/bin HOME="$folder" two/bin/python use.py all >said 2>log || fail "$(cat log)"
for library in two/lib/python3*/site-packages/credence/lib/*; do
    outside=$(ldd "$library" | grep -oE '/[^ ]+' | grep -vE "^($PWD/two|/)[^ ]*/(crd|ld-linux|lib(c|credence|m|dl|pthread|rt|resolv|util|stdc\+\+|gcc_s)\.)" || true)
    [ -z "$outside" ] || fail "$library needs $outside of this machine"
done
if [ "$(cached CREDENCE_HARDENING)" = ON ] && command -v readelf >/dev/null; then
    is_hardened two/lib/python3*/site-packages/credence/lib/*credence* # the others are Debian's
    is_checked two/lib/python3*/site-packages/credence/lib/libcredence.so*
fi
# The GPU's plug-in is installed apart: where CREDENCE_PLUGINS says, or where installations have it. Found, it looks for a GPU.
cat >gpu.py <<'PYTHON'
import numpy as np
import credence
try:
    credence.Model("model.h5").predict(np.zeros((16, 16, 16), "f4"), samples=1, device="cuda")
except credence.Error as problem:
    print(problem)
PYTHON
ask_for_gpu() { env -i PATH=/usr/bin:/bin HOME="$folder" "$@" two/bin/python gpu.py; }
if [ -e "$CREDENCE_BUILD/libcredence_cuda.so" ]; then
    said=$(ask_for_gpu CREDENCE_PLUGINS="$CREDENCE_BUILD")
    case $said in *"can't be loaded"*) fail "the plug-in wasn't found: $said" ;; esac
else
    echo "skipped: part: this build has no plug-in for GPUs"
fi
mkdir damaged
echo "no library" >damaged/libcredence_cuda.so
said=$(ask_for_gpu CREDENCE_PLUGINS="$folder/damaged")
case $said in *"can't be loaded ($folder/damaged/libcredence_cuda.so: "*) ;; *) fail "a damaged plug-in isn't named: $said" ;; esac
# pip asks for the metadata alone first, which mustn't build anything.
mkdir about
(cd python && CREDENCE_WHEEL_BUILD=/nowhere "$CREDENCE_PYTHON" -c 'import build_backend as b; print(b.prepare_metadata_for_build_wheel("../about"))') >said
cmp "about/$(cat said)/METADATA" <(cd two/lib/python3*/site-packages && cat "$(cat "$folder/said")/METADATA") || fail "other metadata than the wheel's"
(cd python && "$CREDENCE_PYTHON" -m doctest elf_names.py) || fail "the examples of elf_names.py"
