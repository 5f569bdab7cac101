"""`credence train` with labels of more than two classes: what it understands and refuses, and the same bytes however it
runs: resumed, with other threads, in several processes."""
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


def make_data():
    noise = np.random.default_rng(4)
    z, y, x = np.meshgrid(np.arange(16), np.arange(32), np.arange(48), indexing="ij")
    far = (z - 8) ** 2 + ((y % 16) - 8) ** 2 + ((x % 16) - 8) ** 2
    number = (far < 60).astype(np.uint8) + (far < 25)
    np.save("scan.npy", (number * 2000 + noise.normal(8000, 500, number.shape)).astype(np.uint16))
    values = np.array([0, 128, 255], np.uint8)[number]
    np.save("three.npy", values)
    np.save("two.npy", (values == 255).astype(np.uint8))
    np.save("lower.npy", np.where(values == 255, 128, values).astype(np.uint8))  # lacks a class
    np.save("real.npy", np.array([-1.5, 0, 7], np.float32)[number])
    np.save("partly.npy", np.where(noise.random(values.shape) < 0.3, 9, values).astype(np.uint8))
    np.save("unlabelled.npy", np.where(values == 128, 1, values).astype(np.uint8))  # 0, 1, 255
    for count in (16, 17):
        np.save(f"of{count}.npy", (np.arange(values.size).reshape(values.shape) % count).astype(np.uint8))


