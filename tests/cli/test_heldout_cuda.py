"""What `credence train` holds back is never learnt from on a GPU either: other labels in blocks and margins, the same weights."""
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from heldout_tools import blocks, scrambled, weights
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.path.abspath(os.environ.get("CREDENCE_PROGRAM", "build/credence"))


def run(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)


def train(folder, name, label):
    """Trains with this label; gives what is said at the end, and the weights."""
    np.save(f"{folder}/{name}.npy", label)
    done = run("train", "--scan", folder + "/p/scan.npy", "--label", f"{folder}/{name}.npy", "--ignore", 9, "-o", f"{folder}/{name}.h5",
               "--device", "cuda", "--json", "--filters", 8, "--chunk", "16,32,32", "--batch", 2, "--max-steps", 20, "--keep", "last", "--quiet")
    if done.returncode != 0:
        sys.exit(f"FAILED {done.stderr}")
    return json.loads(done.stdout), weights(f"{folder}/{name}.h5")


def main():
    found = run("bench", "train", "--device", "cuda", "--chunk", "8,8,8", "--batch", 1, "--seconds", .01)
    if found.returncode != 0:
        print(f"skipped: {found.stderr}")
        return 1 if os.environ.get("CREDENCE_NEEDS_GPU") else 77
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        run("phantom", "graphite", "--shape", "48,96,96", "--seed", 3, "--format", "npy", "--quiet", "-o", folder + "/p")
        whole = np.load(folder + "/p/label.npy")
        scribble = np.where(np.indices(whole.shape)[0] % 6 == 2, whole, 9).astype(np.uint8)
        for name, label in (("whole", whole), ("scribble", scribble)):
            said, learnt = train(folder, name, label)
            other = scrambled(label, blocks(f"{folder}/{name}.h5"), np.random.default_rng(7))
            said_then, learnt_then = train(folder, name + "_other", other)
            for fine, what in (((other != label).any(), "nothing was changed"),
                               (learnt == learnt_then, "held-back labels changed the weights"),
                               (said["bce"] == said_then["bce"], "the loss saw held-back labels"),
                               (said["heldout"]["accuracy"] != said_then["heldout"]["accuracy"], "the exam saw no difference")):
                if not fine:
                    print("FAILED", name, what)
                    failures += 1
    return failures > 0


sys.exit(main())
