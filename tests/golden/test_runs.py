"""Runs the program as runs.txt lists it, and compares all that it prints and leaves behind with what is recorded beside.

    test_runs.py [--record] [--threads N] [--keep FOLDER] [WORD...]

WORD: only the runs whose name contains one of them count; the others run all the same, because they make what these need.
--record writes hashes.txt and texts/ anew (of runs that this machine can't do, what is there stays). --keep runs in
FOLDER/runs, and leaves it. CREDENCE_PROGRAM names the program, of this tree or another.

hashes.txt has a line for every file that a run made, changed or removed. What holds times, paths or figures of the machine
is hashed without them, what a library packs (PNG, gzip, --compress) is hashed unpacked. Files that are text, and what was
printed, are in texts/ as well.
"""
import argparse
import base64
import difflib
import gzip
import hashlib
import json
import os
import random
import re
import resource
import shlex
import shutil
import signal
import string
import struct
import subprocess
import sys
import tempfile
import time
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.abspath(os.environ.get("CREDENCE_PROGRAM", os.path.join(HERE, "../../build/credence")))
ENVIRONMENT = dict(os.environ, LC_ALL="C", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_hwloc_base_binding_policy="none",
                   OMPI_MCA_btl_vader_single_copy_mechanism="none")
THREADED = ("phantom", "train", "predict", "validate", "compare", "report")
LONGEST_TEXT = 16000
TEXTS = (".json", ".jsonl", ".mhd", ".nhdr", ".zattrs", ".zgroup", ".zarray")


class Run:
    """One line of the table: NAME = [isa=PATH] [ranks=N] [limit=KIB] WORDS. `limit`: no file may grow beyond that."""

    def __init__(self, section, name, line):
        self.name = f"{section}/{name}"
        self.words = shlex.split(line)
        self.isa = self.ranks = self.limit = None
        while self.words and (match := re.fullmatch("(isa|ranks|limit)=(.*)", self.words[0])):
            setattr(self, match[1], match[2])
            del self.words[0]

    def why_not(self, version):
        """Why this machine can't do it, or nothing."""
        if self.isa and not cpu_has(self.isa):
            return f"this CPU has no {self.isa}"
        if self.ranks and ("clusters (MPI): yes" not in version or not shutil.which("mpirun")):
            return "the build has no MPI, or there is no mpirun"
        if self.ranks and sanitized():
            return "MPI itself is not written for sanitizers"
        return ""


def read_table():
    runs, names, section = [], {}, ""
    for line in open(os.path.join(HERE, "runs.txt")):
        line = line.strip()
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            name, words = (part.strip() for part in line.split("=", 1))
            words = string.Template(words).substitute(names)
            if name.startswith("let "):
                names[name.split()[1]] = words
            else:
                runs.append(Run(section, name, words))
    return runs


def cpu_has(isa):
    flags = set(re.search(r"^flags\s*:(.*)$|\Z", open("/proc/cpuinfo").read(), re.M)[1].split())
    needed = {"avx2": {"avx2", "fma"}, "avx512": {"avx512f", "avx512bw", "avx512vl"}}
    needed["bf16"] = needed["avx512"] | {"avx512_bf16"}
    return needed.get(isa, set()) <= flags


def sanitized():
    cache = os.path.join(os.path.dirname(PROGRAM), "CMakeCache.txt")
    return os.path.exists(cache) and re.search("^CREDENCE_SANITIZE:.*=.", open(cache).read(), re.M)


def write_npy(name, kind, shape, values):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    code = {"|u1": "B", "<u2": "H", "<f4": "f"}[kind]
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}{code}", *values))


def make_inputs():
    """Stripes in noise, their labels, and the same with parts that nobody labelled: whole numbers from whole numbers."""
    shape = (16, 32, 40)
    noise = random.Random(1)
    places = [(z, y, x) for z in range(shape[0]) for y in range(shape[1]) for x in range(shape[2])]
    label = [int((z // 4 + y + x) % 16 < 8) for z, y, x in places]
    scan = [8000 + 2500 * one + sum(noise.getrandbits(9) for _ in range(6)) for one in label]
    write_npy("stripes.npy", "<u2", shape, scan)
    write_npy("stripes_label.npy", "|u1", shape, label)
    write_npy("part_label.npy", "|u1", shape,
              [one if 6 <= y < 28 and 4 <= x < 36 else 255 for one, (z, y, x) in zip(label, places)])
    write_npy("inside.npy", "|u1", shape, [int((y - 16) ** 2 + (x - 20) ** 2 < 200) for z, y, x in places])
    write_npy("odd.npy", "<f4", (3, 5, 7), [(i * 37 % 101) / 8 - 4 for i in range(105)])
    os.mkdir("slices")
    for z in range(4):
        with open(f"slice{z}.raw", "wb") as file:
            file.write(struct.pack("<80H", *(1000 * z + i for i in range(80))))
    with open("headed.raw", "wb") as file:
        file.write(b"seven  " + struct.pack(f">{len(scan)}H", *scan))
    with open("settings.json", "w") as file:
        json.dump({"window": [8, 16, 16], "batch_size": 2, "bayesian": False, "filters": 4, "max-steps": 2}, file)


def execute(run, threads):
    words = [PROGRAM] + run.words
    if threads and run.words[:1] and run.words[0] in THREADED and "--help" not in run.words:
        words += ["--threads", threads]
    if run.ranks:
        words = ["mpirun", "-n", run.ranks] + words

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(run.limit) * 1024,) * 2)

    return subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL, env=ENVIRONMENT,
                          preexec_fn=limit if run.limit else None)


