"""How fast the viewer is: tiles by six connections at once, over formats, axes and levels, cold and warm; the start; memory.

    bench/view.py [--program build/credence] [--edge 1000] [--tiles 10000] [--formats npy,tif,deflate,h5,zarr] [--folder DIR] [--json]
    bench/view.py --tiles 2000 --formats npy,deflate --strokes 200 --training     under five minutes on a free machine of two cores

Makes a scan of EDGE^3 u16 voxels (2 GB at 1000) in each format below DIR, which is kept where it is named, and asks a server for
random tiles of random levels; --strokes N also paints, one after the other, until each is confirmed (it is on the disk
then); --training asks for tiles once more while a training runs beside. A format is warm when the page cache has the file; "cold" drops it from there first (posix_fadvise).
Needs numpy and tifffile."""
import argparse
import http.client
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

CONNECTIONS = 6


def make_scan(folder, edge):
    path = os.path.join(folder, f"scan_{edge}.npy")
    if not os.path.exists(path):
        noise = np.random.default_rng(1)
        out = np.lib.format.open_memmap(path + ".part", "w+", np.uint16, (edge, edge, edge))
        base = noise.integers(0, 4000, (64, edge, edge), np.uint16)
        y, x = np.meshgrid(np.arange(edge), np.arange(edge), indexing="ij")
        for z in range(edge):  # blobs with noise: packs as a scan does, to about two thirds
            out[z] = base[z % 64] + (8000 * (1 + np.sin((x + 2 * z) / 23) * np.sin(y / 17 + z / 29))).astype(np.uint16)
        out.flush()
        del out
        os.rename(path + ".part", path)
    return path


def convert(program, scan, name, folder):
    edge = re.search(r"_(\d+)", scan)[1]
    target = {"tif": "tif", "deflate": "deflate.tif", "h5": "h5", "zarr": "zarr", "npy": "npy"}[name]
    if name == "npy":
        return scan
    path = os.path.join(folder, f"scan_{edge}.{target}")
    if name == "deflate":
        if not os.path.exists(path):
            import tifffile
            volume = np.load(scan, mmap_mode="r")
            tifffile.imwrite(path, iter(volume), shape=volume.shape, dtype=volume.dtype, compression="zlib", compressionargs={"level": 1}, bigtiff=True)
        return path
    if not os.path.exists(path):
        subprocess.run([program, "convert", scan, path, "--quiet"], check=True)
    return path


def drop(path):
    for at, _, names in (os.walk(path) if os.path.isdir(path) else [(os.path.dirname(path), [], [os.path.basename(path)])]):
        for name in names:
            fd = os.open(os.path.join(at, name), os.O_RDONLY)
            os.fsync(fd)  # pages that aren't on the disk yet stay
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


