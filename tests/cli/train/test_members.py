"""Ensembles: `credence train --members N`, predictions by them, and what a kill in the middle leaves."""
import glob
import hashlib
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
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.environ.get("CREDENCE_PROGRAM", "build/credence")
LONG = os.environ.get("CREDENCE_LONG") == "1"
STEPS = 34 if LONG else 16
FOLDER = tempfile.mkdtemp()
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what)


def path(*parts):
    return os.path.join(FOLDER, *parts)


def make_data():
    noise = np.random.default_rng(4)
    z, y, x = np.meshgrid(np.arange(24), np.arange(32), np.arange(48), indexing="ij")
    label = ((z % 16 - 8) ** 2 + ((y % 16) - 8) ** 2 + ((x % 16) - 8) ** 2 < 30).astype(np.uint8)
    np.save(path("scan.npy"), (label * 2000 + noise.normal(8000, 900, label.shape)).astype(np.uint16))
    np.save(path("label.npy"), label)


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True)


def command(output, **more):
    settings = {"scan": path("scan.npy"), "label": path("label.npy"), "output": path(output), "filters": 8,
                "chunk": "8,16,16", "step": 2, "batch": 3, "max-steps": STEPS, "checkpoint-every": 3, "threads": 2,
                "kl-batches": 50, "kl-step": 0, "members": 3}
    settings.update({key.replace("_", "-"): value for key, value in more.items()})
    words = ["train"]
    for key, value in settings.items():
        words += [f"--{key}"] if value is True else [f"--{key}", str(value)]
    return words


def train(output, **more):
    done = run(*command(output, **more))
    check(done.returncode == 0, f"{output} is trained: {done.stderr[-300:]}")
    return done


