"""Speed of `credence validate --core` from the page cache: bench/validate.py build/credence [million voxels]

Prints one JSON object. The maps look like a real run's: a boundary here and there, most voxels certain."""
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

program, millions = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
side = 1000
depth = max(2, millions)
with tempfile.TemporaryDirectory(prefix="credence-bench-") as folder:
    generator = np.random.default_rng(0)
    tile = np.cumsum(np.cumsum(generator.normal(size=(side + 64, side + 64)), 0), 1)
    tile -= tile.mean()
    tile /= tile.std()
    files = {name: np.lib.format.open_memmap(os.path.join(folder, f"x_{name}.npy"), "w+", kind, (depth, side, side))
             for name, kind in (("prob", "f4"), ("unc", "f4"), ("seg", "u1"), ("label", "u1"))}
    noise = generator.normal(size=(side, side)).astype("f4")
    for z in range(depth):
        field = tile[z % 64:z % 64 + side, z % 61:z % 61 + side] * 6 + 0.3 * noise
        prob = (1 / (1 + np.exp(-field))).astype("f4")
        files["prob"][z] = prob
        files["seg"][z] = prob > 0.5
        files["label"][z] = field + 0.4 * noise.T > 0
        files["unc"][z] = 0.3 * prob * (1 - prob)
    del files
    names = {name: os.path.join(folder, f"x_{name}.npy") for name in ("prob", "unc", "seg", "label")}
    command = [program, "validate", "--json", "-q", "--core"]
    for name, path in names.items():
        command += ["--" + name, path]
    best, busy = None, None
    for _ in range(3):
        before, cpu = time.perf_counter(), os.times()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds, now = time.perf_counter() - before, os.times()
        if best is None or seconds < best:
            best, busy = seconds, now.children_user + now.children_system - cpu.children_user - cpu.children_system
    voxels = depth * side * side
    print(json.dumps({"voxels": voxels, "seconds": round(best, 3), "cpu_seconds": round(busy, 3),
                      "million_voxels_per_second": round(voxels / best / 1e6, 1),
                      "million_voxels_per_cpu_second": round(voxels / busy / 1e6, 1)}))
