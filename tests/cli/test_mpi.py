"""Processes of one MPI job against one process: the same bytes, also after kills; errors and signals end all of them."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = os.environ.get("CREDENCE_PROGRAM", "build/credence")
BUILD = os.environ.get("CREDENCE_BUILD", "build")
KILLS = 12 if os.environ.get("CREDENCE_LONG") == "1" else 2
RANKS = (1, 2, 3, 5)


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
SEED = int(os.environ.get("CREDENCE_SEED", str(os.getpid())))
random.seed(SEED)
print(f"random moments from seed {SEED}")
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", TMPDIR=FOLDER,
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
                   OMPI_MCA_btl_vader_single_copy_mechanism="none")
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what)


def together(ranks, words, shell=""):
    """`shell` runs in every process before the program: $R is its rank. Each leaves its process number in pid.RANK."""
    script = f'R=$OMPI_COMM_WORLD_RANK; echo $$ >pid.$R; {shell} exec "$@"'
    for old in range(8):
        if os.path.exists(f"pid.{old}"):
            os.remove(f"pid.{old}")
    return subprocess.Popen(["mpirun", "-n", str(ranks), "bash", "-c", script, "rank", PROGRAM] + words, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)


def finish(process):
    process.out, process.err = process.communicate()
    return process


def run(ranks, words, shell=""):
    """0 ranks: no MPI at all."""
    if ranks > 0:
        return finish(together(ranks, words, shell))
    done = subprocess.run([PROGRAM] + words, capture_output=True, text=True)
    done.out, done.err = done.stdout, done.stderr
    return done


def said(process):
    """What the program said, without mpirun's own words."""
    return [line for line in process.err.splitlines() if line.startswith("credence: ")]


def pid_of(rank):
    for _ in range(500):
        if os.path.exists(f"pid.{rank}") and open(f"pid.{rank}").read().strip():
            return int(open(f"pid.{rank}").read())
        time.sleep(0.01)
    raise RuntimeError("a rank did not start")


def hit(rank, number):
    try:
        os.kill(pid_of(rank), number)
    except ProcessLookupError:
        pass  # it was faster


def content(name):
    return open(name, "rb").read() if os.path.exists(name) else None


def make_data():
    noise = np.random.default_rng(4)
    z, y, x = np.meshgrid(np.arange(16), np.arange(48), np.arange(64), indexing="ij")
    label = ((z - 8) ** 2 + ((y % 16) - 8) ** 2 + ((x % 16) - 8) ** 2 < 30).astype(np.uint8)
    np.save("scan.npy", (label * 2000 + noise.normal(8000, 900, label.shape)).astype(np.uint16))
    np.save("label.npy", np.where(noise.random(label.shape) < 0.1, 7, label).astype(np.uint8))
    np.save("long.npy", noise.normal(0, 1, (90, 16, 24)).cumsum(0).astype(np.float32))
    np.save("tiny.npy", noise.normal(0, 1, (8, 16, 16)).astype(np.float32))
    for name, how in (("model.h5", []), ("dead.h5", ["7", "dead"])):
        subprocess.run([os.path.join(BUILD, "tests", "make_model"), name, "bcnn", "4", "8,16,16"] + how, check=True)


def train(output, *more):
    return ["train", "--scan", "scan.npy", "--label", "label.npy", "--ignore", "7", "-o", output, "--filters", "4",
            "--chunk", "8,16,16", "--step", "1", "--batch", "3", "--epochs", "9", "--max-steps", "15", "--kl-batches", "50", "--kl-step", "0",
            "--checkpoint-every", "2", "--threads", "1"] + list(more)


def log_of(name):
    lines = [json.loads(line) for line in open(name)]
    return [{key: value for key, value in line.items() if key not in ("seconds", "examples_per_second")} for line in lines]


def same_training(a, b, what):
    for suffix in (".h5", ".best.h5"):
        check(content(a + suffix) is not None and content(a + suffix) == content(b + suffix), f"{what}: {suffix} differs")
    check(log_of(a + ".log.jsonl") == log_of(b + ".log.jsonl"), f"{what}: the log differs")
    check(not os.path.exists(b + ".lock"), f"{what}: a lock is left behind")


