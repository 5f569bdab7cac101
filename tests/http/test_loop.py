"""The loop of `credence view`: held-out boxes, what trainings get, exams, proposals, beginning anew."""
import json
import os
import re
import shutil
import signal
import subprocess
import time

from viewing import PROGRAM, Server, check, finish, np

# Eight filters are the fewest that vector instructions take; with four all is computed in plain C, three times as slowly.
TRAIN = {"max-steps": 6, "chunk": "16,16,16", "batch": 2, "filters": 8, "no-intervals": True, "threads": 1}
SHAPE = (48, 64, 72)


def start(*words):
    return Server("scan.npy", "--cache", "none", "--project", "loop", *words, wait=False)


def slices_of(box):
    return tuple(slice(*map(int, part.split(":"))) for part in box.split(","))


def grown(box, shape, by):
    return tuple(slice(max(0, part.start - by), min(n, part.stop + by)) for part, n in zip(slices_of(box), shape))


def volume(path):
    subprocess.run([PROGRAM, "convert", path, "volume.npy", "--quiet"], check=True)
    return np.load("volume.npy")


def paint(server, truth):
    """All of it, as the truth has it: in each slice the rest, and one rectangle of what is looked for."""
    for z in range(SHAPE[0]):
        rows, columns = np.nonzero(truth[z])
        for value, y0, y1, x0, x1 in ((0, 0, SHAPE[1], 0, SHAPE[2]), (1, rows.min(), rows.max() + 1, columns.min(), columns.max() + 1)):
            points = [int(8 * v) for point in ((y0, x0), (y0, x1), (y1, x1), (y1, x0)) for v in point]
            status, answer = server.send("POST", "labels", {"do": "polygon", "axis": 0, "slice": z, "points": points, "value": value})
            check(status == 200, f"paint: {status} {answer}")


def test_boxes():
    server = start()
    loop = server.json("state")["loop"]
    check(loop == {"number": 1, "seed": 0, "size": [8, 16, 16], "exam": 0, "check": 0, "next": "exam"}, f"a quarter of a small scan: {loop}")
    check(server.json("boxes") == {"boxes": []}, "no boxes")
    proposals = server.json("proposals")
    check(proposals["ready"] and proposals["order"] == "random" and proposals["run"] is None and len(proposals["proposals"]) == 8, f"without a run at random: {proposals}")
    check(not os.path.exists("loop"), "asking makes no folder")
    for body, code in (({"size": [8, 16]}, 400), ({"size": [8, 16, 1.5]}, 400), ({}, 400), ({"size": [4, 16, 16]}, 422), ({"size": [8, 16, 73]}, 422), ({"size": [8, 8, 8]}, 200)):
        status, answer = server.send("PUT", "loop", body)
        check(status == code, f"{body}: {status} {answer}")
    check(answer["loop"]["size"] == [8, 8, 8], f"the new size: {answer}")
    roles = []
    for number in range(1, 6):
        status, box = server.send("POST", "boxes", {"held_out": True})
        check(status == 201 and box["number"] == number, f"a held-out box: {status} {box}")
        roles.append(box["role"])
        check([part.stop - part.start for part in slices_of(box["box"])] == [8, 8, 8], f"its size: {box}")
    check(roles == ["exam", "check", "exam", "check", "exam"], f"in turn: {roles}")
    boxes = server.json("boxes")["boxes"]
    check(all(box["labelled"] == 0 and box["voxels"] == 512 and not box["used"] for box in boxes), f"boxes: {boxes}")
    check(server.send("PUT", "loop", {"size": [8, 16, 16]})[0] == 422, "the size stays while boxes are held out")
    status, answer = server.send("POST", "boxes", {"role": "train", "box": boxes[0]["box"]})
    check(status == 422 and "can't be trained on" in answer["error"]["message"], f"a box to train on there: {status} {answer}")
    check(server.send("POST", "boxes", {"role": "exam", "box": boxes[1]["box"]})[0] == 422, "held out twice")
    for body, code in (({"held_out": False}, 400), ({"role": "exam"}, 400), ({"role": "judge", "box": "0:8,0:8,0:8"}, 400), ([], 400), ({"role": "train", "box": "0:8,0:8,0:73"}, 400)):
        check(server.send("POST", "boxes", body)[0] == code, f"a box {body}")
    for method, path, code in (("PUT", "boxes", 405), ("POST", "proposals", 405), ("GET", "loop", 405), ("GET", "loop/anew", 405), ("GET", "proposals?order=best", 400), ("GET", "proposals?count=9", 400), ("GET", "proposals?count=0", 400)):
        check(server.ask("/api/1/" + path, method, {"Content-Type": "application/json"}, None if method == "GET" else "{}").status == code, f"{method} {path}")
    again = server.json("boxes")
    check(server.stop() == 0, f"stops: {server.errors}")
    server = start()
    check(server.json("boxes") == again, "boxes are found again")
    status, answer = server.send("POST", "jobs", {"do": "score", "options": {}})
    check(status == 422 and "no model" in answer["error"]["message"], f"an exam without a model: {status} {answer}")
    server.stop()
    server = start("--read-only")
    check(server.send("POST", "boxes", {"held_out": True})[0] == 403 and server.send("PUT", "loop", {"size": [8, 8, 8]})[0] == 403 and server.send("POST", "loop/anew", {})[0] == 403, "--read-only")
    check(server.json("boxes") == again, "and they are seen")
    server.stop()


