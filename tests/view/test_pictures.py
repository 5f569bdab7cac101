"""Pictures of the page for docs/VIEW.md, of the demo's result where there is one, else of a phantom with a made-up run:
looked at by people, and here only for being there. They lie in build/view-pictures."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import FOLDER, PROGRAM, SOURCE, Page, Server, np, run  # noqa: E402


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
    subprocess.run([PROGRAM, "phantom", "graphite", "-o", "sample", "--shape", "64,160,200", "--format", "npy", "--quiet",
                    "--spacing", "0.65,0.65,0.65,um"], cwd=FOLDER, check=True)
    truth = np.load(os.path.join(FOLDER, "sample/truth.npy")).astype(np.float32)
    prob, unsure = smooth(truth, 2), smooth(np.random.default_rng(1).random(truth.shape, np.float32), 6)
    unc = np.clip(4 * prob * (1 - prob) * (0.5 + 12 * (unsure - unsure.mean()).clip(0)), 0, 1)
    os.makedirs(os.path.join(FOLDER, "run"))
    for name, volume in (("prob", prob * 255), ("seg", prob > 0.5), ("unc", unc * 255)):
        np.save(os.path.join(FOLDER, f"run/scan_{name}.npy"), np.round(volume).astype(np.uint8))
    return "sample/scan.npy", "--run", "run"


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


if __name__ == "__main__":
    sys.exit(run([test_pictures]))
