#!/usr/bin/env bash
# Several processes of one MPI job that share a GPU: the same bytes as one process, for predictions and trainings.
. "$(dirname "$0")/common.sh"
cd "$folder" || exit 1

skip() { echo "skipped: $*"; exit 77; }
"$CREDENCE_PROGRAM" --version | grep -q 'clusters (MPI): yes' || skip "this build has no MPI part"
command -v mpirun >/dev/null || skip "there is no mpirun here"
needs_gpu

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_vader_single_copy_mechanism=none
ranks() { # ranks N WORDS...: as run, in N processes
    last=(mpirun -n "$@")
    local count=$1
    shift
    code=0
    mpirun -n "$count" "$CREDENCE_PROGRAM" "$@" >"$folder/out" 2>"$folder/err" </dev/null || code=$?
}

run phantom graphite -o made --shape 72,64,72 --seed 3 --format npy --quiet; expect 0
run phantom graphite -o other --shape 32,64,64 --seed 4 --format npy --quiet; expect 0
volumes() { (cd "$1" && cat scan_prob.npy scan_seg.npy scan_unc.npy probe.h5 | sha256sum); }
for kind in bcnn mcdn; do
    "$CREDENCE_BUILD/tests/make_model" $kind.h5 $kind 16 16,32,32 || exit 1
    base=(predict --model $kind.h5 --scan made/scan.npy --samples 20 --step 2 --format npy --device cuda)
    run "${base[@]}" -o $kind; expect 0
    for count in 1 2 3; do
        ranks $count "${base[@]}" -o $kind$count; expect 0
        same "$(volumes $kind$count)" "$(volumes $kind)"
    done
done

usual=(train --scan made/scan.npy --label made/truth.npy --valid-scan other/scan.npy --valid-label other/truth.npy
       --chunk 16,32,32 --batch 3 --step 1 --epochs 99 --lr 1e-4 --checkpoint-every 5 --device cuda)
for kind in bcnn mcdn; do
    run "${usual[@]}" --kind $kind --max-steps 20 -o one.$kind.h5; expect 0
    for count in 1 2 3; do
        ranks $count "${usual[@]}" --kind $kind --max-steps 20 -o several.h5; expect 0
        err 'training on cuda \('
        cmp -s one.$kind.h5 several.h5 || complain "$count processes gave another model"
        cmp -s one.$kind.best.h5 several.best.h5 || complain "$count processes gave another best model"
        rm -f several.*
    done
done

# A training that several processes began goes on with another number of them.
ranks 2 "${usual[@]}" --max-steps 7 -o mixed.h5; expect 0
ranks 3 "${usual[@]}" --max-steps 12 --resume -o mixed.h5; expect 0
run "${usual[@]}" --max-steps 20 --resume -o mixed.h5; expect 0
cmp -s one.bcnn.h5 mixed.h5 || complain "another number of processes changed the model"
finish
