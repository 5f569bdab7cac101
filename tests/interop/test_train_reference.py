"""`credence train` without noise against the losses of an independent float64 implementation, step by step."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.environ.get("CREDENCE_PROGRAM", "build/credence")
DATA = os.environ.get("CREDENCE_TEST_DATA", os.path.join(os.path.dirname(__file__), "..", "data"))
# Adam's first steps are lr * sign(gradient), so float32 goes its own way from the third loss on (tests/train/test_trainer.c).
ALLOWED = [1e-6, 1e-4, 2e-2, 2e-2, 2e-2, 2e-2]
failures = 0


def check(kind, folder):
    global failures
    source = h5py.File(os.path.join(DATA, f"{kind}_f8.h5"))
    model, log = os.path.join(folder, "init.h5"), os.path.join(folder, "m.log.jsonl")
    with h5py.File(model, "w") as file:
        for key, value in source["model"].attrs.items():
            file.attrs[key] = value
        for name in source["model"]:
            source.copy(f"model/{name}", file)
    chunk = source["input"].shape[1:]
    np.save(os.path.join(folder, "scan.npy"), source["input"][:].reshape(-1, *chunk[1:]))
    np.save(os.path.join(folder, "label.npy"), source["label"][:].astype(np.uint8).reshape(-1, *chunk[1:]))
    wanted, m = source["adam/bce_loss"][:], source["adam"].attrs["M"]
    run = subprocess.run(
        [PROGRAM, "train", "--scan", f"{folder}/scan.npy", "--label", f"{folder}/label.npy", "-o", f"{folder}/m.h5",
         "--kind", kind, "--filters", "8", "--chunk", ",".join(map(str, chunk)), "--step", "1", "--batch", "2",
         "--estimator", "mean", "--no-shuffle", "--norm", "none", "--init", model, "--lr", "1e-3", "--epochs",
         str(len(wanted)), "--kl-initial", "0.5", "--kl-step", "0", "--kl-batches", str(int(m)), "--kl-temperature", "1"],
        capture_output=True, text=True)
    if run.returncode != 0:
        print(run.stderr)
        failures += 1
        return
    lines = [json.loads(line) for line in open(log)]
    if [line["step"] for line in lines] != list(range(1, len(wanted) + 1)):
        print("FAILED", kind, "the log has other steps:", [line["step"] for line in lines])
        failures += 1
        return
    for line, (bce, loss), allowed in zip(lines, wanted, ALLOWED):
        off = max(abs(line["bce"] / bce - 1), abs(line["loss"] / loss - 1))
        print(f"{kind} step {line['step']}: bce {line['bce']:.6f} ({bce:.6f}), loss {line['loss']:.6f} ({loss:.6f})")
        if off > allowed or not {"step", "epoch", "bce", "kl", "kl_weight", "loss", "seconds"} <= set(line):
            print(f"FAILED {kind} step {line['step']}: off by {off:.1e}")
            failures += 1


for name in ("bcnn", "mcdn"):
    place = tempfile.mkdtemp()
    check(name, place)
    shutil.rmtree(place)
sys.exit(1 if failures else 0)
