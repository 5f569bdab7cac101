#!/usr/bin/env python3
"""What predict writes, against numpy: percentiles, mean and deviation over samples, overlap averaging, saved samples."""
import json
import os
import subprocess
import sys
import tempfile

import h5py
import numpy as np

program, build = os.environ["CREDENCE_PROGRAM"], os.environ["CREDENCE_BUILD"]


def predict(output, *flags):
    scan = [] if "--scan" in flags else ["--scan", "scan.npy"]
    command = [program, "predict", "--model", "model.h5", *scan, "-o", output, "--quiet", *flags]
    subprocess.run(command, check=True)
    return json.load(open(output + "/manifest.json"))


def volume(run, name):
    return np.load(f"{run}/scan_{name}.npy")


def near(a, b, tolerance):
    worst = np.abs(np.asarray(a, float) - np.asarray(b, float)).max()
    assert worst <= tolerance, f"off by {worst:.3g}, not {tolerance:.3g}"


def one_chunk():
    """Every voxel of a scan of one chunk is a probe, so numpy can compute everything again."""
    manifest = predict("one", "--chunk", "16,24,24", "--samples", "9", "--percentiles", "5,33,50,67", "--std",
                       "--intervals", "33-67,2.5-97.5", "--bounds", "33-67")
    with h5py.File("one/probe.h5") as file:
        voxels, samples = file["voxel"][:], file["probability"][:].astype(float)
    assert np.array_equal(voxels, np.arange(16 * 24 * 24)) and samples.shape == (16 * 24 * 24, 9)
    assert samples.std(1).mean() > 1e-3
    shape, half = (16, 24, 24), 2.0**-24
    near(volume("one", "prob").ravel(), samples.mean(1), half)
    near(volume("one", "std").ravel(), samples.std(1), half)
    for p in (5, 33, 50, 67):
        near(volume("one", f"p{p}").ravel(), np.percentile(samples, p, axis=1), half)
    near(volume("one", "unc").ravel(), np.subtract(*np.percentile(samples, [67, 33], axis=1)), 2 * half)
    near(volume("one", "unc_2.5-97.5").ravel(), np.subtract(*np.percentile(samples, [97.5, 2.5], axis=1)), 2 * half)
    assert np.array_equal(volume("one", "seg"), volume("one", "prob") > 0.5)
    assert np.array_equal(volume("one", "seg_lower"), volume("one", "p33") > 0.5)
    assert np.array_equal(volume("one", "seg_upper"), volume("one", "p67") > 0.5)
    fractions = (samples.reshape(*shape, 9) > 0.5).mean((0, 1, 2))
    near(manifest["volume_fraction"]["samples"], fractions, 1e-12)
    near(manifest["volume_fraction"]["intervals"]["33-67"], np.percentile(fractions, [33, 67]), 1e-12)
    near(manifest["uncertainty"]["mean"], volume("one", "unc").astype(float).mean(), 1e-9)
    near(manifest["uncertainty"]["max"], volume("one", "unc").max(), 0)


def fractions(run, manifest, inside=True):
    """Both estimates of the volume fraction, over the classes and their samples."""
    found, classes = manifest["volume_fraction"], manifest["classes"]
    counted = np.broadcast_to(inside, volume(run, "prob").shape)
    near(found["segmentation"], volume(run, "seg")[counted].mean(), 1e-12)
    probability = volume(run, "prob")[counted].astype(float)
    near(found["mean_probability"], probability.mean(), 2.0**-33)
    near(manifest["likeness"]["expected_error"], np.minimum(probability, 1 - probability).mean(), 2.0**-33)
    assert [(c["name"], c["value"]) for c in classes] == [("background", 0), ("foreground", 1)]
    near(classes[0]["segmentation"] + classes[1]["segmentation"], 1, 1e-15)
    if "samples" not in found:
        assert set(found) == {"segmentation", "mean_probability"} and "mean" not in classes[1]
        return
    assert found["mean"] == found["mean_cut"] == classes[1]["mean"] and found["samples"] == classes[1]["samples"]
    near(found["mean"], np.mean(found["samples"]), 1e-12)
    near(found["interval90"], np.percentile(found["samples"], [5, 95]), 1e-12)
    near(classes[0]["samples"], 1 - np.array(found["samples"]), 1e-15)
    near(classes[0]["interval90"], 1 - np.array(found["interval90"][::-1]), 1e-15)
    near(classes[0]["mean"], 1 - found["mean"], 1e-15)