def without_times(text):
    """Without the objects named `times`."""
    parts, end = [], 0
    for match in re.finditer(r'"times":\s*{', text):
        if match.start() < end:
            continue
        parts.append(text[end:match.start()] + '"times": {}')
        end, depth = match.end(), 1
        while depth:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
    return "".join(parts) + text[end:]


VARYING = [(re.compile(pattern, re.M), what) for pattern, what in (
    (r'("[a-z_]*seconds"|"examples_per_second"|"memory_bytes"):\s*([-0-9.e+]+|\[[^]]*\])', r'\1: #'),
    (r", [0-9.]+ s$", ", # s"),
    (r"steps in [0-9.]+ (s|min|h)\b", "steps in # s"),
    (r"about [^,\n]+, [0-9.]+ GiB of memory", "about # s, # GiB of memory"),
    (r", [0-9:]+ left$", ", # left"),
    (r"^(memory|time)  .*", r"\1 #"),
    (r"^[a-z ]+: [0-9]+ %, [0-9]+/.*\n", ""),  # progress, where something takes long
    (r": (yes|no)( \(.*\))?$", ": #"),
    (r"^Next, to look at it, and (.*\n)  credence view .*\n", r"Next, \1"),  # in a build that has the viewer
    (r"\d{4}-\d\d-\d\d</p>", "#</p>"),  # the day of a run, in a report
)]


def normalised(text):
    text = without_times(text.replace(os.getcwd(), "FOLDER"))
    for pattern, what in VARYING:
        text = pattern.sub(what, text)
    return text


def unpacked_png(data):
    """The header and the pixels, whatever zlib packed them."""
    place, pixels, rest = 8, b"", b""
    while place < len(data):
        size, = struct.unpack_from(">I", data, place)
        kind, body = data[place + 4:place + 8], data[place + 8:place + 8 + size]
        if kind == b"IDAT":
            pixels += body
        else:
            rest += kind + body
        place += size + 12
    return rest + zlib.decompress(pixels)


def unpacked_page(page):
    pictures = re.compile(r"data:image/png;base64,([A-Za-z0-9+/=]+)")
    page = pictures.sub(lambda match: "PNG " + sha256(unpacked_png(base64.b64decode(match[1]))), page)
    stacks = re.compile(r'(?<=<script type="text/plain" id=")([a-z0-9-]+">)([A-Za-z0-9+/=]+)')
    page = stacks.sub(lambda match: match[1] + "PNG " + sha256(unpacked_png(base64.b64decode(match[2]))), page)
    return normalised(page.replace("&quot;", '"'))


def words_of_page(page):
    page = re.sub("<(style|script|svg|pre).*?</\\1>|<[^>]*>", "\n", page, flags=re.S)
    return re.sub(r"\n\s+", "\n", page)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def voxels(name):
    """What the program reads from a volume that a library packed."""
    target = os.path.join(tempfile.mkdtemp(), "voxels.npy")
    done = subprocess.run([PROGRAM, "convert", "-q", name, target], capture_output=True, env=ENVIRONMENT)
    if done.returncode:
        return done.stderr
    content = open(target, "rb").read()
    shutil.rmtree(os.path.dirname(target))
    return content


def artefact(name, packed):
    """(bytes to hash, text to keep or None)"""
    data = open(name, "rb").read()
    if name.endswith(TEXTS):
        text = normalised(data.decode())
        return text.encode(), text
    if name.endswith(".png"):
        return unpacked_png(data), None
    if name.endswith(".gz"):
        return gzip.decompress(data), None
    if name.endswith(".html"):
        page = unpacked_page(data.decode())
        return page.encode(), words_of_page(page)
    return voxels(name) if packed else data, None


def snapshot():
    found = {}
    for folder, _, files in os.walk("."):
        for file in files:
            name = os.path.relpath(os.path.join(folder, file))
            about = os.lstat(name)
            found[name] = (about.st_ino, about.st_size, about.st_mtime_ns)
    return found


def chunk_of_zarr(name):
    return ".zarr/" in name and not name.endswith(TEXTS)


def readable(text):
    """JSON with a line for every key at the top."""
    try:
        value = json.loads(text.replace(": #", ': "#"'))
    except ValueError:
        return text
    if isinstance(value, dict):
        return "".join(f"{key}: {json.dumps(content)}\n" for key, content in value.items())
    return json.dumps(value) + "\n"


