"""Jobs of `credence view`: planned, started, followed, found again by the next server, cancelled, resumed."""
import io
import json
import os
import shutil
import signal
import subprocess
import time

from viewing import FOLDER, PROGRAM, Server, check, finish, np

BUILD = os.environ.get("CREDENCE_BUILD", os.path.dirname(PROGRAM))
TRAIN = {"max-steps": 6, "chunk": "16,16,16", "batch": 2, "filters": 8, "valid-fraction": 0, "no-intervals": True, "threads": 1}
SHAPE = (40, 32, 32)


def start(*words):
    return Server("scan.npy", "--label", "label.npy", "--cache", "none", *words, wait=False)


def job_of(server, number):
    return server.json(f"jobs/{number}")


def alive(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def test_nothing_written():
    server = start()
    state = server.json("state")
    check(state["job"] is None and state["trainable"], f"no job yet: {state['job']}")
    check(server.json("iterations")["iterations"] == [], "no iterations yet")
    plan = server.json("plan?do=train&max-steps=6")
    check(plan["seconds"] is None and plan["command"].startswith("credence train --scan /"), f"the plan of a training: {plan}")
    check(not os.path.exists("scan.view"), "asking makes no folder")
    server.stop()


def test_train_and_predict():
    server = start()
    job = server.begin_job("train", TRAIN)
    check(job["number"] == 1 and job["do"] == "train" and job["iteration"] == 1 and job["state"] == "running", f"begins: {job}")
    with open(f"/proc/{job['process']}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    check(int(fields[2]) == job["process"] and int(fields[16]) == 10, f"a group of its own, and nice 10: {fields[2]}, {fields[16]}")
    held = sorted(int(fd) for fd in os.listdir(f"/proc/{job['process']}/fd"))
    links = [os.readlink(f"/proc/{job['process']}/fd/{fd}") for fd in held[:3]]
    check(links[0] == "/dev/null" and links[1].endswith("001/result.json") and links[2].endswith("001/log.txt"), f"files, not pipes: {links}")
    check(not any("socket" in os.readlink(f"/proc/{job['process']}/fd/{fd}") for fd in held), "no socket of the server's")
    status, refused = server.send("POST", "jobs", {"do": "train", "options": TRAIN})
    check(status == 409, f"one at a time: {status} {refused}")
    job = server.wait_for_job(1)
    check(job["result"]["steps"] == 6 and job["ended"] >= job["began"], f"its result: {job['result']}")
    check(os.path.exists("scan.view/iterations/001/model.h5"), "the model")
    plan = server.json("plan?do=train&" + "&".join(f"{key}={str(value).lower()}" for key, value in {**TRAIN, "max-steps": 12}.items()))
    check(abs(plan["seconds"] - 2 * job["result"]["seconds"]) < 1e-6, f"twice as many steps take twice as long: {plan['seconds']}")
    plan = server.json("plan?do=predict&samples=2")
    check(plan["seconds"] > 0 and plan["memory"] > 0 and plan["disk"] > 0 and "--format zarr" in plan["command"] and plan["iteration"] == 1, f"the plan: {plan}")
    check("--dry-run" not in plan["command"] and "--progress" not in plan["command"], f"as a person would type it: {plan['command']}")
    job = server.begin_job("predict", {"samples": 2})
    check(job["folder"] == "iterations/001/runs/1", job["folder"])
    server.wait_for_job(2)
    for _ in range(100):
        layers = [layer for layer in server.json("state")["layers"] if layer.get("run") == "iterations/001/runs/1" and "finished" not in layer]
        if layers:
            break
        time.sleep(0.1)
    check([layer["id"] for layer in layers] == ["probability", "segmentation", "uncertainty"], f"the run is shown: {layers}")
    words = plan["command"].replace("credence", PROGRAM, 1)
    words = words.replace("scan.view/iterations/001/runs/1/run", "by-hand")
    subprocess.run(words, shell=True, check=True, capture_output=True)
    for at, _, names in os.walk("by-hand/scan_prob.zarr"):
        for name in names:
            path = os.path.join(at, name)
            with open(path, "rb") as mine, open(path.replace("by-hand", "scan.view/iterations/001/runs/1/run"), "rb") as theirs:
                check(mine.read() == theirs.read(), f"the command of the plan gives the same bytes: {path}")
    job = server.begin_job("predict", {"samples": 2, "bbox": "8:40,0:32,8:32"})
    server.wait_for_job(job["number"])
    job = server.begin_job("predict", {"samples": 2, "preview": True, "iteration": 1})
    server.wait_for_job(job["number"])
    job = server.begin_job("train", {**TRAIN, "iteration": 1})
    check(job["iteration"] == 2 and "--init scan.view/iterations/001/model.h5" in job["command"].replace(FOLDER + "/", "").replace("./", ""), f"a warm start: {job['command']}")
    server.wait_for_job(job["number"])
    iterations = server.json("iterations")["iterations"]
    check([(entry["number"], len(entry["jobs"])) for entry in iterations] == [(1, 4), (2, 1)], f"iterations: {iterations}")
    check(server.stop() == 0, f"stops: {server.errors}")
    server = start()
    check(server.json("iterations")["iterations"] == iterations, "all is found again")
    server.stop()


def test_painted():
    """What is painted is what is learnt from: as it was when the training began."""
    server = Server("scan.npy", "--cache", "none", "--project", "painted", wait=False)
    check(not server.json("state")["trainable"], "nothing to learn from yet")
    status, answer = server.send("POST", "jobs", {"do": "train", "options": TRAIN})
    check(status == 422 and "no labels" in answer["error"]["message"], f"and so it is said: {status} {answer}")
    for value, y in ((0, 64), (1, 190)):  # points and radius in eighths of a voxel, over the whole width
        status, answer = server.send("POST", "labels", {"do": "stroke", "axis": 0, "slice": 20, "points": [y, 8, y, 240], "radius": 50, "value": value})
        check(status == 200 and answer["voxels"] > 0, f"a stroke: {status} {answer}")
    check(server.json("state")["trainable"], "now there is")
    job = server.begin_job("train", TRAIN)
    check("iterations/001/label.zarr --ignore 255" in job["command"], f"a snapshot: {job['command']}")
    before = server.json("state")["labels"]["counts"]
    server.send("POST", "labels", {"do": "stroke", "axis": 0, "slice": 30, "points": [64, 8, 64, 240], "radius": 50, "value": 1})
    server.wait_for_job(job["number"])
    info = json.loads(subprocess.run([PROGRAM, "info", "--json", "painted/iterations/001/label.zarr"], capture_output=True, text=True, check=True).stdout)
    check(info["shape"] == list(SHAPE), f"the snapshot: {info}")
    subprocess.run([PROGRAM, "convert", "painted/iterations/001/label.zarr", "snapshot.npy", "--quiet"], check=True)
    kept = np.load("snapshot.npy")
    check([int((kept == k).sum()) for k in range(2)] == before[:2], "as it was when the training began")
    server.stop()


def box_of(server, layer, words):
    return np.load(io.BytesIO(server.ask(f"/api/1/box/{layer}?box={words}").data))


def test_accept_by_value():
    """The classes of a run are painted as what their model learnt them from, also where not every class was painted."""
    z, y, x = np.indices(SHAPE)
    inside = (y - 15.5) ** 2 + (x - 15.5) ** 2 <= 16**2
    for name, painted, mask in (("pair", (0, 2), ()), ("gap", (1, 3, 5), ()), ("masked", (0, 1), ("--mask", "cylinder"))):
        server = Server("scan.npy", "--cache", "none", "--project", name, *mask, wait=False)
        for place, value in enumerate(painted):
            status, answer = server.send("POST", "labels", {"do": "stroke", "axis": 0, "slice": 20, "points": [40 + 80 * place, 8, 40 + 80 * place, 240], "radius": 36, "value": value})
            check(status == 200 and answer["voxels"] > 0, f"a stroke: {status} {answer}")
        server.wait_for_job(server.begin_job("train", {**TRAIN, "max-steps": 2})["number"])
        job = server.begin_job("predict", {"samples": 2})
        server.wait_for_job(job["number"])
        for _ in range(100):
            layers = [layer for layer in server.json("state")["layers"] if layer.get("run") == job["folder"] and "finished" not in layer]
            if layers:
                break
            time.sleep(0.1)
        layer = next(layer for layer in layers if layer["id"] == "segmentation")
        part = "22:40,0:32,0:32"  # no stroke is there
        found = box_of(server, layer["number"], part)
        server.send("POST", "labels", {"do": "accept", "box": part})
        kept = box_of(server, server.json("state")["labels"]["layer"], part)
        values = [item["value"] for item in layer["classes"]]
        wanted = np.select([found == value for value in values], painted, 255)
        if mask:  # where nothing was computed there is nothing to accept
            wanted = np.where(inside[22:40], wanted, 255)
        check((kept == wanted).all(), f"{name}: painted {np.unique(kept)}, and not {np.unique(wanted)}")
        server.stop()


def test_wrong_wishes():
    server = start()
    for what, options, wanted, words in (
            ("train", {"output": "/tmp/x.h5"}, 422, "no option that the page may set"),
            ("train", {"init": "/etc/passwd"}, 422, "no option"),
            ("train", {"scan": "other.tif"}, 422, "no option"),
            ("predict", {"mask": "/etc/passwd"}, 422, "no option"),
            ("predict", {"model": "x"}, 422, "no option"),
            ("train", {"max-steps": -1}, 422, "max-steps"),
            ("train", {"max-steps": [1]}, 422, "max-steps"),
            ("train", {"preset": "../x"}, 422, "preset"),
            ("train", {"device": "/dev/null"}, 422, "device"),
            ("train", {"iteration": 1.5}, 422, "iteration"),
            ("train", {"iteration": 77}, 422, "iteration 77 has no model"),
            ("train", "all", 422, "options must be an object"),
            ("predict", {"bbox": "1:2"}, 422, "bbox"),
            ("rm", {}, 422, "do must be"),
            ("--help", {}, 422, "do must be")):
        status, answer = server.send("POST", "jobs", {"do": what, "options": options})
        check(status == wanted and words in answer["error"]["message"], f"{what} {options}: {status} {answer}")
    check(server.send("POST", "jobs", {"what": 1})[0] == 400, "a body without do")
    check(server.ask("/api/1/jobs", "POST", {"Content-Type": "application/json"}, "{").status == 400, "no JSON")
    check(server.ask("/api/1/jobs", "POST", {"Content-Type": "text/plain"}, "{}").status == 415, "not JSON")
    for path in ("jobs/99", "jobs/0", "jobs/x", "jobs/99/log"):
        check(server.ask("/api/1/" + path).status == 404, path)
    check(server.ask("/api/1/jobs/99/cancel", "POST").status == 404, "cancel what isn't there")
    check(server.ask("/api/1/jobs/1/log?from=-1").status == 400, "a byte before the first")
    check(server.ask("/api/1/plan?do=predict&output=x").status == 422, "a plan with a path")
    check(server.ask("/api/1/jobs/1/resume", "POST").status == 422, "what is done isn't resumed")
    server.stop()
    server = start("--read-only")
    check(server.send("POST", "jobs", {"do": "train", "options": TRAIN})[0] == 422, "--read-only starts nothing")
    server.stop()


def models_of(folder):
    with open(os.path.join(folder, "model.h5"), "rb") as file:
        return file.read()


def start_long(server, steps=60):
    """A training that will be interrupted once a few steps are done."""
    job = server.begin_job("train", {**TRAIN, "max-steps": steps})
    for _ in range(1200):
        job = job_of(server, job["number"])
        if job["state"] != "running" or (job["progress"] and job["progress"]["stage"] == "training" and job["progress"]["done"] >= 4):
            break
        time.sleep(0.02)
    check(job["state"] == "running", f"still at it: {job}")
    return job


def test_cancel_and_resume():
    server = start("--project", "undisturbed")
    server.wait_for_job(server.begin_job("train", {**TRAIN, "max-steps": 60})["number"])
    server.stop()
    server = start("--project", "disturbed")
    job = start_long(server)
    status, answer = server.send("POST", f"jobs/{job['number']}/cancel", {})
    check(status == 200 and answer["cancelling"], f"cancelling: {answer}")
    cancelled = server.wait_for_job(job["number"], "cancelled")
    check(cancelled["error"].startswith("stopped"), f"in good order: {cancelled['error']}")
    check(not alive(job["process"]), "its process is gone")
    status, resumed = server.send("POST", f"jobs/{job['number']}/resume", {})
    check(status == 200 and resumed["state"] == "running" and resumed["error"] is None, f"goes on: {resumed}")
    server.wait_for_job(job["number"])
    server.stop()
    check(models_of("disturbed/iterations/001") == models_of("undisturbed/iterations/001"), "the same bytes after cancel and resume")


def test_found_again():
    """The server is killed; the job goes on, and the next server finds it. Then the job is killed, and goes on as well."""
    server = start("--project", "found")
    job = start_long(server)
    server.stop(signal.SIGKILL)
    check(alive(job["process"]), "the job outlives the server")
    server = start("--project", "found")
    again = server.json("state")["job"]
    check(again["number"] == job["number"] and again["state"] == "running" and again["process"] == job["process"], f"found again: {again}")
    os.kill(job["process"], signal.SIGKILL)
    gone = server.wait_for_job(job["number"], "interrupted")
    check(gone["ended"] is not None, "and has an end")
    server.stop()
    server = start("--project", "found")
    check(job_of(server, job["number"])["state"] == "interrupted", "that is kept")
    server.send("POST", f"jobs/{job['number']}/resume", {})
    server.stop(signal.SIGKILL)  # and ends while nobody looks
    with open("found/iterations/001/job.json") as file:
        process = json.load(file)["process"]["number"]
    while alive(process):
        time.sleep(0.05)
    server = start("--project", "found")
    server.wait_for_job(job["number"])
    server.stop()
    check(models_of("found/iterations/001") == models_of("undisturbed/iterations/001"), "the same bytes after two kills")


def test_moved():
    """A project that is moved has all it had: jobs, results that are shown, models; a training that was cancelled goes on there."""
    server = start("--project", "before-move")
    server.wait_for_job(server.begin_job("train", {**TRAIN, "max-steps": 60})["number"])
    server.wait_for_job(server.begin_job("predict", {"samples": 2})["number"])
    job = start_long(server)
    server.send("POST", f"jobs/{job['number']}/cancel", {})
    server.wait_for_job(job["number"], "cancelled")
    before = server.json("iterations")["iterations"]
    server.stop()
    os.makedirs("moved/far")
    os.rename("before-move", "moved/far/project")
    server = start("--project", "moved/far/project")
    after = server.json("iterations")["iterations"]
    keep = ("number", "do", "iteration", "state", "folder", "result")
    check([[{key: job[key] for key in keep} for job in one["jobs"]] for one in before] == [[{key: job[key] for key in keep} for job in one["jobs"]] for one in after], f"jobs: {after}")
    for _ in range(200):
        shown = [layer for layer in server.json("state")["layers"] if layer.get("run") == "iterations/001/runs/1"]
        if shown:
            break
        time.sleep(0.1)
    check(shown, "its prediction is shown")
    status, answer = server.send("POST", f"jobs/{job['number']}/resume", {})
    check(status == 200, f"resume: {status} {answer}")
    server.wait_for_job(job["number"])
    server.wait_for_job(server.begin_job("predict", {"samples": 2, "iteration": 2})["number"])
    server.stop()
    check(models_of("moved/far/project/iterations/002") == models_of("undisturbed/iterations/001"), "the same bytes after the move")


def test_other_process():
    """A process that got the number of one that is gone isn't taken for it."""
    other = subprocess.Popen(["sleep", "60"])
    folder = "borrowed/iterations/001"
    shutil.copytree("found", "borrowed")
    with open(folder + "/job.json") as file:
        job = json.load(file)
    job["state"], job["process"]["number"] = "running", other.pid
    os.remove(folder + "/result.json")
    with open(folder + "/job.json", "w") as file:
        json.dump(job, file)
    server = start("--project", "borrowed")
    ended = server.wait_for_job(job["number"], "interrupted", 5)
    server.send("POST", f"jobs/{job['number']}/cancel", {})
    check(ended["state"] == "interrupted" and other.poll() is None, "another's process is left alone")
    server.stop()
    other.kill()
    other.wait()


def test_failed():
    os.remove("label.npy")
    np.save("label.npy", np.full(SHAPE, 1, np.uint8))  # nothing to tell apart
    server = start("--project", "failing")
    job = server.begin_job("train", TRAIN)
    failed = server.wait_for_job(job["number"], "failed")
    check(failed["error"] and "label" in failed["error"], f"the program's own sentence: {failed['error']}")
    log = [json.loads(line) for line in server.ask(f"/api/1/jobs/{job['number']}/log").data.decode().splitlines()]
    check(log[-1]["text"] == failed["error"], "and the log")
    part = server.ask(f"/api/1/jobs/{job['number']}/log?from=10").data
    check(part == server.ask(f"/api/1/jobs/{job['number']}/log").data[10:], "from a byte on")
    server.stop()


def test_stubborn():
    """A job that doesn't listen is ended by force after half a minute."""
    if not os.environ.get("CREDENCE_LONG"):
        return
    server = start("--project", "stubborn")
    job = start_long(server)
    os.kill(job["process"], signal.SIGSTOP)
    server.send("POST", f"jobs/{job['number']}/cancel", {})
    time.sleep(20)
    check(alive(job["process"]), "it has time for a good end")
    server.wait_for_job(job["number"], "cancelled")
    check(not alive(job["process"]), "and is ended by force")
    server.stop()


def test_ctrl_c():
    """A job goes on where the viewer ends, and that is said."""
    np.save("label.npy", label)
    server = start("--project", "goes-on")
    job = start_long(server, 2000)
    code = server.stop(signal.SIGINT)
    check(code == 0 and "goes on" in server.errors, f"Ctrl-C says so: {code}, {server.errors}")
    check(alive(job["process"]), "it goes on")
    server = start("--project", "goes-on")
    server.send("POST", f"jobs/{job['number']}/cancel", {})
    server.wait_for_job(job["number"], "cancelled")
    server.send("POST", f"jobs/{job['number']}/resume", {})
    server.process.send_signal(signal.SIGINT)
    time.sleep(1)
    server.process.send_signal(signal.SIGINT)
    check(server.process.wait(60) == 0, "a second Ctrl-C ends both")
    with open("goes-on/iterations/001/job.json") as file:
        check(not alive(json.load(file)["process"]["number"]), "and the job has ended")
    server.process.stdout.close()
    server.process.stderr.close()


label = None


def main():
    global label
    noise = np.random.default_rng(4)
    field = noise.normal(0, 1, SHAPE).cumsum(0).cumsum(1)
    label = (field > np.median(field)).astype(np.uint8)
    np.save("scan.npy", (100 * label + noise.normal(0, 20, SHAPE)).astype(np.float32))
    np.save("label.npy", label)
    for test in (test_nothing_written, test_train_and_predict, test_painted, test_accept_by_value, test_wrong_wishes, test_cancel_and_resume, test_found_again, test_moved, test_other_process,
                 test_stubborn, test_failed, test_ctrl_c):
        began = time.monotonic()
        test()
        print(f"{test.__name__}: {time.monotonic() - began:.1f} s", flush=True)
    finish()


if __name__ == "__main__":
    main()
