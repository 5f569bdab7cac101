#!/usr/bin/env bash
# credence train: what it says and leaves behind; labels, masks and formats; and what info says about the model.
. "$(dirname "$0")/../common.sh"
cd "$folder" || exit 1

/usr/bin/python3 - <<'PYTHON' || exit 1
import numpy as np
rng = np.random.default_rng(1)
z, y, x = np.meshgrid(np.arange(16), np.arange(32), np.arange(48), indexing="ij")
label = ((y + x) % 16 < 8).astype(np.uint8)
scan = (8000 + 2500 * label + rng.normal(0, 500, label.shape)).astype(np.uint16)
np.save("scan.npy", scan)
np.save("label.npy", label)
scan.tofile("scan.raw")
label.tofile("label.raw")
open("headed.raw", "wb").write(b"x" * 100 + scan.tobytes())
open("headed_label.raw", "wb").write(b"x" * 7 + label.tobytes())
inside = (((y - 15.5) ** 2 + (x - 23.5) ** 2) < 200).astype(np.uint8)
inside.tofile("inside.raw")
np.save("inside.npy", inside)
(label.astype(np.uint16) * 300).tofile("wide.raw")
open("wide.raw.json", "w").write('{"shape": [16, 32, 48], "type": "u16le"}')
np.save("three.npy", label + 2 * (z > 7).astype(np.uint8))
np.save("other_shape.npy", label[:8])
np.save("one_class.npy", np.zeros_like(label))
part = np.full_like(label, 255)
part[:, 8:30, 4:40] = label[:, 8:30, 4:40]
np.save("part.npy", part)
nowhere = np.full_like(label, 255)
np.save("nowhere.npy", nowhere)
np.save("both.npy", np.where(part == 255, 0, part + 1).astype(np.uint8))
np.save("painted.npy", np.where(y < 12, label + 1, 0).astype(np.uint8))
np.save("background.npy", np.where(part == 0, 1, 0).astype(np.uint8))
PYTHON
small="--filters 4 --chunk 8,16,16 --step 2 --batch 4 --epochs 2 --threads 2"
names() { find . -maxdepth 1 -name "$1*" -printf '%f\n' | sort | tr '\n' ' '; }

# shellcheck disable=SC2086
run train --scan scan.npy --label label.npy -o m.h5 $small; expect 0
out '^Trained m\.h5: '; out 'where it never learnt'; out 'm\.progress\.png'
out '^ +credence predict --model m\.h5 --scan scan\.npy -o prediction$'
err 'foreground is 1'; err 'chunks of 8,16,16 \(z,y,x\) to learn from'
err '^epoch 2 of 2: held-back Dice 0\.[0-9]{3}, cross entropy 0\.[0-9]{4}$'
! grep -q '^epoch 1 of 2' "$folder/err" || complain "a line for an epoch whose Dice wasn't looked at"
! grep -qE 'GPU|sigma|bce' "$folder/err" || complain "what is for the log, or a GPU that isn't there"
grep -q '"sample_dice":0\.' m.log.jsonl || complain "no Dice in the log"
# shellcheck disable=SC2086
run train --scan scan.npy --label label.npy -o json.h5 --progress json $small; expect 0; out '^Trained '; ! grep -q Next out || complain "a hint for a program"
# shellcheck disable=SC2086
run train --scan scan.npy --label label.npy -o e.h5 $small --epochs 3; expect 0
err '^epoch 2 of 3: held-back Dice 0\.[0-9]{3}, cross entropy 0\.[0-9]{4}, [0-9]+:[0-9]{2} left$'
names m. | grep -qE '^m\.best\.h5 m\.ckpt\.h5 m\.h5 m\.log\.jsonl (m\.progress\.png )?$' || complain "files: $(names m.)"
[ ! -e m.progress.png ] || [ "$(head -c 4 m.progress.png | tail -c 3)" = PNG ] || complain "the picture is no PNG"
# shellcheck disable=SC2086
run train --scan scan.npy --label label.npy -o q.h5 --quiet $small; expect 0; no_out; no_err_but "$untrained"
cmp -s m.h5 q.h5 || complain "the same settings gave another model"
# Nor does the number of readers change a byte, of pieces mirrored and turned (as usual) or not.
# shellcheck disable=SC2086
run train --scan scan.npy --label label.npy -o n1.h5 --quiet --augment none --readers 1 $small; expect 0
cmp -s m.h5 n1.h5 && complain "flips changed nothing"
for readers in 2 5; do
    # shellcheck disable=SC2086
    run train --scan scan.npy --label label.npy -o q.h5 --quiet --readers $readers $small; expect 0
    cmp -s m.h5 q.h5 || complain "$readers readers gave another model"
    # shellcheck disable=SC2086
    run train --scan scan.npy --label label.npy -o n$readers.h5 --quiet --augment none --readers $readers $small; expect 0
    cmp -s n1.h5 n$readers.h5 || complain "$readers readers gave another model without flips"