def test_training(truth):
    """What a training gets has nothing of held-out boxes, nor of what lies within 8 voxels of them."""
    server = start()
    boxes = server.json("boxes")["boxes"]
    status, answer = server.send("POST", "jobs", {"do": "train", "options": TRAIN})
    check(status == 422 and not os.path.exists("loop/iterations/001"), f"nothing to learn from: {status} {answer}")
    paint(server, truth)
    check(all(box["labelled"] == 512 for box in server.json("boxes")["boxes"]), "boxes are labelled")
    check(server.send("POST", "boxes", {"role": "train", "box": free_box(boxes)})[0] == 201, "a box to train on")
    job = server.begin_job("train", TRAIN)
    check(re.search(r"--valid-scan \S+scan.npy --valid-label \S*iterations/001/check.zarr", job["command"]), f"checks: {job['command']}")
    server.wait_for_job(job["number"])
    label = volume("loop/iterations/001/label.zarr")
    wanted, least = truth.copy(), truth.copy()
    kept = np.full(SHAPE, 255, np.uint8)
    for box in boxes:
        wanted[grown(box["box"], SHAPE, 8)] = 255
        least[grown(box["box"], SHAPE, 15)] = 255
        if box["role"] == "check":
            kept[slices_of(box["box"])] = truth[slices_of(box["box"])]
    check((label[wanted == 255] == 255).all(), "held-out voxels, or such near them, are learnt from")
    check((label[least != 255] == truth[least != 255]).all(), "labels far from them are missing")
    check(np.array_equal(volume("loop/iterations/001/check.zarr"), kept), "what is checked on")
    (one,) = server.json("iterations")["iterations"]
    check(one["labels"] == {"voxels": int((label != 255).sum()), "boxes": 1} and one["loop"] == 1 and not one["warm"] and one["from"] is None and one["model"] and one["score"] is None, f"facts: {one}")
    check([box["used"] for box in server.json("boxes")["boxes"]] == [True] * 5 + [False], "held-out boxes are used now")
    status, answer = server.send("POST", "boxes", {"role": "exam", "box": free_box(boxes)})
    check(status == 422 and "learnt" in answer["error"]["message"], f"what was learnt from can't be held out: {status} {answer}")
    check(server.send("POST", "boxes", {"held_out": True})[0] == 422, "all is learnt from")
    server.send("DELETE", "boxes/1", {})
    check(server.send("POST", "boxes", {"role": "train", "box": boxes[0]["box"]})[0] == 422, "its place stays held out without it")
    check(server.send("POST", "boxes", {"role": "exam", "box": boxes[0]["box"]})[0] == 422, "nor is it held out twice")
    server.stop()


