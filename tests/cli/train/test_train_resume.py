"""`credence train` that is killed, stopped or short of disk, and goes on: the same bytes in the end."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.environ.get("CREDENCE_PROGRAM", "build/credence")
KILLS = 20 if os.environ.get("CREDENCE_LONG") == "1" else 3
FOLDER = tempfile.mkdtemp()
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell started this in the background, which ignores it
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what)


def path(*parts):
    return os.path.join(FOLDER, *parts)


def make_data():
    noise = np.random.default_rng(4)
    z, y, x = np.meshgrid(np.arange(16), np.arange(32), np.arange(48), indexing="ij")
    label = ((z - 8) ** 2 + ((y % 16) - 8) ** 2 + ((x % 16) - 8) ** 2 < 30).astype(np.uint8)
    np.save(path("scan.npy"), (label * 2000 + noise.normal(8000, 900, label.shape)).astype(np.uint16))
    np.save(path("label.npy"), label)
    unlabelled = noise.random(label.shape) < 0.3
    for name, values in (("a", [254]), ("b", [253, 254, 255])):
        np.save(path(f"partly_{name}.npy"), np.where(unlabelled, noise.choice(values, label.shape), label).astype(np.uint8))
    np.save(path("other.npy"), np.load(path("scan.npy")) + 1)


def command(output, kind="bcnn", label="label.npy", **more):
    settings = {"scan": path("scan.npy"), "label": path(label), "output": path(output), "kind": kind, "filters": 4,
                "chunk": "8,16,16", "step": 2, "batch": 3, "epochs": 3, "checkpoint-every": 2, "max-steps": 26,
                "threads": 2, "kl-batches": 50, "kl-step": 0}
    settings.update({key.replace("_", "-"): value for key, value in more.items()})
    words = [PROGRAM, "train"]
    for key, value in settings.items():
        words += [f"--{key}"] if value is True else [f"--{key}", str(value)]
    return words


def train(output, **more):
    return subprocess.run(command(output, **more), capture_output=True, text=True)


def content(name):
    return open(path(name), "rb").read() if os.path.exists(path(name)) else None


def log_without_times(name):
    lines = [json.loads(line) for line in open(path(name))]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def same_results(a, b, what):
    for suffix in (".h5", ".best.h5"):
        check(content(a + suffix) is not None and content(a + suffix) == content(b + suffix), f"{what}: {suffix} differs")
    check(log_without_times(a + ".log.jsonl") == log_without_times(b + ".log.jsonl"), f"{what}: the log differs")
    check(not os.path.exists(path(b + ".lock")), f"{what}: a lock file is left behind")


def uninterrupted(kind):
    begin = time.monotonic()
    run = train(f"{kind}.h5", kind=kind)
    check(run.returncode == 0, f"{kind}: {run.stderr}")
    lines = log_without_times(f"{kind}.log.jsonl")
    check([line["step"] for line in lines] == list(range(1, 27)), f"{kind}: one line a step")
    ends = [line["step"] for line in lines if "valid_bce" in line]
    check(len(ends) == lines[-1]["epoch"] and ends[-1] == 26, f"{kind}: epochs end at {ends}")
    check(os.path.exists(path(f"{kind}.progress.png")) or "libpng" in run.stderr, f"{kind}: no picture and no word of it")
    return time.monotonic() - begin


def killed(kind, seconds):
    name = f"{kind}_killed"
    rng = random.Random(kind)
    for i in range(KILLS):
        process = subprocess.Popen(command(f"{name}.h5", kind=kind, resume=True), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.05, 0.8) * seconds)
        process.kill()
        process.wait()
    run = train(f"{name}.h5", kind=kind, resume=True)
    check(run.returncode == 0, f"{kind} after kills: {run.stderr}")
    leftovers = [left for left in os.listdir(FOLDER) if ".tmp." in left]
    check(not leftovers, f"{kind} after kills: left behind: {leftovers}")
    same_results(kind, name, f"{kind} killed {KILLS} times")


def stopped(number, seconds):
    name = f"stopped_{number.name}"
    open(path(f".{name}.ckpt.h5.tmp.1.1"), "w").close()  # of a killed run
    process = subprocess.Popen(command(f"{name}.h5", checkpoint_every=1000), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    while not os.path.exists(path(f"{name}.log.jsonl")) and process.poll() is None:
        time.sleep(0.01)
    time.sleep(0.3 * seconds)
    process.send_signal(number)
    out, err = process.communicate()
    if process.returncode != 0:  # a fast machine may be done already
        check(process.returncode == 1 and "--resume" in err and ("after step" in err or "all steps are done" in err), f"{number.name}: {err}")
        check(os.path.exists(path(f"{name}.ckpt.h5")), f"{number.name}: no checkpoint")
        check(not os.path.exists(path(f"{name}.lock")), f"{number.name}: a lock file is left behind")
    run = train(f"{name}.h5", resume=True)
    check(run.returncode == 0, f"after {number.name}: {run.stderr}")
    same_results("bcnn", name, number.name)
    check(not os.path.exists(path(f".{name}.ckpt.h5.tmp.1.1")), "a killed run's temporary file stays")


def threads(kind):
    for count in (1, 4):
        run = train(f"{kind}_t{count}.h5", kind=kind, threads=count)
        check(run.returncode == 0, run.stderr)
        same_results(kind, f"{kind}_t{count}", f"{kind} with {count} threads")


def longer():
    check(train("longer.h5", max_steps=7).returncode == 0, "7 steps")
    short = content("longer.h5")
    check(train("longer.h5", resume=True).returncode == 0, "7 steps, then 26")
    check(content("longer.h5") == content("bcnn.h5") and short != content("bcnn.h5"), "going on to more steps")
    run = train("longer.h5", max_steps=9, resume=True)
    check(run.returncode == 1 and "after step 26" in run.stderr, f"fewer steps than taken: {run.stderr}")
    before = content("longer.h5")
    run = train("longer.h5", resume=True)
    check(run.returncode == 0 and content("longer.h5") == before, "resuming what is done changes nothing")


def refused():
    """Settings by name, other data, files that aren't checkpoints."""
    for more, words in (({"lr": 0.002}, "--lr"), ({"batch": 2}, "--batch"), ({"seed": 5}, "--seed"), ({"spacing": "2,2,2,um"}, "--spacing"), ({"kind": "mcdn"}, "--kind"),
                        ({"scan": path("other.npy")}, "other scans")):
        run = train("bcnn.h5", resume=True, **more)
        check(run.returncode == 1 and words in run.stderr, f"{more} is not refused: {run.stderr}")
    whole = content("bcnn.ckpt.h5")
    for name, data in (("cut", whole[:len(whole) // 2]), ("foreign", b"not an HDF5 file" * 99), ("empty", b""),
                       ("model", content("bcnn.h5"))):
        open(path(f"{name}.ckpt.h5"), "wb").write(data)
        run = train(f"{name}.h5", resume=True)
        sentences = [line for line in run.stderr.splitlines() if line.startswith("credence: ")]
        check(run.returncode == 1 and f"{name}.ckpt.h5" in sentences[-1], f"{name}: {run.stderr}")
        check(content(f"{name}.ckpt.h5") == data and not os.path.exists(path(f"{name}.h5")), f"{name}: files changed")


def initial_model():
    """What a training began with must be what it goes on with, whatever the file is called by then."""
    for name, seed in (("first", 1), ("second", 2)):
        check(train(f"{name}.h5", max_steps=1, seed=seed).returncode == 0, f"the model {name}")
    check(train("tuned.h5", init=path("first.h5"), max_steps=2).returncode == 0, "a training with --init")
    before = content("tuned.ckpt.h5")
    for output, more, words in (("tuned.h5", {"init": path("second.h5")}, "with --init, now it is with --init and another model"),
                                ("tuned.h5", {}, "with --init, now it is without --init"),
                                ("bcnn.h5", {"init": path("first.h5")}, "without --init, now it is with --init;")):
        run = train(output, resume=True, **more)
        check(run.returncode == 1 and words in run.stderr, f"{output} and {more}: {run.stderr}")
    check(content("tuned.ckpt.h5") == before, "a refused training changed the checkpoint")
    os.rename(path("first.h5"), path("renamed.h5"))
    run = train("tuned.h5", resume=True, init=path("renamed.h5"))
    check(run.returncode == 0, f"the same model under another name: {run.stderr}")


def full_disk():
    """A limit on file sizes stands for the disk: the first checkpoint is there, the next can't be written."""
    check(train("full.h5", max_steps=4).returncode == 0, "4 steps")
    before = content("full.ckpt.h5")
    script = f"ulimit -f {len(before) // 2048}; trap '' XFSZ; exec \"$@\""
    run = subprocess.run(["bash", "-c", script, "train"] + command("full.h5", resume=True) + ["--trust"], capture_output=True, text=True)
    check(run.returncode == 1 and "full." in run.stderr and "File too large" in run.stderr, f"a full disk: {run.returncode} {run.stderr}")
    check(content("full.ckpt.h5") == before, "the checkpoint before is not intact")
    leftovers = [name for name in os.listdir(FOLDER) if ".tmp." in name]
    check(not leftovers, f"left behind: {leftovers}")
    run = train("full.h5", resume=True)
    check(run.returncode == 0, run.stderr)
    same = content("full.h5") == content("bcnn.h5")
    check(same, "after a full disk")


def ignored():
    a, b = train("ia.h5", label="partly_a.npy", ignore="253,254,255"), train("ib.h5", label="partly_b.npy", ignore="253,254,255")
    check(a.returncode == 0 and b.returncode == 0, a.stderr + b.stderr)
    check(content("ia.h5") == content("ib.h5") and content("ia.h5") != content("bcnn.h5"), "ignored voxels matter")


def locked(seconds):
    process = subprocess.Popen(command("locked.h5"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not os.path.exists(path("locked.log.jsonl")) and process.poll() is None:
        time.sleep(0.01)
    run = train("locked.h5")
    check(process.poll() is not None or (run.returncode == 1 and "already writing" in run.stderr), f"a second run: {run.stderr}")
    process.wait()
    check(not os.path.exists(path("locked.lock")), "a lock file is left behind")


make_data()
took = {kind: uninterrupted(kind) for kind in ("bcnn", "mcdn")}
for kind in took:
    killed(kind, took[kind])
    threads(kind)
stopped(signal.SIGTERM, took["bcnn"])
stopped(signal.SIGINT, took["bcnn"])
longer()
refused()
initial_model()
full_disk()
ignored()
locked(took["bcnn"])
shutil.rmtree(FOLDER)
sys.exit(1 if failures else 0)
