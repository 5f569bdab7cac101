"""credence measure in processes of one MPI job: the same bytes as one process, for all passes, masks, labels and classes; errors end all."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

PROGRAM = os.environ.get("CREDENCE_PROGRAM", "build/credence")
BUILD = os.environ.get("CREDENCE_BUILD", "build")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


try:
    import numpy as np
except ImportError as missing:
    skip(missing)
if "clusters (MPI): yes" not in subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout:
    skip("this build has no MPI part")
if shutil.which("mpirun") is None:
    skip("there is no mpirun here")
with open(os.path.join(BUILD, "CMakeCache.txt")) as cache:
    if any(line.startswith("CREDENCE_SANITIZE:") and line.strip()[-1] != "=" for line in cache):
        skip("MPI itself is not written for sanitizers")

FOLDER = tempfile.mkdtemp()
os.chdir(FOLDER)
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", TMPDIR=FOLDER,
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
                   OMPI_MCA_btl_vader_single_copy_mechanism="none")
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what)


def make_run(name, samples, seg, values):
    """Samples of class numbers as bit planes."""
    os.makedirs(name)
    np.save(f"{name}/s_seg.npy", seg.astype("u1"))
    outputs = [{"file": "s_seg.npy", "role": "segmentation", "type": "u8", "scale": 1}]
    for plane in range(1 if len(values) == 2 else 2):
        file = "s_samples.npy" if len(values) == 2 else f"s_samples_b{plane}.npy"
        np.save(f"{name}/{file}", sum((s >> plane & 1).astype("u8") << np.uint64(i) for i, s in enumerate(samples)))
        outputs.append({"file": file, "role": "bits of samples", "type": "u64", "scale": 1})
    with open(f"{name}/manifest.json", "w") as file:
        json.dump({"format": "credence-run", "scan": {"shape": seg.shape, "spacing": [2, 1, 1], "unit": "um"},
                   "plan": {"samples": len(samples), "shape": seg.shape, "origin": [0, 0, 0]}, "settings": {}, "outputs": outputs,
                   "classes": [{"name": str(v), "value": v, "segmentation": 0.3, "mean": 0.3, "interval90": [0, 1], "samples": []}
                               for v in values]}, file)


def measure(ranks, words):
    command = [PROGRAM, "measure", "-q", "--threads", "1", *words]
    if ranks > 1:
        command = ["mpirun", "-n", str(ranks)] + command
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, timeout=300)
    return done.returncode, done.stdout, done.stderr


def files(run):
    with open(f"{run}/measure.json") as json_file, open(f"{run}/measure.csv") as csv_file:
        return json_file.read().split('"times"')[0] + csv_file.read()


generator = np.random.default_rng(3)
shape = (14, 20, 27)
blobs = [np.kron(generator.random((7, 5, 9)) < .55, np.ones((2, 4, 3))).astype(int) for _ in range(21)]
make_run("two", blobs, blobs[0], [0, 1])
three = [np.kron(generator.integers(0, 3, (7, 5, 9)), np.ones((2, 4, 3), int)) for _ in range(21)]
make_run("three", three, three[0], [0, 1, 2])
label = blobs[1].copy()
label[:3] = 9
np.save("label.npy", label.astype("u1"))
for run, words in (("two", ["--properties", "all", "--axis", "zx", "--slow-samples", "5"]),
                   ("two", ["--properties", "all", "--axis", "y", "--slow-samples", "3", "--transport", "fast", "--max-memory", "7M"]),
                   ("two", ["--mask", "cylinder", "--label", "label.npy", "--ignore", "9", "--lags", "9", "--connectivity", "26"]),
                   ("three", ["--properties", "fast", "--bbox", "1:13,0:20,2:27", "--active", "--axis", "zx", "--slow-samples", "8"])):
    code, out, err = measure(1, [run, *words])
    check(code == 0, f"one process: {err}")
    alone = files(run)
    for ranks in (2, 3):
        os.remove(f"{run}/measure.json")
        os.remove(f"{run}/measure.csv")
        code, _, err = measure(ranks, [run, *words])
        check(code == 0, f"{ranks} processes, {words}: {err}")
        check(code == 0 and files(run) == alone, f"{ranks} processes give other bytes for {run} {words}")
        check(not os.path.exists(f"{run}/.measure"), "a journal is left")
code, _, err = measure(2, ["two", "--csv", "/dev/full"])
check(code != 0 and "/dev/full" in err, "a failure of rank 0 doesn't end the job")
code, _, err = measure(2, ["nowhere"])
check(code != 0 and "nowhere" in err, "a run that isn't there is no failure")
shutil.rmtree(FOLDER, ignore_errors=True)
print("failed" if failures else "ok")
sys.exit(1 if failures else 0)
