"""`credence view` of a run that is still computed: what is finished is seen, the rest isn't, and more comes by itself."""
import http.client
import json
import os
import signal
import subprocess
import time

from viewing import PROGRAM, Server, check, finish, np

BUILD = os.environ.get("CREDENCE_BUILD", os.path.dirname(PROGRAM))
DEPTH, HEIGHT, WIDTH = SHAPE = (296, 24, 24)


class Events:
    """All events since it was opened."""

    def __init__(self, server):
        self.line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.line.request("GET", "/api/1/events", headers={"X-Credence-Key": server.key})
        self.answer = self.line.getresponse()

    def wait(self, name, good=lambda data: True):
        found = None
        while True:
            words = self.answer.readline().decode()
            if not words:
                raise EOFError(f"no event {name}")
            if words.startswith("event: "):
                found = words[7:].strip()
            elif words.startswith("data: ") and found == name and good(data := json.loads(words[6:])):
                return data


def predict(*words):
    return [PROGRAM, "predict", "--model", "model.h5", "--scan", "scan.npy", "--samples", "24", "--step", "2", "--quiet", *words]


def start_run(folder):
    """A prediction that is held as soon as its first slices are finished."""
    process = subprocess.Popen(predict("-o", folder, "--format", "zarr"))
    first = os.path.join(folder, "scan_unc.zarr/0/0/0/0")
    for _ in range(6000):
        if os.path.exists(first):
            break
        time.sleep(0.005)
    process.send_signal(signal.SIGSTOP)
    check(os.path.exists(first) and process.poll() is None, "a run that is held in its middle")
    return process


def layers_of(server, **wanted):
    return {layer["id"]: layer for layer in server.json("state")["layers"] if all(layer.get(key) == value for key, value in wanted.items())}


def finished_slices(layer):
    inside = np.zeros(DEPTH, bool)
    for begin, end in layer["finished"]:
        inside[begin:end] = True
    return inside


def as_bytes(values, high):
    return np.clip(np.floor(values.astype(np.float64) * (255.0 / high) + 0.5), 0, 255)


def look_at_part(server, folder, whole):
    """While it is held: what is finished is there in every direction, and nothing else."""
    layer = layers_of(server, run=folder)["probability"]
    inside = finished_slices(layer)
    check(0 < inside.sum() < DEPTH, f"a part is finished: {layer['finished']}")
    shown = int(np.flatnonzero(inside)[0])
    hidden = int(np.flatnonzero(~inside)[-1])
    tile = server.tile(layer["number"], "z", 0, shown, 0, 0)
    check(np.abs(tile - as_bytes(whole[shown], 1)).max() <= 1, "a finished slice")
    check(not server.tile(layer["number"], "z", 0, hidden, 0, 0).any(), "a slice that isn't computed is empty")
    for axis, plane in (("y", whole[:, 7]), ("x", whole[:, :, 7].T)):
        wanted = as_bytes(np.where(inside[:, None] if axis == "y" else inside[None, :], plane, 0), 1)
        tiles = [server.tile(layer["number"], axis, 0, 7, *at) for at in (((0, 0), (1, 0)) if axis == "y" else ((0, 0), (0, 1)))]
        got = np.concatenate(tiles, 0 if axis == "y" else 1)
        check(got.shape == wanted.shape and np.abs(got - wanted).max() <= 1, f"a plane across {axis} has what is finished")
    coarse = server.tile(layer["number"], "y", 1, 3, 0, 0)
    check(coarse.any(1).tolist() == [bool(inside[2 * z]) for z in range(DEPTH // 2)], "the same at a coarser level")
    classes = server.tile(layers_of(server, run=folder)["segmentation"]["number"], "z", 0, hidden, 0, 0)
    check((classes == 255).all(), "a class that isn't computed is none")
    values = {entry["number"]: entry["value"] for entry in server.json(f"voxel?at={hidden},3,3")["values"]}
    check(values[layer["number"]] is None and values[0] is not None, "no value where nothing is computed")
    answer = server.ask(f"/api/1/box/{layer['number']}?box={hidden}:{hidden + 1},0:4,0:4")
    check(answer.status == 503, f"a box that isn't computed: {answer.status}")


def test_growing():
    subprocess.run(predict("-o", "whole", "--format", "npy"), check=True)
    whole = np.load("whole/scan_prob.npy")
    process = start_run("grown")
    server = Server("scan.npy", "--run", "grown", "--cache", "none", wait=False)
    look_at_part(server, "grown", whole)
    before = layers_of(server, run="grown")["probability"]
    events = Events(server)
    process.send_signal(signal.SIGCONT)
    more = events.wait("layer", lambda data: data["layer"] == before["number"])
    check(more["revision"] > before["revision"] and sum(b - a for a, b in more["finished"]) > finished_slices(before).sum(), f"more slices: {more}")
    events.wait("layers")
    check(process.wait(120) == 0, "the run ends")
    newest = layers_of(server, run="grown")["probability"]
    check(newest["number"] > before["number"] and "finished" not in newest, "the complete run takes the place of what grew")
    check(np.array_equal(server.tile(newest["number"], "z", 0, DEPTH - 1, 0, 0), as_bytes(whole[-1], 1)), "the last slice")
    events.wait("regions")
    check(server.json("regions")["ready"], "and is searched for uncertain regions")
    check(server.stop() == 0, f"stops: {server.errors}")


def test_left_alone():
    """A run that was killed is shown as far as it came."""
    process = start_run("killed")
    process.kill()
    process.wait()
    server = Server("scan.npy", "--run", "killed", wait=False)
    check(0 < finished_slices(layers_of(server, run="killed")["uncertainty"]).sum() < DEPTH, "a run that was killed")
    check(server.stop() == 0, f"stops: {server.errors}")


def main():
    subprocess.run([os.path.join(BUILD, "tests/make_model"), "model.h5", "bcnn", "8", "16,16,16"], check=True)
    np.save("scan.npy", np.random.default_rng(1).normal(0, 1, SHAPE).cumsum(0).astype(np.float32))
    for test in (test_growing, test_left_alone):
        test()
    finish()


if __name__ == "__main__":
    main()
