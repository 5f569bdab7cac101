"""`credence view` over HTTP: what every path answers, who is refused, what happens at the ends."""
import http.client
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time

from ports import own_port
from viewing import PROGRAM, Server, check, finish, np


def run(*words):
    return subprocess.run([PROGRAM, "view", *words], capture_output=True, text=True, timeout=60)


SHAPE = (70, 130, 300)
noise = np.random.default_rng(3)
scan = (noise.integers(0, 3000, SHAPE) + np.arange(SHAPE[2]) * 20).astype(np.uint16)
label = (scan > 4000).astype(np.uint8)
np.save("scan.npy", scan)
np.save("label.npy", label)
os.mkdir("run")
prob = noise.integers(0, 256, SHAPE).astype(np.uint8)
np.save("run/scan_prob.npy", prob)
np.save("run/scan_seg.npy", (prob > 127).astype(np.uint8))
unc = prob // 4
unc[32:48, 32:48, 32:48] = 250
np.save("run/scan_unc.npy", unc)


def half(volume):
    """The mean of 2 x 2 x 2, fewer at odd ends, rounded half up."""
    padded = np.pad(volume.astype(np.float64), [(0, n % 2) for n in volume.shape], constant_values=np.nan)
    parts = padded.reshape(padded.shape[0] // 2, 2, padded.shape[1] // 2, 2, padded.shape[2] // 2, 2)
    return np.floor(np.nanmean(parts, axis=(1, 3, 5)) + 0.5).astype(volume.dtype)


def as_bytes(values, low, high):
    return np.clip(np.floor((values.astype(np.float64) - low) * (255.0 / (high - low)) + 0.5), 0, 255).astype(np.uint8)


def test_looking(server):
    state = server.json("state")
    check(state["scan"]["shape"] == list(SHAPE) and state["scan"]["type"] == "u16", "state: scan")
    names = [layer["id"] for layer in state["layers"]]
    check(names == ["scan", "probability", "segmentation", "uncertainty", "label", "labels"], f"state: layers {names}")
    check(all(layer["levels"] == 2 for layer in state["layers"]), "state: levels")
    check(len(state["map"]) == 6 * 256, "state: colours")
    query, low, high = "?lo=1000&hi=6000", 1000, 6000
    for axis, plane in (("z", scan[20]), ("y", scan[:, 20]), ("x", scan[:, :, 20].T)):
        seen = server.tile(0, axis, 0, 20, 0, 0, query)
        check(np.array_equal(seen, as_bytes(plane[:256, :256], low, high)), f"tile across {axis}")
    check(np.array_equal(server.tile(0, "z", 0, 69, 0, 1, query), as_bytes(scan[69][:, 256:], low, high)), "tile at the end")
    coarse = half(scan)
    check(np.array_equal(server.tile(0, "y", 1, 7, 0, 0, query), as_bytes(coarse[:, 7], low, high)), "tile of level 1")
    seen = server.tile(1, "z", 0, 5, 0, 0)
    check(np.array_equal(seen, prob[5][:, :256]), "a map's bytes are 0 to 1")
    seen = server.tile(2, "z", 0, 5, 0, 0, headers={"Accept-Encoding": "deflate"})
    check(np.array_equal(seen, (prob[5] > 127)[:, :257]), "classes have one column more")
    answer = server.ask("/api/1/tile/4/1/z/0/5/0/0", headers={"Accept-Encoding": "deflate"})
    check(answer.headers["Content-Encoding"] == "deflate" and len(answer.data) < 20000, "classes are packed")
    values = server.json("voxel?at=5,6,7")["values"]
    check(values[0]["value"] == int(scan[5, 6, 7]) and abs(values[1]["value"] - prob[5, 6, 7] / 255) < 1e-9, "voxel")
    check(values[4]["class"] == int(label[5, 6, 7]), "class of a voxel")
    histogram = server.json("histogram/0")
    check(histogram["exact"] and sum(histogram["bins"]) == scan.size == histogram["count"], "histogram")
    check(histogram["percentiles"][0] == scan.min() and histogram["percentiles"][4] == scan.max(), "percentiles")
    answer = server.ask("/api/1/box/0?box=3:9,10:20,250:300")
    with open("box.npy", "wb") as file:
        file.write(answer.data)
    check(np.array_equal(np.load("box.npy"), scan[3:9, 10:20, 250:300]), "box")
    answer = server.ask("/api/1/box/0?box=0:35,0:65,0:150&level=1")
    with open("box.npy", "wb") as file:
        file.write(answer.data)
    check(np.array_equal(np.load("box.npy"), coarse), "box of level 1")


def test_regions(server):
    """Where to look first: the bright place in the map comes first, ticks are kept."""
    for _ in range(100):
        if (answer := server.json("regions"))["ready"]:
            break
        time.sleep(0.05)
    regions = answer["regions"]
    check(0 < len(regions) <= 50 and answer["order"] == "excess", f"regions: {len(regions)}")
    for order in ("excess", "mean"):
        first = server.json(f"regions?order={order}&count=3")["regions"]
        check(len(first) == 3 and all(a <= 40 < b for a, b in zip(first[0]["low"], first[0]["high"])), f"by {order}: {first[0]}")
        peaks = [region["peak"] for region in server.json(f"regions?order={order}")["regions"]]
        check(peaks == sorted(peaks, reverse=True) and peaks[0] > 0.5, f"by {order}: the highest first: {peaks}")
        check(first[0]["mean"] > 0.8 and not first[0]["looked"], f"figures by {order}: {first[0]}")
    if "PNG pictures and slices: yes" in subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout:
        subprocess.run([PROGRAM, "report", "run", "--scan", "scan.npy", "-o", "page.html", "--small", "--quiet"], check=True)
        with open("page.html", encoding="utf-8") as file:
            places = re.findall(r"#at=(\d+),(\d+),(\d+)&amp;zoom=4", file.read())
        check([tuple(map(str, r["centre"])) for r in regions[:12]] == places, f"a report begins with other regions: {places}")
        os.remove("page.html")
        shutil.rmtree("page_pictures")
    for path in ("regions?order=size", "regions?count=0", "regions?count=51"):
        check(server.ask("/api/1/" + path).status == 400, path)
    answer = server.ask("/api/1/thumbnail/0")
    png = "PNG pictures and slices: yes" in subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout
    if png:
        width, height = struct.unpack(">II", answer.data[16:24])
        check(answer.data[:4] == b"\x89PNG" and max(width, height) == 160, f"a thumbnail: {width} x {height}")
    for number in ("999", "50", "2000", "x", "-1"):
        check(server.ask(f"/api/1/thumbnail/{number}").status == 404, f"thumbnail {number}")
    json_type = {"Content-Type": "application/json"}
    check(not os.path.exists("scan.view"), "nothing was written until now")
    check(server.ask("/api/1/regions/0", "PUT", json_type, b'{"looked":true}').status == 200, "a tick")
    check(server.json("regions")["regions"][0]["looked"] and os.path.exists("scan.view/view.json"), "it is kept")
    for body, status in ((b"", 400), (b"{", 400), (b'{"looked":1}', 400), (b"[]", 400)):
        check(server.ask("/api/1/regions/0", "PUT", json_type, body).status == status, f"a tick by {body}")
    check(server.ask("/api/1/regions/77", "PUT", json_type, b'{"looked":true}').status == 404, "a region that isn't there")
    other = Server("scan.npy", "--run", "run", wait=False)
    while not (answer := other.json("regions"))["ready"]:
        time.sleep(0.05)
    check(answer["regions"][0]["looked"], "another server sees it")
    answer = other.ask("/api/1/regions/1", "PUT", json_type, b'{"looked":true}')
    check(answer.status == 409, f"two servers on one project: {answer.status} {answer.data}")
    check(not other.json("regions")["regions"][1]["looked"], "what was refused isn't so")
    check(other.stop() == 0, "the other one stops")
    check(server.ask("/api/1/regions/0", "PUT", json_type, b'{"looked":false}').status == 200, "a tick is taken back")
    check(not server.json("regions")["regions"][0]["looked"], "and is gone")


def test_projects():
    with open("bad.json", "w") as file:
        file.write("{}")
    os.makedirs("broken.view", exist_ok=True)
    shutil.move("bad.json", "broken.view/view.json")
    answer = run("scan.npy", "--project", "broken.view", "--no-browser")
    check(answer.returncode == 1 and "view.json" in answer.stderr, f"a project of somebody else: {answer.stderr}")
    server = Server("scan.npy", "--run", "run", "--project", "kept", "--read-only", wait=False)
    while not server.json("regions")["ready"]:
        time.sleep(0.05)
    check(server.ask("/api/1/regions/0", "PUT", {"Content-Type": "application/json"}, b'{"looked":true}').status == 200, "read-only: a tick")
    check(server.json("regions")["regions"][0]["looked"] and not os.path.exists("kept"), "read-only: in memory alone")
    check(server.stop() == 0, "read-only: stops")
    shutil.rmtree("broken.view")


def test_revisions(server):
    revision = server.json("state")["layers"][0]["revision"]
    answer = server.ask(f"/api/1/tile/0/{revision}/z/0/0/0/0")
    check("immutable" in answer.headers["Cache-Control"], "a tile may be kept")
    answer = server.ask(f"/api/1/tile/0/{revision + 1}/z/0/0/0/0")
    check(answer.status == 200 and answer.headers["Cache-Control"] == "no-store", "not under another revision")


def test_errors(server):
    for path, status in (("nothing", 404), ("tile/0/1/z/0/70/0/0", 404), ("tile/9/1/z/0/0/0/0", 404), ("tile/0/1/w/0/0/0/0", 404),
                         ("tile/0/1/z/7/0/0/0", 404), ("tile/0/1/z/0/0/0/0?lo=5&hi=5", 404), ("tile/0/1/z/0/0/0/0?lo=5", 404),
                         ("tile/0/1/z/0/0/0/-1", 404), ("tile/0/1/z/0/0/0", 404), ("voxel", 400), ("voxel?at=1,2", 400),
                         ("voxel?at=70,0,0", 400), ("histogram/1", 404), ("histogram/x", 404), ("box/0", 400),
                         ("box/0?box=0:71,0:1,0:1", 400), ("box/7?box=0:1,0:1,0:1", 404), ("box/0?box=0:1,0:1,0:1&level=5", 400)):
        answer = server.ask("/api/1/" + path)
        error = json.loads(answer.data)["error"]
        check(answer.status == status and error["code"] and error["message"].endswith("."), f"{path}: {answer.status} {error}")
    check(server.ask("/api/1/state", "POST").status == 405, "POST to the state")
    check(server.ask("/api/1/state", "DELETE").status == 405, "DELETE of the state")
    head = f"POST /api/1/state HTTP/1.1\r\nHost: localhost\r\nX-Credence-Key: {server.key}\r\nConnection: close\r\n"
    for length in ("Content-Length: 1048577\r\n\r\n", "Content-Length: 2147483648\r\n\r\n",
                   "Transfer-Encoding: chunked\r\n\r\n" + "10000\r\n%s\r\n" % ("x" * 65536) * 20 + "0\r\n\r\n"):
        got = server.raw((head + length).encode())
        check(got.startswith(b"HTTP/1.1 413"), f"a large body: {length[:40]} got {got[:60]}")
    check(server.ask("/api/1/state", "POST", body=b"a=1", headers={"Content-Type": "text/plain"}).status == 415, "a body that isn't JSON")
    for path in ("/web/nothing.js", "/etc/passwd", "/web/index.html/x", "/web/paint", "/web/raster.js", "/web/paint/paint", "/web/report/look.js",
                 "/web/paint/raster.js/x"):
        check(server.ask(path, key=False).status == 404, path)


def test_page(server):
    answer = server.ask("/", key=False)
    policy = answer.headers["Content-Security-Policy"]
    check(answer.status == 200 and b"<title>" in answer.data, "the page")
    check("default-src 'none'" in policy and "unsafe" not in policy, "its policy")
    check(answer.headers["X-Content-Type-Options"] == "nosniff" and answer.headers["Referrer-Policy"] == "no-referrer", "its headers")
    check(answer.headers["Access-Control-Allow-Origin"] is None, "no CORS")
    total, waiting, seen = 0, ["/"], set()
    while waiting:  # the page and all that it names
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        answer = server.ask(path, key=False)
        check(answer.status == 200, f"{path} is there")
        total += len(answer.data)
        text = answer.data.decode()
        waiting += [name for _, name in re.findall(r'''(["'])(/web/[^"']+)\1''', text)]
        waiting += [os.path.normpath(os.path.join(os.path.dirname(path), name)) for name in re.findall(r"from '(\.[^']+)'", text)]
        check("http://" not in text.replace("http://www.w3.org/", "") and "https://" not in text, f"{path} names nothing elsewhere")
    check(total < 300 * 1024, f"the page has {total} bytes")
    web = pathlib.Path(os.environ["CREDENCE_SOURCE"], "web")
    files = {"/web/" + str(file.relative_to(web)) for file in web.rglob("*.*") if file.relative_to(web).parts[0] != "report"}
    check(seen == files - {"/web/index.html"} | {"/"}, f"the page and web/ differ by {seen ^ files}")
    again = server.ask("/web/app.js", key=False, headers={"If-None-Match": server.ask("/web/app.js", key=False).headers["ETag"]})
    check(again.status == 304 and again.data == b"", "ETag")


def test_strangers(server):
    check(server.ask("/api/1/state", key=False).status == 401, "no key")
    check(server.ask("/api/1/state", headers={"X-Credence-Key": "0" * 32}).status == 401, "wrong key")
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", ""):
        check(server.ask("/", headers={"Host": host}).status == 403, f"host '{host}'")
    for name, value in (("Origin", "http://evil.example"), ("Origin", "null"), ("Sec-Fetch-Site", "cross-site")):
        check(server.ask("/api/1/state", headers={name: value}).status == 403, f"{name}: {value}")
    own = f"http://127.0.0.1:{server.port}"
    check(server.ask("/api/1/state", headers={"Origin": own, "Sec-Fetch-Site": "same-origin"}).status == 200, "the page itself")
    for path in ("/../etc/passwd", "/web/../../etc/passwd", "/web/%2e%2e/x", "//etc/passwd", "/web//app.js", "/./", "/web/..;/x"):
        got = server.raw(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        check(re.match(rb"HTTP/1.1 (400|404)", got), f"{path}: {got[:40]}")
    for text in (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\nConnection: close\r\n\r\n", b"GARBAGE\r\n\r\n", b"\0\0\0\0\r\n\r\n",
                 b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                 b"POST /api/1/state HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2147483648\r\nConnection: close\r\n\r\n",
                 b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 60000 + b"\r\n\r\n", b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"):
        got = server.raw(text, 3)
        check(not got.startswith(b"HTTP/1.1 2"), f"{text[:40]} got {got[:40]}")
    check(server.json("state")["version"], "and it lives on")


def test_slow_lines(server):
    """A thousand half requests take no thread: of connections 64 are held, and the server answers as soon as they are gone."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, max(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])))
    lines, threads = [], len(os.listdir(f"/proc/{server.process.pid}/task"))
    for _ in range(1000):
        line = socket.socket()
        line.setblocking(False)
        line.connect_ex(("127.0.0.1", server.port))
        lines.append(line)
    time.sleep(0.5)
    for line in lines:
        try:
            line.send(b"GET / HTTP/1.1\r\nHost: local")
        except OSError:
            pass
    time.sleep(0.5)
    held = sum(os.readlink(f"/proc/{server.process.pid}/fd/{fd}").startswith("socket:") for fd in os.listdir(f"/proc/{server.process.pid}/fd"))
    check(held <= 64 + 8, f"{held} sockets are held")
    check(len(os.listdir(f"/proc/{server.process.pid}/task")) == threads, "half requests take threads")
    if os.environ.get("CREDENCE_LONG"):  # whoever says nothing for half a minute is hung up on
        time.sleep(35)
        check(server.json("state")["version"], "half requests hold others out for ever")
    for line in lines:
        line.close()
    began = time.monotonic()
    check(server.json("state")["version"] and time.monotonic() - began < 15, f"after a thousand half requests an answer takes {time.monotonic() - began:.0f} s")


def test_many_at_once(server):
    wrong = []

    def ask(first):
        for i in range(first, first + 25):
            if not np.array_equal(server.tile(0, "zyx"[i % 3], 0, i % 70, 0, 0, "?lo=0&hi=9000"),
                                  as_bytes((scan[i % 70], scan[:, i % 70], scan[:, :, i % 70].T)[i % 3][:256, :256], 0, 9000)):
                wrong.append(i)
    threads = [threading.Thread(target=ask, args=(25 * n,)) for n in range(6)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    check(not wrong, f"150 tiles by six at once: wrong are {wrong}")


def test_events():
    """Told as they come; one that was cut off goes on where it was."""
    shutil.rmtree("cache", ignore_errors=True)
    server = Server("scan.npy", wait=False)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", "/api/1/events", headers={"X-Credence-Key": server.key, "Last-Event-ID": "0"})
    answer = connection.getresponse()
    check(answer.status == 200 and answer.headers["Content-Type"].startswith("text/event-stream"), "a stream")
    text = ""
    while "event: layer" not in text or not text.endswith("\n\n"):
        text += answer.read1(4096).decode()
    check('"there":1' in text and "event: cache" in text, f"events: {text}")
    check(server.stop() == 0, "stops with a stream open")
    connection.close()


def test_scan_changes():
    """A file that is written to, cut short or taken away meanwhile: it is said, tiles are refused with a sentence, and the server lives."""
    for change in ("touched", "cut", "gone"):
        shutil.copy("scan.npy", "changing.npy")
        server = Server("changing.npy", "--cache", "none", wait=False)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("GET", "/api/1/events", headers={"X-Credence-Key": server.key, "Last-Event-ID": "0"})
        answer = connection.getresponse()
        if change == "gone":
            os.remove("changing.npy")
        elif change == "cut":
            os.truncate("changing.npy", os.path.getsize("changing.npy") // 3)
        else:
            os.utime("changing.npy", (1e9, 1e9))
        text = ""
        while "event: message" not in text or not text.endswith("\n\n"):
            text += answer.read1(4096).decode()
        check(("isn't there any more" if change == "gone" else "has changed since") in text, f"{change}: {text}")
        shape = server.json("state")["scan"]["shape"]
        last = server.ask(f"/api/1/tile/0/{server.json('state')['layers'][0]['revision']}/z/0/{shape[0] - 1}/0/0")
        check(last.status == (200 if change == "touched" else 422), f"{change}: a tile of the last slice: {last.status} {last.data[:200]}")
        check(change == "touched" or b"changing.npy" in last.data, f"a sentence: {last.data[:200]}")
        connection.close()
        check(server.stop() == 0, f"{change}: it ends in good order")
    os.path.exists("changing.npy") and os.remove("changing.npy")


def test_huge():
    """Ten billion voxels, in a file that has none on the disk: seen, painted, boxes proposed, in less than half a GiB."""
    np.lib.format.open_memmap("huge.npy", "w+", np.uint8, (2160, 2160, 2160)).flush()
    if os.stat("huge.npy").st_blocks * 512 > 1 << 30:
        os.remove("huge.npy")
        print("skipped the test of ten billion voxels: this file system keeps empty parts of files")
        return
    server = Server("huge.npy", "--cache", "none", "--project", "huge", wait=False)
    revision = server.json("state")["layers"][0]["revision"]
    for path in ("z/0/1080/4/4", "z/4/67/0/0", "y/0/1080/4/4", "x/0/1080/4/4"):
        check(server.ask(f"/api/1/tile/0/{revision}/{path}").status == 200, f"a tile {path}")
    status, answer = server.send("POST", "labels", {"do": "stroke", "axis": 0, "slice": 1000, "points": [8000, 8000, 9000, 9000], "radius": 80, "value": 1})
    check(status == 200 and answer["voxels"] > 0, f"a stroke: {status} {answer}")
    check(server.send("POST", "boxes", {"held_out": True})[0] == 201, "a held-out box")
    check(len(server.json("proposals")["proposals"]) == 8, "proposals")
    with open(f"/proc/{server.process.pid}/status") as file:
        peak = int(next(line.split()[1] for line in file if line.startswith("VmHWM")))
    check(peak < 512 << 10, f"memory: {peak >> 10} MiB")
    check(server.stop() == 0, f"stops: {server.errors}")
    os.remove("huge.npy")


def test_start_and_stop():
    first, second = Server("scan.npy"), Server("scan.npy")
    check(second.port != first.port, "the next free port")
    check([first.stop(), second.stop(signal.SIGTERM)] == [0, 0], "both stop")
    first = Server("scan.npy", port=own_port())
    answer = run("scan.npy", "--port", str(first.port), "--no-browser")
    check(answer.returncode == 1 and "is taken" in answer.stderr, f"a port that is taken: {answer.stderr}")
    key, port = first.key, first.port
    check(first.stop() == 0, "it stops")
    again = Server("scan.npy", port=port)
    check(again.key == key, "the same key after a restart, for tabs that are open")
    mode = [os.stat(os.path.join("runtime/credence", name)).st_mode & 0o777 for name in os.listdir("runtime/credence")]
    check(mode and all(m == 0o600 for m in mode), "keys are private")
    again.stop()


def test_socket():
    server = subprocess.Popen([PROGRAM, "view", "scan.npy", "--socket", "view.socket", "--no-browser"], stdout=subprocess.PIPE, text=True)
    said = ""
    while "Ctrl-C" not in said:
        said += server.stdout.readline()
    check(os.stat("view.socket").st_mode & 0o777 == 0o600, "the socket is private")
    check("ssh -L" in said and "view.socket" in said, "the line for a tunnel")
    with socket.socket(socket.AF_UNIX) as line:
        line.connect("view.socket")
        line.sendall(b"GET / HTTP/1.1\r\nHost: localhost:8471\r\nConnection: close\r\n\r\n")
        check(line.recv(20).startswith(b"HTTP/1.1 200"), "a page over a socket")
    server.send_signal(signal.SIGINT)
    check(server.wait(10) == 0 and not os.path.exists("view.socket"), "the socket is gone")
    server.stdout.close()


def test_browser():
    """Where there is a display the page opens by itself, by a private file: no command line has the key."""
    os.makedirs("bin", exist_ok=True)
    with open("bin/xdg-open", "w") as file:
        file.write('#!/bin/sh\nprintf "%s\\n" "$@" >opened.args\nstat -c "%a %U" "$1" >>opened.args\ncat "$1" >opened.part\nmv opened.part opened.html\n')
    os.chmod("bin/xdg-open", 0o755)
    before = dict(os.environ)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        os.environ.update({"PATH": os.path.abspath("bin") + ":" + before["PATH"], name: ":7"})
        server = Server.__new__(Server)
        server.start([PROGRAM, "view", "scan.npy", "--cache", "none"])
        while "Ctrl-C" not in server.said:
            server.said += server.process.stdout.readline()
        check("opens in your browser" in server.said, f"it is said: {server.said}")
        for _ in range(200):
            if os.path.exists("opened.html"):
                break
            time.sleep(0.05)
        with open("opened.args") as file:
            path, about = file.read().splitlines()
        with open("opened.html") as file:
            page = file.read()
        check(path.startswith(os.path.abspath("runtime/credence") + "/") and server.key not in path and about.startswith("600 "), f"the browser gets {path}, {about}")
        check(f"url=http://127.0.0.1:{server.port}/#key={server.key}" in page, f"which leads on: {page}")
        check(server.stop() == 0, "stops")
        os.remove("opened.html")
        os.environ.clear()
        os.environ.update(before)
    server = Server.__new__(Server)
    server.start([PROGRAM, "view", "scan.npy", "--cache", "none"])
    while "Ctrl-C" not in server.said:
        server.said += server.process.stdout.readline()
    check("Open the address in a browser" in server.said, f"without a display it only says where: {server.said}")
    server.stop()


def test_wrong_use():
    for words, code, sentence in (((), 2, "say what to look at"), (("nothing.npy",), 1, "nothing.npy"), (("scan.npy", "label.npy"), 2, ""),
                                  (("scan.npy", "--port", "0"), 2, "port"), (("scan.npy", "--listen", "0.0.0.0"), 2, "--host"),
                                  (("scan.npy", "--listen", "here"), 2, "listen"), (("scan.npy", "--max-memory", "much"), 2, "max-memory"),
                                  (("scan.npy", "--run", "nothing"), 1, "nothing"), (("scan.npy", "--socket", "x" * 200), 2, "socket"),
                                  (("scan.npy", "--socket", "a", "--listen", "127.0.0.1"), 2, "two different places")):
        answer = run(*words)
        check(answer.returncode == code and sentence in answer.stderr, f"{words}: {answer.returncode} {answer.stderr}")
    np.save("small.npy", np.zeros((3, 4, 5), np.uint8))
    answer = run("small.npy", "--label", "label.npy")
    check(answer.returncode == 1 and "doesn't lie inside" in answer.stderr, f"a label of another shape: {answer.stderr}")


def test_odd_volumes():
    """One voxel, one slice, all alike, no numbers at all: each is shown."""
    for name, volume in (("one", np.ones((1, 1, 1), np.uint8)), ("slice", scan[:1]), ("alike", np.full((5, 6, 7), 3, np.uint16)),
                         ("nan", np.full((5, 6, 7), np.nan, np.float32)), ("real", noise.normal(0, 1e-5, (9, 40, 40)).astype(np.float32))):
        np.save(name + ".npy", volume)
        server = Server(name + ".npy")
        tile = server.tile(0, "z", 0, 0, 0, 0)
        check(tile is not None and tile.shape == volume.shape[1:][:2] or name == "slice", f"{name}: a tile")
        low, high = server.json("state")["layers"][0]["window"]
        check(low < high, f"{name}: the window {low}, {high}")
        check(server.ask("/api/1/histogram/0").status == 200, f"{name}: the histogram")
        server.json("voxel?at=0,0,0")
        check(server.stop() == 0, f"{name}: stops")


def test_part_of_a_part():
    """A run of a scan that is a part of another one, and says so: it lies on its scan."""
    for name in ("scan.npy", *(f"run/{name}" for name in os.listdir("run") if name.endswith(".npy"))):
        place = os.path.join("part", name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copy(name, place)
        with open(place + ".json", "w") as file:
            json.dump({"origin": [5, 6, 7]}, file)
    server = Server("part/scan.npy", "--run", "part/run", "--cache", "none", "--project", "part/project", wait=False)
    check(all(layer["origin"] == [0, 0, 0] for layer in server.json("state")["layers"]), "all lie on each other")
    server.stop()
    with open("part/run/manifest.json", "w") as file:  # of a box of a scan that is gone: its volumes are all there is
        json.dump({"format": "credence-run", "version": 1, "scan": {"path": "gone.npy", "name": "scan", "shape": [90, 150, 320]}, "model": {"kind": "bcnn"},
                   "plan": {"origin": [5, 6, 7], "shape": list(SHAPE), "samples": 3}, "settings": {"bbox": "5:75,6:136,7:307"}}, file)
    server = Server("part/run", "--cache", "none", "--project", "part/project", wait=False)
    check([layer["id"] for layer in server.json("state")["layers"][:3]] == ["probability", "segmentation", "uncertainty"], "a box without its scan")
    server.stop()


def test_cache():
    shutil.rmtree("cache", ignore_errors=True)
    inputs = sorted(os.listdir("."))
    server = Server("scan.npy")
    folders = os.listdir("cache/credence/view")
    check(len(folders) == 1, f"one folder of levels: {folders}")
    check(server.stop() == 0, "stops")
    state = os.path.join("cache/credence/view", folders[0], "state")
    before = os.stat(state).st_mtime_ns
    server = Server("scan.npy", wait=False)
    check(server.json("histogram/0")["exact"] and os.stat(state).st_mtime_ns == before, "the second look makes nothing anew")
    server.stop()
    time.sleep(0.01)
    np.save("scan.npy", scan)  # changed: other levels
    Server("scan.npy").stop()
    check(len(os.listdir("cache/credence/view")) == 2, "a changed scan has a folder of its own")
    np.save("scan.npy", scan)
    Server("scan.npy", "--cache-size", "4M").stop()
    kept = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk("cache/credence/view") for name in names)
    check(kept <= 4 << 20, f"no more than was allowed: {kept}")
    shutil.rmtree("cache")
    server = Server("scan.npy", "--cache", "none")
    check(np.array_equal(server.tile(0, "z", 0, 3, 0, 0, "?lo=0&hi=9000"), as_bytes(scan[3][:, :256], 0, 9000)), "without a cache")
    check(server.tile(0, "x", 1, 3, 0, 0) is not None, "coarse without a cache")
    server.stop()
    check(not os.path.exists("cache/credence/view"), "nothing is written")
    check(sorted(os.listdir(".")) == [name for name in inputs if name != "cache"], "nothing beside the inputs")


def main():
    server = Server("scan.npy", "--run", "run", "--label", "label.npy")
    for test in (test_looking, test_regions, test_revisions, test_errors, test_page, test_strangers, test_slow_lines, test_many_at_once):
        test(server)
    check(server.stop() == 0, f"stops: {server.errors}")
    for test in (test_projects, test_events, test_scan_changes, test_huge, test_start_and_stop, test_browser, test_socket, test_wrong_use, test_odd_volumes, test_part_of_a_part, test_cache):
        test()
    finish()


if __name__ == "__main__":
    main()
