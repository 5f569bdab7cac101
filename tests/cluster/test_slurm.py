"""credence under a real scheduler: Slurm with three nodes on this machine. Arrays, jobs that are requeued, a node whose power is cut, a
time limit with its signal, a memory limit, ranks that are killed in the middle of prediction and of training: whatever is left is
resumed, and ends with the bytes of a run that nobody disturbed."""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from slurm import NODES, Cluster, enter, skip  # noqa: E402

PROGRAM = os.path.abspath(os.environ.get("CREDENCE_PROGRAM", "build/credence"))
ROUNDS = int(os.environ.get("CREDENCE_ROUNDS", "3"))  # of each scenario whose moment is random
try:
    import numpy as np
except ImportError as missing:
    skip(missing)
if "clusters (MPI): yes" not in subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout:
    skip("this build has no MPI part (tools/install-packages cluster)")
enter()

SEED = int(os.environ.get("CREDENCE_SEED", str(int(time.time()) % 100000)))
random.seed(SEED)
failures = []
cluster = Cluster()
os.chdir(os.path.join(cluster.folder, "tmp"))
# One process a node, and these connected by the network between the nodes.
MANY = ("-N3", "--ntasks-per-node=1", "--cpus-per-task=2", "--mem=900M")
ONE = ("-N1", "-n1", "--cpus-per-task=2", "--mem=900M")
SRUN = "export OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=10.77.0.0/24\nsrun --mpi=pmix --kill-on-bad-exit=1 "


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what, flush=True)


