"""`credence train` with priors whose KL is drawn: the same bytes resumed, with other threads and in several processes."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.environ.get("CREDENCE_PROGRAM", "build/credence")
FOLDER = tempfile.mkdtemp()
os.chdir(FOLDER)
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what)


def train(output, *more, ranks=0):
    words = [PROGRAM, "train", "--scan", "scan.npy", "--label", "label.npy", "-o", output, "--filters", "4", "--chunk",
             "8,16,16", "--step", "2", "--batch", "3", "--epochs", "3", "--max-steps", "8", "--threads", "2", *more]
    if ranks > 0:
        words = ["mpirun", "-n", str(ranks)] + words
    return subprocess.run(words, capture_output=True, text=True,
                          env=dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none"))


def content(name):
    return open(name, "rb").read()


def kls(name):
    return [json.loads(line)["kl"] for line in open(name)]


def config(name):
    return json.loads(subprocess.run([PROGRAM, "info", "--json", name], capture_output=True, text=True).stdout)["config"]


noise = np.random.default_rng(4)
label = (noise.random((16, 32, 32)) < 0.5).astype(np.uint8)
np.save("label.npy", label)
np.save("scan.npy", (label * 100 + noise.normal(0, 30, label.shape)).astype(np.float32))

check(train("normal.h5").returncode == 0, "the normal prior")
check("prior" not in config("normal.h5"), f"the normal prior is recorded as before: {config('normal.h5')}")
mpi = "clusters (MPI): yes" in subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout
for prior, more in (("mixture", ()), ("spike-slab", ("--prior-narrow", "0.02", "--prior-share", "0.25"))):
    words = ("--prior", prior) + more
    done = train(f"{prior}.h5", *words)
    check(done.returncode == 0, done.stderr)
    check(config(f"{prior}.h5")["prior"] == prior, f"{prior}: {config(f'{prior}.h5')}")
    check(kls(f"{prior}.log.jsonl")[0] != kls("normal.log.jsonl")[0], f"{prior}: the normal prior's KL")
    check(train("part.h5", "--max-steps", "3", *words).returncode == 0, f"{prior}: three steps")
    done = train("part.h5", "--resume", *words)
    check(done.returncode == 0 and content("part.h5") == content(f"{prior}.h5"), f"{prior} resumed: {done.stderr}")
    done = train("part.h5", "--resume")
    check(done.returncode == 1 and "--prior" in done.stderr, f"{prior} resumed with the normal one: {done.stderr}")
    done = train("one.h5", *words, "--threads", "1")
    check(done.returncode == 0 and content("one.h5") == content(f"{prior}.h5"), f"{prior}, one thread: {done.stderr}")
    if mpi and shutil.which("mpirun") is not None and "asan" not in PROGRAM:
        done = train("ranks.h5", *words, "--threads", "1", ranks=2)
        check(done.returncode == 0 and content("ranks.h5") == content(f"{prior}.h5"), f"{prior}, two processes: {done.stderr}")
    for name in ("part", "one", "ranks"):
        if os.path.exists(f"{name}.ckpt.h5"):
            os.remove(f"{name}.ckpt.h5")
for words, sentence in ((("--prior", "mixture", "--prior-narrow", "2"), "must be below --prior-std"),
                        (("--prior-share", "0.3"), "are those of --prior mixture"),
                        (("--prior", "laplace"), "laplace")):
    done = train("refused.h5", *words)
    check(done.returncode in (1, 2) and sentence in done.stderr, f"{words}: {done.stderr}")
os.chdir("/")
shutil.rmtree(FOLDER)
sys.exit(1 if failures else 0)