def free_box(boxes):
    """A box far from all of them."""
    for z in range(0, SHAPE[0] - 8, 4):
        for y in range(0, SHAPE[1] - 8, 4):
            for x in range(0, SHAPE[2] - 8, 4):
                near = [all(part.start - 16 < at + 8 and at < part.stop + 16 for part, at in zip(slices_of(box["box"]), (z, y, x))) for box in boxes]
                if not any(near):
                    return f"{z}:{z + 8},{y}:{y + 8},{x}:{x + 8}"
    raise RuntimeError("no free box in the test's scan")


def test_exam(truth):
    server = start()
    exams = [box["box"] for box in server.json("boxes")["boxes"] if box["role"] == "exam"]
    zs, ys, xs = slices_of(exams[0])
    points = [8 * v for point in ((ys.start, xs.start), (ys.start, xs.start + 2), (ys.start + 2, xs.start)) for v in point]
    check(server.send("POST", "labels", {"do": "polygon", "axis": 0, "slice": zs.start, "points": points, "value": 3})[0] == 200, "a third class")
    status, answer = server.send("POST", "jobs", {"do": "score", "options": {"samples": 2}})
    check(status == 422 and "class 3" in answer["error"]["message"] and not os.path.exists("loop/iterations/001/exam/1"), f"an exam of what it hasn't learnt: {status} {answer}")
    check(server.send("POST", "labels/undo", {})[0] == 200, "undo")
    job = server.begin_job("score", {"samples": 2, "mode": "seamless"})
    check(job["do"] == "score" and job["folder"] == "iterations/001/exam/1" and job["step"] == 1 and job["steps"] == 2, f"an exam: {job}")
    check(server.send("POST", "jobs", {"do": "score"})[0] == 409, "one job at a time")
    job = server.wait_for_job(job["number"])
    check(job["step"] == 2, f"its last step: {job}")
    check("--foreground 1" in job["command"], f"what is looked for doesn't depend on the exam's labels: {job['command']}")
    first = server.json("iterations")
    score = first["iterations"][0]["score"]
    check(score["boxes"] == 2 and score["voxels"] == 1024 and not score["enough"] and not first["scratch"], f"the score: {score}")
    job = server.begin_job("predict", {"samples": 2, "mode": "seamless"})
    server.wait_for_job(job["number"])
    run = "loop/iterations/001/runs/1/run"
    segmentation, probability = volume(f"{run}/scan_seg.zarr") > 0, volume(f"{run}/scan_prob.zarr")
    wrong = sum(int((segmentation[slices_of(box)] != truth[slices_of(box)]).sum()) for box in exams)
    check(abs(score["error"] - wrong / 1024) < 1e-12, f"the same voxels as in a run of all: {score['error']} and {wrong / 1024}")
    for number, box in enumerate(exams, 1):
        part = np.load(f"loop/iterations/001/exam/1/box-{number}/scan_prob.npy")
        check(np.array_equal(part, probability[slices_of(box)]), f"box {number}: other bytes than in a run of all")
    check(score["error_interval"][0] <= score["error"] <= score["error_interval"][1], f"its interval: {score}")
    return server


