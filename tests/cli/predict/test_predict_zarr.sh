#!/usr/bin/env bash
# predict --format zarr: finished layers can be opened while the run goes on, a run that was stopped goes on, and the
# result is that of any other format.
. "$(dirname "$0")/../common.sh"
cd "$folder" || exit 1
"$CREDENCE_BUILD/tests/make_model" model.h5 bcnn 8 16,16,16 || exit 1
/usr/bin/python3 - <<'PYTHON' || exit 1
import numpy as np
rng = np.random.default_rng(1)
np.save("scan.npy", rng.normal(0, 1, (136, 24, 24)).cumsum(0).astype(np.float32))
open("scan.npy.json", "w").write('{"spacing": [2, 1, 0.5], "unit": "um"}')
PYTHON
base=(predict --model model.h5 --scan scan.npy --samples 24 --step 2 --quiet --dtype u16)
run "${base[@]}" -o plain --format npy; expect 0

# Stopped as soon as the first layer of 32 slices is there.
"$CREDENCE_PROGRAM" "${base[@]}" -o grown --format zarr >"$folder/out" 2>"$folder/err" &
for ((i = 0; i < 3000; i++)); do
    [ ! -e grown/scan_unc.zarr/0/0/0/0 ] || break
    sleep 0.02
done
kill -TERM $! 2>/dev/null; wait $!; code=$?
last=("${base[@]}" -o grown); expect 1; err '^credence: stopped .*--resume goes on in grown'
[ -e grown/.partial/journal ] || complain "nothing to go on with"
run info --json grown/scan_prob.zarr; expect 0; err "^credence: warning: grown/scan_prob.zarr isn't complete"
same "$(json 'd["format"], d["shape"], d["type"], d["spacing"], d["unit"]')" "zarr [136, 24, 24] u16 [2, 1, 0.5] um"
compare() { # compare SLICES: those of all volumes, as zarr-python reads them, with the plain run's
    /usr/bin/python3 - "$1" <<'PYTHON' || complain "grown and plain differ"
import json, sys
import numpy as np
try:
    import zarr
except ImportError:
    sys.exit(0)
for name in "prob", "seg", "unc":
    group = zarr.open("grown/scan_%s.zarr" % name, mode="r")
    image = group.attrs["multiscales"][0]
    assert group.attrs["complete"] == (sys.argv[1] == "136"), dict(group.attrs)
    assert [a["name"] for a in image["axes"]] == ["z", "y", "x"] and image["axes"][0]["unit"] == "micrometer"
    assert image["datasets"][0]["coordinateTransformations"][0]["scale"] == [2, 1, 0.5]
    n = int(sys.argv[1])
    assert (group["0"][:n] == np.load("plain/scan_%s.npy" % name)[:n]).all(), name
PYTHON
}
compare 32
run "${base[@]}" -o grown --format zarr; expect 1; err 'interrupted, which --resume goes on with'

# The volumes begun make room for those of another format, and readers of run folders find one run.
run convert plain/scan_seg.npy label.npy; expect 0
for way in resume overwrite; do
    cp -r grown $way; touch $way/mine
    run "${base[@]}" -o $way --format npy --$way; expect 0; no_err
    same "$(ls -A $way | tr '\n' ' ')" "log.jsonl manifest.json mine probe.h5 scan_prob.npy scan_prob.npy.json scan_seg.npy scan_seg.npy.json scan_unc.npy scan_unc.npy.json "
    same "$(cat $way/*.npy | sha256sum)" "$(cat plain/*.npy | sha256sum)"
    run validate $way --label label.npy --json; expect 0; same "$(json 'd["accuracy"]')" "1"
done

run "${base[@]}" -o grown --format zarr --resume; expect 0; no_err
same "$(ls -A grown | tr '\n' ' ')" "log.jsonl manifest.json probe.h5 scan_prob.zarr scan_seg.zarr scan_unc.zarr "
compare 136
/usr/bin/python3 -c "
import json
a, b = (json.load(open(p + '/manifest.json')) for p in ('plain', 'grown'))
assert a['uncertainty'] == b['uncertainty'] and a['seams'] == b['seams'] and a['volume_fraction'] == b['volume_fraction']" ||
    complain "the manifests differ"
for name in prob seg unc; do
    run convert grown/scan_$name.zarr back_$name.npy; expect 0; no_err
    cmp -s back_$name.npy plain/scan_$name.npy || complain "$name is another one"
done

# What reads run folders reads this one, and --overwrite replaces it.
run validate grown --label label.npy --json; expect 0; same "$(json 'd["accuracy"]')" "1"
run "${base[@]}" -o grown --format zarr --overwrite --bbox 0:20,2:12,3:13; expect 0
run info --json grown/scan_seg.zarr; expect 0; same "$(json 'd["shape"]')" "[20, 10, 10]"
touch grown/scan_seg.zarr/notes
run "${base[@]}" -o grown --format npy --overwrite; expect 1; err 'holds more than a zarr volume'
[ -e grown/scan_seg.zarr/notes ] || complain "removed what isn't ours"
rm grown/scan_seg.zarr/notes
run "${base[@]}" -o grown --format npy --resume; expect 0; no_err
same "$(cat grown/*.npy | sha256sum)" "$(cat plain/*.npy | sha256sum)"

# OME-Zarr 0.5: stopped amid the run, resumed as it is and in the other version; a scan of that kind gives volumes of it.
"$CREDENCE_PROGRAM" "${base[@]}" -o third --format zarr3 >"$folder/out" 2>"$folder/err" &
for ((i = 0; i < 3000; i++)); do
    [ ! -e third/scan_unc.zarr/0/c/0/0/0 ] || break
    sleep 0.02
done
kill -TERM $! 2>/dev/null; wait $!; code=$?
last=("${base[@]}" -o third --format zarr3); expect 1
run info --json third/scan_prob.zarr; expect 0; err "isn't complete"
same "$(json 'd["format"], d["shape"]')" "zarr3 [136, 24, 24]"
cp -r third second
run "${base[@]}" -o third --format zarr3 --resume; expect 0; no_err
run "${base[@]}" -o second --format zarr --resume; expect 0; no_err
[ ! -e second/scan_seg.zarr/zarr.json ] && [ ! -e third/scan_seg.zarr/.zattrs ] || complain "a volume of both versions"
for name in prob seg unc; do
    for way in second third; do
        rm -f back_$name.npy*
        run convert $way/scan_$name.zarr back_$name.npy; expect 0; no_err
        cmp -s back_$name.npy plain/scan_$name.npy || complain "$way: $name is another one"
    done
done
run convert scan.npy scan3.zarr --format zarr3 --compress 5; expect 0
run predict --model model.h5 --scan scan3.zarr --samples 4 --step 4 --quiet --bbox 0:30,0:24,0:24 -o fromzarr3; expect 0
run info --json fromzarr3/scan3_seg.zarr; expect 0; same "$(json 'd["format"]')" "zarr3"
finish
