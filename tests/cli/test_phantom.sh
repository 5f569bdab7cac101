#!/usr/bin/env bash
# phantom: scans with exact truth.
. "$(dirname "$0")/common.sh"
shape=(--shape 12,48,64)

run phantom graphite -o "$folder/a/b" "${shape[@]}" --format npy --threads 1 --seed 5
expect 0; out 'graphite, z 12, y 48, x 64'; out 'foreground +5[0-9.]+ %|foreground +4[0-9.]+ %'; out 'best threshold'
[ -s "$folder/a/b/scan.npy" ] && [ -s "$folder/a/b/label.npy" ] && [ -s "$folder/a/b/truth.npy" ] ||
    complain "files are missing"

# Any number of threads, and the settings that phantom.json keeps: the same bytes.
run phantom graphite -o "$folder/c" --config "$folder/a/b/phantom.json" --threads 3 -q; expect 0; no_out; no_err
for name in scan.npy label.npy truth.npy phantom.json; do
    cmp -s "$folder/a/b/$name" "$folder/c/$name" || complain "$name differs"
done

# The defaults are the kind's own; the flags win over them.
run phantom weld -o "$folder/weld" "${shape[@]}" --format raw --json --contrast 0.3
expect 0; same "$(json 'd["kind"], d["shape"], 0.15 < d["volume_fraction"] < 0.21')" 'weld [12, 48, 64] True'
same "$(/usr/bin/python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))["settings"]
print(s["fraction"], s["contrast"], "grain-size" in s, "void-size" in s)' "$folder/weld/phantom.json")" '0.18 0.3 False True'
run info --json "$folder/weld/truth.raw"; expect 0; same "$(json 'd["min"], d["max"], d["type"]')" '0 1 u8'

# Three phases: values 0, 1 and 2, and two thresholds.
run phantom electrode -o "$folder/electrode" "${shape[@]}" --format npy --seed 2
expect 0; out 'label value 2 +1[0-9.]+ % of the voxels are binder'; out 'best thresholds .* and [0-9]+'
run phantom electrode -o "$folder/electrode" "${shape[@]}" --format npy --seed 2 --json --binder-fraction 0.1
expect 0; same "$(json '[c["name"] for c in d["classes"]], abs(d["classes"][2]["fraction"] - 0.1) < 0.02, len(d["thresholds"])')" \
    "['pore', 'particle', 'binder'] True 2"
run info --json "$folder/electrode/truth.npy"; expect 0; same "$(json 'd["min"], d["max"], d["type"]')" '0 2 u8'
run phantom weld -o "$folder/x" --binder-grey 0.4; expect 2; err '--binder-grey has no meaning for weld'
run phantom electrode -o "$folder/x" --void-size 4; expect 2; err '--void-size has no meaning for electrode'

# The camera looks at any label volume, whose values and shape stay; slabs and threads don't matter.
/usr/bin/python3 -c 'import numpy, sys
t = numpy.load(sys.argv[1]); numpy.save(sys.argv[2], numpy.array([7, 200, 40], "u1")[t])' "$folder/electrode/truth.npy" "$folder/rock.npy"
run phantom image --truth "$folder/rock.npy" --greys 0.3,0.45,0.6 -o "$folder/rock" --format npy --threads 1 --json
expect 0; same "$(json '[c["value"] for c in d["classes"]], d["shape"], len(d["thresholds"]), 0 < d["label_error"] < 0.2, 0 < d["threshold_error"] < 0.3')" \
    "[7, 40, 200] [12, 48, 64] 2 True True"
cmp "$folder/rock.npy" "$folder/rock/truth.npy" || complain "the truth of an image is another one"
run phantom image -o "$folder/rock2" --config "$folder/rock/phantom.json" --threads 3 -q; expect 0
for name in scan.npy label.npy truth.npy; do cmp "$folder/rock/$name" "$folder/rock2/$name" || complain "$name differs"; done
/usr/bin/python3 -c 'import numpy, sys
s, t = (numpy.load(sys.argv[1] + n) for n in ("/scan.npy", "/truth.npy"))
m = [s[t == v].mean() / 65535 for v in (7, 40, 200)]
sys.exit(not (abs(m[0] - 0.3) < 0.05 and abs(m[1] - 0.45) < 0.05 and abs(m[2] - 0.6) < 0.05))' "$folder/rock" || complain "greys aren't those asked for"
run phantom image --truth "$folder/rock.npy" -o "$folder/rock3" --label-waver 0 --label-jitter 0 --format npy -q; expect 0
cmp "$folder/rock3/truth.npy" "$folder/rock3/label.npy" || complain "a label without waver isn't the truth"
run phantom image -o "$folder/x";                                              expect 2; err '--truth'
run phantom image --truth "$folder/rock.npy" --greys 0.1,0.2 -o "$folder/x4";  expect 1; err 'greys has 2 values and .* has 3 phases'
run phantom image --truth "$folder/rock.npy" --shape 8,8,8 -o "$folder/x";     expect 2; err '--shape has no meaning for image'
run phantom weld --truth "$folder/rock.npy" -o "$folder/x";                    expect 2; err '--truth has no meaning for weld'

