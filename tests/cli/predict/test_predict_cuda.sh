#!/usr/bin/env bash
# credence predict on a GPU from outside: workers, limits of memory and launches change no byte; the CPU is close.
. "$(dirname "$0")/../common.sh"
cd "$folder" || exit 1
needs_gpu
model="$CREDENCE_BUILD/tests/make_model"
"$model" model.h5 bcnn 16 16,32,32 || exit 1
run phantom graphite -o made --shape 40,64,72 --seed 3 --format npy; expect 0
base=(predict --model model.h5 --scan made/scan.npy --samples 20 --step 2 --format npy)
run "${base[@]}" --device cuda -o gpu
expect 0
volumes() { (cd "$1" && cat scan_prob.npy scan_seg.npy scan_unc.npy probe.h5 | sha256sum); }
run "${base[@]}" --device cuda:0,0 -o two; expect 0; same "$(volumes two)" "$(volumes gpu)"
run "${base[@]}" --device cuda --max-gpu-memory 300M -o little; expect 0; same "$(volumes little)" "$(volumes gpu)"
run "${base[@]}" --device cuda:all --max-memory 1G -o all; expect 0; same "$(volumes all)" "$(volumes gpu)"
run "${base[@]}" --device cuda --isa sm80 -o sm80; expect 0
run "${base[@]}" --device cuda:0,0,0 --isa sm80 -o sm80again; expect 0; same "$(volumes sm80again)" "$(volumes sm80)"
run "${base[@]}" --device cuda --max-gpu-memory 1M -o no; expect 1; err '^credence: .*needs .* GiB on the GPU and .* allowed by --max-gpu-memory'
run "${base[@]}" --device cuda --max-gpu-memory much -o no; expect 2; err '^credence: --max-gpu-memory must be a size'
run "${base[@]}" --device cuda:99 -o no; expect 1; err '^credence: .*there is no GPU number 99'
run "${base[@]}" --device cpu -o cpu; expect 0
# What the kernels in half precision don't take runs in float32, and the record says so.
"$model" narrow.h5 bcnn 8 16,32,32 || exit 1
run predict --model narrow.h5 --scan made/scan.npy --samples 2 --format npy --device cuda -o narrow; expect 0
err 'a network of 8 filters runs in f32 on the GPU'
grep -q '"device":.*cuda (.*, f32)' narrow/manifest.json || complain "the manifest's device: $(grep '"device"' narrow/manifest.json)"
grep -q '"device":.*cuda (.*, fp16)' gpu/manifest.json || complain "the manifest's device: $(grep '"device"' gpu/manifest.json)"
for path in gpu sm80; do
    "$python" - "$path" <<'PYTHON' || complain "the two devices differ"
import array, ast, math, sys
def load(name):
    with open(name, "rb") as file:
        size = int.from_bytes(file.read(10)[8:10], "little")
        header = ast.literal_eval(file.read(size).decode())
        assert header["descr"] == "<f4" and header["shape"] == (40, 64, 72), header
        return array.array("f", file.read())
a, b = (load(f"{run}/scan_prob.npy") for run in ("cpu", sys.argv[1]))
assert len(a) == len(b) == 40 * 64 * 72
d = sorted(abs(x - y) for x, y in zip(a, b))
mean, high = math.fsum(d) / len(d), d[int(0.9999 * len(d))]
print(sys.argv[1], "against the CPU: mean", mean, "99.99 %", high)
assert mean <= 1e-3 and high <= 3e-2
PYTHON
done
finish
