"""Faults on purpose. All commands that write are run while calls to their files fail (EIO, ENOSPC, EINTR), move less than was
asked for, or never come back: kill -9, and a power cut that drops what wasn't synced. Whatever is met, a run ends well or
with one sentence, never with a crash or a hang; run again, it gives the bytes of a run that nothing disturbed, and leaves
nothing lying about. Each seed is a fault, and is drawn from the calls that an undisturbed run makes.

    test_faults.py                                  a few of everything: what `make test` runs
    test_faults.py --seeds 0-999                    faults and power cuts, all commands in turn
    test_faults.py --kills 100                      kill -9, so often of each command
    test_faults.py --seeds 417-417 --show           one of them again, telling what was met
"""
import argparse
import collections
import os
import random
import shutil
import sys
import tempfile
import time

try:
    import numpy  # noqa: F401: tasks.py makes its inputs with it
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import cut
import running
from found import FOUND, again
from tasks import TASKS

KINDS = ("one", "one", "one", "any", "full", "dying", "harmless", "harmless", "cut", "cut", "cut", "end")
TRIES = 3  # that are disturbed, before one that isn't


class Stage:
    """Inputs of every task and variant, what an undisturbed run makes of them, and the calls it makes."""

    def __init__(self, folder):
        self.folder = folder
        self.known = {}

    def work(self):
        """An empty folder, always the same one: manifests tell where they were made."""
        place = os.path.join(self.folder, "work")
        shutil.rmtree(place, ignore_errors=True)
        os.mkdir(place)
        return place

    def of(self, name, variant):
        if (name, variant) not in self.known:
            task = TASKS[name](variant)
            work, census = self.work(), os.path.join(self.folder, "census")
            os.mkdir(os.path.join(work, "tmp"))
            task.prepare(work)
            inputs = cut.snapshot(work)
            ended = task.run(work, False, census=census)
            if ended.code != 0 or ended.complaint():
                raise RuntimeError(f"{name} {variant} without faults: {ended.code} {ended.complaint()} {ended.err}")
            self.known[name, variant] = inputs, task.result(work), names(work), running.read_census(census)
        return self.known[name, variant]


def names(folder):
    """Of all files, apart from temporary and cache folders, and from pictures: one that can't be drawn is a warning."""
    return sorted(name for name in cut.snapshot(folder) if name.split(os.sep)[0] not in ("tmp", "cache") and not name.endswith(".progress.png"))


class Case:
    """One task under faults, in a folder of its own."""

    def __init__(self, stage, name, variant, show):
        self.name, self.variant, self.show = name, variant, show
        self.task = TASKS[name](variant)
        self.inputs, self.wanted, self.names, self.census = stage.of(name, variant)
        self.folder = stage.work()
        cut.restore(self.folder, self.inputs)
        self.faults, self.sentences, self.runs, self.advice, self.lasting = [], [], 0, 0, False

    def run(self, faults, record=None):
        ended = self.task.run(self.folder, self.runs > 0, faults=faults, record=record)
        self.runs += 1
        self.lasting |= any(fault.endswith(":*") for fault in faults)
        self.faults += ended.faults
        if ended.sentence():
            self.sentences.append(ended.sentence())
        if self.show:
            print(f"    {self.name} {self.variant} {faults} met {ended.faults[:6]}{'...' if len(ended.faults) > 6 else ''}: {ended.end}, {ended.sentence()}", flush=True)
        return ended

    def finish(self):
        """A run without faults: None, or what is wrong with its end."""
        ended = self.run([])
        if not ended.complaint() and ended.code == 1 and self.task.follow(ended.sentence(), self.folder):
            self.advice += 1
            ended = self.run([])
        if ended.complaint():
            return ended.complaint()
        if ended.code != 0:
            return f"a run without faults ends with: {ended.err[-400:]}"
        return self.compare()

    def compare(self):
        """Nothing else may lie there in the end; but who was killed, or couldn't remove it, may have left its unfinished file."""
        now = self.task.result(self.folder)
        if now != self.wanted:
            other = sorted(key for key in set(now) | set(self.wanted) if now.get(key) != self.wanted.get(key))
            other = [key for key in other if not (self.leftover(key) and key not in self.wanted and self.could_leave)]
            if other:
                return f"other results: {other[:5]}"
        more = [name for name in set(names(self.folder)) ^ set(self.names) if not (self.leftover(name) and self.could_leave)]
        return f"left behind or missing: {sorted(more)[:5]}" if more else None

    @staticmethod
    def leftover(name):
        return ".tmp" in name or name.endswith("lock")

    @property
    def could_leave(self):
        return any(fault.split()[0].startswith(("unlink", "rmdir")) or fault.split()[1] == "STOP" for fault in self.faults) or self.lasting


def faulty(case, kind, dice):
    """Runs under faults until one ends well, then compares. None, or what went wrong."""
    for _ in range(dice.randint(1, TRIES)):
        ended = case.run(running.draw_faults(dice, case.census, kind))
        if ended.complaint():
            return ended.complaint()
        if kind == "harmless" and ended.code != 0:
            return f"not carried on after {ended.faults[-1:]}: {ended.err[-300:]}"
        if ended.code == 0 and case.name != "view":
            return case.compare()
    return case.finish()