# A suffix names the format as well, and is what the files get.
for suffix in .TIF h5 nhdr mhd ome-zarr $("$CREDENCE_PROGRAM" --version | grep -q 'NIfTI volumes: yes' && echo nii.gz); do
    name=$(echo "${suffix#.}" | tr 'A-Z-' 'a-z.')
    run phantom weld -o "$folder/$name" "${shape[@]}" --format "$suffix" -q; expect 0
    run convert "$folder/$name/truth.$name" "$folder/$name.raw"; expect 0
done
for name in h5 nhdr mhd nii.gz; do
    [ ! -e "$folder/$name.raw" ] || cmp "$folder/tif.raw" "$folder/$name.raw" || complain "--format $name holds other voxels"
done
same "$(ls "$folder/mhd" | tr '\n' ' ')" 'label.mhd label.raw phantom.json scan.mhd scan.raw truth.mhd truth.raw '
run phantom weld -o "$folder/x" --format hdr;    expect 2; err "--format can't be .hdr: credence reads .hdr files and doesn't write them; choose .nii"
run phantom weld -o "$folder/x" --format tiffs;  expect 2; err "--format must be a format .* not 'tiffs'"

# A phantom takes the place of an earlier one in any format, and of nothing else.
for format in mhd raw nhdr npy mhd tif; do
    run phantom weld -o "$folder/one" "${shape[@]}" --format $format -q; expect 0
    run convert "$folder/one/truth.$format" "$folder/again.raw"; expect 0
    cmp "$folder/tif.raw" "$folder/again.raw" || complain "--format $format over another holds other voxels"
done
same "$(ls "$folder/one" | tr '\n' ' ')" 'label.tif phantom.json scan.tif truth.tif '
echo mine >"$folder/one/truth.npy"
run phantom weld -o "$folder/one" "${shape[@]}" --format npy -q; expect 1; err 'truth.npy is there already and is no file of an earlier phantom'
same "$(cat "$folder/one/truth.npy"; ls "$folder/one" | tr '\n' ' ')" "mine
label.tif phantom.json scan.tif truth.npy truth.tif "
rm "$folder/one/truth.npy"; echo mine >"$folder/one/label.raw"; echo mine >"$folder/one/scan.npy.json"
for format in raw mhd nhdr; do
    run phantom weld -o "$folder/one" "${shape[@]}" --format $format -q; expect 1; err 'label.raw is there already and is no file of an earlier phantom'
done
run phantom weld -o "$folder/one" "${shape[@]}" --format npy -q; expect 1; err 'scan.npy.json is there already'
same "$(sort -u "$folder/one/label.raw" "$folder/one/scan.npy.json")" mine
mkdir "$folder/own"; echo '{}' >"$folder/own/phantom.json"
run phantom weld -o "$folder/own" "${shape[@]}" -q; expect 1; err 'phantom.json is there already and describes no phantom'

run phantom;                                     expect 2; err 'graphite\|weld\|electrode\|image'
run phantom bone -o "$folder/x";                 expect 2; err "no phantom 'bone'; choose graphite, weld, electrode or image"
run phantom graphite;                            expect 2; err '--output'
run phantom weld -o "$folder/x" --grain-size 9;  expect 2; err '--grain-size has no meaning for weld'
run phantom graphite -o "$folder/x" --noise 2;   expect 2; err '--noise must lie between 0'
run phantom graphite -o "$folder/x" --nose 1;    expect 2; err 'did you mean --noise\?'
run phantom graphite -o "$folder/x" --shape 4,4,4; expect 2; err '--shape must lie'
[ ! -e "$folder/x" ] || complain "a refused command left something behind"
finish