def training():
    for kind, more in (("bcnn", ()), ("mcdn", ("--kind", "mcdn")), ("independent", ("--estimator", "independent")),
                       ("redrawn", ("--init", "dead.h5"))):
        more += ("--valid-samples", "2")
        done = run(0, train(f"{kind}.h5", *more))
        check(done.returncode == 0, done.err)
        for ranks in RANKS if kind == "bcnn" else (2,):
            done = run(ranks, train(f"{kind}{ranks}.h5", *more))
            check(done.returncode == 0, f"{kind}, {ranks} ranks: {done.err}")
            same_training(kind, f"{kind}{ranks}", f"{kind}, {ranks} ranks")
            check(done.out.count("Trained ") == 1, f"{ranks} ranks talk: {done.out}")
    check("instruction path" in done.err, f"no word of the instruction path: {done.err}")
    check([line["step"] for line in log_of("redrawn2.log.jsonl") if "head_redrawn" in line] == [10], "no head was drawn anew")
    lines = [json.loads(line) for line in open("bcnn3.log.jsonl")]
    check(len(lines[-1].get("examples_per_second", [])) == 3, "the log lacks the ranks' speeds")


def killed(words, name, ranks_of, check_same):
    """Kills a rank at random moments, then goes on with another number of ranks."""
    for i in range(KILLS):
        ranks = ranks_of(i)
        process = together(ranks, words + ["--resume"])
        pid_of(0)
        time.sleep(random.uniform(0.3, 2.0))
        hit(random.randrange(ranks), signal.SIGKILL)
        finish(process)
    done = run(2, words + ["--resume"])
    check(done.returncode == 0, f"{name} after kills: {done.err}")
    check_same()


def killed_training():
    killed(train("killed.h5", "--valid-samples", "2"), "training", lambda i: (3, 2, 4)[i % 3],
           lambda: same_training("bcnn", "killed", "killed ranks"))


def predict(output, *more, scan="long.npy"):
    return ["predict", "--model", "model.h5", "--scan", scan, "-o", output, "--samples", "5", "--intervals",
            "33-67,5-95", "--threads", "1"] + list(more)


def volumes(name):
    found = sorted(file for file in os.listdir(name) if file.endswith((".npy", ".npy.json", ".h5")))
    for folder, _, files in os.walk(name):  # OME-Zarr is a folder of files
        if ".zarr" in folder:
            found += sorted(os.path.relpath(os.path.join(folder, file), name) for file in files)
    manifest = json.load(open(f"{name}/manifest.json"))
    for key in ("times", "settings"):
        del manifest[key]
    return {file: content(f"{name}/{file}") for file in found}, manifest, sorted(os.listdir(name))


def same_run(a, b, what):
    check(volumes(a) == volumes(b), f"{what}: the run differs")


def shares(name):
    lines = [json.loads(line) for line in open(f"{name}/log.jsonl")]
    return [line["times"]["chunks"] for line in lines if line["event"] == "rank"]


def prediction():
    done = run(0, predict("whole"))
    check(done.returncode == 0, done.err)
    for ranks in RANKS:
        done = run(ranks, predict(f"by{ranks}"))
        check(done.returncode == 0, f"{ranks} ranks: {done.err}")
        same_run("whole", f"by{ranks}", f"predict, {ranks} ranks")
        check(done.out.count("volume fraction") == 1, f"{ranks} ranks talk: {done.out}")
    check(len(shares("by3")) == 3 and sum(shares("by3")) == volumes("by3")[1]["plan"]["chunks"], "the log lacks the shares")
    ways = (("--aggregate", "samples", "--save-samples", "u8", "--mask", "cylinder"),
            ("--draws", "per-chunk", "--std", "--bbox", "11:71,2:14,3:20", "--step", "4", "--dtype", "u16"),
            ("--format", "zarr"))
    for number, way in enumerate(ways):
        check(run(0, predict(f"way{number}", *way)).returncode == 0, f"{way} alone")
        done = run(3, predict(f"way{number}by3", *way))
        check(done.returncode == 0, f"{way}: {done.err}")
        same_run(f"way{number}", f"way{number}by3", f"{way}, 3 ranks")
    # What a run repeats is read before it is cleared away.
    done = run(2, ["predict", "--config", "by2/manifest.json", "-o", "by2", "--overwrite"])
    check(done.returncode == 0, f"a run that repeats the one it replaces: {done.err}")
    same_run("whole", "by2", "repeated in its own place")


def killed_prediction():
    killed(predict("killed"), "prediction", lambda i: (3, 2, 5)[i % 3], lambda: same_run("whole", "killed", "killed ranks"))


def uneven():
    """A rank that is stopped most of the time gets less, and nothing changes."""
    process = together(2, predict("uneven"))
    slow = pid_of(1)
    while process.poll() is None:
        for number, seconds in ((signal.SIGSTOP, 0.25), (signal.SIGCONT, 0.02)):
            try:
                os.kill(slow, number)
            except ProcessLookupError:
                break
            time.sleep(seconds)
    finish(process)
    check(process.returncode == 0, f"a slow rank: {process.err}")
    same_run("whole", "uneven", "a slow rank")
    check(shares("uneven")[1] < shares("uneven")[0], f"the slow rank's share: {shares('uneven')}")


