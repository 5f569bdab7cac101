"""How smooth the page is: frames while panning over tiles that are there, and while the window is dragged, three planes and
three layers at 1920 x 1080; memory of the tab. The figures are printed; what fails is only what nobody could work with.
CREDENCE_SCAN names a large scan to measure on (docs/BENCHMARKS.md)."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import FOLDER, Page, Server, np, run  # noqa: E402

MEASURE = """
const [change, count, done] = [arguments[0], arguments[1], arguments[2]];
const step = new Function('page', 'i', change), frames = [], scripts = [];
const draw = page.panes.map(pane => pane.draw.bind(pane));
let script = 0;
page.panes.forEach((pane, k) => { pane.draw = () => { const t = performance.now(); draw[k](); script += performance.now() - t; }; });
let last = null, i = 0;
const tick = now => {
  if (last !== null) { frames.push(now - last); scripts.push(script); }
  last = now;
  script = 0;
  if (i === count) {
    page.panes.forEach((pane, k) => { pane.draw = draw[k]; });
    frames.sort((a, b) => a - b); scripts.sort((a, b) => a - b);
    const at = (list, share) => Number(list[Math.floor(share * (list.length - 1))].toFixed(1));
    done({ p50: at(frames, 0.5), p95: at(frames, 0.95), script: at(scripts, 0.5), frames: frames.length });
    return;
  }
  step(page, i++);
  requestAnimationFrame(tick);
};
requestAnimationFrame(tick);
"""


def make():
    if scan := os.environ.get("CREDENCE_SCAN"):
        return (scan,)
    shape = (200, 700, 900)
    z, y, x = np.ogrid[:shape[0], :shape[1], :shape[2]]
    field = np.sin(x / 23) * np.sin(y / 17 + z / 29)
    os.makedirs(os.path.join(FOLDER, "run"))
    np.save(os.path.join(FOLDER, "scan.npy"), (20000 + 8000 * field).astype(np.uint16))
    np.save(os.path.join(FOLDER, "run/scan_prob.npy"), (127 + 127 * field).astype(np.uint8))
    np.save(os.path.join(FOLDER, "run/scan_seg.npy"), (field > 0).astype(np.uint8))
    np.save(os.path.join(FOLDER, "run/scan_unc.npy"), (200 * np.exp(-30 * field ** 2)).astype(np.uint8))
    return "scan.npy", "--run", "run"


def test_frames():
    server = Server(*make(), "--read-only")
    page = Page(server.address, 1920, 1080)
    try:
        page.js("page.view.layers.forEach(layer => { layer.visible = layer.id !== 'probability'; }); page.view.setZoom(1)")
        page.until("return page.view.layers[0].levels === 1 || page.view.layers.every(layer => layer.revision >= 2)", "levels come", 120)
        page.until_drawn()
        # There and back, twice: the second time all tiles are there.
        pan = "const by = i % 60 < 30 ? 4 : -4; page.view.pan(0, by, by); page.view.pan(1, 0, by)"
        for _ in range(2):
            figures = page.driver.execute_async_script(MEASURE, pan, 120)
            page.until_drawn()
        print("pan", figures)
        assert figures["p95"] < 200, figures
        window = "const [low, high] = page.view.layers[0].first; page.view.setWindow(page.view.layers[0], low + (high - low) * (i % 40) / 200, high, false)"
        figures = page.driver.execute_async_script(MEASURE, window, 120)
        print("window", figures)
        assert figures["p95"] < 400, figures
        page.until_drawn()
        memory = page.driver.execute_cdp_cmd("Performance.getMetrics", {}) if page.driver.execute_cdp_cmd("Performance.enable", {}) is not None else {}
        heap = {entry["name"]: entry["value"] for entry in memory.get("metrics", [])}.get("JSHeapUsedSize", 0) / 2 ** 20
        kept = page.js("return page.tiles.taken") / 2 ** 20
        print(f"tab: {heap:.0f} MiB of heap, {kept:.0f} MiB of coloured tiles")
        assert kept <= 256 and heap < 300
    finally:
        page.close()
        server.stop()


if __name__ == "__main__":
    sys.exit(run([test_frames]))
