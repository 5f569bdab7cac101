"""Training by two MPI processes of one thread against one: bench/mpi.py CREDENCE [SECONDS] [CHUNK:BATCH ...]

Three jobs take turns on the same two cores, stopped and continued every few steps, so that all meet the same neighbours: one
process, two that share every mini-batch, and two that have nothing to do with each other. The last shows what the machine itself
loses when both cores are busy. Printed: milliseconds a step of each, the efficiency of two processes, and the processor time that
others took meanwhile. Steps across a stop don't count, nor do the ends of epochs."""
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
ROUNDS = 4


def make_data():
    noise = np.random.default_rng(4)
    z, y, x = np.meshgrid(np.arange(128), np.arange(256), np.arange(256), indexing="ij")
    label = (((z % 24) - 12) ** 2 + ((y % 32) - 16) ** 2 + ((x % 32) - 16) ** 2 < 90).astype(np.uint8)
    np.save("scan.npy", (label * 2000 + noise.normal(8000, 900, label.shape)).astype(np.uint16))
    np.save("label.npy", label)


def busy_seconds():
    """Of all processors, whoever was at work."""
    fields = [int(word) for word in open("/proc/stat").readline().split()[1:]]
    return (sum(fields[:3]) + sum(fields[5:8])) / os.sysconf("SC_CLK_TCK")


class Job:
    """Some processes that train, stopped unless they are on turn."""

    def __init__(self, program, name, chunk, batch, before):
        self.logs, self.launchers = [], []
        for i, words in enumerate(before):
            model = f"{name}{i}.h5"
            self.logs.append(f"{name}{i}.log.jsonl")
            self.launchers.append(subprocess.Popen(
                words + [program, "train", "--scan", "scan.npy", "--label", "label.npy", "-o", model, "--chunk", chunk, "--batch",
                         batch, "--epochs", "1000", "--threads", "1", "--valid-fraction", "0", "--checkpoint-every", "1000000"],
                env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        while min(self.lines()) < 2:
            time.sleep(0.02)
        self.workers = [int(pid) for log in self.logs for pid in subprocess.run(
            ["pgrep", "-f", f"^{program} train .* -o {log.replace('.log.jsonl', '.h5')} "], capture_output=True, text=True)
            .stdout.split()]
        self.send(signal.SIGSTOP)

    def lines(self):
        return [open(log).read().count("\n") if os.path.exists(log) else 0 for log in self.logs]

    def begin(self):
        self.first = [count + 1 for count in self.lines()]

    def send(self, number):
        for pid in self.workers:
            os.kill(pid, number)

    def processor_seconds(self):
        ticks = 0
        for pid in self.workers:
            fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def step(self, pause):
        """Mean seconds a step; of the slower one where two have nothing to do with each other."""
        means = []
        for log, first in zip(self.logs, self.first):
            lines = [json.loads(line) for line in open(log).read().splitlines()[:-1]]
            steps = [b["seconds"] - a["seconds"] for a, b in zip(lines, lines[1:]) if "lr" not in a]
            whole = [step for step in steps[first:] if step < pause]
            if not whole:
                sys.exit("not one step was computed within a turn: give more SECONDS")
            means.append(statistics.mean(whole))
        return max(means)

    def end(self):
        self.send(signal.SIGKILL)
        for launcher in self.launchers:
            launcher.wait()


def measure(program, turn, chunk, batch):
    for name in os.listdir("."):  # of the case before: its log would pass for a training that has begun
        if not name.endswith(".npy"):
            os.remove(name)
    jobs = []
    try:
        for name, before in (("one", [["mpirun", "-n", "1", "--bind-to", "core"]]),
                             ("two", [["mpirun", "-n", "2", "--bind-to", "core"]]),
                             ("apart", [["taskset", "-c", "0"], ["taskset", "-c", "1"]])):
            jobs.append(Job(program, name, chunk, batch, before))
        for job in jobs:
            job.begin()
        others = busy_seconds() - sum(job.processor_seconds() for job in jobs)
        for _ in range(ROUNDS):
            for job in jobs:
                job.send(signal.SIGCONT)
                time.sleep(turn)
                job.send(signal.SIGSTOP)
        others = busy_seconds() - sum(job.processor_seconds() for job in jobs) - others
        one, two, apart = (job.step(0.9 * turn * (len(jobs) - 1)) for job in jobs)
    finally:
        for job in jobs:
            job.end()
    print(f"chunk {chunk}, batch {batch}: one {1e3 * one:.1f} ms, two {1e3 * two:.1f} ms, efficiency {50 * one / two:.1f} %; "
          f"two apart {1e3 * apart:.1f} ms, {100 * one / apart:.1f} %; others took {others:.1f} s of "
          f"{ROUNDS * len(jobs) * turn:.0f} s", flush=True)


def main():
    program = os.path.abspath(sys.argv[1])
    turn = float(sys.argv[2]) if len(sys.argv) > 2 else 3.0
    cases = sys.argv[3:] or ["16,32,32:4", "32,64,64:4", "48,96,96:2"]
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    try:
        make_data()
        for case in cases:
            measure(program, turn, *case.split(":"))
    finally:
        os.chdir("/")
        shutil.rmtree(folder)


main()
