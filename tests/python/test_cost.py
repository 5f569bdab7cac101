#!/usr/bin/env python3
"""What calling from Python costs beside the program: processor time on 96x192x192 voxels, and memory."""
import os
import subprocess
import sys
import unittest

from tools import build, make_inputs, model_path, np, path, program, skip, source

if not os.environ.get("CREDENCE_LONG"):
    skip("minutes of computing; CREDENCE_LONG=1 asks for it")

model, scan = make_inputs((96, 192, 192))
SAMPLES = os.environ.get("CREDENCE_COST_SAMPLES", "48")
SCRIPT = """
import sys
import numpy as np, credence
r = credence.Model(sys.argv[1]).predict(np.load(sys.argv[2]), samples=int(sys.argv[3]), mode="seamless", norms="scan",
                                        threads=1, save_samples="none")
print(r.probability.mean())
"""


def cost(words):
    """Seconds of the processor, and the most memory, of a process."""
    environment = {**os.environ, "PYTHONPATH": os.path.join(source, "python"), "PYTHONDONTWRITEBYTECODE": "1",
                   "CREDENCE_LIBRARY": os.path.join(build, "libcredence.so")}
    process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


class Cost(unittest.TestCase):
    def test_overhead(self):
        calls = {
            "program": [program, "predict", "--model", model_path, "--scan", path("scan.npy"), "-o", path("cost"),
                        "--overwrite", "--samples", SAMPLES, "--mode", "seamless", "--norms", "scan", "--threads", "1",
                        "--format", "npy", "--quiet"],
            "Python": [sys.executable, "-c", SCRIPT, model_path, path("scan.npy"), SAMPLES],
        }
        found = {name: [] for name in calls}
        for _ in range(3):  # in turns, and the least of each: others use the machine, too
            for name, words in calls.items():
                found[name].append(cost(words))
        seconds = {name: min(s for s, _ in costs) for name, costs in found.items()}
        memory = {name: max(m for _, m in costs) for name, costs in found.items()}
        results = scan.size * 9  # probability, uncertainty, segmentation
        print(f"{seconds}, {memory}: {seconds['Python'] / seconds['program'] - 1:+.2%}, "
              f"{(memory['Python'] - memory['program']) / 1e6:+.1f} MB; results {results / 1e6:.1f} MB, scan {scan.nbytes / 1e6:.1f} MB")
        self.assertLess(seconds["Python"], 1.02 * seconds["program"])
        # Results and scan are memory of Python's, beside the interpreter and NumPy; the program has them in files.
        self.assertLess(memory["Python"] - memory["program"], results + scan.nbytes + (45 << 20))


if __name__ == "__main__":
    unittest.main()