def test_held_out_boxes():
    """All held-out boxes are predicted, each by itself, and seen together; what is led by a whole run stays with that."""
    shutil.copytree("loop", "held")
    server = Server("scan.npy", "--cache", "none", "--project", "held", wait=False)
    boxes = [box["box"] for box in server.json("boxes")["boxes"] if box["role"] != "train"]
    check(len(boxes) >= 3, f"boxes of both roles: {boxes}")
    options = {"samples": 2, "mode": "seamless"}
    status, answer = server.send("POST", "jobs", {"do": "predict", "options": {**options, "boxes": "held-out", "bbox": boxes[0]}})
    check(status == 422 or status == 400, f"two things at once: {status} {answer}")
    check(server.send("POST", "jobs", {"do": "predict", "options": {"boxes": "all"}})[0] in (400, 422), "boxes that there aren't")
    one, all_of_them = (server.json(f"plan?do=predict&samples=2&mode=seamless&{what}") for what in (f"bbox={boxes[0]}", "boxes=held-out"))
    check(abs(all_of_them["disk"] - len(boxes) * one["disk"]) < 1, f"a plan of all: {one['disk']} and {all_of_them['disk']}")
    job = server.begin_job("predict", {**options, "boxes": "held-out"})
    check(job["folder"] == "iterations/001/runs/2" and job["step"] == 1 and job["steps"] == len(boxes), f"the job: {job}")
    job = server.wait_for_job(job["number"])
    check(job["step"] == len(boxes) and f"--bbox {boxes[-1]}" in job["command"], f"its last step: {job}")
    whole = volume("held/iterations/001/runs/1/run/scan_prob.zarr")
    for number, box in enumerate(boxes, 1):
        part = volume(f"held/iterations/001/runs/2/box-{number}/scan_prob.zarr")
        check(np.array_equal(part, whole[slices_of(box)]), f"{box}: other bytes than in a run of all")

    def shown():
        return sorted(tuple(layer["origin"]) for layer in server.json("state")["layers"] if layer.get("run") == job["folder"] and layer["id"] == "probability")

    def wait_for_layers():
        for _ in range(300):
            if len(shown()) == len(boxes):
                break
            time.sleep(0.1)
        check(shown() == sorted(tuple(part.start for part in slices_of(box)) for box in boxes), f"where they are shown: {shown()}")

    wait_for_layers()
    check(server.json("proposals")["run"] == "iterations/001/runs/1", "proposals are of the whole run")
    server.send("POST", f"jobs/{job['number']}/show", {})
    time.sleep(1)
    wait_for_layers()  # none of them twice
    server.stop()
    server = Server("scan.npy", "--cache", "none", "--project", "held", wait=False)
    wait_for_layers()  # a server that comes later shows the latest prediction, and goes by the latest of the whole scan
    for _ in range(300):
        proposals = server.json("proposals")
        if proposals["ready"] and proposals["run"] is not None:
            break
        time.sleep(0.1)
    check(proposals["run"] == "iterations/001/runs/1", f"a later server's proposals: {proposals['run']}")
    server.stop()
    shutil.rmtree("held")
    fresh = Server("scan.npy", "--cache", "none", "--project", "fresh", "--model", "loop/iterations/001/model.h5", wait=False)
    status, answer = fresh.send("POST", "jobs", {"do": "predict", "options": {"boxes": "held-out"}})
    check(status == 422 and "no held-out box yet" in answer["error"]["message"] and not os.path.exists("fresh/iterations/000/runs/1"), f"without any: {status} {answer}")
    fresh.stop()


