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


def make_classes(folder, scan_path, truth_path, names, values, kind="bcnn", samples=16, spread=0.6, seed=1, probability="f4",
                 absent=()):
    """The same of three classes and more: each has a grey value of its own, `names` and `values` as in the manifest.
    `truth` holds numbers of classes from 0 on. Those in `absent` are never predicted. Returns the samples."""
    generator = np.random.default_rng(seed)
    scan, truth = np.load(scan_path).astype("f8"), np.load(truth_path)
    field = smooth(scan, 1)
    grey = [field[truth == k].mean() if (truth == k).any() else field.max() for k in range(len(names))]
    sharpness = 18 / np.ptp(grey) ** 2
    shapes = [smooth(generator.normal(size=scan.shape), 3) for _ in range(5)]
    drawn = []
    for i in range(samples):
        wander = field + np.ptp(grey) * spread * (0.08 * generator.normal() + 0.6 * shapes[i % 5])
        logits = np.stack([-np.inf * np.ones(scan.shape) if k in absent else -sharpness * (wander - g) ** 2
                           for k, g in enumerate(grey)])
        logits -= logits.max(0)
        drawn.append(np.exp(logits) / np.exp(logits).sum(0))
    drawn = np.stack(drawn).astype("f4")
    prob = drawn.mean(0).astype("f4")
    number = prob.argmax(0)
    segmentation = np.asarray(values)[number]
    lows, highs = np.percentile(drawn, [33, 67], axis=0)
    unc = np.take_along_axis(highs - lows, number[None], 0)[0].astype("f4")
    os.makedirs(folder, exist_ok=True)
    outputs = []

    def write(name, volume, role, **more):
        np.save(f"{folder}/scan_{name}.npy", volume)
        with open(f"{folder}/scan_{name}.npy.json", "w") as sidecar:
            json.dump({"spacing": [0.65, 0.65, 0.65], "unit": "um", **({"scale": 1 / 65535} if volume.dtype == "u2" else {})},
                      sidecar)
        outputs.append({"file": f"scan_{name}.npy", "role": role, "scale": 1 / 65535 if volume.dtype == "u2" else 1, **more})

    for k, name in enumerate(names):
        stored = prob[k] if probability == "f4" else np.rint(prob[k] * 65535).astype("u2")
        write(f"prob_{name}", stored, "probability")
    write("seg", segmentation.astype("u1" if min(values) >= 0 and max(values) < 256 and all(v == int(v) for v in values)
                                     else "f4"), "segmentation")
    write("unc", unc, "uncertainty", percentiles=[33, 67])
    fractions = np.stack([(drawn.argmax(1) == k).mean((1, 2, 3)) for k in range(len(names))])
    units = np.rint(unc.astype("f8") * 2 ** 32)
    manifest = {
        "format": "credence-run", "version": 1, "program": "0.1.0", "device": "cpu", "seed": seed,
        "model": {"kind": kind, "path": "nowhere/model.h5"},
        "scan": {"path": os.path.abspath(scan_path), "name": "scan", "shape": list(scan.shape)},
        "plan": {"origin": [0, 0, 0], "shape": list(scan.shape), "samples": samples},
        "outputs": outputs,
        "uncertainty": {"interval": "33-67", "mean": float(units.sum() / units.size / 2 ** 32)},
        "classes": [{"name": name, "value": values[k], "segmentation": float((number == k).mean()),
                     "mean": float(fractions[k].mean()), "interval90": [float(v) for v in np.percentile(fractions[k], [5, 95])],
                     "samples": [float(f) for f in fractions[k]]} for k, name in enumerate(names)],
        "warnings": [], "settings": {"samples": samples}}
    with open(f"{folder}/manifest.json", "w") as out:
        json.dump(manifest, out, indent=1)
    voxels = np.sort(generator.choice(scan.size, min(scan.size, 4000), replace=False))
    with h5py.File(f"{folder}/probe.h5", "w") as out:
        out["voxel"] = voxels
        out["probability"] = drawn.reshape(samples, len(names), -1)[:, :, voxels].transpose(2, 0, 1)
    return drawn
