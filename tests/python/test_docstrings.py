#!/usr/bin/env python3
"""The examples in the docstrings do what they say, and everything that is public has one and is annotated."""
import doctest
import importlib
import inspect
import os
import pkgutil
import shutil
import subprocess
import unittest

from tools import credence, np, source


class Docstrings(unittest.TestCase):
    def test_examples(self):
        tried = 0
        names = ["credence"] + ["credence." + m.name for m in pkgutil.iter_modules(credence.__path__)]
        for name in names:
            module = importlib.import_module(name)
            found = doctest.testmod(module, extraglobs={"credence": credence, "np": np})
            self.assertEqual(found.failed, 0, name)
            tried += found.attempted
        self.assertGreater(tried, 8)

    def test_types(self):
        if shutil.which("mypy") is None:
            self.skipTest("mypy isn't installed")
        words = ["mypy", "--strict", "--cache-dir", os.devnull, os.path.join(source, "python", "credence")]
        out = subprocess.run(words, capture_output=True, text=True)
        self.assertEqual(out.returncode, 0, out.stdout)

    def test_all_is_described_and_annotated(self):
        for name in credence.__all__:
            thing = getattr(credence, name)
            if name.startswith("__"):
                continue
            self.assertTrue(inspect.getdoc(thing), name)
            functions = [thing] if inspect.isfunction(thing) else inspect.getmembers(thing, inspect.isfunction)
            for f in functions:
                label, function = (name, f) if inspect.isfunction(f) else f
                if label.startswith("_") or function.__module__.split(".")[0] != "credence":
                    continue
                self.assertIn("return", function.__annotations__, f"{name}.{label}")
                self.assertTrue(inspect.getdoc(function), f"{name}.{label}")


if __name__ == "__main__":
    unittest.main()
