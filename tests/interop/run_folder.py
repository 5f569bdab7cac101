"""A run folder as `credence predict` leaves it, made from a phantom: a soft threshold plays the network, and other
thresholds its samples."""
import json
import os

import h5py
import numpy as np


def smooth(field, rounds):
    for _ in range(rounds):
        for axis in range(3):
            padded = np.pad(field, [(1, 1) if a == axis else (0, 0) for a in range(3)], mode="edge")
            parts = [np.take(padded, range(k, k + field.shape[axis]), axis) for k in range(3)]
            field = sum(parts) / 3
    return field


def make(folder, scan_path, label_path, kind="bcnn", samples=24, spread=0.8, intervals=("20-80", "5-95"), seed=1, warnings=()):
    generator = np.random.default_rng(seed)
    scan, truth = np.load(scan_path).astype("f8"), np.load(label_path)
    field = smooth(scan, 1)
    inside, outside = field[truth > 0].mean(), field[truth == 0].mean()
    logit = (field - (inside + outside) / 2) / (inside - outside) * 9
    odd = smooth(generator.normal(size=scan.shape), 4)
    odd /= odd.std()
    offsets = generator.normal(size=samples) * spread
    shapes = [smooth(generator.normal(size=scan.shape), 3) for _ in range(6)]
    values = np.stack([1 / (1 + np.exp(-(logit + o + spread * 4 * shapes[i % 6] * (1 + 0.5 * odd))))
                       for i, o in enumerate(offsets)]).astype("f4")
    prob = values.mean(0).astype("f4")
    os.makedirs(folder, exist_ok=True)

    def width(text):
        low, high = map(float, text.split("-"))
        a, b = np.percentile(values, [low, high], axis=0)
        return (b - a).astype("f4")

    volumes = {"prob": prob, "seg": (prob > 0.5).astype("u1"), "unc": width("33-67")}
    for text in intervals:
        volumes[f"unc_{text}"] = width(text)
    for name, volume in volumes.items():
        np.save(f"{folder}/scan_{name}.npy", volume)
        with open(f"{folder}/scan_{name}.npy.json", "w") as sidecar:
            json.dump({"spacing": [0.65, 0.65, 0.65], "unit": "um"}, sidecar)
    fractions = (values > 0.5).mean((1, 2, 3))
    units = np.rint(volumes["unc"].astype("f8") * 2 ** 32)
    manifest = {
        "format": "credence-run", "version": 1, "program": "0.1.0", "device": "cpu", "seed": seed,
        "model": {"kind": kind, "path": "nowhere/model.h5"},
        "scan": {"path": os.path.abspath(scan_path), "name": "scan", "shape": list(scan.shape)},
        "plan": {"origin": [0, 0, 0], "shape": list(scan.shape), "samples": samples},
        "uncertainty": {"interval": "33-67", "mean": float(units.sum() / units.size / 2 ** 32)},
        "volume_fraction": {"segmentation": float((prob > 0.5).mean()), "mean": float(fractions.mean()),
                            "intervals": {"33-67": list(np.percentile(fractions, [33, 67]))},
                            "samples": [float(f) for f in fractions]},
        "warnings": list(warnings), "settings": {"samples": samples}}
    with open(f"{folder}/manifest.json", "w") as out:
        json.dump(manifest, out, indent=1)
    voxels = np.sort(generator.choice(scan.size, min(scan.size, 4000), replace=False))
    with h5py.File(f"{folder}/probe.h5", "w") as out:
        out["voxel"] = voxels
        out["probability"] = values.reshape(samples, -1)[:, voxels].T