done
# shellcheck disable=SC2086
run train --scan scan.npy --label label.npy -o j.h5 --json --quiet --log elsewhere.jsonl $small; expect 0; no_err_but "$untrained"
same "$(json 'd["model"], d["epochs"], d["valid_accuracy"] > 0.5, d["steps"] > 3')" "j.h5 2 True True"
[ -s elsewhere.jsonl ] && [ ! -e j.log.jsonl ] || complain "--log"

# info
run info m.h5; expect 0; out 'kind +bcnn'; out 'chunk +z 8, y 16, x 16'; out 'settings .*lr '
# Sentences are broken to fit a terminal, not within "85 %", and say the same as elsewhere; so do those that train ends with.
cp out whole
on_screen 80 info m.h5; expect 0
! grep -qE '.{81}|^ *%' out || complain "a line that doesn't fit"
same "$(tr -s ' \n' ' ' <out)" "$(tr -s ' \n' ' ' <whole)"
# shellcheck disable=SC2086
on_screen 80 train --scan scan.npy --label label.npy -o w.h5 $small --max-steps 2; expect 0; out '^Trained w\.h5'
! tr '\r' '\n' <out | sed 's/\x1b\[[0-9;]*[A-Za-z]//g' | grep -E '.{81}' >err || complain "a line that doesn't fit"
run info --json m.h5 scan.npy; expect 0
same "$(json 'd[0]["format"], d[0]["kind"], d[0]["filters"], d[0]["config"]["batch"], d[1]["format"]')" "credence-model bcnn 4 4 npy"

# Several scans behind one option, as by several.
# shellcheck disable=SC2086
run train --scan scan.npy scan.npy --label label.npy part.npy --ignore 255 -o two.h5 --quiet $small; expect 0
# shellcheck disable=SC2086
run train --scan scan.npy --label label.npy --scan scan.npy --label part.npy --ignore 255 -o one.h5 --quiet $small; expect 0
cmp -s two.h5 one.h5 || complain "two scans behind one option are others than by two"
# shellcheck disable=SC2086
run train --scan scan.npy scan.npy --label label.npy -o none.h5 $small; expect 2; err 'scans there are 2, labels 1'

