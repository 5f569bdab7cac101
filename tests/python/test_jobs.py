#!/usr/bin/env python3
"""Progress, Ctrl-C, exceptions, threads, and memory over many predictions."""
import concurrent.futures
import os
import signal
import subprocess
import sys
import time
import unittest
import warnings

from tools import credence, make_inputs, model_path, np, path

model, scan = make_inputs()

interrupted = """
import os, signal, sys, threading, time
sys.path.insert(0, os.path.join(os.environ["CREDENCE_SOURCE"], "python"))
import numpy, credence
model = credence.Model(sys.argv[1])
def stop():
    time.sleep(1.5)
    stop.at = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=stop).start()
try:
    model.predict(numpy.random.default_rng(1).random((96, 96, 96), "f4"), samples=48, step=3)
except KeyboardInterrupt:
    print("late by", time.monotonic() - stop.at)
"""


class Jobs(unittest.TestCase):
    def test_progress(self):
        seen = []
        model.predict(scan, samples=2, step=1, progress=seen.append)
        self.assertTrue(any(p.stage == "predicting" and 0 < p.done <= p.total for p in seen))
        job = model.start(scan, samples=2, step=1)
        stages = {p.stage for p in job}
        self.assertIn("predicting", stages)
        self.assertTrue(job.done())
        self.assertEqual(job.result().shape, scan.shape)

    def test_cancel(self):
        job = model.start(np.zeros((96, 96, 96), "f4"), samples=48, step=3)
        for _ in job:
            job.cancel()
            break
        self.assertTrue(job.wait(20))
        with self.assertRaises(credence.Cancelled):
            job.result()

    def test_a_progress_that_raises(self):
        def refuse(_progress):
            raise RuntimeError("seen enough")

        with self.assertRaisesRegex(RuntimeError, "seen enough"):
            model.predict(scan, samples=2, step=1, progress=refuse)

    def test_control_c(self):
        out = subprocess.run([sys.executable, "-c", interrupted, model_path], capture_output=True, text=True, timeout=120)
        self.assertIn("late by", out.stdout, out.stderr)
        self.assertLess(float(out.stdout.split()[-1]), 0.5)

    def test_exceptions(self):
        cases = [
            (lambda: credence.Model(path("absent.h5")), credence.SystemError, "absent.h5 can't be opened"),
            (lambda: model.predict(path("absent.tif")), credence.SystemError, "absent.tif"),
            (lambda: model.predict(scan, sampels=3), credence.ArgumentError, "did you mean 'samples'"),
            (lambda: model.predict(scan, samples=-3), credence.ArgumentError, "samples"),
            (lambda: model.predict(scan, model="a"), credence.ArgumentError, "model"),
            (lambda: model.predict(scan, mask=scan[:4]), credence.Error, "mask"),
            (lambda: credence.train(scan, scan[:, :4]), credence.MismatchError, "label"),
            (lambda: credence.open_run(path("absent")), credence.ArgumentError, "no run folder"),
            (lambda: model.predict(scan, samples=1, step=1).volume("percentile"), credence.ArgumentError, "it has"),
            (lambda: model.predict(scan, samples=1, step=1).samples(1), IndexError, "counted from 0"),
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", credence.CredenceWarning)
            for work, kind, words in cases:
                with self.assertRaisesRegex(kind, words):
                    work()
        self.assertTrue(issubclass(credence.ArgumentError, ValueError))
        self.assertTrue(issubclass(credence.SystemError, OSError))
        with self.assertRaises(OSError):
            credence.Model(path("absent.h5"))

    def test_warnings_name_the_caller(self):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            r = model.predict(scan, samples=1, step=1, save_samples="none")
        self.assertTrue(any("one sample has no spread" in str(w.message) for w in said))
        self.assertEqual({os.path.basename(w.filename) for w in said}, {os.path.basename(__file__)})
        self.assertTrue(r.warnings)

    def test_notebooks(self):
        r = model.predict(scan, samples=2, step=1)
        page = r._repr_html_()
        self.assertEqual(page.count("<img"), 3)
        self.assertIn("volume fraction of foreground", page)
        measured = credence.measure(r, properties="fraction")._repr_html_()
        self.assertIn("<table>", measured)
        self.assertIn("5-95 %", measured)
        self.assertNotIn("interval", measured)

    def test_spreads_and_intervals(self):
        """A model without a systematic error has no 90 % interval, and none is claimed."""
        alone = model.predict(scan, samples=4, step=1).volume_fraction
        self.assertTrue(np.isnan(alone.systematic))
        self.assertIn("5-95 % of the samples", str(alone))
        widened = alone._replace(systematic=0.01)
        self.assertIn("90 % interval", str(widened))
        self.assertNotIn("samples", str(widened))

    def test_figures(self):
        r = model.predict(scan, samples=2, step=1)
        try:
            import matplotlib
        except ImportError:
            with self.assertRaisesRegex(ImportError, "matplotlib"):
                r.show()
        else:
            matplotlib.use("Agg")
            self.assertEqual(len(r.show().axes), 6)

    def test_threads(self):
        """Two at once, of different scans: each gets its own."""
        other = scan[::-1].copy()
        alone = [model.predict(a, samples=2, step=1).probability.tobytes() for a in (scan, other)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(lambda a: model.predict(a, samples=2, step=1, threads=1).probability.tobytes(), a)
                    for a in (scan, other, scan, other)]
            together = [job.result() for job in jobs]
        self.assertEqual(together, alone * 2)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    unittest.main()
