"""A command under the layer (layer.c): which faults it met, how it ended, and whether that was a good end."""
import os
import re
import signal
import subprocess
import tempfile

LAYER = os.path.abspath(os.environ.get("CREDENCE_LAYER", os.path.join(os.environ.get("CREDENCE_BUILD", "build"), "tests", "layer")))
PROGRAM = os.path.abspath(os.environ.get("CREDENCE_PROGRAM", "build/credence"))
LIMIT = 120  # seconds: by far more than any command here takes; what takes longer hangs
SENTENCE = re.compile(r"^credence: (?!warning: |note: )(.{20,})$")

# What each family of calls can end in; all of it happens on real systems, EINTR and short ones on network disks.
CAN = {"open": ("EIO", "ENOSPC", "EINTR"), "read": ("EIO", "EINTR", "SHORT"), "write": ("EIO", "ENOSPC", "EINTR", "SHORT"),
       "sync": ("EIO", "ENOSPC", "EINTR"), "close": ("EIO", "EINTR"), "rename": ("EIO",), "link": ("EIO", "ENOSPC"), "unlink": ("EIO",),
       "mkdir": ("EIO", "ENOSPC"), "size": ("EIO", "ENOSPC", "EINTR"), "list": ("EIO",), "look": ("EIO",)}
HARMLESS = ("EINTR", "SHORT")  # a program goes on after them as if nothing had been


class Ended:
    """How a command ended under the layer."""

    def __init__(self, code, out, err, log):
        self.code, self.out, self.err = code, out, err
        lines = log.splitlines()
        self.faults = [line[len("fault "):] for line in lines if line.startswith("fault ")]
        self.unknown = [line for line in lines if line.startswith("unknown ")]
        self.end = lines[-1] if lines else "no log"

    @property
    def stopped(self):
        return self.end == "stopped"

    def complaint(self):
        """Why this is no good end, or None: 0, or 1 with one sentence; a kill that was asked for is none of the program's."""
        if self.unknown:
            return f"calls that aren't modelled: {self.unknown[:3]}"
        if self.stopped:
            return None
        if self.code == "hangs":
            return f"it hangs: {self.err[-300:]}"
        if not self.end.startswith("exit ") or self.code not in (0, 1):
            return f"it ended by {self.end}: {self.err[-300:]}"
        sentences = [line for line in self.err.splitlines() if SENTENCE.match(line)]
        if self.code == 1 and len(sentences) != 1:
            return f"exit 1 with {len(sentences)} sentences: {self.err[-300:]!r}"
        return None

    def sentence(self):
        return next((line for line in self.err.splitlines() if SENTENCE.match(line)), "")


def layered(words, under, faults=(), census=None, record=None, log=None):
    """The command line that runs `words` under the layer."""
    line = [LAYER, "--under", under]
    for fault in faults:
        line += ["--fault", fault]
    for option, value in (("--census", census), ("--record", record), ("--log", log)):
        line += [option, value] if value else []
    return line + words


def environment(under):
    """Temporary files below the folder as well, and nothing from outside."""
    keep = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "SLURM_", "LD_"))}
    keep.update(TMPDIR=os.path.join(under, "tmp"), XDG_CACHE_HOME=os.path.join(under, "cache"), XDG_RUNTIME_DIR=os.path.join(under, "tmp"))
    keep["ASAN_OPTIONS"] = "detect_leaks=0"  # the search for leaks needs ptrace for itself
    return keep


def why_not():
    """Why nothing can be run under the layer here, or None."""
    if not os.path.exists(LAYER):
        return f"there is no {LAYER}: it is built on Linux, for x86-64"
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(layered(["true"], folder), capture_output=True, text=True)
    return done.stderr.strip() or None


def run(words, under, faults=(), census=None, record=None):
    """Runs it in the folder `under`, where names are relative."""
    with tempfile.NamedTemporaryFile("r", suffix=".log") as log:
        process = subprocess.Popen(layered(words, under, faults, census, record, log.name), cwd=under, env=environment(under),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
        try:
            out, err = process.communicate(timeout=LIMIT)
            code = process.returncode
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)  # and all that it traces ends with it
            out, err = process.communicate()
            code = "hangs"
        if code == 99:
            raise RuntimeError(err)
        return Ended(code, out, err, log.read())


def read_census(path):
    """[(family, file, calls)]."""
    with open(path) as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return [(family, re.sub("view-[0-9a-f]+-[0-9]+", "view-*", name.replace(" (deleted)", "*")), int(calls)) for family, name, calls in rows]


def draw_faults(dice, census, kind):
    """Words for the layer: which call fails, drawn from those that a whole run makes."""
    rows = [row for row in census if row[0] in CAN and not any(c in row[1] for c in ":?[\\")]
    if kind == "harmless":
        what = dice.choice(HARMLESS)
        return [f"*:*:{dice.randrange(7)}:{what}:%{dice.choice((2, 3, 5, 11))}"]
    if kind == "full":  # a disk that is full from some moment on: the file that grows first meets it
        calls = sum(n for family, _, n in rows if family in ("write", "mkdir", "size"))
        first = dice.randrange(max(1, calls))
        return [f"{family}:*:{first if family == 'write' else first // 4}:ENOSPC:*" for family in ("write", "open", "mkdir", "size", "sync", "link")]
    if kind == "dying":  # a disk that fails from some moment on
        return [f"*:*:{dice.randrange(max(1, sum(row[2] for row in rows)))}:EIO:*"]
    family = dice.choice(sorted({row[0] for row in rows}))
    _, name, calls = dice.choice([row for row in rows if row[0] == family])
    what = dice.choice([w for w in CAN[family] if w not in HARMLESS] if kind == "one" else CAN[family])
    times = dice.choice(("1", "1", "2", "*" if what != "EINTR" else "%2"))  # nothing is interrupted for ever
    return [f"{family}:{name}:{dice.randrange(calls)}:{what}:{times}"]
