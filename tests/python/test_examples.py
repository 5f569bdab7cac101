#!/usr/bin/env python3
"""examples/python runs, and says what it should; the code of docs/PYTHON.md does, too."""
import os
import re
import subprocess
import sys
import unittest
import warnings

from tools import credence, folder, np, source


class Examples(unittest.TestCase):
    def test_electrode(self):
        environment = {**os.environ, "PYTHONPATH": os.path.join(source, "python"), "PYTHONDONTWRITEBYTECODE": "1"}
        words = [sys.executable, os.path.join(source, "examples/python/electrode.py"), "--steps", "3"]
        out = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600)
        self.assertEqual(out.returncode, 0, out.stderr)
        self.assertRegex(out.stdout, r"volume fraction 0\.\d{4} \((90 % interval|5-95 % of the samples) 0\.\d{4} to 0\.\d{4}\); truth 0\.\d{4}")
        self.assertRegex(out.stdout, r"specific surface [\d.]+ \([\d.]+ to [\d.]+\) 1/um")

    def test_the_page(self):
        """Every block of code, one after the other, with little work."""
        os.chdir(folder.name)
        random = np.random.default_rng(3)
        label = (random.random((6, 8, 8)) > 0.5).repeat(4, 0).repeat(4, 1).repeat(4, 2).astype("u1")
        scan = (label * 60 + random.normal(100, 9, label.shape)).astype("u1")
        label[::3] = 255
        for name, array in (("scan", scan), ("label", label), ("other", scan[::-1])):
            np.save(name + ".npy", array)
        with open(os.path.join(source, "docs/PYTHON.md")) as page:
            blocks = re.findall(r"```python\n(.*?)```", page.read(), re.DOTALL)
        self.assertEqual(len(blocks), 2)
        quick = {"train": dict(max_steps=2, filters=8, chunk=(16, 16, 16), progress=None), "predict": dict(samples=4)}
        train, start = credence.train, credence.Model.start
        credence.train = lambda s, l, **options: train(s, l, **{**options, **quick["train"]})
        credence.Model.start = lambda self, s, **options: start(self, s, **{**options, **quick["predict"]})
        try:
            space = {}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", credence.CredenceWarning)
                for block in blocks:
                    exec(compile(block.replace(", progress=True", ""), "docs/PYTHON.md", "exec"), space)
        finally:
            credence.train, credence.Model.start = train, start
        self.assertEqual(space["r"].shape, scan.shape)
        self.assertTrue(os.path.exists("model.h5"))


if __name__ == "__main__":
    unittest.main()