def run(*words):
    done = subprocess.run([PROGRAM, *words], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{words}: {done.stderr}")


def text(job):
    return open(f"{job}.out").read() if os.path.exists(f"{job}.out") else ""


def train(output, *more):
    return ["train", "--scan", "scan.npy", "--label", "label.npy", "-o", output, "--filters", "4", "--chunk", "16,32,32", "--batch", "3", "--step", "3",
            "--epochs", "50", "--max-steps", "90", "--checkpoint-every", "5", "--valid-fraction", "0", "--threads", "1", *more]


def predict(output, *more, scan="long.npy"):
    return ["predict", "--model", "model.h5", "--scan", scan, "-o", output, "--mode", "overlap", "--step", "2", "--samples", "24", "--intervals", "5-95",
            "--threads", "1", *more]


def line(words, *more):
    return " ".join([PROGRAM, *words, "--progress", "json", *more]) + "\n"


def make_data():
    noise = np.random.default_rng(7)
    z, y, x = np.meshgrid(np.arange(32), np.arange(64), np.arange(64), indexing="ij")
    label = (((z % 16) - 8) ** 2 + ((y % 16) - 8) ** 2 + ((x % 16) - 8) ** 2 < 30).astype(np.uint8)
    np.save("scan.npy", (label * 2000 + noise.normal(8000, 900, label.shape)).astype(np.uint16))
    np.save("label.npy", label)
    np.save("long.npy", noise.normal(8000, 900, (240, 32, 48)).cumsum(0).astype(np.float32))
    for i in range(4):
        np.save(f"scan{i}.npy", noise.normal(8000, 900, (24, 32, 32)).astype(np.float32))
    run(*train("model.h5"))
    run(*predict("whole"))


def volumes(name):
    """A run's volumes and what its manifest says of them; the rest is about when and how it was made."""
    manifest = json.load(open(f"{name}/manifest.json"))
    for key in ("times", "settings"):
        del manifest[key]
    return {file: open(f"{name}/{file}", "rb").read() for file in sorted(os.listdir(name)) if file.endswith(".npy")}, manifest


def same_run(a, b, what):
    check(os.path.exists(f"{b}/manifest.json"), f"{what}: it has no manifest")
    if os.path.exists(f"{b}/manifest.json"):
        check(volumes(a) == volumes(b), f"{what}: the run differs")
        check(not os.path.exists(f"{b}/.lock") and not os.path.exists(f"{b}/.partial"), f"{what}: something is left behind")


def same_model(a, b, what):
    check(os.path.exists(b) and open(a, "rb").read() == open(b, "rb").read(), f"{what}: the model differs")
    check(not os.path.exists(b.replace(".h5", ".lock")), f"{what}: a lock is left behind")


def under_way(job):
    """Which share of its chunks or steps has the job done? What it says are lines of JSON."""
    newest = 0
    for part in text(job).splitlines():
        if part.startswith('{"event": "progress"'):
            try:
                event = json.loads(part)
            except ValueError:
                continue
            if event["stage"] in ("predicting", "training") and event.get("total"):
                newest = event["done"] / event["total"]
    return newest


def wait_for(job, share):
    cluster.until(lambda: under_way(job) >= share or cluster.state(job)[0] in ("COMPLETED", "FAILED"), f"job {job} is {share:.2f} done", 240)


def ends_well(job, what, seconds=240):
    state = cluster.wait(job, seconds)
    check(state == "COMPLETED", f"{what}: {state}\n{text(job)[-2000:]}")


def processes_of(words):
    """The numbers of the processes that run this command line, on any node."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    said = file.read().decode(errors="replace").split("\0")
            except OSError:
                continue
            if said[:1] == [PROGRAM] and all(word in said for word in words):
                found.append(int(name))
    return found


def test_array():
    """An array of scans, each a task of its own that knows nothing of the others."""
    job = cluster.submit("export CREDENCE_MPI=off\n" + line(predict("array$SLURM_ARRAY_TASK_ID", "--resume", scan="scan$SLURM_ARRAY_TASK_ID.npy")),
                         "--array=0-3", "--output=%A.out", *ONE)
    cluster.until(lambda: not subprocess.run(["squeue", "-h", "-j", str(job)], capture_output=True, text=True).stdout.strip(), "the array ends")
    for i in range(4):
        run(*predict(f"alone{i}", scan=f"scan{i}.npy"))
        same_run(f"alone{i}", f"array{i}", f"task {i} of the array")


def test_together():
    """One prediction and one training on three nodes."""
    ends_well(cluster.submit(SRUN + line(predict("together")), *MANY), "a prediction on three nodes")
    same_run("whole", "together", "three nodes")
    ends_well(cluster.submit(SRUN + line(train("together.h5")), *MANY), "a training on three nodes")
    same_model("model.h5", "together.h5", "three nodes")


def requeued(name, words, same):
    job = cluster.submit(SRUN + line(words, "--resume"), "--requeue", *MANY)
    wait_for(job, random.uniform(.1, .6))
    done = subprocess.run(["scontrol", "requeue", str(job)], capture_output=True, text=True)
    if done.returncode != 0:
        check(cluster.state(job)[0] == "COMPLETED", f"{name} requeued: {done.stderr}")
    ends_well(job, f"{name} requeued")
    check(done.returncode != 0 or cluster.state(job)[1] == 1, f"{name}: {cluster.state(job)[1]} restarts")
    same()


def test_requeue(round_):
    requeued("prediction", predict(f"requeued{round_}"), lambda: same_run("whole", f"requeued{round_}", "prediction requeued"))
    requeued("training", train(f"requeued{round_}.h5"), lambda: same_model("model.h5", f"requeued{round_}.h5", "training requeued"))


def lost(name, words, same):
    """Power goes at one node of three: Slurm notices, and starts the job again when there are three once more."""
    job = cluster.submit(SRUN + line(words, "--resume"), "--requeue", *MANY)
    wait_for(job, random.uniform(.1, .6))
    node = random.choice(NODES)
    cluster.lose(node)
    cluster.until(lambda: cluster.state(job)[1] > 0 or cluster.state(job)[0] in ("COMPLETED", "FAILED"), "Slurm notices that a node is gone", 120)
    cluster.start_node(node)
    cluster.until(lambda: cluster.states() <= {"idle", "mix", "alloc"}, "the node is back", 60)
    if cluster.state(job)[0] == "FAILED":  # srun was faster than slurmctld: the job failed, and is submitted again as it is
        job = cluster.submit(SRUN + line(words, "--resume"), "--requeue", *MANY)
    ends_well(job, f"{name} after the loss of {node}")
    same()


def test_lost_node(round_):
    lost("prediction", predict(f"lost{round_}"), lambda: same_run("whole", f"lost{round_}", "prediction on a node that was lost"))
    lost("training", train(f"lost{round_}.h5"), lambda: same_model("model.h5", f"lost{round_}.h5", "training on a node that was lost"))


def killed(name, words, marks, same):
    """One rank is killed; the step ends, and the next job goes on, with another number of nodes."""
    job = cluster.submit(SRUN + line(words, "--resume"), *MANY)
    wait_for(job, random.uniform(.1, .6))
    ranks = processes_of(marks)
    if ranks:
        os.kill(random.choice(ranks), signal.SIGKILL)
    state = cluster.wait(job)
    check(not ranks or state in ("FAILED", "CANCELLED", "COMPLETED"), f"{name}, a rank killed: {state}")
    cluster.until(lambda: not processes_of(marks), f"{name}: every rank ends when one was killed", 30)
    # Another job, on other nodes perhaps: the lock of the first is gone, or says whose it is.
    again = cluster.submit(SRUN + line(words, "--resume"), "-N2", "--ntasks-per-node=1", "--cpus-per-task=2", "--mem=900M")
    if cluster.wait(again) == "FAILED" and "is already writing" in text(again):
        for left in (".lock",):
            path = os.path.join(marks[0], left) if os.path.isdir(marks[0]) else marks[0].replace(".h5", ".lock")
            check(os.path.exists(path), f"{name}: refused for a lock that isn't there")
            os.remove(path)
        again = cluster.submit(SRUN + line(words, "--resume"), "-N2", "--ntasks-per-node=1", "--cpus-per-task=2", "--mem=900M")
    ends_well(again, f"{name} after a rank was killed")
    same()


def test_killed_rank(round_):
    killed("prediction", predict(f"killed{round_}"), [f"killed{round_}"], lambda: same_run("whole", f"killed{round_}", "prediction with a rank killed"))
    killed("training", train(f"killed{round_}.h5"), [f"killed{round_}.h5"], lambda: same_model("model.h5", f"killed{round_}.h5", "training with a rank killed"))


def test_cancelled():
    """scancel: a sentence, no lock, and another job goes on."""
    for words, same in ((predict("cancelled"), lambda: same_run("whole", "cancelled", "a prediction that was cancelled")),
                        (train("cancelled.h5"), lambda: same_model("model.h5", "cancelled.h5", "a training that was cancelled"))):
        job = cluster.submit(SRUN + line(words, "--resume"), *MANY)
        wait_for(job, .3)
        subprocess.run(["scancel", str(job)], check=True)
        check(cluster.wait(job) in ("CANCELLED", "COMPLETED"), "a job is cancelled")
        cluster.until(lambda: not processes_of([words[words.index("-o") + 1]]), "every rank ends", 30)
        check("--resume" in text(job) or "Trained" in text(job), f"no sentence on how to go on: {text(job)[-800:]}")
        ends_well(cluster.submit(SRUN + line(words, "--resume"), *MANY), "what was cancelled, resumed")
        same()


def test_time_limit():
    """A signal before the time limit, as docs/CLUSTER.md has it: exit 1 with a sentence, a checkpoint, no lock. Slurm looks at limits twice a
    minute, and knows no shorter one than a minute."""
    words = ["train", *train("limited.h5")[1:]]
    words[words.index("--max-steps") + 1] = "100000"
    words[words.index("--epochs") + 1] = "100000"
    job = cluster.submit(SRUN + line(words, "--resume"), "--time=1", "--signal=TERM@30", *ONE)
    check(cluster.wait(job, 200) in ("FAILED", "TIMEOUT"), f"the time limit: {cluster.state(job)}")
    check("--resume" in text(job), f"no sentence at the time limit: {text(job)[-800:]}")
    check(os.path.exists("limited.ckpt.h5") and not os.path.exists("limited.lock"), f"a checkpoint and no lock: {sorted(os.listdir('.'))}")
    steps = [json.loads(part)["done"] for part in text(job).splitlines() if part.startswith('{"event') and '"steps"' in part and '"progress"' in part]
    check(steps and steps[-1] > 0, "it had trained for some steps")


def test_memory_limit():
    """More than the job may have: Slurm kills it, or credence says so itself; with more memory it goes on."""
    words = predict("hungry")
    job = cluster.submit(SRUN + line(words, "--resume"), "-N1", "-n1", "--cpus-per-task=2", "--mem=8M")
    state = cluster.wait(job)
    check(state != "COMPLETED", f"8 MB were enough: {state}")
    again = cluster.submit(SRUN + line(words, "--resume"), *MANY)
    if cluster.wait(again) == "FAILED" and "is already writing" in text(again):
        os.remove("hungry/.lock")
        again = cluster.submit(SRUN + line(words, "--resume"), *MANY)
    ends_well(again, "with more memory")
    same_run("whole", "hungry", "after a memory limit")


def main():
    print(f"random moments from seed {SEED}, {ROUNDS} rounds", flush=True)
    make_data()
    began = time.monotonic()
    plain = (test_array, test_together, test_cancelled, test_memory_limit, test_time_limit)
    wanted = sys.argv[1:]
    count = 0
    for test in [t for t in plain if not wanted or t.__name__ in wanted]:
        test()
        count += 1
        print(f"{time.monotonic() - began:6.1f} s  {test.__name__}", flush=True)
    for test in [t for t in (test_requeue, test_lost_node, test_killed_rank) if not wanted or t.__name__ in wanted]:
        for round_ in range(ROUNDS):
            test(round_)
            count += 1
            print(f"{time.monotonic() - began:6.1f} s  {test.__name__}, round {round_}", flush=True)
    print(f"{count} scenarios, {len(failures)} failed")


try:
    main()
except RuntimeError as error:
    failures.append(str(error))
    print("FAILED", error)
finally:
    if failures and os.environ.get("CREDENCE_KEEP"):
        shutil.copytree(".", os.environ["CREDENCE_KEEP"], dirs_exist_ok=True)
    os.chdir("/")
    cluster.close()
sys.exit(1 if failures else 0)
