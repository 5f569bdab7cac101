"""What the tests of the Python package share: the package itself over the library of this build, a model and a scan."""
import os
import subprocess
import sys
import tempfile

source, build, program = (os.environ["CREDENCE_" + name] for name in ("SOURCE", "BUILD", "PROGRAM"))


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


with open(os.path.join(build, "CMakeCache.txt")) as cache:
    if any(line.startswith("CREDENCE_SANITIZE:") and line.strip()[-1] != "=" for line in cache):
        skip("Python isn't built with sanitizers")
try:
    import numpy as np
except ImportError:
    skip("this Python has no numpy")

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(source, "python"))
os.environ["CREDENCE_LIBRARY"] = os.path.join(build, "libcredence.so")
import credence  # noqa: E402

folder = tempfile.TemporaryDirectory(prefix="credence-test-")
model_path = os.path.join(folder.name, "model.h5")


def path(name):
    return os.path.join(folder.name, name)


def run(*words):
    subprocess.run([program, *words, "--quiet"], check=True)


def make_inputs(shape=(20, 24, 28)):
    """A model that was never trained, and a scan with something in it."""
    subprocess.run([os.path.join(build, "tests", "make_model"), model_path, "bcnn", "8", "16,16,16"], check=True)
    z, y, x = np.indices(shape)
    scan = (1000 + 300 * (np.sin(z * 0.5) + np.sin(y * 0.4) + np.sin(x * 0.3))).astype("u2")
    np.save(path("scan.npy"), scan)
    return credence.Model(model_path), scan


def resident():
    """Bytes of memory that this process has."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
