#!/usr/bin/env bash
# credence train on a GPU: the same bytes twice and after an interruption; checkpoints that change between GPU and CPU.
. "$(dirname "$0")/../common.sh"
tests=$(cd "$(dirname "$0")" && pwd)
cd "$folder" || exit 1

needs_gpu
same "$(json 'd["precision"], d["batch"], d["ms_per_step"] > 0, d["device_memory_bytes"] > 0')" "bf16 1 True True"
own_path=$(json 'd["device"].split(" path")[0].split()[-1]') # sm80, or sm90

run phantom graphite -o p --shape 32,64,64 --seed 3 --format npy --quiet; expect 0
run phantom graphite -o v --shape 32,64,64 --seed 4 --format npy --quiet; expect 0
usual=(train --scan p/scan.npy --label p/truth.npy --valid-scan v/scan.npy --valid-label v/truth.npy --chunk 16,32,32
       --batch 3 --step 1 --epochs 99 --lr 1e-4 --checkpoint-every 5)
steps() { grep -c '"step"' "$1"; }

run "${usual[@]}" --device cuda --max-steps 20 -o a.h5; expect 0; err 'training on cuda \('
run "${usual[@]}" --device cuda --max-steps 20 -o b.h5 --quiet; expect 0; no_err_but "$untrained"
cmp -s a.h5 b.h5 || complain "a second run gave another model"
run "${usual[@]}" --device cuda --max-steps 7 -o c.h5 --quiet; expect 0
run "${usual[@]}" --max-steps 20 --resume -o c.h5 --quiet; expect 0; no_err_but "$untrained" # stays on the GPU by itself
cmp -s a.h5 c.h5 || complain "an interruption changed the model"
cmp -s a.ckpt.h5 c.ckpt.h5 || complain "an interruption changed the checkpoint"

run "${usual[@]}" --device cpu --max-steps 5 -o d.h5 --quiet; expect 0; no_err_but "$untrained"
run "${usual[@]}" --device cuda --max-steps 10 --resume -o d.h5 --quiet; expect 0
err 'made on the CPU and goes on on a GPU'
run "${usual[@]}" --device cpu --max-steps 15 --resume -o d.h5 --quiet; expect 0
err 'made on a GPU and goes on on the CPU'
run "${usual[@]}" --max-steps 17 --resume -o d.h5 --quiet; expect 0; no_err_but "$untrained"
same "$(steps d.log.jsonl)" 17

# Both ways learn the same: the loss of the last steps on the CPU alone is near the mixed one's.
run "${usual[@]}" --device cpu --max-steps 17 -o e.h5 --quiet; expect 0
"$python" - <<'PYTHON' || complain "the mixed training went another way"
import json, sys
last = [[json.loads(line)["bce"] for line in open(name)][-3:] for name in ("d.log.jsonl", "e.log.jsonl")]
sys.exit(abs(sum(last[0]) / sum(last[1]) - 1) > 0.05)
PYTHON
for list in 0,0 0,0,0; do # several workers on one GPU: the examples of a batch are shared out
    run "${usual[@]}" --device cuda:$list --max-steps 20 -o several.h5 --quiet; expect 0; no_err_but "$untrained"
    cmp -s a.h5 several.h5 || complain "cuda:$list gave another model"
    rm -f several.*
done
run "${usual[@]}" --isa "$own_path" --max-steps 20 -o f.h5 --quiet; expect 0 # a GPU's path asks for the GPU
cmp -s a.h5 f.h5 || complain "naming the path changed the model"
run "${usual[@]}" --isa sm80 --max-steps 20 -o i.h5 --quiet; expect 0
run "${usual[@]}" --isa sm80 --max-steps 7 -o j.h5 --quiet; expect 0
run "${usual[@]}" --max-steps 20 --resume -o j.h5 --quiet; expect 0; no_err_but "$untrained" # stays on that path
cmp -s i.h5 j.h5 || complain "an interruption changed the model of the path for every GPU"
run "${usual[@]}" --device cuda --filters 8 --precision fp16 --max-steps 2 -o g.h5 --quiet; expect 0 # too narrow: f32
run "${usual[@]}" --device cuda --precision f32 --max-steps 2 -o h.h5 --quiet; expect 0
"$python" "$tests/test_heldout.py" cuda # says so where NumPy or h5py is missing
case $? in 0 | 77) ;; *) complain "held-back labels were learnt from" ;; esac
finish
