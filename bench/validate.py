"""Speed of `credence validate` from the page cache: bench/validate.py build/credence [million voxels] [folder]

Makes a run folder whose maps look like a real run's (boundaries, noise beside them, most voxels certain), validates it with
and without --core, three times each, and prints one JSON object: the fastest. The folder is kept where one is named."""
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

program, millions = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
side, depth, different = 1000, max(2, millions), 48


def make(folder):
    """Slices repeat after `different` of them, forwards and backwards, so that the volume has no seams."""
    generator = np.random.default_rng(0)
    tile = np.cumsum(np.cumsum(generator.normal(size=(side + different, side + different)), 0), 1)
    tile = (tile - tile.mean()) / tile.std()
    noise = generator.normal(size=(side, side)).astype("f4")
    slices = []
    for z in range(different):
        field = tile[z:z + side, z:z + side] * 6 + 0.3 * noise
        prob = (1 / (1 + np.exp(-field))).astype("f4")
        slices.append({"prob": prob, "seg": (prob > 0.5).astype("u1"), "unc": (0.3 * prob * (1 - prob)).astype("f4"),
                       "label": (field + 0.4 * noise.T > 0).astype("u1")})
    order = [min(z % (2 * different - 2), 2 * different - 2 - z % (2 * different - 2)) for z in range(depth)]
    for name in slices[0]:
        path = os.path.join(folder, "label.npy" if name == "label" else f"run/x_{name}.npy")
        with open(path, "wb") as out:
            np.lib.format.write_array_header_1_0(out, {"descr": slices[0][name].dtype.str, "fortran_order": False,
                                                       "shape": (depth, side, side)})
            for z in order:
                out.write(slices[z][name].tobytes())
    sums = [int(np.rint(s["unc"].astype("f8") * 2 ** 32).sum()) for s in slices]
    mean = sum(sums[z] for z in order) / (depth * side * side) / 2 ** 32
    with open(os.path.join(folder, "run/manifest.json"), "w") as out:
        json.dump({"model": {"kind": "bcnn"}, "settings": {}, "uncertainty": {"interval": "33-67", "mean": mean}}, out)


def measure(folder, *options):
    best, busy = None, None
    command = [program, "validate", os.path.join(folder, "run"), "--label", os.path.join(folder, "label.npy"), "--json", "-q"]
    for _ in range(3):
        before, cpu = time.perf_counter(), os.times()
        subprocess.run([*command, *options], check=True, stdout=subprocess.DEVNULL)
        seconds, now = time.perf_counter() - before, os.times()
        if best is None or seconds < best:
            best, busy = seconds, now.children_user + now.children_system - cpu.children_user - cpu.children_system
    voxels = depth * side * side
    return {"seconds": round(best, 3), "cpu_seconds": round(busy, 3), "million_voxels_per_second": round(voxels / best / 1e6, 1),
            "million_voxels_per_cpu_second": round(voxels / busy / 1e6, 1)}


with tempfile.TemporaryDirectory(prefix="credence-bench-") as temporary:
    folder = sys.argv[3] if len(sys.argv) > 3 else temporary
    if not os.path.exists(os.path.join(folder, "run/manifest.json")):
        os.makedirs(os.path.join(folder, "run"), exist_ok=True)
        make(folder)
    print(json.dumps({"voxels": depth * side * side, "all": measure(folder), "core": measure(folder, "--core")}))