class Server:
    def __init__(self, program, path, cache, *words):
        began = time.monotonic()
        self.process = subprocess.Popen([program, "view", path, "--no-browser", "--cache", cache, *words], stdout=subprocess.PIPE, text=True)
        line = ""
        while "#key=" not in line:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("the server doesn't start")
        self.started = time.monotonic() - began
        self.began = began
        self.key = re.search("key=([0-9a-f]+)", line)[1]
        self.port = int(re.search(r":(\d+)/", line)[1])

    def get(self, path, connection=None):
        connection = connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("GET", "/api/1/" + path, headers={"X-Credence-Key": self.key})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def state(self):
        return json.loads(self.get("state")[1])

    def memory(self):
        with open(f"/proc/{self.process.pid}/status") as file:
            words = dict(line.split(":", 1) for line in file)
        return {name: int(words[key].split()[0]) // 1024 for name, key in (("most", "VmHWM"), ("anonymous", "RssAnon"))}

    def cpu(self):
        """Processor seconds until now: what a busy machine doesn't change."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            words = file.read().rsplit(")", 1)[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def plane(self, axis, level):
        """Seconds for all tiles of the middle plane, four at a time, as the page asks."""
        shape = [-(-n // 2 ** level) for n in self.shape]
        rows, columns = [(1, 2), (0, 2), (1, 0)]["zyx".index(axis)]
        jobs = [f"tile/0/1/{axis}/{level}/{shape['zyx'.index(axis)] // 2}/{r}/{c}" for r in range(-(-shape[rows] // 256)) for c in range(-(-shape[columns] // 256))]
        began = time.monotonic()
        answers = self.ask(jobs, 4)
        return time.monotonic() - began, all(status == 200 for status, _ in answers)

    def ask(self, jobs, at_once):
        jobs, answers, lock = list(jobs), [], threading.Lock()

        def work():
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
            while True:
                with lock:
                    if not jobs:
                        return
                    job = jobs.pop(0)
                began = time.perf_counter()
                status, _ = self.get(job, connection)
                answers.append((status, time.perf_counter() - began))
        threads = [threading.Thread(target=work) for _ in range(at_once)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        return answers

    def send(self, path, body):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        connection.request("POST", "/api/1/" + path, json.dumps(body), {"X-Credence-Key": self.key, "Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")

    def paint(self, count):
        """Milliseconds until each stroke is confirmed."""
        draw, times = random.Random(5), []
        for number in range(count):
            at = [8 * draw.randrange(20, n - 20) for n in self.shape[1:]]
            stroke = {"do": "stroke", "axis": 0, "slice": draw.randrange(self.shape[0]), "value": number % 2, "radius": 80,
                      "points": [v for i in range(20) for v in (at[0] + 8 * i, at[1] + 4 * i)]}
            began = time.perf_counter()
            status, _ = self.send("labels", stroke)
            times.append((status, time.perf_counter() - began))
        return figures(times)

    def train(self):
        """A training that takes a core or more until it is cancelled."""
        status, job = self.send("jobs", {"do": "train", "options": {"max-steps": 1000000, "no-intervals": True, "valid-fraction": 0}})
        if status != 201:
            raise SystemExit(f"the training doesn't start: {job}")
        while self.state()["job"]["progress"] is None:
            time.sleep(0.1)
        return job["number"]

    def cancel(self, number):
        self.send(f"jobs/{number}/cancel", {})
        while self.state()["job"]["state"] == "running":
            time.sleep(0.1)

    def stop(self):
        self.process.terminate()
        self.process.wait()


def random_tiles(shape, count, levels, seed, revision):
    draw = random.Random(seed)
    for _ in range(count):
        level, axis = draw.randrange(levels), draw.randrange(3)
        size = [-(-n // 2 ** level) for n in shape]
        rows, columns = [(1, 2), (0, 2), (1, 0)][axis]
        yield (f"tile/0/{revision}/{'zyx'[axis]}/{level}/{draw.randrange(size[axis])}/"
               f"{draw.randrange(-(-size[rows] // 256))}/{draw.randrange(-(-size[columns] // 256))}")


def figures(answers):
    times = sorted(1000 * seconds for status, seconds in answers if status == 200)
    return {"tiles": len(times), "not_yet": len(answers) - len(times), "p50": round(statistics.median(times), 2),
            "p95": round(times[int(0.95 * len(times))], 2), "max": round(times[-1], 1)} if times else {"tiles": 0, "not_yet": len(answers)}


def measure(program, name, path, cache, wishes):
    result = {"format": name, "bytes": os.path.getsize(path) if os.path.isfile(path) else 0}
    tiles, project = wishes.tiles, cache + ".view"
    shutil.rmtree(project, ignore_errors=True)
    server = Server(program, path, cache, "--project", project)
    result["started_s"] = round(server.started, 2)
    state = server.state()
    server.shape, levels = state["scan"]["shape"], state["layers"][0]["levels"]
    result["first_z_plane_s"] = round(server.started + server.plane("z", levels - 1)[0], 2)
    while True:  # all three, sharp
        ready = [server.plane(axis, 0) for axis in "zyx"]
        if all(good for _, good in ready):
            break
        time.sleep(0.2)
    result["three_sharp_s"] = round(time.monotonic() - server.began, 2)
    while server.state()["layers"][0]["there"] < 1:
        time.sleep(0.1)
    result["levels_s"] = round(time.monotonic() - server.began, 2)
    result["levels_cpu_s"] = round(server.cpu(), 1)
    time.sleep(0.5)
    revision = server.state()["layers"][0]["revision"]
    drop(path)
    drop(cache)
    result["cold"] = figures(server.ask(random_tiles(server.shape, tiles // 10, levels, 2, revision), CONNECTIONS))
    server.ask(random_tiles(server.shape, tiles, levels, 3, revision), CONNECTIONS)
    before = server.cpu()
    result["warm"] = figures(server.ask(random_tiles(server.shape, tiles, levels, 4, revision), CONNECTIONS))
    result["warm"]["cpu_ms"] = round(1000 * (server.cpu() - before) / tiles, 2)
    if wishes.strokes or wishes.training:
        result["strokes"] = server.paint(max(wishes.strokes, 20))
    if wishes.training:
        number = server.train()
        result["training"] = figures(server.ask(random_tiles(server.shape, tiles, levels, 5, revision), CONNECTIONS))
        server.cancel(number)
    result["memory_mib"] = server.memory()
    server.stop()
    shutil.rmtree(project, ignore_errors=True)
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="build/credence")
    parser.add_argument("--edge", type=int, default=1000)
    parser.add_argument("--tiles", type=int, default=10000)
    parser.add_argument("--formats", default="npy,tif,deflate,h5,zarr")
    parser.add_argument("--folder")
    parser.add_argument("--strokes", type=int, default=0)
    parser.add_argument("--training", action="store_true")
    parser.add_argument("--json", action="store_true")
    wishes = parser.parse_args()
    folder = wishes.folder or tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    scan = make_scan(folder, wishes.edge)
    for name in wishes.formats.split(","):
        cache = os.path.join(folder, "cache")
        shutil.rmtree(cache, ignore_errors=True)
        result = measure(os.path.abspath(wishes.program), name, convert(wishes.program, scan, name, folder), cache, wishes)
        shutil.rmtree(cache, ignore_errors=True)
        if wishes.json:
            print(json.dumps(result), flush=True)
        else:
            print(f"{name:8} start {result['started_s']} s, z plane {result['first_z_plane_s']} s, three sharp {result['three_sharp_s']} s, levels {result['levels_s']} s ({result['levels_cpu_s']} s of a core); "
                  f"cold {result['cold']}; warm {result['warm']}; {''.join(f'{key} {result[key]}; ' for key in ('strokes', 'training') if key in result)}MiB {result['memory_mib']}", flush=True)
    if not wishes.folder:
        shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