# One mask for all scans, or one for each in their order: by their shapes no other order fits.
/usr/bin/python3 -c "
import numpy as np
for name in ('scan', 'label', 'inside'): np.save(f'lower_{name}.npy', np.load(f'{name}.npy')[:, :24])"
pair="--scan scan.npy lower_scan.npy --label label.npy lower_label.npy --max-steps 2 --quiet"
# shellcheck disable=SC2086
run train $pair --mask inside.npy lower_inside.npy -o each.h5 $small; expect 0
run info --json each.h5; same "$(json 'd["config"]["mask"]')" "['file', 'file']"
# shellcheck disable=SC2086
run train $pair --mask inside.npy -o x.h5 $small; expect 1; err 'the mask inside.npy has shape 16,32,48 .* and the scan 16,24,48'
# shellcheck disable=SC2086
run train $pair --mask inside.npy --mask none -o first.h5 $small; expect 0
run info --json first.h5; same "$(json 'd["config"]["mask"]')" "['file', 'none']"
# shellcheck disable=SC2086
run train $pair -o neither.h5 $small; expect 0
same "$(for model in each first neither; do sed 's/"seconds.*//' $model.log.jsonl | sha256sum; done | sort -u | wc -l)" 3
# shellcheck disable=SC2086
run train $pair --mask inside.npy lower_inside.npy -o each.h5 --resume --max-steps 3 $small; expect 0
# shellcheck disable=SC2086
run train $pair --mask inside.npy none -o each.h5 --resume --max-steps 4 $small; expect 1; err 'mask'
# shellcheck disable=SC2086
run train $pair --mask none none none -o x.h5 $small; expect 2; err 'scans there are 2, masks 3'
check="--valid-scan scan.npy lower_scan.npy --valid-label label.npy lower_label.npy"
# shellcheck disable=SC2086
run train $pair $check --mask inside.npy lower_inside.npy -o x.h5 $small; expect 2; err 'give the scans to check on their own, too \(--valid-mask'
# shellcheck disable=SC2086
run train $pair $check --mask inside.npy none --valid-mask none lower_inside.npy -o checked.h5 $small; expect 0
run info --json checked.h5; same "$(json 'd["config"]["mask"], d["config"]["valid-mask"]')" "['file', 'none'] ['none', 'file']"
# shellcheck disable=SC2086
run train $pair --valid-mask none -o x.h5 $small; expect 2; err 'valid-mask is that of a --valid-scan'
cp lower_inside.npy mask.h5
# shellcheck disable=SC2086
run train $pair --mask none mask.h5 -o mask.h5 $small; expect 1; err 'mask.h5 is to be read, and writing mask.h5 would replace it'
# shellcheck disable=SC2086
run train --scan scan.npy --label label.npy --mask none -o x.h5 --quiet $small; expect 0; cmp -s m.h5 x.h5 || complain "no mask is none"

# raw files, a config with the paper's keys, a mask
# shellcheck disable=SC2086
run train --scan scan.raw --label label.raw --shape 16,32,48 --type u16le -o raw.h5 $small; expect 0
cmp -s m.h5 raw.h5 || complain "raw files gave another model"
# The command that it ends with can be pasted: raw files, blanks and quotes in names.
next=$(grep '^  credence predict' out)
(credence() { "$CREDENCE_PROGRAM" "$@" --samples 1 --step 1 --quiet; }; eval "$next") && [ -s prediction/scan_prob.tif ] || complain "$next"
# A header to skip, a spacing that the files lack, a raw mask, a raw label that a file beside it describes.
# shellcheck disable=SC2086
run train --scan headed.raw --label headed_label.raw --shape 16,32,48 --type u16le --offset 100 --label-offset 7 \
    --spacing 2,1,1,um -o headed.h5 $small; expect 0
next=$(grep '^  credence predict' out)
grep -qE -- '--offset 100 --spacing 2,1,1,um' <<<"$next" || complain "the next command lacks what reading takes: $next"
run info --json headed.h5; same "$(json 'd["training"]["spacing"], d["training"]["unit"]')" "[2, 1, 1] um"
run train --scan headed.raw --label label.raw --shape 16,32,48 --type u16le --spacing 2,1 -o no.h5; expect 2; err 'a spacing is three'
# shellcheck disable=SC2086
run train --scan scan.npy --label label.npy --mask inside.npy -o i1.h5 --max-steps 2 --quiet $small; expect 0
# shellcheck disable=SC2086
run train --scan scan.raw --label wide.raw --shape 16,32,48 --type u16le --mask inside.raw -o i2.h5 --max-steps 2 --quiet $small; expect 0
cmp -s i1.h5 i2.h5 || complain "a raw mask gave another model"
rm -r prediction; mkdir "it's here"; cp scan.npy "it's here/my scan.npy"
# shellcheck disable=SC2086
run train --scan "it's here/my scan.npy" --label label.npy --mask cylinder -o "it's here/m.h5" --max-steps 1 $small; expect 0
next=$(grep '^  credence predict' out)
(credence() { "$CREDENCE_PROGRAM" "$@" --samples 1 --step 1 --quiet; }; eval "$next") && [ -s "prediction/my scan_prob.npy" ] || complain "$next"
cat >paper.json <<'JSON'
{"window": [8, 16, 16], "step": 2, "batch_size": 4, "epochs": 2, "initial_learning_rate": 0.001, "kl_alpha": 0.25,
 "kl_alpha_increase_per_epoch": 0.5, "kl_start_epoch": 2, "prior_std": 1, "bayesian": false, "norm": true,
 "data_dir": "x", "num_gpus": 2, "resume": false, "filters": 4, "scan": "scan.npy", "label": "label.npy"}