def test_proposals(server):
    for _ in range(200):
        proposals = server.json("proposals")
        if proposals["ready"] and proposals["run"]:
            break
        time.sleep(0.1)
    check(proposals["order"] == "excess" and proposals["run"] == "iterations/001/runs/1" and proposals["proposals"] == [], f"all is labelled, nothing to propose: {proposals}")
    server.send("POST", "labels", {"do": "clear", "box": f"0:{SHAPE[0]},0:{SHAPE[1]},0:{SHAPE[2]}"})
    orders = {order: server.json(f"proposals?order={order}")["proposals"] for order in ("excess", "mean", "random")}
    held = [box["box"] for box in server.json("boxes")["boxes"] if box["role"] != "train"]
    for order, proposals in orders.items():
        check(len(proposals) > 0, f"{order}: {proposals}")
        for one in proposals:
            near = [all(a.start - 8 < b.stop and b.start < a.stop + 8 for a, b in zip(slices_of(box), slices_of(one["box"]))) for box in held]
            check(not any(near), f"{order} proposes {one['box']} beside {held}")
            check(one["low"] == [part.start for part in slices_of(one["box"])] and one["high"] == [part.stop for part in slices_of(one["box"])], f"its ends: {one}")
    unc = volume("loop/iterations/001/runs/1/run/scan_unc.zarr").astype(float)
    scale = next(layer["scale"] for layer in server.json("state")["layers"] if layer["id"] == "uncertainty")
    best = orders["mean"][0]
    check(abs(unc[slices_of(best["box"])].mean() * scale - best["mean"]) < 1e-6, f"its mean: {best}")
    check(orders["mean"][0]["mean"] >= max(one["mean"] for one in orders["excess"]), "the highest mean comes first")
    check(server.json("proposals?count=2&order=mean")["proposals"] == orders["mean"][:2], "count")
    check(server.send("POST", "boxes", {"role": "train", "box": orders["excess"][0]["box"]})[0] == 201, "a proposal is taken")
    server.stop()
    server = start()
    for _ in range(200):
        if server.json("proposals?order=mean")["proposals"] == orders["mean"]:
            break
        time.sleep(0.1)
    else:
        check(False, "the next server proposes others")
    return server


def test_warm_and_anew(server, truth):
    paint(server, truth)
    job = server.begin_job("train", {**TRAIN, "iteration": 1})
    check(job["iteration"] == 2 and "--init" in job["command"], f"a warm start: {job['command']}")
    server.wait_for_job(job["number"])
    iterations = server.json("iterations")["iterations"]
    check(iterations[1]["warm"] and iterations[1]["from"] == 1, f"facts: {iterations[1]}")
    status, answer = server.send("POST", "loop/anew", {})
    check(status == 200 and answer["loop"]["number"] == 2 and answer["loop"]["exam"] == 0, f"anew: {status} {answer}")
    check([box["role"] for box in server.json("boxes")["boxes"]] == ["train", "train"], "boxes to train on stay")
    status, answer = server.send("POST", "jobs", {"do": "train", "options": {**TRAIN, "iteration": 2}})
    check(status == 422 and "earlier loop" in answer["error"]["message"], f"no model of before goes on: {status} {answer}")
    status, box = server.send("POST", "boxes", {"held_out": True})
    check(status == 201 and box["role"] == "exam", f"what was learnt from can be held out again: {status} {box}")
    status, answer = server.send("POST", "jobs", {"do": "score", "options": {"iteration": 2}})
    check(status == 422, f"nor is one judged on it: {status} {answer}")
    check(server.json("iterations")["loop"] == 2, "the loop's number")
    job = server.begin_job("train", TRAIN)
    server.wait_for_job(job["number"])
    check(server.json("iterations")["iterations"][2]["loop"] == 2, "from scratch it begins")


def test_killed_exam(server):
    """The next server goes on with an exam from the step that it was at."""
    server.send("POST", "loop/anew", {})
    for _ in range(3):
        server.send("POST", "boxes", {"held_out": True})
    job = server.begin_job("train", TRAIN)
    server.wait_for_job(job["number"])
    job = server.begin_job("score", {"samples": 2, "mode": "seamless"})
    server.stop(signal.SIGKILL)
    time.sleep(0.5)
    server = start()
    job = server.wait_for_job(job["number"])
    wanted = [entry for entry in server.json("iterations")["iterations"] if entry["number"] == job["iteration"]][0]["score"]
    check(job["step"] == job["steps"] and wanted["boxes"] == job["steps"], f"all boxes were judged: {job} {wanted}")
    job = server.begin_job("score", {"samples": 24, "mode": "seamless"})
    status, answer = server.send("POST", f"jobs/{job['number']}/cancel", {})
    job = server.wait_for_job(job["number"], "cancelled")
    status, answer = server.send("POST", f"jobs/{job['number']}/resume", {})
    check(status == 200, f"resumed: {status} {answer}")
    server.wait_for_job(job["number"])
    server.stop()


