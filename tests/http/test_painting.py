"""Painting over HTTP: what every path answers, revisions and ids, what is refused, what survives a kill."""
import http.client
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ports import own_port  # noqa: E402
from viewing import PROGRAM, Server, check, finish, np  # noqa: E402

SHAPE = (70, 130, 300)
noise = np.random.default_rng(3)
scan = (noise.integers(0, 3000, SHAPE) + np.arange(SHAPE[2]) * 20).astype(np.uint16)
np.save("scan.npy", scan)
os.mkdir("run")
prob = noise.integers(0, 256, SHAPE).astype(np.uint8)
np.save("run/scan_prob.npy", prob)
np.save("run/scan_seg.npy", (prob > 127).astype(np.uint8))
np.save("run/scan_unc.npy", prob // 2)


def disc(labels, axis, slice_, points, radius, value, over=lambda old: True):
    """A stroke as docs/VIEW.md describes it, the slow way: discs about points in steps of a voxel at most."""
    down, right = (1, 0, 1)[axis], (2, 2, 0)[axis]
    centres = [points[0]]
    for (a, b), (c, d) in zip(points, points[1:]):
        steps = max(1, (max(abs(c - a), abs(d - b)) + 7) // 8)
        centres += [(a + (c - a) * i // steps, b + (d - b) * i // steps) for i in range(1, steps + 1)]
    rows, columns = np.arange(SHAPE[down])[:, None], np.arange(SHAPE[right])[None, :]
    mask = np.zeros((SHAPE[down], SHAPE[right]), bool)
    for r, c in centres:
        mask |= (8 * rows + 4 - r) ** 2 + (8 * columns + 4 - c) ** 2 <= radius ** 2
        mask |= (rows == r // 8) & (columns == c // 8)
    place = [slice(None)] * 3
    place[axis] = slice_
    plane = labels[tuple(place)]
    if axis == 2:
        plane = plane.T
    plane[mask & over(plane)] = value
    return int(mask.sum())


def labels_of(server):
    """All of it, as the server sees it."""
    state = server.json("state")
    answer = server.ask(f"/api/1/box/{state['labels']['layer']}?box=0:{SHAPE[0]},0:{SHAPE[1]},0:{SHAPE[2]}")
    with open("box.npy", "wb") as file:
        file.write(answer.data)
    return np.load("box.npy")


def stroke(value=1, slice_=20, axis=0, points=((300, 400), (500, 900)), radius=40, **more):
    return {"do": "stroke", "axis": axis, "slice": slice_, "points": [v for point in points for v in point], "radius": radius, "value": value, **more}


def test_rows(server):
    wanted = np.full(SHAPE, 255, np.uint8)
    labels = server.json("state")["labels"]
    check(labels["revision"] == 0 and labels["undo"] == 0 and labels["writable"] and not labels["made"], f"state: {labels}")
    check([c["name"] for c in labels["classes"]] == ["rest", "what you look for"] and labels["boxes"] == [], "state: classes")
    check(not os.path.exists("scan.view"), "nothing is written before the first stroke")
    status, answer = server.send("POST", "labels", {**stroke(), "revision": 0, "id": "a-1"})
    disc(wanted, 0, 20, [(300, 400), (500, 900)], 40, 1)
    check(status == 200 and answer["revision"] == 1 and answer["voxels"] == int((wanted == 1).sum()), f"stroke: {status} {answer}")
    touched = {(0, int(y) // 64, int(x) // 64) for y, x in zip(*np.nonzero(wanted[20] == 1))}
    check(sorted(map(tuple, answer["blocks"])) == sorted(touched), f"blocks: {answer['blocks']}")
    check(os.path.exists("scan.view/labels.journal"), "the project is there")
    again = server.send("POST", "labels", {**stroke(), "revision": 0, "id": "a-1"})
    check(again[0] == 200 and again[1]["revision"] == 1 and again[1]["voxels"] == answer["voxels"], f"the same id: {again}")
    check(np.array_equal(labels_of(server), wanted), "the labels are as painted")
    for axis in (1, 2):
        points = [(200, 300), (290, 310)]
        status, answer = server.send("POST", "labels", {**stroke(0, 60, axis, points, 25, over="unlabelled"), "revision": axis})
        disc(wanted, axis, 60, points, 25, 0, lambda old: old == 255)
        check(status == 200 and np.array_equal(labels_of(server), wanted), f"a stroke across axis {axis}: {status} {answer}")
    low, high = 2000, 4000
    status, answer = server.send("POST", "labels", {**stroke(2, 30, grey=[low, high]), "revision": 3})
    free = np.full(SHAPE, 255, np.uint8)
    disc(free, 0, 30, [(300, 400), (500, 900)], 40, 2)
    wanted[(free == 2) & (scan >= low) & (scan <= high)] = 2
    check(status == 200 and np.array_equal(labels_of(server), wanted), "only in the range of grey")
    shown = server.json("state")["layers"][server.json("state")["labels"]["layer"]]
    check(shown["id"] == "labels" and shown["kind"] == "classes" and shown["revision"] == answer["shown"], f"the layer: {shown['revision']} {answer}")
    check(np.array_equal(server.tile(shown["number"], "z", 0, 20, 0, 0), wanted[20][:, :257]), "a tile of labels")
    coarse, plane = server.tile(shown["number"], "z", 1, 15, 0, 0), wanted[31].reshape(65, 2, 150, 2)
    check(np.array_equal(coarse != 255, (plane != 255).any(axis=(1, 3))), "of what is painted something is seen from afar")
    states = [wanted.copy()]
    for number, expected in ((5, 4), (6, 3)):
        status, answer = server.send("POST", "labels/undo", {"revision": number - 1})
        check(status == 200 and answer["revision"] == number and answer["operation"] == expected, f"undo: {status} {answer}")
    status, answer = server.send("POST", "labels/redo", {"revision": 6, "id": "r-1"})
    check(status == 200 and answer["revision"] == 7 and answer["operation"] == 3 and answer["undo"] == 3 and answer["redo"] == 1, f"redo: {answer}")
    check(server.send("POST", "labels/redo", {"revision": 6, "id": "r-1"})[1]["revision"] == 7, "the same redo again")
    server.send("POST", "labels/redo", {"revision": 7})
    check(np.array_equal(labels_of(server), states[0]), "redone: all as before")
    check(server.send("POST", "labels/redo", {"revision": 8})[1].get("nothing") is True, "nothing to redo")
    history = server.json("labels/history")
    check([op["about"]["do"] for op in history["operations"]] == ["stroke"] * 4 and history["undo"] == 4, f"history: {history}")
    check(history["operations"][-1]["about"]["id"] == "a-1" and history["operations"][0]["about"]["value"] == 2, "history: newest first")
    status, answer = server.send("POST", "labels", {**stroke(), "revision": 3})
    check(status == 409 and answer["error"]["code"] == "old_revision", f"an old revision: {status} {answer}")
    check(np.array_equal(labels_of(server), states[0]), "which changed nothing")
    counts = server.json("state")["labels"]["counts"]
    check(counts[:3] == [int((wanted == k).sum()) for k in range(3)], f"counts: {counts}")


def test_more_shapes(server):
    """Fill, polygon, clear, accept: against the same in numpy."""
    wanted = labels_of(server)
    revision = server.json("state")["labels"]["revision"]

    def send(body):
        nonlocal revision
        status, answer = server.send("POST", "labels", {**body, "revision": revision})
        check(status == 200, f"{body['do']}: {status} {answer}")
        revision = answer.get("revision", revision)
        check(np.array_equal(labels_of(server), wanted), f"{body['do']}: other voxels")

    square = [(80, 80), (80, 480), (400, 480), (400, 80)]
    wanted[50, 10:50, 10:60] = 1
    send({"do": "polygon", "axis": 0, "slice": 50, "points": [v for point in square for v in point], "value": 1})
    wanted[50, 10:50, 10:60] = 3
    send({"do": "fill", "axis": 0, "slice": 50, "at": [20, 20], "value": 3})
    wanted[50:51, 20:30, 15:40] = 255
    send({"do": "clear", "box": "50:51,20:30,15:40"})
    part = (slice(40, 60), slice(64, 128), slice(30, 100))
    wanted[part] = prob[part] > 127
    send({"do": "accept", "box": "40:60,64:128,30:100"})
    part = (slice(0, 70), slice(0, 20), slice(200, 300))
    take = prob[part] // 2 < 0.2 * 255
    wanted[part] = np.where(take & (wanted[part] == 255), prob[part] > 127, wanted[part])
    send({"do": "accept", "box": "0:70,0:20,200:300", "below": 0.2, "over": "unlabelled"})
    status, answer = server.send("POST", "boxes", {"role": "exam", "box": "10:26,0:64,0:64"})
    check(status == 201 and answer["number"] == 1, f"a box: {status} {answer}")
    status, answer = server.send("POST", "labels", {"do": "accept", "box": "0:11,60:70,60:70", "revision": revision})
    check(status == 422 and answer["error"]["code"] == "held_out", f"accept in a held-out box: {status} {answer}")
    check(server.json("state")["labels"]["boxes"] == [{"number": 1, "role": "exam", "box": "10:26,0:64,0:64"}], "the box is kept")
    check(server.ask("/api/1/boxes/1", "DELETE").status == 200 and server.ask("/api/1/boxes/1", "DELETE").status == 404, "and goes")
    wanted[20:22, 100:110, 100:110] = 4
    wanted[24:26, 100:110, 100:110] = 4
    for z in (20, 21, 24, 25):
        status, answer = server.send("POST", "labels", {"do": "polygon", "axis": 0, "slice": z, "value": 4, "revision": revision,
                                                         "points": [800, 800, 800, 880, 880, 880, 880, 800]})
        revision = answer["revision"]
    wanted[22:24, 100:110, 100:110] = 4
    send({"do": "between", "axis": 0, "slice": 21, "to": 24, "value": 4})


def test_export(server):
    wanted = labels_of(server)
    for name, code in (("../a.tif", 400), (".a.tif", 400), ("a/b.tif", 400), ("", 400), (None, 400), ("x" * 101, 400), ("view.json", 400), ("labels.zarr", 400), ("label.what", 422), ("label", 422)):
        check(server.send("POST", "labels/export", {"name": name})[0] == code, f"export to {name}")
    check(server.send("POST", "labels/export", {"name": "a.npy", "box": "0:99,0:1,0:1"})[0] == 400, "export of a box outside")
    for name, box, part in (("all.npy", None, wanted), ("part.npy", "10:50,20:100,30:200", wanted[10:50, 20:100, 30:200])):
        status, answer = server.send("POST", "labels/export", {"name": name, "box": box})
        while status == 409:  # the one before is still being written
            time.sleep(0.05)
            status, answer = server.send("POST", "labels/export", {"name": name, "box": box})
        check(status == 202, f"export {name}: {status} {answer}")
        for _ in range(200):
            if os.path.exists(f"scan.view/{name}"):
                break
            time.sleep(0.05)
        check(np.array_equal(np.load(f"scan.view/{name}"), part), f"export {name}")
    for _ in range(100):
        if not os.path.exists("scan.view/.export.zarr"):
            break
        time.sleep(0.05)
    check(not os.path.exists("scan.view/.export.zarr"), "what it was made from is gone")


def test_export_beside_the_scan():
    """A project in the scan's own folder: the scan isn't written over."""
    before = open("scan.npy", "rb").read()
    server = Server("scan.npy", "--cache", "none", "--project", ".", wait=False)
    server.send("POST", "labels", stroke())
    status, answer = server.send("POST", "labels/export", {"name": "scan.npy"})
    check(status == 422 and "another name" in answer["error"]["message"], f"export over the scan: {status} {answer}")
    time.sleep(0.3)
    check(open("scan.npy", "rb").read() == before, "the scan is as it was")
    server.stop()


def test_errors(server):
    revision = server.json("state")["labels"]["revision"]
    good = {**stroke(), "revision": revision}
    for change, code in (({"do": "draw"}, 400), ({"do": None}, 400), ({"axis": 3}, 400), ({"axis": "z"}, 400), ({"slice": 70}, 400), ({"slice": -1}, 400), ({"slice": 1.5}, 400),
                         ({"points": []}, 400), ({"points": [1]}, 400), ({"points": "x"}, 400), ({"points": [1, 1e9]}, 400), ({"points": [1.5, 2]}, 400),
                         ({"points": [8] * 8194}, 400), ({"radius": 0}, 400), ({"radius": 2049}, 400), ({"value": 16}, 400), ({"value": -1}, 400), ({"value": None}, 400),
                         ({"over": "nothing"}, 400), ({"over": [300]}, 400), ({"grey": [5, 4]}, 400), ({"grey": 5}, 400), ({"id": ""}, 400), ({"id": "a b"}, 400),
                         ({"id": "x" * 48}, 400), ({"revision": "1"}, 400), ({"revision": -1}, 400), ({"revision": revision + 5}, 409), ({"box": "0:71,0:1,0:1"}, 400)):
        status, answer = server.send("POST", "labels", {**good, **change})
        check(status == code and answer["error"]["message"].endswith("."), f"{change if len(str(change)) < 99 else 'points'}: {status} {answer}")
    for body, code in (({"do": "between", "axis": 0, "slice": 3, "to": 4, "value": 1}, 400), ({"do": "between", "axis": 0, "slice": 0, "to": 69, "value": 9}, 422),
                       ({"do": "fill", "axis": 0, "slice": 3, "at": [130, 0], "value": 1}, 400), ({"do": "clear"}, 400), ({"do": "accept", "box": "0:0,0:1,0:1"}, 400)):
        status, answer = server.send("POST", "labels", {**body, "revision": revision})
        check(status == code and len(answer["error"]["message"]) > 20, f"{body}: {status} {answer}")
    for body in (b"", b"{", b"[]", b"1", b"null", b"\xff"):
        check(server.ask("/api/1/labels", "POST", {"Content-Type": "application/json"}, body).status == 400, f"a body {body}")
    check(server.ask("/api/1/labels", "POST", {"Content-Type": "text/plain"}, b"{}").status == 415, "not JSON")
    check(server.ask("/api/1/labels", "POST", {"Content-Type": "application/json"}, b"{}", key=False).status == 401, "no key")
    check(server.ask("/api/1/labels", "POST", {"Content-Type": "application/json", "Origin": "http://evil.example"}, b"{}").status == 403, "another page")
    check(server.ask("/api/1/labels").status == 405 and server.ask("/api/1/labels/undo").status == 405, "GET")
    check(server.ask("/api/1/labels/history?from=x").status == 400 and server.json("labels/history?from=999")["operations"] == [], "history")
    classes = [{"value": 0, "name": "matrix", "colour": "999999"}, {"value": 1, "name": "pöre <b>", "colour": "E69F00"}, {"value": 5, "name": "crack", "colour": "009E73"}]
    for change in ([], {}, [{"value": 16, "name": "a", "colour": "000000"}], [{"value": 1, "name": "", "colour": "000000"}], [{"value": 1, "name": "a", "colour": "red"}],
                   [classes[0], classes[0]], [{"value": 1.5, "name": "a", "colour": "000000"}], [{**classes[0], "more": 1}], [{"value": 1, "name": "x" * 64, "colour": "000000"}]):
        check(server.send("PUT", "classes", change)[0] == 400, f"classes {change}")
    check(server.send("PUT", "classes", classes) == (200, classes) and server.json("state")["labels"]["classes"] == classes, "classes are kept")
    for role, box, code in (("test", "0:1,0:1,0:1", 400), ("train", "0:71,0:1,0:1", 400), ("train", "1:1,0:1,0:1", 400), (None, "0:1,0:1,0:1", 400), ("check", "0:1,0:1,0:1", 201)):
        check(server.send("POST", "boxes", {"role": role, "box": box})[0] == code, f"a box {role} {box}")
    check(server.json("state")["labels"]["revision"] == revision, "nothing of that changed a label")


def test_restart_and_training(labels, port):
    """A new server goes on where the last one ended, and what was painted is a label for training."""
    server = Server("scan.npy", "--run", "run", port=port)
    state = server.json("state")["labels"]
    check(np.array_equal(labels_of(server), labels), "the labels are there again")
    check(state["undo"] > 10 and state["classes"][2]["name"] == "crack", "and so are undo and classes")
    other = Server("scan.npy", wait=False)
    status, answer = other.send("POST", "labels", {**stroke(), "revision": state["revision"]})
    check(status == 409 and "already writing" in answer["error"]["message"], f"two servers: {status} {answer}")
    check(np.array_equal(labels_of(other), labels), "the other one shows them all the same")
    check(other.stop() == 0, "the other one stops")
    looking = Server("scan.npy", "--read-only", wait=False)
    check(looking.send("POST", "labels", stroke())[0] == 403 and not looking.json("state")["labels"]["writable"], "read-only")
    check(looking.stop() == 0, "it stops")
    check(server.stop() == 0, "and so does the first")
    done = subprocess.run([PROGRAM, "info", "scan.view/labels.zarr"], capture_output=True, text=True)
    check(done.returncode == 0 and "70" in done.stdout, f"info: {done.stderr}")
    done = subprocess.run([PROGRAM, "convert", "scan.view/labels.zarr", "labels.npy", "--quiet"], capture_output=True, text=True)
    check(done.returncode == 0 and np.array_equal(np.load("labels.npy"), labels), f"read as a volume: {done.stderr}")
    done = subprocess.run([PROGRAM, "train", "--scan", "scan.npy", "--label", "scan.view/labels.zarr", "--ignore", "255", "--classes", "0,1,2,3,4", "-o", "model.h5",
                           "--quiet", "--max-steps", "1", "--filters", "8", "--chunk", "8,16,16", "--step", "2", "--batch", "1", "--threads", "2"], capture_output=True, text=True)
    check(done.returncode == 0 and os.path.exists("model.h5"), f"as a label for training: {done.stderr}")


def test_killed(times):
    """kill -9 while strokes are sent: what was confirmed is there, and what wasn't is there wholly or not at all."""
    shutil.rmtree("killed", ignore_errors=True)
    wanted, sent, confirmed, dice = np.full(SHAPE, 255, np.uint8), 0, 0, random.Random(7)
    for round_ in range(times):
        server = Server("scan.npy", "--project", "killed", wait=False)
        now = labels_of(server)
        if sent and not np.array_equal(now, wanted):
            check(np.array_equal(now, pending), f"round {round_}: neither with nor without the last stroke")
            wanted = now
        revision = server.json("state")["labels"]["revision"]
        threading.Timer(dice.uniform(0.02, 0.4), server.process.kill).start()
        while True:
            axis, value = dice.randrange(3), dice.randrange(4)
            down, right = (1, 0, 1)[axis], (2, 2, 0)[axis]
            points = [(dice.randrange(8 * SHAPE[down]), dice.randrange(8 * SHAPE[right])) for _ in range(2)]
            slice_, radius = dice.randrange(SHAPE[axis]), dice.randrange(1, 60)
            pending = wanted.copy()
            disc(pending, axis, slice_, points, radius, value)
            sent += 1
            try:
                status, answer = server.send("POST", "labels", {**stroke(value, slice_, axis, points, radius), "revision": revision})
            except (OSError, ValueError, http.client.HTTPException):  # killed meanwhile
                break
            check(status == 200, f"stroke {sent}: {status} {answer}")
            wanted, revision, confirmed = pending, answer["revision"], confirmed + 1
        server.process.wait()
        server.process.stdout.close()
        server.process.stderr.close()
    server = Server("scan.npy", "--project", "killed", wait=False)
    now = labels_of(server)
    check(np.array_equal(now, wanted) or np.array_equal(now, pending), "after the last kill")
    undone = 0
    while not server.send("POST", "labels/undo", {})[1].get("nothing"):
        undone += 1
    check((labels_of(server) == 255).all(), "all of it undone: nothing is left")
    check(server.stop() == 0, "it stops")
    print(f"       {confirmed} confirmed strokes over {times} kills, {undone} undone", flush=True)
    check(confirmed >= times, f"only {confirmed} strokes in {times} rounds")


def test_full_disk():
    """On a disk that is full a stroke is refused; what was confirmed stays, and it goes on when there is room."""
    script = f"""mount -t tmpfs -o size=600k tmpfs small && cd small && head -c 300k /dev/zero >filler && exec '{PROGRAM}' view ../scan.npy --no-browser --cache none --project full"""
    os.makedirs("small", exist_ok=True)
    if subprocess.run(["unshare", "-Urm", "sh", "-c", "mount -t tmpfs -o size=300k tmpfs small"], capture_output=True).returncode != 0:
        print("skipped: no file system of its own can be made here", flush=True)
        return
    server = Server.__new__(Server)
    server.start(["unshare", "-Urm", "sh", "-c", script])
    wanted, refused, revision = np.full(SHAPE, 255, np.uint8), 0, 0
    for i in range(400):
        points = [(8 * (i % 120), 40 + i), (8 * (i * 7 % 120), 2000 - i)]
        status, answer = server.send("POST", "labels", {**stroke(i % 3, i % 70, 0, points, 70, grey=[1000, 5000]), "revision": revision})
        if status != 200:
            refused += 1
            check(status == 503 and "space" in answer["error"]["message"], f"full: {status} {answer}")
            if refused > 3:
                break
            continue
        free = np.full(SHAPE, 255, np.uint8)
        disc(free, 0, i % 70, points, 70, i % 3)
        wanted[(free != 255) & (scan >= 1000) & (scan <= 5000)] = i % 3
        revision = answer["revision"]
    check(refused > 3 and revision > 1, f"it got full after {revision} strokes")
    check(np.array_equal(labels_of(server), wanted), "what was confirmed is there")
    os.remove(f"/proc/{server.process.pid}/cwd/filler")  # its file system is seen by nobody else
    status, answer = server.send("POST", "labels", {**stroke(1, 33, 0, [(80, 80), (400, 900)], 70), "revision": revision})
    disc(wanted, 0, 33, [(80, 80), (400, 900)], 70, 1)
    check(status == 200 and np.array_equal(labels_of(server), wanted), f"where there is room again it goes on: {status} {answer}")
    server.stop(signal.SIGKILL)


server = Server("scan.npy", "--run", "run", port=own_port())
test_rows(server)
test_more_shapes(server)
test_export(server)
test_errors(server)
last, port = labels_of(server), server.port
check(server.stop() == 0, f"the server stops: {server.errors}")
test_restart_and_training(last, port)
test_export_beside_the_scan()
test_killed(100 if os.environ.get("CREDENCE_LONG") else 8)
test_full_disk()
finish()