def both_estimates():
    np.save("inside.npy", (np.random.default_rng(5).random((16, 24, 24)) < 0.7).astype(np.uint8))
    for i, flags in enumerate((["--chunk", "8,16,16", "--step", "2"], ["--mask", "inside.npy"], ["--draws", "per-chunk"],
                               ["--mode", "seamless", "--norms", "scan", "--tile", "8,16,16", "--halo", "8"],
                               ["--mode", "seamless", "--norms", "scan", "--tile", "8,16,16", "--halo", "8", "--mask",
                                "inside.npy"])):
        manifest = predict(f"estimates{i}", "--samples", "4", *flags)
        fractions(f"estimates{i}", manifest, np.load("inside.npy") > 0 if "--mask" in flags else True)


def overlap():
    """Percentiles of averaged samples, from the samples that were saved (in steps of 1/65535)."""
    predict("samples", "--chunk", "16,16,16", "--samples", "6", "--save-samples", "u16", "--aggregate", "samples",
            "--std")
    samples = np.stack([volume("samples", f"sample_{s}") for s in range(6)]) / 65535.0
    step = 1 / 65535
    near(volume("samples", "prob"), samples.mean(0), step)
    near(volume("samples", "std"), samples.std(0), step)
    near(volume("samples", "unc"), np.subtract(*np.percentile(samples, [67, 33], axis=0)), 2 * step)
    predict("floats", "--chunk", "16,16,16", "--samples", "6", "--save-samples", "f32", "--aggregate", "samples", "--std")
    floats = np.stack([volume("floats", f"sample_{s}") for s in range(6)])
    assert floats.dtype == np.float32 and not os.path.exists("floats/scan_sample_0.npy.json")
    near(floats, samples, 0.5001 * step)
    near(volume("floats", "prob"), floats.astype(float).mean(0), 2.0**-23)
    near(volume("floats", "unc"), np.subtract(*np.percentile(floats.astype(float), [67, 33], axis=0)), 2.0**-22)
    scale = json.load(open("samples/scan_sample_0.npy.json"))["scale"]
    near(scale, step, 1e-15)


def probes():
    """65,536 different voxels of a larger scan, from everywhere in it; all of a small box."""
    shape = (40, 48, 48)
    np.save("large.npy", np.random.default_rng(4).normal(0, 1, shape).astype(np.float32))
    for box in ((0, 40, 0, 48, 0, 48), (9, 17, 30, 38, 2, 10)):
        predict("probes", "--scan", "large.npy", "--chunk", "40,48,48", "--samples", "2", "--overwrite", "--bbox",
                ",".join(f"{a}:{b}" for a, b in zip(box[::2], box[1::2])))
        with h5py.File("probes/probe.h5") as file:
            voxels, values = file["voxel"][:], file["probability"][:]
            assert np.array_equal(file.attrs["shape"], shape) and file.attrs["first_sample"] == 0
        size = np.prod([b - a for a, b in zip(box[::2], box[1::2])])
        assert len(voxels) == len(values) == min(size, 65536) and np.all(np.diff(voxels) > 0)
        at = np.array(np.unravel_index(voxels, shape)) - np.array(box[::2])[:, None]
        mean = np.load("probes/large_prob.npy")[tuple(at)]
        near(values.astype(float).mean(1), mean, 2.0**-24)
        shares = np.bincount(at[0], minlength=box[1] - box[0]) / len(voxels) * (box[1] - box[0])
        assert 0.9 < shares.min() and shares.max() < 1.1, shares


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        subprocess.run([build + "/tests/make_model", "model.h5", "bcnn", "8"], check=True)
        rng = np.random.default_rng(3)
        np.save("scan.npy", rng.normal(100, 20, (16, 24, 24)).cumsum(2).astype(np.float32))
        one_chunk()
        both_estimates()
        overlap()
        probes()


if __name__ == "__main__":
    sys.exit(main())