JSON
run train --config paper.json -o p.h5 --quiet; expect 0
run info --json p.h5; same "$(json '[d["kind"]] + [d["config"][k] for k in ("kl-start", "kl-initial", "batch", "chunk", "norm")]')" \
    "['mcdn', 1, 0.25, 4, [8, 16, 16], 'scan']"
same "$(cut -d, -f5 p.log.jsonl | sort -u | tr '\n' ' ')" '"kl_weight":0.25 "kl_weight":0.75 '
# shellcheck disable=SC2086
run train --scan scan.npy --label label.npy --mask cylinder -o c.h5 --quiet $small; expect 0

# Labels: four values are four classes unless a word makes two of them, parts of a label are enough
# shellcheck disable=SC2086
run train --scan scan.npy --label three.npy -o x.h5 --max-steps 1 $small; expect 0; err 'three\.npy: 4 classes'
out '^ +credence predict --model x\.h5 '
# shellcheck disable=SC2086
run train --scan scan.npy --label three.npy --foreground 1,3 -o x.h5 --quiet $small; expect 0
# shellcheck disable=SC2086
run train --scan scan.npy --label part.npy --ignore 255 -o x.h5 $small; expect 0; err '[0-9.]+ % without a label'
# A label of the background only is that, because the other label says so.
# shellcheck disable=SC2086
run train --scan scan.npy --label both.npy --scan scan.npy --label background.npy --ignore 0 -o x.h5 --max-steps 1 $small; expect 0
err 'background\.npy: foreground is 2; 0\.0 % foreground'
# shellcheck disable=SC2086
run train --scan scan.npy --label both.npy --valid-scan scan.npy --valid-label background.npy --ignore 0 --foreground 2 \
    -o x.h5 --max-steps 1 $small; expect 0; err 'warning: the label background\.npy has no foreground'
# shellcheck disable=SC2086
run train --scan scan.npy --label both.npy --scan scan.npy --label background.npy --ignore 0 --foreground 3 -o x.h5 $small
expect 1; err '^credence: .*no voxel of the foreground value 3, nor has any other'
# shellcheck disable=SC2086
run train --scan scan.npy --label both.npy --scan scan.npy --label part.npy -o x.h5 --max-steps 1 $small; expect 0
err 'both\.npy: 4 classes, 0 .*, 1 .*, 2 .*, 255 .*'; err 'warning: .*give --ignore 255'
# shellcheck disable=SC2086
run train --scan scan.npy --label painted.npy -o x.h5 --max-steps 1 $small; expect 0; err '^0 is taken for a class, .* --ignore 0$'
# shellcheck disable=SC2086
run train --scan scan.npy --label painted.npy --ignore 0 -o x.h5 --max-steps 1 $small; expect 0
! grep -q 'taken for a class' "$folder/err" || complain "a hint at --ignore 0, which was given"
for wrong in "other_shape.npy shape" "one_class.npy nothing.to.tell.apart" "absent.npy absent"; do
    # shellcheck disable=SC2086
    run train --scan scan.npy --label ${wrong% *} -o no.h5 $small; expect 1; err "^credence: .*${wrong#* }"
