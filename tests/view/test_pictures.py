"""Pictures of the page for docs/VIEW.md, of the demo's result where there is one, else of a phantom with a made-up run:
looked at by people, and here only for being there. They lie in build/view-pictures."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import FOLDER, PROGRAM, SOURCE, Page, Server, drag, np, run, saved  # noqa: E402


def smooth(volume, rounds):
    """A mean over neighbours, so often."""
    for _ in range(rounds):
        for axis in range(3):
            padded = np.pad(volume, [(1, 1) if i == axis else (0, 0) for i in range(3)], mode="edge")
            volume = sum(np.take(padded, np.arange(k, k + volume.shape[axis]), axis) for k in range(3)) / 3
    return volume


def make_run():
    demo = os.path.join(os.environ.get("CREDENCE_DEMO", os.path.join(SOURCE, "build/demo")), "new-bcnn")
    if os.path.exists(os.path.join(demo, "manifest.json")):
        return (demo,)
    made = ("sample/scan.npy", "--run", "run")
    if os.path.exists(os.path.join(FOLDER, "run")):
        return made
    subprocess.run([PROGRAM, "phantom", "graphite", "-o", "sample", "--shape", "64,160,200", "--format", "npy", "--quiet",
                    "--spacing", "0.65,0.65,0.65,um"], cwd=FOLDER, check=True)
    truth = np.load(os.path.join(FOLDER, "sample/truth.npy")).astype(np.float32)
    prob, unsure = smooth(truth, 2), smooth(np.random.default_rng(1).random(truth.shape, np.float32), 6)
    unc = np.clip(4 * prob * (1 - prob) * (0.5 + 12 * (unsure - unsure.mean()).clip(0)), 0, 1)
    os.makedirs(os.path.join(FOLDER, "run"))
    for name, volume in (("prob", prob * 255), ("seg", prob > 0.5), ("unc", unc * 255)):
        np.save(os.path.join(FOLDER, f"run/scan_{name}.npy"), np.round(volume).astype(np.uint8))
    return made


def test_first_run():
    """Of a scan alone: what somebody sees who has just started."""
    scan = make_run()
    if scan[0] != "sample/scan.npy":
        scan = (os.path.join(os.path.dirname(scan[0]), "phantom/scan.npy"),)
    server = Server(scan[0], "--project", "nothing-yet")
    page = Page(server.address, 1440, 860)
    try:
        page.pictures("start")
        page.js("page.showTab('train')")
        page.until("return page.jobs.train.said.textContent.length > 0", "what is missing is said")
        page.pictures("start-train")
        page.find("#show-keys").click()
        page.pictures("keys")
        assert not page.complaints(), page.complaints()
        assert not os.path.exists(os.path.join(FOLDER, "nothing-yet")), "looking made a folder"
    finally:
        page.close()
        server.stop()


def test_pictures():
    server = Server(*make_run(), "--read-only")
    try:
        for scheme in ("light", "dark"):
            page = Page(server.address, 1440, 860, scheme)
            page.until("return page.regions.list.length > 0", "regions come")
            page.until("return [...document.querySelectorAll('.regions img')].every(image => image.naturalWidth > 0)", "thumbnails")
            page.until_drawn()
            assert os.path.getsize(page.picture(f"first-{scheme}")) > 50000, "an empty picture"
            page.js("page.regions.next(1); page.view.setZoom(5)")
            page.until_drawn()
            time.sleep(0.7)
            assert os.path.getsize(page.picture(f"regions-{scheme}")) > 50000, "an empty picture"
            assert not page.complaints(), page.complaints()
            page.close()
    finally:
        server.stop()


def test_painting():
    """Strokes of three classes in three planes; of the phantom, since the demo's folder isn't ours to write to."""
    words = make_run()
    for scheme in ("light", "dark"):
        server = Server(*words, "--project", f"paint-{scheme}")
        page = Page(server.address, 1440, 860, scheme)
        try:
            page.js("page.view.setZoom(4); page.view.cross = false; page.showTab('labels'); page.paint.set({ size: 12, value: 1, tool: 'brush' }); page.paint.choose('brush')")
            page.js("page.view.toggle('uncertainty', false); page.view.toggle('segmentation', false); page.view.toggle('probability', false)")
            page.until_drawn()
            drag(page, 0, [(-120, -60), (-60, -90), (-10, -50), (40, -60)])
            drag(page, 0, [(60, 60), (110, 30)])
            page.js("page.paint.set({ value: 0 })")
            drag(page, 0, [(-150, 70), (-90, 40), (-40, 80)])
            page.js("page.paint.set({ ball: true, size: 20 })")
            drag(page, 2, [(-20, 30)])
            page.find("body").send_keys("g")
            page.js("page.paint.set({ value: 1 })")
            for corner in ((60, -120), (120, -130), (150, -80), (90, -60)):
                drag(page, 0, [corner])
            drag(page, 0, [(60, -120)])
            saved(page)
            page.find("body").send_keys("b")
            page.js("page.paint.set({ ball: false, size: 12 })")
            page.js("document.getElementById('notice').hidden = true")  # where the labels are kept: a folder of this test's
            page.until_drawn()
            assert os.path.getsize(page.picture(f"paint-{scheme}")) > 50000, "an empty picture"
            assert page.js("return page.paint.state.revision") == 5, "five operations"
            assert not page.complaints(), page.complaints()
        finally:
            page.close()
            server.stop()


if __name__ == "__main__":
    sys.exit(run([test_first_run, test_pictures, test_painting]))