def too_many():
    """More ranks than chunks, and than examples."""
    check(run(0, predict("one", scan="tiny.npy")).returncode == 0, "one chunk")
    done = run(5, predict("one5", scan="tiny.npy"))
    check(done.returncode == 0, f"more ranks than chunks: {done.err}")
    same_run("one", "one5", "more ranks than chunks")
    # batch 3 with 5 ranks is in training()


def stopped():
    """SIGTERM to one rank: all leave, and another number of ranks goes on."""
    for name, words, same in (("term.h5", train("term.h5", "--valid-samples", "2", "--checkpoint-every", "999"),
                               lambda: same_training("bcnn", "term", "after SIGTERM")),
                              ("terminated", predict("terminated"), lambda: same_run("whole", "terminated", "after SIGTERM"))):
        process = together(3, words)
        log = name.replace(".h5", ".log.jsonl") if name == "term.h5" else f"{name}/log.jsonl"
        while process.poll() is None and not (content(log) or b"").count(b"\n") > 3:
            time.sleep(0.01)
        hit(1, signal.SIGTERM)
        finish(process)
        if process.returncode != 0:  # it may have been faster
            check(len(said(process)) == 1 and "--resume" in said(process)[0], f"{name}: {process.err}")
            check(not os.path.exists("term.lock") and not os.path.exists("terminated/.lock"), f"{name}: a lock is left behind")
        done = run(2, words + ["--resume"])
        check(done.returncode == 0, f"{name} resumed: {done.err}")
        same()


def errors():
    """What fails in one rank is said once, with its number, and ends all; a run that was begun can go on."""
    elsewhere = '[ $R != 1 ] || cd /;'
    scan, label = os.path.abspath("scan.npy"), "label.npy"
    words = [scan if word == "scan.npy" else word for word in train(os.path.abspath("lost.h5"))]
    done = run(3, words, elsewhere)
    check(done.returncode != 0 and len(said(done)) == 1 and "rank 1 (" in said(done)[0] and label in said(done)[0],
          f"a file that one rank can't see: {done.err}")
    # A full disk, for rank 1 only: no file may grow beyond 8 KiB.
    done = run(3, predict("full", "--trust"), "[ $R != 1 ] || { trap '' XFSZ; ulimit -f 8; };")
    if done.returncode != 0:
        check(len(said(done)) == 1 and "rank 1 (" in said(done)[0] and "--resume" in said(done)[0], f"full: {done.err}")
    else:
        check(False, "a disk that is full for one rank")
    done = run(0, predict("full", "--resume"))
    check(done.returncode == 0, f"full, resumed: {done.err}")
    same_run("whole", "full", "after a full disk")
    done = run(2, train("other$R.h5")[:-2], "set -- \"$@\" --seed $R;")
    check(done.returncode != 0 and len(said(done)) == 1 and "other settings" in said(done)[0], f"other settings: {done.err}")
    done = run(2, ["train", "--no-such-option"])
    check(done.returncode != 0 and done.err.count("no-such-option") == 1, f"wrong usage: {done.err}")
    done = run(2, ["info", "scan.npy"])
    check(done.returncode == 0 and done.out.count("scan.npy") == 1, f"info: {done.out}")
    for wish, code in (("", 1), ("off", 0)):  # as in a step of srun without --mpi
        done = subprocess.run([PROGRAM, "info", "scan.npy"], capture_output=True, text=True,
                              env=dict(os.environ, SLURM_STEP_NUM_TASKS="2", CREDENCE_MPI=wish))
        check(done.returncode == code and ("--mpi=pmix" in done.stderr) == (code == 1), f"no MPI: {done.stderr}")
    done = run(2, train("apart.h5"), 'export CREDENCE_MPI=off; cd $(mktemp -d); cp "$OLDPWD"/*.npy .;')
    check(done.returncode == 0 and done.out.count("Trained ") == 2, f"CREDENCE_MPI=off: {done.err}")


make_data()
for part in (training, prediction, too_many, uneven, stopped, errors, killed_training, killed_prediction):
    begin = time.monotonic()
    part()
    print(f"{part.__name__}: {time.monotonic() - begin:.1f} s")
os.chdir("/")
shutil.rmtree(FOLDER)
sys.exit(1 if failures else 0)
