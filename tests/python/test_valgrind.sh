#!/usr/bin/env bash
# Valgrind over a Python process that trains, predicts, measures and fails: no error and no leak with the library in its
# stack. What Python and NumPy do by themselves isn't looked at.
. "$(dirname "$0")/../package/common.sh"
only_plain_builds
[ -n "${CREDENCE_LONG:-}" ] || skip "minutes under valgrind; CREDENCE_LONG=1 asks for it"
command -v valgrind >/dev/null || skip "valgrind isn't installed"
"$CREDENCE_PYTHON" -c 'import numpy' 2>/dev/null || skip "this Python has no numpy"
cd "$folder"
"$CREDENCE_BUILD/tests/make_model" model.h5 bcnn 8 16,16,16
cat >use.py <<'PYTHON'
import sys, warnings
import numpy as np
import credence
from credence._library import Options
warnings.simplefilter("ignore")
if sys.argv[1:]:  # options that nobody frees
    Options("predict", {"scan": "forgotten.tif"})
    raise SystemExit
scan = (np.indices((16, 16, 16)).sum(0) * 40).astype("u2")
model = credence.Model("model.h5")
r = model.predict(np.asfortranarray(scan), samples=2, step=1)
credence.measure(r, properties="fraction")
credence.validate(r, scan > 1000)
model.predict(scan, samples=2, mode="seamless", norms="scan", output="run")
credence.train(scan, scan > 1000, preset="toy", max_steps=1, filters=8, chunk=(16, 16, 16))
for wrong in (dict(sampels=3), dict(mask=scan[:4])):
    try:
        model.predict(scan, **wrong)
    except credence.Error:
        continue
    raise SystemExit("went on with nonsense")
PYTHON
export PYTHONPATH=$CREDENCE_SOURCE/python PYTHONDONTWRITEBYTECODE=1 CREDENCE_LIBRARY=$CREDENCE_BUILD/libcredence.so PYTHONMALLOC=malloc

# watch NAME WORD...: what valgrind finds that has a function of ours in its stack
watch() {
    local name=$1
    shift
    valgrind --leak-check=full --show-leak-kinds=definite,indirect --num-callers=40 --log-file="$name.log" \
        --suppressions="$CREDENCE_SOURCE/tests/valgrind.supp" "$CREDENCE_PYTHON" use.py "$@" >said 2>&1 || fail "$(tail -n 20 said)"
    sed 's/^==[0-9]*== \?//' "$name.log" | awk 'BEGIN {RS = ""} /libcredence|crd_/'
}
found=$(watch clean)
[ -z "$found" ] || fail "$found"
grep -q 'ERROR SUMMARY' clean.log || fail "valgrind says nothing: $(cat clean.log)"
found=$(watch leaky on purpose)
[[ $found == *"definitely lost"* ]] || fail "valgrind doesn't see what is left on purpose"
