#!/usr/bin/env python3
"""Results in memory: no files, what doesn't fit, saving, masks, and memory that comes back."""
import ctypes
import errno
import gc
import json
import os
import shutil
import tempfile
import unittest
import warnings
import weakref
from unittest import mock

from tools import credence, make_inputs, model_path, np, path, resident, run

model, scan = make_inputs()
ctypes.CDLL(None).mallopt(-8, 1)  # M_ARENA_MAX: threads come and go, and their arenas would blur what is resident
FORMS = {"overlap": dict(step=2), "seamless": dict(mode="seamless", norms="scan")}


def quick(**options):
    return model.predict(scan, **{"samples": 3, "step": 1, **options})


class Memory(unittest.TestCase):
    def setUp(self):
        self.place = path("temporary")
        os.makedirs(self.place)
        self.enterContext(mock.patch.dict(os.environ, TMPDIR=self.place))
        self.enterContext(mock.patch.object(tempfile, "tempdir", self.place))

    def tearDown(self):
        left = os.listdir(self.place)
        shutil.rmtree(self.place)
        self.assertEqual(left, [])

    def test_no_files(self):
        r = quick()
        self.assertIsNone(r.folder)
        self.assertEqual(os.listdir(self.place), [])
        self.assertEqual(r.manifest["format"], "credence-run")
        with self.assertRaisesRegex(ValueError, "read-only"):
            r.probability[0, 0, 0] = 1
        for wrong in (dict(format="tiff"), dict(overwrite=True), dict(resume=True)):
            with self.assertRaisesRegex(credence.ArgumentError, "without an output"):
                quick(**wrong)

    def test_what_does_not_fit(self):
        """Files that are mapped, with all of their room taken beforehand."""
        wanted = quick()
        with mock.patch("credence._sink.SHARE", 1 << 60):
            r = quick()
            with mock.patch("os.posix_fallocate", side_effect=OSError(errno.ENOSPC, "No space left on device")):
                with self.assertRaisesRegex(OSError, "No space left on device: the results are too large"):
                    quick()
        self.assertIsInstance(r.probability, np.memmap)
        self.assertEqual(len(os.listdir(self.place)), 1)
        for array, other in zip(r._caught.arrays, wanted._caught.arrays):
            self.assertEqual(array.tobytes(), other.tobytes())
        probability = r.probability
        del r, array
        self.assertEqual(os.listdir(self.place), [])
        self.assertEqual(probability.tobytes(), wanted.probability.tobytes())

    def test_saved_as_the_program_writes_it(self):
        for form, options in FORMS.items():
            words = [w for key, value in options.items() for w in ("--" + key, str(value))]
            run("predict", "--model", model_path, "--scan", path("scan.npy"), "-o", path(form), "--samples", "3", *words,
                "--format", "npy", "--save-samples", "bits")
            kept = model.predict(scan, samples=3, **options).save(path(form + " saved"))
            names = sorted(os.listdir(path(form)))
            self.assertEqual(sorted(os.listdir(kept.folder)), names)
            for name in names:
                with open(os.path.join(path(form), name), "rb") as theirs, open(kept.folder / name, "rb") as mine:
                    a, b = mine.read(), theirs.read()
                if name == "manifest.json":
                    a, b = json.loads(a), json.loads(b)
                    for manifest in (a, b):
                        del manifest["times"], manifest["scan"]["path"], manifest["settings"]["scan"]
                if not name.startswith(("log", "probe")):  # times of day
                    self.assertEqual(a, b, name)
            with self.assertRaisesRegex(FileExistsError, "there already"):
                kept.save(kept.folder)
            run("report", path(form + " saved"), "-o", path(form + ".html"))
            self.assertEqual(kept.save(path(form + " twice")).probability.tobytes(), kept.probability.tobytes())

    def test_masks(self):
        """An array that is a mask is still the run's when it is measured, here and by the program."""
        mask = np.zeros(scan.shape, "u1")
        mask[:, 4:20, 4:20] = 1
        label = (scan > 1000).astype("u1")
        np.save(path("label.npy"), label)
        here, there = quick(mask=mask), quick(mask=mask, output=path("masked"))
        saved = here.save(path("masked too"))
        fraction = here.volume_fraction.segmentation
        self.assertAlmostEqual(fraction, float(here.segmentation[:, 4:20, 4:20].mean()), 12)
        for r in (here, there, saved):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", credence.CredenceWarning)
                measured = credence.measure(r, properties="fraction")["volume_fraction"]
            self.assertAlmostEqual(measured["segmentation"], fraction, 12)
            figures = credence.validate(r, label)
            self.assertEqual(figures["voxels"], int(mask.sum()))
        for r in (there, saved):
            run("validate", str(r.folder), "--label", path("label.npy"))
            with open(r.folder / "validation.json") as file:
                self.assertEqual(json.load(file)["voxels"], int(mask.sum()))
        copy = there.save(path("masked copy"))  # it doesn't need the folder that it was made from
        shutil.rmtree(there.folder)
        self.assertEqual(credence.validate(copy, label)["voxels"], int(mask.sum()))

    def test_many_measure_at_once(self):
        r = quick()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", credence.CredenceWarning)
            alone = credence.measure(r, properties="surface").properties
            jobs = [credence.Job(lambda _: credence.measure(r, properties="surface").properties) for _ in range(4)]
            for job in jobs:
                self.assertEqual(job.result(), alone)

    def test_gone_at_once(self):
        """No cycle keeps a result until the collector comes by."""
        gc.disable()
        try:
            r = quick()
            seen = [weakref.ref(r), weakref.ref(r._caught), weakref.ref(r.probability)]
            del r
            self.assertEqual([s() for s in seen], [None, None, None])
            job = model.start(scan, samples=1, step=1)
            job.result()
            gone = weakref.ref(job)
            del job
            self.assertIsNone(gone())
        finally:
            gc.enable()

    def test_memory_does_not_grow(self):
        """What leaks grows every time; an allocator's pools grow now and then, so the least of three times counts."""
        count = 334 if os.environ.get("CREDENCE_LONG") else 20
        small = scan[:16, :16, :16]

        def some(times, **options):
            for _ in range(times):
                r = model.predict(small, samples=1, step=1, save_samples="none", threads=1, **options)
                self.assertEqual(r.probability.shape, small.shape)
            gc.collect()
            return resident()

        for options in ({}, dict(output=path("again"), overwrite=True)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", credence.CredenceWarning)
                seen = [some(20, **options)] + [some(count, **options) for _ in range(3)]
                self.assertLess(min(after - before for before, after in zip(seen, seen[1:])), 1 << 20)


if __name__ == "__main__":
    unittest.main()