def kept(title, text):
    if len(text) > LONGEST_TEXT:
        text = f"{len(text)} characters, {sha256(text.encode())}\n"
    if text and not text.endswith("\n"):
        text += "\n(no end of line)\n"
    return f"-- {title}\n{text}" if text else ""


def perform(run, threads):
    """Runs it: ([lines of hashes], text)."""
    before = snapshot()
    done = execute(run, threads)
    after = snapshot()
    prefix = "".join(f"{key}={value} " for key in ("isa", "ranks", "limit") if (value := getattr(run, key)))
    text = f"$ {prefix}{shlex.join(['credence'] + run.words)}\nexit {done.returncode}\n"
    text += kept("stdout", normalised(done.stdout.decode())) + kept("stderr", normalised(done.stderr.decode()))
    hashes = []
    packed = "--compress" in run.words
    for name in sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)):
        if name not in after:
            hashes.append(f"{run.name} {name} removed")
        elif packed and chunk_of_zarr(name):
            level = name.split(".zarr/")[0] + ".zarr/" + name.split(".zarr/")[1].split("/")[0]
            line = f"{run.name} {level} {sha256(voxels(level))}"
            hashes += [line] if line not in hashes else []
        elif "/.partial/" in name:  # how far a run came that was stopped: what is in them is a matter of time
            hashes.append(f"{run.name} {name} unfinished")
        else:
            data, content = artefact(name, packed)
            if run.ranks and name.endswith("log.jsonl"):  # who computed which row is a matter of time
                content = re.sub('{"event": "row".*\n', "", content)
                data = content.encode()
            hashes.append(f"{run.name} {name} {sha256(data)}")
            if content:
                text += kept(name, readable(content) if name.endswith(".json") else content)
    return sorted(hashes), text


def read_record():
    """{run: ([lines of hashes], text)}"""
    record = {}
    if not os.path.exists(os.path.join(HERE, "hashes.txt")):
        return record
    for name in sorted(os.listdir(os.path.join(HERE, "texts"))):
        for part in re.split("^== ", open(os.path.join(HERE, "texts", name)).read(), flags=re.M)[1:]:
            run, text = part.split("\n", 1)
            record[run] = ([], text)
    for line in open(os.path.join(HERE, "hashes.txt")):
        record.setdefault(line.split()[0], ([], ""))[0].append(line.rstrip("\n"))
    return record


def write_record(runs, record):
    shutil.rmtree(os.path.join(HERE, "texts"), ignore_errors=True)
    os.mkdir(os.path.join(HERE, "texts"))
    for run in runs:
        if run.name in record:
            with open(os.path.join(HERE, "texts", run.name.split("/")[0] + ".txt"), "a") as file:
                file.write(f"== {run.name}\n{record[run.name][1]}")
    with open(os.path.join(HERE, "hashes.txt"), "w") as file:
        names = {run.name for run in runs}
        file.writelines(sorted(line + "\n" for name in names & record.keys() for line in record[name][0]))


def compare(run, expected, found):
    """Says what differs, and returns whether something does."""
    if expected is None:
        print(f"FAILED {run.name}: not recorded yet (test_runs.py --record)")
        return True
    if expected == found:
        return False
    print(f"FAILED {run.name}: {found[1].splitlines()[0]}")
    old, new = ({line.split()[1]: line.split()[2] for line in lines} for lines in (expected[0], found[0]))
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            print(f"  {name}: recorded {old.get(name, 'no such file')}, now {new.get(name, 'no such file')}")
    for line in difflib.unified_diff(expected[1].splitlines(), found[1].splitlines(), "recorded", "now", n=1, lineterm=""):
        print("  " + line)
    return True


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--threads")
    parser.add_argument("--keep", metavar="FOLDER")
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_args()
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout
    for part in ("TIFF", "PNG", "NIfTI", "Blosc", "Zstandard"):
        if not re.search(f"{part}.*: yes", version):
            print(f"skipped: this build of credence is without {part}")
            return 77
    runs, record = read_table(), read_record()
    top = tempfile.mkdtemp()
    folder = os.path.join(os.path.abspath(options.keep or top), "runs")
    os.makedirs(folder)
    os.chdir(folder)
    make_inputs()
    failures, begin = 0, time.monotonic()
    for run in runs:
        if (why := run.why_not(version)):
            print(f"skipped {run.name}: {why}")
            continue
        found = perform(run, options.threads)
        if options.record:
            record[run.name] = found
        elif not options.words or any(word in run.name for word in options.words):
            failures += compare(run, record.get(run.name), found)
    if options.record:
        write_record(runs, record)
    else:
        for name in sorted(record.keys() - {run.name for run in runs}):
            failures += 1
            print(f"FAILED {name}: recorded, but no longer in runs.txt")
    os.chdir("/")
    shutil.rmtree(top)
    print(f"{len(runs)} runs, {failures} differ, {time.monotonic() - begin:.0f} s")
    return failures > 0


sys.exit(main())