def power_cut(case, dice):
    for _ in range(dice.randint(1, TRIES)):
        before, record = cut.snapshot(case.folder), case.folder + ".record"
        calls = sum(row[2] for row in case.census)
        ended = case.run([f"*:*:{dice.randrange(calls)}:STOP:1"], record)
        if ended.complaint():
            return ended.complaint()
        if ended.stopped:
            model = cut.cut(case.folder, before, record, dice)
            if case.show:
                print(f"    cut: {model}, left {[name for name in names(case.folder) if name not in case.inputs]}", flush=True)
        os.remove(record)
        if not ended.stopped:
            break
    return case.finish()


def cut_at_the_end(case, dice):
    """What a run that ended well has said to be there is there, also without the power a moment later."""
    before, record = cut.snapshot(case.folder), case.folder + ".record"
    ended = case.run([], record)
    if ended.complaint() or ended.code != 0:
        return ended.complaint() or ended.err
    cut.cut(case.folder, before, record, dice)
    now = case.task.result(case.folder) if case.name != "view" else case.wanted
    lost = sorted(key for key in case.wanted if now.get(key) != case.wanted[key])
    return f"it ended well, and then a power cut took {lost[:5]}" if lost else case.finish()


def killed(case, dice):
    ended = case.run([f"*:*:{dice.randrange(sum(row[2] for row in case.census))}:STOP:1"])
    return ended, ended.complaint()


def seed_case(stage, seed, show):
    dice = random.Random(seed)
    name = list(TASKS)[seed % len(TASKS)]
    variant = dice.choice(sorted(TASKS[name].variants))
    kind = dice.choice(KINDS)
    case = Case(stage, name, variant, show)
    ways = {"cut": power_cut, "end": cut_at_the_end}
    return case, kind, ways[kind](case, dice) if kind in ways else faulty(case, kind, dice)


def do_seeds(stage, seeds, show, until):
    count, met, wrongs, sentences = collections.Counter(), collections.Counter(), [], collections.Counter()
    for seed in seeds:
        if time.monotonic() > until:
            print(f"the time is over: seeds from {seed} on are left out", flush=True)
            break
        case, kind, wrong = seed_case(stage, seed, show)
        count[case.name, kind] += 1
        met["with a fault"] += bool(case.faults)
        met["faults"] += len(case.faults)
        met["sentences"] += len(case.sentences)
        met["advice"] += case.advice
        sentences.update(case.sentences)
        if wrong:
            wrongs.append(seed)
            print(f"FAILED seed {seed}: {case.name} {case.variant}, {kind}: {case.faults[:4]}: {wrong}", flush=True)
    print(f"{sum(count.values())} seeds: {met['with a fault']} met a fault, {met['faults']} faults in all, {met['sentences']} sentences, {met['advice']} times what one said was done")
    for name in TASKS:
        row = {kind: count[name, kind] for kind in sorted(set(KINDS)) if count[name, kind]}
        print(f"  {name}: {sum(row.values())} ({', '.join(f'{kind} {n}' for kind, n in row.items())})")
    if show:
        for sentence, n in sentences.most_common():
            print(f"  {n:4d} {sentence}")
    return wrongs


def do_found(stage, show):
    wrongs = []
    for what, name, variant, runs in FOUND:
        case = Case(stage, name, variant, show)
        wrong = again(case, runs)
        if wrong:
            wrongs.append(what)
            print(f"FAILED once more: {what}: {name} {variant}: {wrong}", flush=True)
    print(f"{len(FOUND)} that were found before", flush=True)
    return wrongs


def do_kills(stage, kills, first, show, until):
    """Of each task `kills` times kill -9, each run going on from what the one before left; whole ones are compared."""
    wrongs = []
    for name in TASKS:
        dice = random.Random(f"{name} {first}")
        done = ends = 0
        while done < kills and time.monotonic() < until:
            variant = dice.choice(sorted(TASKS[name].variants))
            case, wrong = Case(stage, name, variant, show), None
            for _ in range(dice.randint(1, 8)):
                ended, wrong = killed(case, dice)
                done += ended.stopped
                if wrong or not ended.stopped:
                    break
            wrong = wrong or case.finish()
            ends += 1
            if wrong:
                wrongs.append(f"{name} {first}")
                print(f"FAILED kills: {name} {variant}, {case.faults}: {wrong}", flush=True)
        print(f"  {name}: kill -9 {done} times, {ends} runs brought to their end", flush=True)
        if done < kills:
            wrongs.append(name)
            print("FAILED: the time was over before that")
    return wrongs


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seeds", default=None)
    options.add_argument("--kills", type=int, default=None)
    options.add_argument("--first", type=int, default=0, help="another series of kills")
    options.add_argument("--limit", type=float, default=1e9, help="seconds, after which no other seed is begun")
    options.add_argument("--found", action="store_true", help="what seeds found before")
    options.add_argument("--show", action="store_true")
    given = options.parse_args()
    if given.seeds is None and given.kills is None and not given.found:
        given.seeds, given.kills, given.found = "0-39", 2, True
    if (missing := running.why_not()) is not None:
        print(f"skipped: {missing}")
        sys.exit(77)
    begin = time.monotonic()
    folder = tempfile.mkdtemp(prefix="faults")
    stage, wrongs = Stage(folder), []
    try:
        if given.found:
            wrongs += do_found(stage, given.show)
        if given.seeds is not None:
            low, _, high = given.seeds.partition("-")
            wrongs += do_seeds(stage, range(int(low), int(high or low) + 1), given.show, begin + given.limit)
        if given.kills:
            wrongs += do_kills(stage, given.kills, given.first, given.show, begin + given.limit)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(wrongs)} failed{': ' + ', '.join(map(str, wrongs)) if wrongs else ''}; {time.monotonic() - begin:.0f} s")
    sys.exit(1 if wrongs else 0)


main()
