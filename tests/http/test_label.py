"""`--label FILE` of `credence view`: taken into the project when that is made, and given back with its own values."""
import json
import os
import signal
import time

from viewing import Server, check, finish, np

SHAPE = (70, 66, 90)


def labels_of(server):
    """What is painted, by the layer that shows it."""
    state = server.json("state")
    answer = server.ask(f"/api/1/box/{state['labels']['layer']}?box=0:{SHAPE[0]},0:{SHAPE[1]},0:{SHAPE[2]}")
    check(answer.status == 200, f"labels: {answer.status}")
    with open("labels.npy", "wb") as file:
        file.write(answer.data)
    return np.load("labels.npy")


def exported(server, project, name):
    check(server.send("POST", "labels/export", {"name": name})[0] == 202, "export")
    for _ in range(200):
        if os.path.exists(f"{project}/{name}"):
            return np.load(f"{project}/{name}")
        time.sleep(0.05)
    check(False, "the export doesn't come")


def try_label(name, volume, classes, given_back):
    """`classes`: what each voxel is to become; `given_back`: the exported values of a box that is cleared afterwards."""
    np.save(f"{name}.npy", volume)
    server = Server("scan.npy", "--label", f"{name}.npy", "--project", name, "--cache", "none", wait=False)
    state = server.json("state")
    check(state["trainable"] and not state["labels"]["made"] and not os.path.exists(name), f"{name}: nothing is written by looking")
    status, answer = server.send("POST", "labels", {"do": "clear", "box": "1:3,5:9,60:70", "revision": 0, "id": "first"})
    check(status == 200 and answer["revision"] == 2, f"{name}: the first change: {status} {answer}")
    wanted = classes.copy()
    wanted[1:3, 5:9, 60:70] = 255
    found = labels_of(server)
    check(np.array_equal(found, wanted), f"{name}: {np.unique(found)} for {np.unique(wanted)}, {int((found != wanted).sum())} differ")
    counts = server.json("state")["labels"]["counts"]
    check(counts == [int((wanted == k).sum()) for k in range(16)], f"{name}: counts {counts}")
    check(np.array_equal(exported(server, name, "out.npy"), given_back(wanted)), f"{name}: the export has other values")
    status, answer = server.send("POST", "labels/undo", {})
    check(status == 200 and np.array_equal(labels_of(server), classes), f"{name}: undo")
    check(server.send("POST", "labels/undo", {})[1].get("nothing"), f"{name}: what was taken in isn't undone")
    server.stop(signal.SIGKILL)
    server = Server("scan.npy", "--label", f"{name}.npy", "--project", name, "--cache", "none", wait=False)
    check(np.array_equal(labels_of(server), classes), f"{name}: after a kill")
    server.stop()
    np.save(f"{name}.npy", np.zeros(SHAPE, np.uint8))  # another one, of which the project takes nothing
    server = Server("scan.npy", "--label", f"{name}.npy", "--project", name, "--cache", "none", wait=False)
    check(np.array_equal(labels_of(server), classes), f"{name}: it is taken in once")
    server.stop()


def test_interrupted():
    """Half of it on the disk, and no word of it in the journal: it begins anew."""
    truth = rng.integers(0, 2, SHAPE).astype(np.uint8)
    np.save("half.npy", truth)
    words = ("scan.npy", "--label", "half.npy", "--project", "half", "--cache", "none")
    server = Server(*words, wait=False)
    server.send("POST", "labels", {"do": "clear", "box": "0:1,0:1,0:1"})
    server.stop()
    with open("half/view.json") as file:
        view = json.load(file)
    check(view["label"]["values"] == [0, 1] and view["label"]["file"].endswith("half.npy"), f"view.json: {view}")
    os.remove("half/labels.journal")
    os.remove("half/labels.zarr/0/0.0.0")
    server = Server(*words, wait=False)  # the journal was moved away: labels stay as they are
    server.send("POST", "labels", {"do": "clear", "box": "0:1,0:1,0:1"})
    check((labels_of(server)[:64, :64, :64] == 255).all(), "what was painted isn't replaced by the file")
    server.stop()
    os.remove("half/labels.journal")
    with open("half/view.json", "w") as file:
        json.dump({**view, "label": {"unfinished": True}}, file)
    server = Server(*words, wait=False)
    server.send("POST", "labels", {"do": "clear", "box": "0:1,0:1,0:1"})
    truth[0, 0, 0] = 255
    check(np.array_equal(labels_of(server), truth), "what was interrupted begins anew")
    server.stop()


def test_training():
    """A training from a label that is a file learns from the project's copy, in which held-out boxes are left out."""
    server = Server("scan.npy", "--label", "two.npy", "--project", "trained", "--cache", "none", wait=False)
    server.send("PUT", "loop", {"size": [8, 8, 8]})
    status, box = server.send("POST", "boxes", {"held_out": True})
    check(status == 201, f"a box: {box}")
    status, job = server.send("POST", "jobs", {"do": "train", "options": {"max-steps": 2, "chunk": "16,16,16", "filters": 8, "batch": 1, "no-intervals": True, "threads": 1}})
    check(status == 201 and "iterations/001/label.zarr --ignore 255" in job["command"], f"a training: {status} {job}")
    for _ in range(1200):
        if server.json(f"jobs/{job['number']}")["state"] != "running":
            break
        time.sleep(0.1)
    one = server.json("iterations")["iterations"][0]
    check(one["jobs"][0]["state"] == "done" and 0 < one["labels"]["voxels"] < int(np.prod(SHAPE)) - 24 ** 3, f"what it learnt from: {one}")
    server.stop()


rng = np.random.default_rng(8)
np.save("scan.npy", rng.integers(0, 2000, SHAPE).astype(np.uint16))
two = rng.integers(0, 2, SHAPE).astype(np.uint8)
some = np.where(rng.random(SHAPE) < 0.3, 255, two).astype(np.uint8)
try_label("some", some, some, lambda classes: classes)
three = rng.integers(0, 3, SHAPE)
try_label("grey", np.array([0, 128, 255], np.uint8)[three], three.astype(np.uint8), lambda classes: np.where(classes == 255, 254, np.array([0, 128, 255] + [0] * 253)[classes]).astype(np.uint8))
wide = np.array([3, 700], np.uint16)[two]
try_label("wide", wide, two, lambda classes: np.where(classes == 255, 65535, np.array([3, 700] + [0] * 254)[classes]).astype(np.uint16))
np.save("two.npy", two)
test_interrupted()
test_training()
finish()
