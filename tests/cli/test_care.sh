#!/usr/bin/env bash
# What a hasty word must not cost: nobody's files are replaced by something else, no result is taken for another's, and a
# long run doesn't end without a place for what it made.
. "$(dirname "$0")/common.sh"
cd "$folder" || exit 1
model="$CREDENCE_BUILD/tests/make_model"
[ -x "$model" ] || { echo "there is no tool $model"; exit 1; }
"$model" model.h5 bcnn 8 8,8,8 || exit 1
for seed in 1 2; do run phantom graphite -o "p$seed" --shape 16,16,16 --seed $seed; expect 0; done
run convert p1/scan.tif data.h5:/scan; expect 0
echo "my own notes" > notes.txt
before=$(cat p1/*.tif data.h5 notes.txt | sha256sum)
untouched() { [ "$(cat p1/*.tif data.h5 notes.txt | sha256sum)" = "$before" ] || complain "a file of the user's has changed"; }

# Training: inputs and other people's files are not replaced, and the place of the model is looked at first.
train=(train --label p1/label.tif --chunk 8,8,8 --max-steps 1 --batch 1 --filters 4 --valid-fraction 0 --quiet)
run "${train[@]}" --scan p1/scan.tif -o p1/scan.tif; expect 2; err 'p1/scan.tif would be taken for a volume'
run "${train[@]}" --scan p1/scan.tif -o p1/../p1/scan.tif; expect 2; err 'would be taken for a volume'
run "${train[@]}" --scan data.h5:/scan -o p1/../data.h5; expect 1; err 'would replace it'
run "${train[@]}" --scan data.h5:/scan -o data.h5; expect 1; err 'data.h5:/scan is to be read, and writing data.h5 would replace it'
run "${train[@]}" --scan p1/scan.tif -o m.h5 --log p1/label.tif; expect 1; err 'p1/label.tif is to be read'
run "${train[@]}" --scan p1/scan.tif -o notes.txt; expect 1; err 'notes.txt is there already and is no model of credence; give -o another name'
run "${train[@]}" --scan p1/scan.tif -o m.h5 --log notes.txt; expect 1; err 'notes.txt is there already and is no log'
run "${train[@]}" --scan p1/scan.tif -o p2; expect 1; err 'p2 is a folder; give the name of a file to write'
run "${train[@]}" --scan p1/scan.tif -o m.h5 --log no/where; expect 1; err 'no/where can.t be written: there is no folder no; make it first'
run "${train[@]}" --scan p1/none.tif -o nowhere/at/m.h5; expect 1; err 'none.tif'; [ ! -e nowhere/at ] || complain "an empty folder was left"
rm -rf nowhere
run "${train[@]}" --scan p1/scan.tif -o m.h5 --init p1/scan.tif; expect 1; err 'p1/scan.tif is no model of credence'
[ ! -e m.h5 ] && [ ! -e nowhere ] || complain "something was written"
run "${train[@]}" --scan p1/scan.tif -o m.h5; expect 0
run "${train[@]}" --scan p1/scan.tif -o made/for/it/m.h5; expect 0; [ -e made/for/it/m.h5 ] || complain "no model in a folder that had to be made"
run "${train[@]}" --scan p1/scan.tif -o m.h5; expect 0 # a model of our own may be replaced
cp m.h5 kept.h5
run "${train[@]}" --scan p1/scan.tif -o m.h5 --init m.h5; expect 1; err 'm.h5 is to be read, and writing m.h5 would replace it'
run "${train[@]}" --scan p1/scan.tif -o m.h5 --init m.ckpt.h5; expect 1; err 'writing m.ckpt.h5 would replace it'
run "${train[@]}" --scan p1/scan.tif -o m.h5 --mask m.h5:/mask; expect 1; err 'm.h5:/mask is to be read'
cmp -s m.h5 kept.h5 || complain "the model to start from was replaced"
run "${train[@]}" --scan p1/scan.tif -o n.h5 --init m.h5; expect 0
untouched

# Converting.
run convert p1/scan.tif ./p1/scan.tif --dtype u8; expect 1; err 'would replace p1/scan.tif, which it is made from'
run convert data.h5:/scan data.h5:/copy; expect 1; err 'would replace the whole file'
ln -s scan.tif p1/other.tif; run convert p1/scan.tif p1/other.tif; expect 1; err 'which it is made from'; rm p1/other.tif
# The files that a volume consists of are its own, too: slices, and the voxels beside a header.
mkdir slices; head -c 256 p1/scan.tif > one.raw
for slice in 1 2; do run convert one.raw "slices/s$slice.tif" --shape 1,16,16 --type u8; expect 0; done
run convert p1/scan.tif v.mhd; expect 0
parts=$(cat slices/* v.mhd v.raw | sha256sum)
run convert 'slices/*.tif' slices/s2.tif; expect 1; err 'slices/s2.tif would replace slices/\*.tif, which it is made from'
run convert slices slices/s1.tif; expect 1; err 'slices/s1.tif would replace slices, which it is made from'
run convert v.mhd v.raw; expect 1; err 'v.raw would replace v.mhd, which it is made from'
run convert v.mhd v.nhdr; expect 1; err 'v.nhdr would keep its voxels in v.raw, and there is such a file already'
run convert v.raw v.mhd --shape 16,16,16 --type u8; expect 1; err 'v.mhd would replace v.raw, which it is made from'
[ "$(cat slices/* v.mhd v.raw | sha256sum)" = "$parts" ] || complain "a part of a volume has changed"
run convert p1/scan.tif nowhere/scan.tif; expect 1; err 'there is no folder nowhere'
untouched

# Predicting.
predict=(predict --model model.h5 --samples 2 --step 1)
run predict --model p1 --scan p1/scan.tif -o x; expect 1; err 'p1 is a folder, not a file'
run predict --model p1/scan.tif --scan p1/scan.tif -o x; expect 1; err 'p1/scan.tif is no model of credence'
run "${predict[@]}" --scan p1/scan.tif -o x --intervals 0.05-0.95; expect 2; err '^credence: --intervals: percentiles .* did you mean 5-95\?'
run "${predict[@]}" --scan p1/scan.tif -o x --max-memory 4; expect 2; err '^credence: --max-memory 4 means 4 bytes; did you mean 4G\?'
mkdir mine; cp p1/scan.tif mine/scan_seg.tif
run "${predict[@]}" --scan p1/scan.tif -o mine; expect 1; err 'mine is not empty, and what it holds is no run; choose another folder'
run "${predict[@]}" --scan p1/scan.tif -o mine --overwrite; expect 1; err 'mine holds no run that --overwrite could replace'
run "${predict[@]}" --scan p1/scan.tif -o mine --resume; expect 1; err 'mine holds no run that --resume could go on with, but other files; choose another folder'
cmp -s p1/scan.tif mine/scan_seg.tif || complain "a file of the user's was replaced"
run "${predict[@]}" --scan p1/scan.tif -o no -o run; expect 0; err 'warning: --output is given twice: run counts'
out ', percentiles 33-67 of the samples 0\.[0-9]{4} to 0\.[0-9]{4}, '
run predict --model model.h5 --step 1 --scan p1/scan.tif -o one --samples 1; expect 0; err 'warning: one sample has no spread: the uncertainty will be 0 everywhere'
run "${predict[@]}" --scan p1/scan.tif -o chunks --draws per-chunk --save-samples u8; expect 0; err 'no realisations of the whole scan'

# A complete run is left alone only if it is the one that is asked for.
run "${predict[@]}" --scan p1/scan.tif -o run --resume; expect 0; err 'run is complete: there is nothing left to do'
run "${predict[@]}" --scan p2/scan.tif -o run --resume; expect 1; err 'run/manifest.json describes: the scan is another one, or its content has changed'
run "${predict[@]}" --scan p1/scan.tif -o run --resume --seed 7; expect 1; err 'seed was 0 and is 7 now'
"$model" other.h5 mcdn 8 8,8,8 || exit 1
run predict --model other.h5 --samples 2 --step 1 --scan p1/scan.tif -o run --resume; expect 1; err 'the model is another one'

# What --overwrite and --resume may take for a run of ours, and what they clear away.
mkdir foreign; echo '{"name": "an app"}' >foreign/manifest.json; echo mine >foreign/log.jsonl
for way in "" --overwrite --resume; do
    run "${predict[@]}" --scan p1/scan.tif -o foreign $way; expect 1; err 'foreign/manifest.json isn.t the manifest of a run of credence'
done
same "$(cat foreign/log.jsonl)" mine
cp -r run again; cp again/scan_prob.tif kept.tif
run "${predict[@]}" --scan again/scan_prob.tif -o again --overwrite; expect 1; err 'again/scan_prob.tif is read by this run and belongs to the one that would be replaced'
run "${predict[@]}" --scan p1/scan.tif --mask again/scan_seg.tif -o again --overwrite; expect 1; err 'again/scan_seg.tif is read by this run'
cmp -s kept.tif again/scan_prob.tif && [ -e again/manifest.json ] || complain "the earlier run was touched"
sed -i 's/"scan_prob.tif"/"."/' again/manifest.json; mkdir again/3; echo mine >again/3/4
mkdir again/.measure; touch again/.measure/first again/measure.json again/measure.csv again/validation.json # of the earlier run
mkdir -p again/propagate/d again/propagate/e; touch again/propagate/{d,e}/{propagate.json,propagate.csv,state.json}; echo mine >again/propagate/e/field.vtk
run "${predict[@]}" --scan p1/scan.tif -o again --overwrite; expect 0
same "$(cat again/3/4)" mine
same "$(cat again/propagate/e/field.vtk)" mine
for file in .measure measure.json measure.csv validation.json propagate/d propagate/e/{propagate.json,propagate.csv,state.json}; do [ ! -e again/$file ] || complain "$file of the earlier run is still there"; done
mkdir -p begun/.partial # killed before anything was written
run "${predict[@]}" --scan p1/scan.tif -o begun; expect 1; err 'begun is not empty: it holds the rest of an earlier run'
run "${predict[@]}" --scan p1/scan.tif -o begun --overwrite; expect 0
mkdir -p begun2/.partial
run "${predict[@]}" --scan p1/scan.tif -o begun2 --resume; expect 0
run "${predict[@]}" --scan p1/scan.tif -o pair --format mhd; expect 0; rm pair/scan_prob.mhd # killed between the two files
run "${predict[@]}" --scan p1/scan.tif -o pair --format mhd --overwrite; expect 0
mkdir pair/.partial; mv pair/manifest.json pair/.partial/outputs.json; rm pair/scan_prob.mhd
run "${predict[@]}" --scan p1/scan.tif -o pair --format mhd --resume; expect 0

# Validating, comparing, reporting.
run validate run --label p1/truth.tif --csv; expect 0; out '^run,bcnn,4096,'
run "${predict[@]}" --scan p1/scan.tif -o box --bbox 0:8,0:16,0:16; expect 0
run validate box --label p1/truth.tif; expect 0
run compare run box; expect 0; err 'warning: run was validated over 4096 voxels and box over 2048: their figures can.t be compared'
! grep -qE 'is ahead|In all' "$folder/out" || complain "compare names a winner among figures that can't be compared"
run compare run run; expect 0; no_err
run compare run nosuch; expect 1; err 'there is no run folder nosuch'
if ! "$CREDENCE_PROGRAM" --version | grep -q 'PNG pictures and slices: no'; then
    run report run -o p1/scan.tif; expect 1; err 'p1/scan.tif is there already and is no report; give -o another name'
    run phantom graphite -o p3 --shape 8,8,8; expect 0
    run report run -o r.html --scan p3/scan.tif; expect 1; err 'p3/scan.tif isn.t the scan of the run run: its shape is another one'
    run report run -o p2; expect 1; err 'p2 is a folder'
    run report run -o new/r.html; expect 0
    run report run -o new/r.html --json; expect 0; no_err; same "$(json 'd["path"]')" new/r.html # a report may be replaced
fi
mkdir -p cut/.partial; echo '{}' > cut/.partial/run.json
run validate cut --label p1/truth.tif; expect 1; err 'the run in cut isn.t complete; credence predict with --resume goes on with it'
untouched
finish
