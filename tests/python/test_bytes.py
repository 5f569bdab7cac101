#!/usr/bin/env python3
"""The same bytes from Python and from the program: every volume, both modes, trainings, measurements."""
import json
import os
import subprocess
import unittest

from tools import build, credence, make_inputs, model_path, np, path, program, run

model, scan = make_inputs()


class Bytes(unittest.TestCase):
    def same(self, mine, theirs):
        """Every volume of two run folders."""
        ours, others = mine.manifest["outputs"], theirs.manifest["outputs"]
        self.assertEqual(len(ours), len(others))
        for i, (a, b) in enumerate(zip(ours, others)):
            self.assertEqual({**a, "file": ""}, {**b, "file": ""})
            x, y = mine._array(i), theirs._array(i)
            self.assertEqual((x.dtype, x.shape), (y.dtype, y.shape))
            self.assertEqual(x.tobytes(), y.tobytes(), a["role"])

    def test_overlap(self):
        run("predict", "--model", model_path, "--scan", path("scan.npy"), "-o", path("o"), "--samples", "5", "--step", "2",
            "--intervals", "33-67,5-95", "--percentiles", "50", "--std", "--bounds", "10-90", "--save-samples", "bits",
            "--format", "npy", "--bbox", "2:19,0:24,1:27")
        r = model.predict(scan, samples=5, step=2, intervals=[(33, 67), (5, 95)], percentiles=[50], std=True,
                          bounds=[(10, 90)], bbox=((2, 19), (0, 24), (1, 27)))
        self.same(r, credence.open_run(path("o")))
        self.assertEqual(r.shape, (17, 24, 26))
        self.assertEqual(r.volume("uncertainty", (5, 95)).shape, r.shape)
        self.assertEqual(r.manifest["volume_fraction"], credence.open_run(path("o")).manifest["volume_fraction"])

    def test_numbers_keep_their_digits(self):
        from credence._library import _as_setting
        self.assertEqual(_as_setting("bbox", ((1234567, 9999999), (0, np.int64(24)))), "1234567:9999999,0:24")
        self.assertEqual(_as_setting("intervals", [(0.123456789, 99.876543211), (5.0, np.float32(95))]),
                         "0.123456789-99.876543211,5-95")

    def test_seamless(self):
        mask = np.hypot(*np.ogrid[-12:12, -14:14])[None].repeat(20, 0) < 11
        np.save(path("mask.npy"), mask.astype("u1"))
        run("predict", "--model", model_path, "--scan", path("scan.npy"), "-o", path("s"), "--samples", "4", "--mode",
            "seamless", "--norms", "scan", "--save-samples", "u8", "--dtype", "u16", "--format", "npy", "--mask",
            path("mask.npy"))
        r = model.predict(scan, samples=4, mode="seamless", norms="scan", save_samples="u8", dtype="u16", mask=mask)
        self.same(r, credence.open_run(path("s")))
        self.assertEqual(r.probability.dtype, np.float32)
        self.assertLessEqual(float(r.probability.max()), 1.0)
        self.assertEqual(r.samples(3).shape, r.shape)

    def test_dropout(self):
        """The other kind of network."""
        subprocess.run([os.path.join(build, "tests", "make_model"), path("mcdn.h5"), "mcdn", "8", "16,16,16"], check=True)
        run("predict", "--model", path("mcdn.h5"), "--scan", path("scan.npy"), "-o", path("d"), "--samples", "3", "--step",
            "1", "--save-samples", "bits", "--format", "npy")
        dropout = credence.Model(path("mcdn.h5"))
        self.assertIn("mcdn", dropout.summary)
        self.same(dropout.predict(scan, samples=3, step=1), credence.open_run(path("d")))

    def test_other_formats(self):
        for form in ("tiff", "nii.gz", "h5", "ome.zarr"):
            run("predict", "--model", model_path, "--scan", path("scan.npy"), "-o", path(form), "--samples", "2", "--step",
                "1", "--format", form, "--save-samples", "bits")
            theirs = credence.open_run(path(form))
            mine = model.predict(path("scan.npy"), samples=2, step=1)
            self.assertEqual(mine.probability.tobytes(), theirs.probability.tobytes())
            np.testing.assert_array_equal(mine.samples(1), theirs.samples(1))

    def test_figures(self):
        r = model.predict(scan, samples=6, step=1)
        fraction = r.volume_fraction
        self.assertLessEqual(fraction.low, fraction.mean)
        self.assertLessEqual(fraction.mean, fraction.high)
        self.assertEqual(len(fraction.samples), 6)
        self.assertAlmostEqual(fraction.segmentation, float((r.probability > 0.5).mean()), 12)
        tiles = model.predict(scan, samples=6, mode="seamless", norms="scan")
        for i in range(6):  # of a chunk's own samples where chunks overlap; of the whole where they don't
            self.assertAlmostEqual(float(tiles.samples(i).mean()), tiles.volume_fraction.samples[i], 6)

    def test_three_classes(self):
        random = np.random.default_rng(0)
        label = random.choice([1, 5, 7], (2, 3, 3)).repeat(8, 0).repeat(8, 1).repeat(8, 2).astype("u1")
        grey = (label * 20 + random.normal(100, 9, label.shape)).astype("u1")
        three = credence.train(grey, label, max_steps=2, filters=8, chunk=(16, 16, 16), class_names="pore,ysz,nickel")
        three.save(path("three.h5"))
        np.save(path("grey.npy"), grey)
        run("predict", "--model", path("three.h5"), "--scan", path("grey.npy"), "-o", path("k"), "--samples", "3", "--step",
            "1", "--save-samples", "bits", "--format", "npy")
        r = three.predict(grey, samples=3, step=1)
        self.same(r, credence.open_run(path("k")))
        self.assertEqual(r.class_names, ["pore", "ysz", "nickel"])
        self.assertEqual(r.probability.shape, (3, *grey.shape))
        np.testing.assert_allclose(r.probability.sum(0), 1, atol=1e-5)
        np.testing.assert_array_equal(np.array([1, 5, 7])[r.probability.argmax(0)], r.segmentation)
        self.assertLessEqual(set(np.unique(r.samples(2))), {1, 5, 7})
        many = three.predict(grey, samples=66, step=1)  # more than a word of 64 bits holds
        each = three.predict(grey, samples=66, step=1, save_samples="f32")
        for i in (0, 63, 64, 65):
            np.testing.assert_array_equal(np.array([1, 5, 7])[each.samples(i).argmax(0)], many.samples(i))
        kept = three.predict(grey, samples=3, step=1, save_samples="f32")
        np.testing.assert_array_equal(np.array([1, 5, 7])[kept.samples(2).argmax(0)], r.samples(2))
        self.assertAlmostEqual(sum(f.segmentation for f in r.volume_fractions.values()), 1, 9)
        with self.assertRaisesRegex(credence.ArgumentError, "volume_fractions"):
            r.volume_fraction
        self.assertIn("nickel", repr(r))
        self.assertEqual(r._repr_html_().count("<img"), 5)

    def test_measure(self):
        r = model.predict(scan, samples=4, step=1, spacing="2,1,1,um")
        mine = credence.measure(r, properties="fraction,surface,euler")
        run("measure", str(r.save(path("measured")).folder), "--properties", "fraction,surface,euler")
        with open(path("measured/measure.json")) as file:
            theirs = json.load(file)
        self.assertEqual(mine.properties, theirs["properties"])
        self.assertEqual(mine["specific_surface"]["unit"], "1/um")
        each = credence.measure([r.samples(i).astype("u1") for i in range(4)], phase="1", properties="fraction")
        self.assertEqual(each["volume_fraction"]["values"], mine["volume_fraction"]["values"])

    def test_train_and_validate(self):
        label = (scan > 1000).astype("u1")
        np.save(path("label.npy"), label)
        run("train", "--scan", path("scan.npy"), "--label", path("label.npy"), "-o", path("t.h5"), "--preset", "toy",
            "--max-steps", "2", "--filters", "8", "--chunk", "16,16,16", "--valid-fraction", "0", "--threads", "1")
        mine = credence.train(scan, label, preset="toy", max_steps=2, filters=8, chunk=(16, 16, 16), valid_fraction=0,
                              threads=1)
        theirs = credence.Model(path("t.h5"))
        self.assertEqual(mine.summary, theirs.summary)
        a, b = (m.predict(scan, samples=2, step=1) for m in (mine, theirs))
        self.assertEqual(a.probability.tobytes(), b.probability.tobytes())
        figures = credence.validate(a, label)
        right = float(((a.probability > 0.5) == (label > 0)).mean())
        self.assertAlmostEqual(figures["accuracy"], right, 6)
        self.assertIsNone(mine.heldout)  # nothing was held back

    def test_heldout(self):
        """The exam's figures are those that `credence info` tells."""
        rng = np.random.default_rng(4)
        label = (np.indices((24, 40, 40)).sum(0) // 6 % 2).astype("u1")
        noisy = (1000 + 400 * label + rng.normal(0, 80, label.shape)).astype("u2")
        mine = credence.train(noisy, label, max_steps=4, filters=4, chunk=(8, 16, 16), step=2, threads=1)
        mine.save(path("exam.h5"))
        said = subprocess.run([program, "info", path("exam.h5"), "--json"], capture_output=True, check=True, text=True)
        theirs = json.loads(said.stdout)["heldout"]
        held = mine.heldout
        self.assertIsInstance(held, credence.Heldout)
        self.assertEqual(set(held._fields), set(theirs))
        for name, value in theirs.items():
            here = getattr(held, name)
            if value is None:
                self.assertTrue(np.isnan(here), name)
            else:
                np.testing.assert_array_equal(here, np.array(value, float), name)
        self.assertGreater(held.exam_voxels, 0)
        self.assertTrue(0 <= held.dice_interval[0] <= held.dice <= held.dice_interval[1] <= 1, held)
        self.assertRegex(str(held), r"^Dice 0\.\d{3} \(90 % interval")

    def test_masks(self):
        """One mask for all scans, or a list: arrays, names of files, words and None."""
        label = (scan > 1000).astype("u1")
        inside = np.ones(scan.shape, "u1")
        inside[:, :12] = 0
        np.save(path("inside.npy"), inside)
        for name, array in (("scan", scan), ("label", label)):
            np.save(path(f"both_{name}.npy"), array)
        few = dict(preset="toy", max_steps=2, filters=8, chunk=(16, 16, 16), valid_fraction=0, threads=1)
        files = [path("both_scan.npy")] * 2, [path("both_label.npy")] * 2
        run("train", "--scan", *files[0], "--label", *files[1], "--mask", path("inside.npy"), "none", "-o", path("masked.h5"),
            "--preset", "toy", "--max-steps", "2", "--filters", "8", "--chunk", "16,16,16", "--valid-fraction", "0", "--threads", "1")
        with open(path("masked.h5"), "rb") as file:
            theirs = file.read()
        for masks in ([inside, None], [path("inside.npy"), "none"]):
            mine = credence.train([scan, scan], [label, label], mask=masks, **few)
            self.assertEqual(mine.path.read_bytes(), theirs)
        other = credence.train([scan, scan], [label, label], mask=inside, **few)
        self.assertNotEqual(other.path.read_bytes(), theirs)
        with self.assertRaisesRegex(credence.ArgumentError, "scans there are 2, masks 3"):
            credence.train([scan, scan], [label, label], mask=[None, inside, "cylinder"], **few)
        with self.assertRaisesRegex(ValueError, "an empty list .* mask"):
            credence.train([scan, scan], [label, label], mask=[], **few)


if __name__ == "__main__":
    unittest.main()