def digest(name):
    with open(name, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def predict(model, output, *more):
    shutil.rmtree(path(output), ignore_errors=True)
    done = run("predict", "--model", path(model), "--scan", path("scan.npy"), "--output", path(output), "--quiet",
               "--threads", "2", *more)
    check(done.returncode == 0, f"{model} predicts with {more}: {done.stderr[-300:]}")
    return path(output)


def copy(source, to):
    for key, value in source.attrs.items():
        to.attrs[key] = value
    for name, item in source.items():
        if isinstance(item, h5py.Dataset):
            to[name] = item[()]
        elif name != "member":
            copy(item, to.require_group(name))


def single(model, member, output):
    """A member of an ensemble as a model of its own."""
    with h5py.File(path(model)) as source, h5py.File(path(output), "w") as to:
        copy(source["member"][str(member)], to)
        copy(source, to)
        for key in ("members", "checksum"):
            del to.attrs[key]
        to.attrs["version"] = np.int64(2)


def volume(folder, what):
    return np.load(os.path.join(folder, f"scan_{what}.npy"))


def test_refused():
    for count in ("0", "65", "-1", "two"):
        done = run(*command("none.h5", members=count))
        check(done.returncode == 2 and "--members" in done.stderr, f"--members {count} is refused: {done.stderr}")


def test_file():
    done = train("pool.h5", json=True)
    check(json.loads(done.stdout)["members"] == 3, "train --json says how many members there are")
    check("member 2 of 3: epoch 1" in done.stderr, "messages say which member")
    with h5py.File(path("pool.h5")) as file:
        check(file.attrs["members"] == 3 and file.attrs["version"] == 3, "the file says that it is an ensemble")
        check(sorted(file["member"]) == ["0", "1", "2"] and "encoder" not in file, "members stand in /member")
        first = [file["member"][m]["encoder/1/a/kernel"][()] for m in "012"]
    check(not any(np.array_equal(first[i], first[k]) for i, k in ((0, 1), (0, 2), (1, 2))), "members differ")
    lines = [json.loads(line) for line in open(path("pool.log.jsonl"))]
    check([line["member"] for line in lines] == sorted(line["member"] for line in lines) and len(lines) == 3 * STEPS,
          "the log has a line for every step of every member")
    about = json.loads(run("info", path("pool.h5"), "--json").stdout)
    check(about["members"] == 3 and len(about["member"]) == 3 and len({m["seed"] for m in about["member"]}) == 3,
          "info lists the members")
    check("members    3 networks" in run("info", path("pool.h5")).stdout, "info lists them for people, too")
    train("one.h5", members=1)
    words = command("plain.h5")
    run(*words[:words.index("--members")])
    check(digest(path("one.h5")) == digest(path("plain.h5")), "one member is no ensemble: the same bytes as without it")
    with h5py.File(path("one.h5")) as file, h5py.File(path("pool.h5")) as pool:
        same = np.array_equal(file["encoder/1/a/kernel"][()], pool["member/0/encoder/1/a/kernel"][()])
        check("members" not in file.attrs and same, "the first member is the network of this seed alone")
    again = run(*command("pool2.h5", threads=1))
    check(again.returncode == 0 and digest(path("pool2.h5")) == digest(path("pool.h5")), "the same bytes for any threads")


def test_samples(model, *mode):
    """Sample i is member i modulo N with noise i, alone or among others, and as a model of its own."""
    whole = predict(model, "whole", "--samples", "7", "--save-samples", "u16", *mode)
    for i in (0, 2, 4, 6) if LONG else (2, 4):
        alone = predict(model, "alone", "--samples", "1", "--first-sample", str(i), "--save-samples", "u16", *mode)
        check(np.array_equal(volume(alone, f"sample_{i}"), volume(whole, f"sample_{i}")),
              f"{model} {mode}: sample {i} alone is the one among seven")
        single(model, i % 3, "single.h5")
        own = predict("single.h5", "own", "--samples", "1", "--first-sample", str(i), "--save-samples", "u16", *mode)
        check(np.array_equal(volume(own, f"sample_{i}"), volume(whole, f"sample_{i}")),
              f"{model} {mode}: sample {i} is of member {i % 3}")
    few = run("predict", "--model", path(model), "--scan", path("scan.npy"), "--samples", "2", "--dry-run")
    check("the model has 3; give --samples 3 or more" in few.stderr, f"fewer samples than members: {few.stderr}")
    later = predict(model, "later", "--samples", "5", "--first-sample", "2", "--save-samples", "u16", *mode)
    check(all(np.array_equal(volume(later, f"sample_{i}"), volume(whole, f"sample_{i}")) for i in range(2, 7)),
          f"{model} {mode}: a run may begin with any sample")
    single_thread = predict(model, "single_thread", "--samples", "7", *mode, "--threads", "1")
    check(np.array_equal(volume(single_thread, "prob"), volume(whole, "prob")), f"{model} {mode}: threads don't matter")


def test_means():
    """Members without a spread of their own: each is one sample."""
    train("deep.h5", estimator="mean", augment="flips")
    whole = predict("deep.h5", "whole", "--samples", "16", "--step", "1", "--save-samples", "u16")
    found = sorted(os.path.basename(name) for name in glob.glob(os.path.join(whole, "scan_sample_*.npy")))
    check(found == [f"scan_sample_{i}.npy" for i in range(3)], f"an ensemble of plain networks has a sample each: {found}")
    samples = [volume(whole, f"sample_{i}").astype(float) for i in range(3)]
    check(not np.array_equal(samples[0], samples[1]), "they differ")
    alone = predict("deep.h5", "alone", "--samples", "1", "--step", "1", "--first-sample", "4", "--save-samples", "u16")
    check(np.array_equal(volume(alone, "sample_4"), volume(whole, "sample_1")), "sample 4 is member 1 again")
    means = predict("pool.h5", "whole", "--estimator", "mean", "--step", "1", "--save-samples", "u16")
    check(len(glob.glob(os.path.join(means, "scan_sample_*.npy"))) == 3, "--estimator mean: the mean network of each")


def test_kill(kind, whole):
    """Killed anywhere, resumed until it ends: the model of an undisturbed run."""
    name = f"killed_{kind}.h5"
    kills = 0
    chance = random.Random(7)
    for _ in range(40):
        process = subprocess.Popen([PROGRAM, *command(name, kind=kind, resume=True)], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=chance.uniform(0.05, 0.6) if kills < 5 else None)
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
    check(process.returncode == 0 and kills > 0, f"{kind}: it was killed {kills} times, and ended")
    check(digest(path(name)) == whole, f"{kind}: the same bytes as without the kills")
    steps = [(line["member"], line["step"]) for line in map(json.loads, open(path(f"killed_{kind}.log.jsonl")))]
    check(steps == [(m, s) for m in range(3) for s in range(1, STEPS + 1)], f"{kind}: the log has every step once")


def test_longer():
    """More steps than at first: the model that so many would have given at once."""
    train("longer.h5", max_steps=STEPS // 2)
    train("longer.h5", resume=True)
    check(digest(path("longer.h5")) == digest(path("pool.h5")), "half of the steps and then the rest are all of them")


def test_resume_finished():
    """A finished member isn't trained again, one without a checkpoint is."""
    before = digest(path("pool.h5"))
    os.remove(path("pool.1.ckpt.h5"))
    kept = os.stat(path("pool.0.ckpt.h5")).st_mtime_ns
    done = run(*command("pool.h5", resume=True))
    check(done.returncode == 0 and digest(path("pool.h5")) == before, "the same model comes of it")
    check(os.stat(path("pool.0.ckpt.h5")).st_mtime_ns == kept, "the finished member was left alone")
    check("member 3 of 3: going on from" in done.stderr, "it says what goes on")
    other = run(*command("pool.h5", resume=True, members=2))
    check(other.returncode == 1 and "--members 3" in other.stderr, f"another number doesn't go on: {other.stderr}")


def test_init():
    train("next.h5", init=path("pool.h5"), max_steps=2)
    done = run(*command("fewer.h5", init=path("pool.h5"), max_steps=2, members=2))
    check(done.returncode == 1 and "has 3 members and 2 are wanted" in done.stderr, f"other counts: {done.stderr}")
    done = run(*command("fewer.h5", init=path("pool.h5"), max_steps=2, members=1))
    check(done.returncode == 1 and "3 members" in done.stderr, "an ensemble doesn't become one network")
    done = train("grown.h5", init=path("one.h5"), max_steps=2)
    check("all members start from the one network" in done.stderr, "one network is the beginning of all")


def test_ranks():
    """Two processes: the same model, the same probabilities."""
    if not shutil.which("mpirun") or "clusters (MPI): yes" not in run("--version").stdout:
        return
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    ranks = ["mpirun", "--oversubscribe", "-n", "2", PROGRAM]
    done = subprocess.run([*ranks, *command("ranks.h5")], capture_output=True, text=True, env=environment)
    check(done.returncode == 0, f"two ranks train: {done.stderr[-300:]}")
    check(digest(path("ranks.h5")) == digest(path("pool.h5")), "two ranks: the same model")
    for mode in ("seamless", "overlap"):
        whole = predict("pool.h5", "whole", "--samples", "4", "--mode", mode)
        words = ["predict", "--model", path("pool.h5"), "--scan", path("scan.npy"), "-o", path(f"ranks_{mode}"), "--samples", "4",
                 "--mode", mode, "--quiet"]
        done = subprocess.run([*ranks, *words], capture_output=True, text=True, env=environment)
        check(done.returncode == 0, f"two ranks predict: {done.stderr[-300:]}")
        check(np.array_equal(volume(path(f"ranks_{mode}"), "prob"), volume(whole, "prob")), f"two ranks, {mode}: the same volume")


def test_predict_kill():
    whole = predict("pool.h5", "whole", "--samples", "7", "--mode", "seamless", "--tile", "16,16,16", "--halo", "8")
    words = ["predict", "--model", path("pool.h5"), "--scan", path("scan.npy"), "-o", path("cut"), "--samples", "7",
             "--mode", "seamless", "--tile", "16,16,16", "--halo", "8", "--threads", "1", "--quiet"]
    process = subprocess.Popen([PROGRAM, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.6)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = run(*words, "--resume")
    check(done.returncode == 0, f"a killed prediction goes on: {done.stderr[-300:]}")
    check(np.array_equal(volume(path("cut"), "prob"), volume(whole, "prob")), "to the same volume")


try:
    make_data()
    test_refused()
    test_file()
    for mode in (("--mode", "seamless"), ("--mode", "overlap", "--step", "2"), ("--draws", "per-chunk", "--step", "1")):
        test_samples("pool.h5", *mode)
    train("drop.h5", kind="mcdn")
    test_samples("drop.h5", "--mode", "seamless")
    test_means()
    test_longer()
    test_resume_finished()
    test_init()
    test_predict_kill()
    test_ranks()
    test_kill("bcnn", digest(path("pool.h5")))
finally:
    shutil.rmtree(FOLDER, ignore_errors=True)
sys.exit(1 if failures else 0)