def train(output, *more, label="three.npy", scan="scan.npy", ranks=0):
    words = [PROGRAM, "train", "--scan", scan, "--label", label, "-o", output, "--filters", "4", "--chunk", "8,16,16",
             "--step", "2", "--batch", "3", "--epochs", "3", "--max-steps", "12", "--threads", "2", *more]
    if ranks > 0:
        words = ["mpirun", "-n", str(ranks)] + words
    return subprocess.run(words, capture_output=True, text=True,
                          env=dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none"))


def content(name):
    return open(name, "rb").read()


def log(name):
    lines = [json.loads(line) for line in open(name)]
    return [{key: value for key, value in line.items() if key not in ("seconds", "rank_speeds")} for line in lines]


def info(name):
    return json.loads(subprocess.run([PROGRAM, "info", "--json", name], capture_output=True, text=True).stdout)


def understood():
    done = train("all.h5")
    check(done.returncode == 0, done.stderr)
    check("3 classes, 0 (" in done.stderr and ", 128 (" in done.stderr and ", 255 (" in done.stderr, f"the label: {done.stderr}")
    lines = log("all.log.jsonl")
    check(lines[-1]["bce"] < 0.9 * lines[0]["bce"], f"nothing learnt: {lines[0]['bce']} to {lines[-1]['bce']}")
    check(0 < lines[-1]["valid_accuracy"] <= 1, f"validation: {lines[-1]}")
    about = info("all.h5")
    check(about["classes"] == 3 and about["class_names"] == ["0", "128", "255"] and about["class_values"] == [0, 128, 255],
          f"info: {about}")
    done = train("named.h5", "--classes", "255,0,128", "--class-names", "nickel,pore,ysz", "--ignore", "9", label="partly.npy")
    check(done.returncode == 0, done.stderr)
    about = info("named.h5")
    check(about["class_names"] == ["nickel", "pore", "ysz"] and about["class_values"] == [255, 0, 128], f"info: {about}")
    said = subprocess.run([PROGRAM, "info", "named.h5"], capture_output=True, text=True).stdout
    check("3: nickel (255 in the label), pore (0 in the label), ysz (128 in the label)" in said, f"info: {said}")
    done = train("real.h5", "--max-steps", "2", label="real.npy")
    check(done.returncode == 0 and info("real.h5")["class_values"] == [-1.5, 0, 7], f"values that are no bytes: {done.stderr}")
    done = train("sixteen.h5", "--max-steps", "2", label="of16.npy")
    check(done.returncode == 0 and info("sixteen.h5")["classes"] == 16, f"16 classes: {done.stderr}")
    for label, warned in (("three.npy", False), ("unlabelled.npy", True)):
        done = train("warned.h5", "--max-steps", "1", label=label)
        check(done.returncode == 0 and ("--ignore 255" in done.stderr) == warned, f"{label}: {done.stderr}")
    # One of two scans lacks a class.
    done = train("both.h5", "--max-steps", "2", "--scan", "scan.npy", "--label", "lower.npy")
    check(done.returncode == 0 and info("both.h5")["classes"] == 3, f"a class that one scan has: {done.stderr}")


def two_of_many():
    """--foreground, and a label that has two values only: the two-class training, to the last digit."""
    check(train("two.h5", label="two.npy").returncode == 0, "two values")
    for name, words, label in (("of.h5", ("--foreground", "255"), "three.npy"), ("chosen.h5", ("--classes", "0,1"), "two.npy")):
        done = train(name, *words, label=label)
        check(done.returncode == 0 and info(name)["classes"] == 2, f"{words}: {done.stderr}")
        check(log(name.replace(".h5", ".log.jsonl")) == log("two.log.jsonl"), f"{words}: another training")
    check("classes" not in json.dumps(info("two.h5")["config"]), "two classes are recorded as before")


def refused():
    for words, label, code, sentence in (
            ((), "of17.npy", 1, "17 different values"),
            (("--classes", "0,128"), "three.npy", 1, "none of the classes 0, 128"),
            (("--classes", "0,128,255,7"), "three.npy", 1, "no voxel of the class 7"),
            (("--classes", "0,128,128"), "three.npy", 1, "stands twice"),
            (("--classes", "0,128,255", "--foreground", "255"), "three.npy", 1, "give one"),
            (("--classes", "128"), "three.npy", 1, "2 to 16 values"),
            (("--class-names", "a,b"), "three.npy", 1, "names 2 classes, and the labels have 3"),
            (("--class-names", "a,b,a"), "three.npy", 2, "two classes have the name a"),
            (("--class-names", "a,b/c,d"), "three.npy", 2, "is no name of a class"),
            (("--class-names", "pore,b,Pore"), "three.npy", 2, "pore and Pore differ in nothing but"),
            (("--class-names", "a,,d"), "three.npy", 2, "is no name of a class"),
            (("--init", "two.h5"), "three.npy", 1, "tells 2 classes apart, and the labels have 3")):
        done = train("refused.h5", *words, label=label)
        check(done.returncode == code and sentence in done.stderr, f"{words}: {done.returncode} {done.stderr}")
        check(not os.path.exists("refused.h5"), f"{words}: a model in spite of it")


def same_bytes():
    done = train("part.h5", "--max-steps", "5")
    check(done.returncode == 0, done.stderr)
    done = train("part.h5", "--resume")
    check(done.returncode == 0 and content("part.h5") == content("all.h5"), f"resumed: {done.stderr}")
    check(log("part.log.jsonl")[-1]["valid_bce"] == log("all.log.jsonl")[-1]["valid_bce"], "resumed: the log differs")
    done = train("part.h5", "--resume", "--classes", "255,128,0")
    check(done.returncode == 1 and "--classes" in done.stderr, f"resumed with other classes: {done.stderr}")
    check(train("named2.h5", "--classes", "0,128,255").returncode == 0, "the classes named in their order")
    done = train("named2.h5", "--resume")
    check(done.returncode == 1 and "--classes" in done.stderr, f"resumed without the classes: {done.stderr}")
    done = train("one.h5", "--threads", "1")
    check(done.returncode == 0 and content("one.h5") == content("all.h5"), f"one thread: {done.stderr}")
    have = "clusters (MPI): yes" in subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout
    if not have or shutil.which("mpirun") is None or "asan" in PROGRAM:
        print("several processes are left out: no MPI here")
        return
    done = train("ranks.h5", "--threads", "1", ranks=2)
    check(done.returncode == 0 and content("ranks.h5") == content("all.h5"), f"two processes: {done.stderr}")


make_data()
for part in (understood, two_of_many, refused, same_bytes):
    part()
os.chdir("/")
shutil.rmtree(FOLDER)
sys.exit(1 if failures else 0)
