"""What `credence train` holds back: nothing is learnt from it, and what is said about it at the end can be believed.

    test_heldout.py cuda     on a GPU that nothing is learnt from it (test_train_cuda.sh asks for that)"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

try:
    import h5py
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

PROGRAM = os.path.abspath(os.environ.get("CREDENCE_PROGRAM", "build/credence"))
NET = ["--filters", "8", "--chunk", "8,16,16", "--step", "2", "--batch", "2", "--threads", "2"]
DEVICE = sys.argv[1] if len(sys.argv) > 1 else ""
if DEVICE:
    NET += ["--device", DEVICE]
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what)


def run(*words):
    return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)


def train(output, *words, scan="scan.npy", label="label.npy", steps=3):
    done = run("train", "--scan", scan, "--label", label, "-o", output, "--json", "--max-steps", steps, *NET, *words)
    check(done.returncode == 0, f"{output}: {done.stderr}")
    return json.loads(done.stdout) if done.returncode == 0 else None


def weights(name):
    """All that training changes."""
    found = {}
    with h5py.File(name) as file:
        def note(path, item):
            if isinstance(item, h5py.Dataset) and not path.startswith(("provenance", "pieces", "training")):
                found[path] = item[()].tobytes()
        file.visititems(note)
    return found


def blocks(name, number=0):
    """Origin, size, margin and half of every block of a scan."""
    with h5py.File(name) as file:
        return file[f"provenance/{number}/blocks"][()].reshape(-1, 8)


def inside(block, margin, shape):
    """Where a block with a margin lies, as slices."""
    return tuple(slice(max(0, o - margin), min(n, o + s + margin)) for o, s, n in zip(block[:3], block[3:6], shape))


def scrambled(label, held, noise):
    """Other labels in blocks and margins, as many of each value in every cell as before, so that the blocks stay."""
    other = label.copy()
    hidden = np.zeros(label.shape, bool)
    for block in held:
        hidden[inside(block, block[6], label.shape)] = True
    for z, y, x in np.ndindex(*[-(-n // 8) for n in label.shape]):
        cell = tuple(slice(8 * a, 8 * a + 8) for a in (z, y, x))
        values = other[cell][hidden[cell]]
        noise.shuffle(values)
        part = other[cell]
        part[hidden[cell]] = values
    return other


def make_data():
    noise = np.random.default_rng(4)
    z, y, x = np.meshgrid(np.arange(32), np.arange(48), np.arange(48), indexing="ij")
    label = (((z % 16) - 8) ** 2 + ((y % 16) - 8) ** 2 + ((x % 16) - 8) ** 2 < 50).astype(np.uint8)
    np.save("label.npy", label)
    np.save("scan.npy", (label * 2000.0 + noise.normal(8000, 900, label.shape)).astype(np.uint16))
    np.save("scan2.npy", (label[::-1] * 2000.0 + noise.normal(8000, 900, label.shape)).astype(np.uint16))
    np.save("label2.npy", label[::-1])
    scribble = np.where((z % 6 == 2) & ((y + x) % 10 < 3), label, 9).astype(np.uint8)
    np.save("scribble.npy", scribble)
    np.save("constant.npy", np.full(label.shape, 7000, np.uint16))
    np.save("noise.npy", noise.integers(0, 2, label.shape, np.uint8))
    np.save("one.npy", np.ones_like(label))
    few = np.full_like(label, 9)
    for i in range(20):
        few[3 + i, 10 + i, 20] = label[3 + i, 10 + i, 20]
    few[8, 8, 8], few[0, 0, 0] = 1, 0
    np.save("few.npy", few)


def no_gradient():
    """Other labels in the blocks and their margins: the same weights, another exam. Also scribbles, scans, ranks."""
    noise = np.random.default_rng(7)
    cases = (("whole", ("label.npy",), ()), ("scribble", ("scribble.npy",), ("--ignore", "9")),
             ("two", ("label.npy", "label2.npy"), ()))
    for name, labels, words in cases:
        more = list(words)
        for number, label in enumerate(labels[1:], 2):
            more += ["--scan", f"scan{number}.npy", "--label", label]
        first = train(f"{name}.h5", *more, "--keep", "last", label=labels[0])
        held = [blocks(f"{name}.h5", i) if f"provenance/{i}/blocks" in h5py.File(f"{name}.h5") else [] for i in range(len(labels))]
        check(4 <= sum(map(len, held)) <= 24, f"{name}: {sum(map(len, held))} blocks")
        check(first["heldout"]["blocks"] == sum(map(len, held)), f"{name}: the number of blocks")
        others = []
        for label, own in zip(labels, held):
            changed = scrambled(np.load(label), own, noise)
            check((changed != np.load(label)).any() or len(own) == 0, f"{name}: nothing changed in {label}")
            np.save(f"other_{label}", changed)
            others.append(f"other_{label}")
        for ranks in (0,) if DEVICE else (0, 2):
            words_of_other = [word if word not in labels else f"other_{word}" for word in more]
            command = [PROGRAM, "train", "--scan", "scan.npy", "--label", others[0], "-o", "other.h5", "--json",
                       "--max-steps", "3", *NET, "--keep", "last", *words_of_other]
            if ranks:
                if not shutil.which("mpirun") or "clusters (MPI): yes" not in run("--version").stdout:
                    continue
                command = ["mpirun", "--oversubscribe", "-n", str(ranks)] + command
            environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            check(done.returncode == 0, f"{name}, {ranks} ranks: {done.stderr}")
            check(weights(f"{name}.h5") == weights("other.h5"), f"{name}, {ranks} ranks: held-back labels changed the weights")
            if done.returncode == 0:
                second = json.loads(done.stdout)
                check(first["heldout"]["accuracy"] != second["heldout"]["accuracy"], f"{name}: the exam saw no difference")
                check(first["bce"] == second["bce"], f"{name}, {ranks} ranks: the loss saw held-back labels")
    free = train("free.h5", "--valid-fraction", "0")
    check(free["heldout"] is None and free["valid_bce"] is None, "--valid-fraction 0 claims something")
    check(weights("free.h5") != weights("whole.h5"), "holding back changed nothing")


def exam_once():
    """Other labels in the exam's blocks alone: all of the training is the same, best state and calibration among it, and
    nothing but the exam's figures sees them."""
    noise = np.random.default_rng(9)
    label = np.load("label.npy")
    for name, more in (("exam", ()), ("exam_members", ("--members", "2"))):
        first = train(f"{name}.h5", *more, "--keep", "best", steps=40)
        examined = [np.append(block[:6], (0, 1)) for block in blocks(f"{name}.h5") if block[7]]
        np.save("other_exam.npy", scrambled(label, examined, noise))
        second = train(f"{name}_other.h5", *more, "--keep", "best", label="other_exam.npy", steps=40)
        check(weights(f"{name}.h5") == weights(f"{name}_other.h5"), f"{name}: the exam's labels changed the weights")
        logs = [[{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in open(f"{stem}.log.jsonl")]
                for stem in (name, f"{name}_other")]
        check(logs[0] == logs[1] and len(logs[0]) >= 40, f"{name}: a step or a check saw the exam's labels")
        same = ("bce", "valid_bce", "best_valid_bce", "best_epoch", "kept_epoch", "calibration")
        check(all(first[k] == second[k] for k in same), f"{name}: a choice saw the exam's labels")
        check(first["heldout"]["accuracy"] != second["heldout"]["accuracy"], f"{name}: the exam itself saw no difference")


def few_labels():
    """A hundred labelled voxels: counts in place of shares, pieces around them, and a model that has learnt something."""
    noise = np.random.default_rng(4)
    z, y, x = np.meshgrid(np.arange(48), np.arange(96), np.arange(96), indexing="ij")
    truth = (((z % 16) - 8) ** 2 + ((y % 16) - 8) ** 2 + ((x % 16) - 8) ** 2 < 50).astype(np.uint8)
    np.save("large.npy", (truth * 2000.0 + noise.normal(8000, 900, truth.shape)).astype(np.uint16))
    strokes = np.full_like(truth, 9)
    for _ in range(10):
        at = (noise.integers(8, 40), noise.integers(8, 88), slice(begin := noise.integers(8, 80), begin + 10))
        strokes[at] = truth[at]
    np.save("strokes.npy", strokes)
    done = run("train", "--scan", "large.npy", "--label", "strokes.npy", "--ignore", "9", "-o", "strokes.h5", "--filters", "8",
               "--chunk", "16,32,32", "--max-steps", "120", "--threads", "2")
    check(done.returncode == 0, done.stderr)
    ones, zeros = (strokes == 1).sum(), (strokes == 0).sum()
    check(f"{ones} voxels foreground, {zeros} voxels background" in done.stderr, f"counts: {done.stderr[:300]}")
    check("pieces to learn from are centred" in done.stderr, f"{done.stderr[:600]}")
    run("predict", "--model", "strokes.h5", "--scan", "large.npy", "-o", "strokes", "--samples", "4", "--step", "1", "--quiet")
    right = (np.load("strokes/large_seg.npy") == truth).mean()
    check(right > max(truth.mean(), 1 - truth.mean()) + 0.15, f"a hundred voxels: {right} right")
    check("few" not in run("train", "--scan", "scan.npy", "--label", "label.npy", "-o", "dense.h5", "--max-steps", "1", *NET).stderr,
          "whole labels are called few")


def figures():
    """Keys and figures of the exam, again from its definition."""
    result = train("f.h5", steps=60)
    h = result["heldout"]
    label, scan = np.load("label.npy"), np.load("scan.npy")
    held = blocks("f.h5")
    exam = [inside(b, 0, label.shape) for b in held if b[7]]
    check(h["exam_blocks"] == len(exam) == len(held) // 2, "half of the blocks are the exam")
    check(h["exam_voxels"] == sum(label[e].size for e in exam), "the exam's voxels")
    check(h["voxels"] <= 0.1 * label.size, "more is held back than --valid-fraction says")
    share = np.mean([label[e].mean() for e in exam])
    check(abs(h["foreground_share"] - share) < 1e-9 and abs(share - label.mean()) < 0.1, f"shares {h} {share} {label.mean()}")
    check(abs(h["majority_accuracy"] - (1 - share)) < 1e-9, "the majority's accuracy")
    # The commoner class is that of the label, also where chunks, which overlap in the middle, have more of the other one.
    around = np.ones_like(label)
    around[:, 9:41, 9:41] = 0
    np.save("around.npy", around)
    of_around = train("around.h5", label="around.npy", steps=1)["heldout"]
    check(of_around["foreground_share"] > 0.52 and of_around["majority_accuracy"] == of_around["foreground_share"], f"another class is the commoner one: {of_around}")
    low, high = h["dice_interval"]
    check(0 <= low <= h["dice"] <= high <= 1, f"the interval of Dice: {h}")
    check(h["threshold_dice"] > 0.5 and h["unseen"] is True and h["samples"] >= 8, f"{h}")
    check(isinstance(result["warnings"], list), "warnings")
    described = json.loads(run("info", "--json", "f.h5").stdout)["heldout"]
    check(described == h, f"info says otherwise: {described}")
    done = run("train", "--scan", "scan.npy", "--label", "label.npy", "-o", "t.h5", "--max-steps", "2", *NET)
    check("where it never learnt" in done.stdout and "best single threshold" in done.stdout, done.stdout)
    check("not better than a threshold" in done.stdout + done.stderr, f"two steps beat a threshold? {done.stdout}")
    valid = train("v.h5", "--valid-scan", "scan2.npy", "--valid-label", "label2.npy")
    check(valid["heldout"] is None and valid["valid_accuracy"] > 0, "--valid-scan has no exam")


def bad_input():
    constant = train("c.h5", scan="constant.npy", steps=30)["heldout"]
    check(constant["dice"] is None or constant["dice"] <= constant["threshold_dice"], f"a constant scan: {constant}")
    check(constant["accuracy"] <= max(constant["majority_accuracy"], 0.9), f"a constant scan: {constant}")
    nothing = train("n.h5", label="noise.npy", steps=30)
    check(any("hardly anything to do with the grey values" in w for w in nothing["warnings"]), f"{nothing['warnings']}")
    check(nothing["heldout"]["accuracy"] < 0.65, f"a label that is noise: {nothing['heldout']}")
    check(nothing["heldout"]["dice"] > nothing["heldout"]["threshold_dice"] or
          any("not better than a threshold" in w for w in nothing["warnings"]), f"{nothing['warnings']}")
    few = train("w.h5", "--ignore", "9", label="few.npy")
    check(few["heldout"] is None and any("too few labels" in w for w in few["warnings"]), f"20 voxels: {few}")
    one = run("train", "--scan", "scan.npy", "--label", "one.npy", "-o", "o.h5", *NET)
    check(one.returncode == 1 and "nothing to tell apart" in one.stderr and not os.path.exists("o.h5"), one.stderr)
    flipped = train("x.h5", "--scan", "scan2.npy", "--label", "inverse.npy", "--foreground", "1")
    check(any("contradict each other" in w for w in flipped["warnings"]), f"{flipped['warnings']}")


def generations():
    """What was held back is again, over two generations; where it can't be, that is said."""
    first = train("g1.h5", "--seed", "3")
    second = train("g2.h5", "--init", "g1.h5", "--seed", "4")
    third = train("g3.h5", "--init", "g2.h5", "--seed", "5", "--scan", "scan2.npy", "--label", "label2.npy")
    check((blocks("g1.h5") == blocks("g2.h5")).all() and (blocks("g1.h5") == blocks("g3.h5")).all(), "blocks moved")
    check(first["heldout"]["unseen"] and second["heldout"]["unseen"] and third["heldout"]["unseen"], "unseen")
    with h5py.File("g3.h5") as file:
        check(file["provenance"].attrs["scans"] == 2, "two scans were learnt from")
    train("all.h5", "--valid-fraction", "0")
    seen = train("g4.h5", "--init", "all.h5")
    check(seen["heldout"]["unseen"] is False, "an ancestor that learnt from everything")
    shutil.copy("g1.h5", "old.h5")
    with h5py.File("old.h5", "a") as file:
        del file["provenance"]
    check(train("g5.h5", "--init", "old.h5")["heldout"]["unseen"] is False, "an ancestor that doesn't say")
    check(train("g6.h5", "--init", "all.h5", scan="scan2.npy", label="label2.npy")["heldout"]["unseen"], "another scan")
    done = run("train", "--scan", "scan.npy", "--label", "label.npy", "-o", "g7.h5", "--init", "all.h5", "--max-steps", "1", *NET)
    check("these figures flatter" in done.stdout, done.stdout)
    twice = train("same.h5", "--scan", "scan.npy", "--label", "label.npy")
    held = blocks("same.h5")
    with h5py.File("same.h5") as file:
        cells = np.unpackbits(file["provenance/0/cells"][()].view(np.uint8), bitorder="little")[:4 * 6 * 6].reshape(4, 6, 6)
    check(twice["heldout"]["unseen"] and not any(cells[tuple(b[:3] // 8)] for b in held), "a scan given twice was learnt from")


def validated():
    """Voxels that were learnt from are noticed, and figures over the others stand beside."""
    def predicted(name, scan, *words):
        done = run("predict", "--model", "f.h5", "--scan", scan, "-o", name, "--samples", "2", "--step", "1", "--quiet", *words)
        check(done.returncode == 0, done.stderr)
        return name

    def validate(name, label):
        done = run("validate", name, "--label", label, "--json")
        check(done.returncode == 0, done.stderr)
        return json.loads(done.stdout), done.stderr
    figures_of, said = validate(predicted("own", "scan.npy"), "label.npy")
    label, seg = np.load("label.npy"), np.load("own/scan_seg.npy")
    with h5py.File("f.h5") as file:
        cells = np.unpackbits(file["provenance/0/cells"][()].view(np.uint8), bitorder="little")[:4 * 6 * 6].reshape(4, 6, 6)
    unseen = np.kron(1 - cells, np.ones((8, 8, 8))).astype(bool)
    check(figures_of["seen_in_training"] is True and "learnt from" in said, f"the training scan: {said}")
    check(figures_of["unseen"]["voxels"] == unseen.sum() > 0, f"{figures_of['unseen']} {unseen.sum()}")
    check(abs(figures_of["unseen"]["accuracy"] - (label == seg)[unseen].mean()) < 1e-12, "the accuracy over unseen cells")
    check(run("validate", "own", "--label", "label.npy").stdout.startswith("The model learnt from"), "it isn't said first")
    check(run("compare", "own").stdout.startswith("own learnt from"), "compare doesn't say it")
    run("report", "own", "--label", "label.npy", "-o", "own.html")
    check("The model learnt from" in open("own.html").read(), "report doesn't say it")
    boxed = predicted("boxed", "scan.npy", "--bbox", "8:32,8:48,0:40")
    figures_of, _ = validate(boxed, "label.npy")
    check(figures_of["unseen"]["voxels"] == unseen[8:32, 8:48, 0:40].sum(), "a box of the training scan")
    block = [b for b in blocks("f.h5") if b[7]][0]
    inner = ",".join(f"{o}:{o + s}" for o, s in zip(block[:3], block[3:6]))
    figures_of, said = validate(predicted("inner", "scan.npy", "--bbox", inner), "label.npy")
    check(figures_of["seen_in_training"] is False and "learnt from" not in said, f"an exam block alone: {said}")
    figures_of, said = validate(predicted("other", "scan2.npy"), "label2.npy")
    check(figures_of["seen_in_training"] is False and "learnt from" not in said, f"another scan: {said}")
    os.rename("f.h5", "moved.h5")
    figures_of, said = validate("other", "label2.npy")
    check(figures_of["seen_in_training"] is None and "isn't known" in said, f"a model that is gone: {said}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    make_data()
    np.save("inverse.npy", 1 - np.load("label2.npy"))
    no_gradient()
    for test in (exam_once, few_labels, figures, bad_input, generations, validated) if not DEVICE else ():
        test()
    os.chdir("/")
sys.exit(1 if failures else 0)