done
# shellcheck disable=SC2086
run train --scan scan.npy --label nowhere.npy --ignore 255 -o no.h5 $small; expect 1; err '^credence: no chunk'
# A chunk that nobody chose fits the scan and leaves room for some places; one that was chosen is refused.
run train --scan scan.npy --label label.npy -o fits.h5 --filters 4 --max-steps 1; expect 0; err '^[0-9]+ chunks of 8,16,24 '
run train --scan scan.raw --label label.raw --shape 16,32,48 --type u16 -o fits.h5 --filters 4 --max-steps 1; expect 0
err '^[0-9]+ chunks of 8,16,24 '
run train --scan scan.npy --label label.npy -o no.h5 --chunk 32,64,64; expect 1; err 'a chunk of 16 there would fit'
run train --scan scan.npy --label label.npy -o no.h5 --chunk 12,16,16; expect 2; err '^credence: --chunk: .*use 8,16,16 or 16,16,16'
run train --scan scan.npy --scan scan.npy --label label.npy -o no.h5; expect 2; err '^credence: give one --label for every --scan: scans there are 2, labels 1'
run train --scan scan.npy --label label.npy --valid-scan scan.npy -o no.h5; expect 2; err '^credence: give one --valid-label for every --valid-scan'
run train --scan scan.npy --label label.npy -o no.h5 --filters 6; expect 2; err '^credence: --filters must be a multiple of --groups: 6 isn.t one of 4'
run train --scan scan.npy --label label.npy -o no.h5 --groups 3; expect 2; err '^credence: --filters must be a multiple of --groups: 16 isn.t one of 3'
run train --scan scan.npy --label label.npy -o no.h5 --device cuda; expect 1; err '^credence: .*--device cpu'
run train --scan scan.npy --label label.npy; expect 2; err '^credence: '
run train --label label.npy -o no.h5; expect 2
run train --scan scan.npy --label label.npy -o no.tif; expect 2; err '^credence: --output is the model, an HDF5 file, and no\.tif would be taken for a volume'
same "$(names no.)" ""

# Folders of the model that aren't there are made.
# shellcheck disable=SC2086
run train --scan scan.npy --label label.npy -o not/there/m.h5 $small --max-steps 1 -q; expect 0
[ -f not/there/m.h5 ] && [ -f not/there/m.log.jsonl ] || complain "no folder was made for the model"

# A loss that is no number is said in words.
# shellcheck disable=SC2086
run train --scan scan.npy --label label.npy -o no.h5 $small --lr 10 --epochs 40; [ "$code" -le 1 ] || complain "exit code $code"
[ "$code" -eq 0 ] || err '^credence: (the loss is not a finite number|the head of the network is dead)'
[ "$code" -eq 1 ] || err 'warning: (nothing learnt|the model gets worse)'

# What reading costs: printed, and far below the time of the steps.
run train --scan scan.npy --label label.npy -o r.h5 --json --quiet --chunk 16,32,32 --step 4 --batch 4 --max-steps 12 --threads 1
expect 0
share=$(json '"%.2f %%" % (100 * d["reading_seconds"] / d["seconds"])')
echo "reading takes $share of the time of a training with 16 filters"
same "$(json 'd["reading_seconds"] < 0.03 * d["seconds"]')" True
same "$(json '0 <= d["waited_seconds"] < 0.5 * d["seconds"]')" True

run bench train --chunk 8,16,16 --batch 1 --filters 4 --seconds 0.1 --json; expect 0
same "$(json 'sorted(d) == sorted(["device", "precision", "chunk", "batch", "estimator", "ms_per_step", "gflops", "peak_gflops", "peak_memory_bytes", "repetitions"]) and d["ms_per_step"] > 0')" True
run bench predict --chunk 8,16,16 --samples 2 --filters 4 --seconds 0.1 --json; expect 0
same "$(json 'sorted(d) == sorted(["device", "precision", "chunk", "samples", "ms_per_chunk", "gflops", "peak_gflops", "peak_memory_bytes", "repetitions"]) and d["samples"] == 2')" True
run bench feed --scan scan.npy --label label.npy --chunk 8,16,16 --batch 2 --readers 2 --seconds 0.1 --json; expect 0
same "$(json 'd["readers"], d["batch"], d["chunk"], d["chunks"] > 4, d["megavoxels_per_second"] > 0, d["reading_seconds"] > 0')" \
    "2 2 [8, 16, 16] True True True"
run bench feed --scan scan.npy; expect 2; err '--label'
run bench nonsense; expect 2
run bench ops --seconds 0.01 --only nonsense; expect 1; err "^credence: no operation.s name contains 'nonsense'"
finish