def exam_of(server, iteration, seconds=400):
    """The exam that follows a training by itself, once it has ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        jobs = [job for one in server.json("iterations")["iterations"] if one["number"] == iteration for job in one["jobs"]]
        if any(job["do"] == "score" and job["state"] != "running" for job in jobs):
            return next(job for job in jobs if job["do"] == "score")
        time.sleep(0.05)
    check(False, f"no exam follows: {jobs}")
    return None


def server_words(job):
    """The options that a job was started with, as its record has them."""
    with open(f"loop/{job['folder']}/job.json") as file:
        return " ".join(json.load(file)["wishes"])


def test_exam_follows():
    """A training that is started with "exam" is judged as soon as it is done, by whichever server sees that; two servers do it once."""
    server = start()
    status, job = server.send("POST", "jobs", {"do": "train", "options": TRAIN, "exam": {"samples": 2, "mode": "seamless"}})
    check(status == 201 and job["exam"], f"a training with its exam: {status} {job}")
    other = start()
    check(other.json("state")["job"]["number"] == job["number"], "another server looks on")
    exam = exam_of(server, job["iteration"])
    check("--samples 2 --mode seamless" in server_words(exam), f"with its options: {server_words(exam)}")
    check(exam["state"] == "done" and exam["step"] == exam["steps"] == 2 and exam["number"] == job["number"] + 1, f"its exam: {exam}")
    one = next(one for one in server.json("iterations")["iterations"] if one["number"] == job["iteration"])
    check(one["score"]["boxes"] == 2 and not one["jobs"][0]["exam"] and len(one["jobs"]) == 2, f"once: {one}")
    other.wait_for_job(job["number"])
    status, answer = other.send("POST", "jobs", {"do": "train", "options": TRAIN})
    check(status == 409 and "already writing" in answer["error"]["message"], f"the other one starts nothing: {status} {answer}")
    other.stop()
    status, job = server.send("POST", "jobs", {"do": "train", "options": {**TRAIN, "max-steps": 40}, "exam": {"samples": 2, "mode": "seamless"}})
    server.stop(signal.SIGKILL)
    server = start()
    exam = exam_of(server, job["iteration"])
    check(exam["state"] == "done", f"also after the server was killed: {exam}")
    server.wait_for_job(server.begin_job("train", TRAIN)["number"])
    for number in [box["number"] for box in server.json("boxes")["boxes"] if box["role"] == "exam"]:
        server.ask(f"/api/1/boxes/{number}", "DELETE")
    status, last = server.send("POST", "jobs", {"do": "train", "options": TRAIN, "exam": True})
    server.wait_for_job(last["number"])
    time.sleep(1)
    check(server.json("state")["job"]["number"] == last["number"], "without a box for the exam there is none")
    for what, exam in (("predict", True), ("score", False), ("train", 1), ("train", "yes"), ("train", []), ("score", {})):
        check(server.send("POST", "jobs", {"do": what, "exam": exam})[0] == 400, f"{what} with exam {exam}")
    check(server.send("POST", "jobs", {"do": "train", "exam": {"output": "x"}})[0] == 422, "an exam with a path")
    server.stop()


def test_look_on():
    """An exam that runs is followed by a second server, which takes no step of it."""
    server = start()
    server.send("POST", "loop/anew", {})
    for _ in range(3):
        server.send("POST", "boxes", {"held_out": True})
    job = server.begin_job("train", TRAIN)
    server.wait_for_job(job["number"])
    job = server.begin_job("score", {"samples": 12, "mode": "seamless"})
    others = [start(), start("--read-only")]
    steps = 0
    while (seen := server.json(f"jobs/{job['number']}"))["state"] == "running":
        with open("loop/" + job["folder"] + "/job.json") as file:
            steps = max(steps, json.load(file)["step"])
        time.sleep(0.02)
    check(seen["state"] == "done" and steps == 3, f"the exam: {seen}, {steps}")
    for other in others:
        other.wait_for_job(job["number"])
        status, answer = other.send("POST", f"jobs/{job['number']}/cancel", {})
        check(status in (403, 409, 422), f"the other one doesn't cancel: {status} {answer}")
        other.stop()
    log = server.ask(f"/api/1/jobs/{job['number']}/log").data.decode()
    check("error" not in log, f"each step was done once: {log[-500:]}")
    server.stop()


def test_mask():
    """Boxes lie inside the mask; trainings and exams go by it."""
    server = Server("scan.npy", "--cache", "none", "--project", "masked", "--mask", "cylinder", wait=False)
    server.send("PUT", "loop", {"size": [8, 8, 8]})
    circle = (2 * np.arange(SHAPE[1])[:, None] + 1 - SHAPE[1]) ** 2 + (2 * np.arange(SHAPE[2]) + 1 - SHAPE[2]) ** 2 <= min(SHAPE[1:]) ** 2
    for _ in range(8):
        status, box = server.send("POST", "boxes", {"held_out": True})
        check(status == 201 and circle[slices_of(box["box"])[1:]].mean() >= 0.9, f"inside the mask: {box}")
    for one in server.json("proposals?order=random")["proposals"]:
        check(circle[slices_of(one["box"])[1:]].mean() >= 0.9, f"a proposal outside the mask: {one}")
    server.stop()
    refused = subprocess.run([PROGRAM, "view", "scan.npy", "--mask", "small.npy", "--no-browser"], capture_output=True, text=True)
    check(refused.returncode != 0 and "small.npy" in refused.stderr, f"a mask of another shape: {refused.stderr}")


def test_given_model():
    """A model that the viewer is given may have learnt from what is held out: then there is no score."""
    model = "loop/iterations/001/model.h5"
    server = Server("scan.npy", "--cache", "none", "--project", "given", "--model", model, wait=False)
    where = np.argwhere(volume("loop/iterations/001/label.zarr") != 255)[0]
    box = ",".join(f"{at}:{at + 8}" for at in np.minimum(where, np.array(SHAPE) - 8))
    check(server.send("POST", "boxes", {"role": "exam", "box": box})[0] == 201, f"an exam at {box}")
    zs, ys, xs = slices_of(box)
    points = [8 * v for point in ((ys.start, xs.start), (ys.start, xs.stop), (ys.stop, xs.stop), (ys.stop, xs.start)) for v in point]
    for z in range(zs.start, zs.stop):
        check(server.send("POST", "labels", {"do": "polygon", "axis": 0, "slice": z, "points": points, "value": z % 2})[0] == 200, "labels")
    job = server.begin_job("score", {"samples": 2, "mode": "seamless"})
    job = server.wait_for_job(job["number"], "failed")
    check("has learnt from labels in the exam box" in job["error"] and server.json("iterations")["iterations"][0]["score"] is None, f"a score of what was learnt: {job['error']}")
    server.stop()


random = np.random.default_rng(3)
truth = np.zeros(SHAPE, np.uint8)
for z in range(SHAPE[0]):
    truth[z, 8 + z // 4:40 + z // 4, 20:60] = 1
np.save("scan.npy", (100 + 60 * truth + random.normal(0, 12, SHAPE)).astype(np.uint8))
np.save("small.npy", np.ones((4, 4, 4), np.uint8))
test_boxes()
test_training(truth)
server = test_exam(truth)
test_held_out_boxes()
server = test_proposals(server)
test_warm_and_anew(server, truth)
test_killed_exam(server)
test_exam_follows()
test_look_on()
test_given_model()
test_mask()
finish()
