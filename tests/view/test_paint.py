"""Painting in a real browser: what is seen before the server has answered is what will be there; nothing is lost."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import FOLDER, PROGRAM, Keys, Page, Server, drag, np, own_port, run, saved  # noqa: E402

SHAPE = (60, 300, 420)
noise = np.random.default_rng(5)
scan = (4000 + noise.integers(0, 4000, SHAPE)).astype(np.uint16)
np.save(os.path.join(FOLDER, "scan.npy"), scan)
os.makedirs(os.path.join(FOLDER, "run"))
seg = (scan > 6000).astype(np.uint8)
for name, volume in (("prob", seg * 255), ("seg", seg), ("unc", (scan - 4000) // 16)):
    np.save(os.path.join(FOLDER, f"run/scan_{name}.npy"), volume.astype(np.uint8))
SPACING = ("--spacing", "1.3,0.65,0.65,um")


def ask(server, path, method="GET", body=None):
    key = server.address.split("#key=")[1]
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}/api/1/{path}", method=method, data=body and json.dumps(body).encode(),
                                     headers={"X-Credence-Key": key, "Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read()


def labels_of(server):
    layer = json.loads(ask(server, "state"))["labels"]["layer"]
    with open(os.path.join(FOLDER, "box.npy"), "wb") as file:
        file.write(ask(server, f"box/{layer}?box=0:{SHAPE[0]},0:{SHAPE[1]},0:{SHAPE[2]}"))
    return np.load(os.path.join(FOLDER, "box.npy"))


class Painting:
    """A server with a fresh project, and a tab on it."""

    def __init__(self, *words, keep=False, **look):
        self.words, self.look, self.keep = words, look, keep

    def __enter__(self):
        if not self.keep:
            shutil.rmtree(os.path.join(FOLDER, "scan.view"), ignore_errors=True)
        self.server = Server("scan.npy", *self.words)
        self.page = Page(self.server.address, **self.look)
        self.page.js("page.view.setZoom(3); page.view.cross = false; page.view.goTo([30, 150, 210], true)")
        self.page.until_drawn()
        return self.server, self.page

    def __exit__(self, kind, error, trace):
        try:
            if kind is not None:
                self.page.picture("failed")
            complaints = self.page.complaints()
        finally:
            self.page.close()
            self.server.stop()
        if kind is None:
            assert not complaints, f"the console says {complaints}"


COVER = """
  // Every voxel that the preview covers, before the server has said anything.
  window.previews = [];
  const post = page.paint.post.bind(page.paint);
  page.paint.post = (operation, cover, filter) => {
    const boxes = cover ? [...cover.boxes()] : [];
    window.previews.push({ operation, boxes, filter });
    return post(operation, cover, filter);
  };"""


def preview(page, number):
    """The voxels of the n-th operation as the page drew them."""
    boxes, value = page.js("""const { boxes, filter, operation } = window.previews[arguments[0]];
        return [filter ? boxes.flatMap(box => [...filter.parts(box)]) : boxes, operation.value]""", number)
    mask = np.zeros(SHAPE, bool)
    for low, high in boxes:
        mask[tuple(slice(a, b) for a, b in zip(low, high))] = True
    return mask, value


def test_strokes_agree():
    """Disc, ball and polygon in every plane, with unequal spacing: the page's voxels are the server's."""
    with Painting(*SPACING) as (server, page):
        page.js(COVER)
        wanted, number = np.full(SHAPE, 255, np.uint8), 0
        for axis in range(3):
            for ball, size, path in ((False, 12, [(-30, -20), (25, 10), (40, -25)]), (True, 10, [(10, 30), (30, 40)]), (False, 1, [(-50, 50), (-20, 20)]), (True, 25, [(60, 0)])):
                page.js("page.paint.set({ size: arguments[0], ball: arguments[1], value: arguments[2], tool: 'brush' })", size, ball, axis % 2)
                drag(page, axis, path)
                page.until(f"return window.previews.length === {number + 1}", "a stroke")
                mask, value = preview(page, number)
                assert mask.any() and mask.sum() > size, f"nothing is seen of stroke {number}"
                wanted[mask] = value
                number += 1
        saved(page)
        assert np.array_equal(labels_of(server), wanted), f"strokes: {(labels_of(server) != wanted).sum()} voxels differ"
        page.js("page.paint.choose('polygon')")
        for corner in ((-60, -40), (55, -35), (20, 5), (60, 45), (-50, 30)):
            drag(page, 0, [corner])
        drag(page, 0, [(0, 0)], "right")
        page.until(f"return window.previews.length === {number + 1}", "a polygon")
        mask, value = preview(page, number)
        assert mask.sum() > 200, "nothing of a polygon"
        wanted[mask] = value
        saved(page)
        assert np.array_equal(labels_of(server), wanted), f"polygon: {(labels_of(server) != wanted).sum()} voxels differ"
        # And in the picture: a painted voxel has the class's colour in it, another one is grey.
        painted, free = np.argwhere(wanted[30] == 0)[0], np.argwhere(wanted[30] == 255)[0]
        page.js("page.view.goTo([30, arguments[0], arguments[1]], true)", int(painted[0]), int(painted[1]))
        saved(page)
        r, g, b = page.pixel_at(0, [30, int(painted[0]), int(painted[1])])
        assert b > r + 20, f"no colour in the picture: {r, g, b}"
        page.js("page.view.goTo([30, arguments[0], arguments[1]], true)", int(free[0]), int(free[1]))
        saved(page)
        r, g, b = page.pixel_at(0, [30, int(free[0]), int(free[1])])
        assert r == g == b, f"colour where nothing was painted: {r, g, b}"


def test_rules_agree():
    """Only unlabelled voxels, only other classes, only a range of grey: what is seen is what will be there."""
    with Painting() as (server, page):
        page.js(COVER)
        wanted = np.full(SHAPE, 255, np.uint8)
        page.js("page.paint.set({ size: 20, value: 0, tool: 'brush' })")
        drag(page, 0, [(-20, 0), (20, 0)])
        saved(page)
        wanted[preview(page, 0)[0]] = 0
        for number, rules in enumerate(("over: 'unlabelled', value: 1", "over: 'all', greyOn: true, grey: [5000, 6500], value: 1", "over: 'others', greyOn: true, grey: [4000, 7000], value: 0"), 1):
            page.js(f"page.paint.set({{ {rules} }})")
            drag(page, 0, [(0, -20 - 10 * number), (10, 20)])
            page.until(f"return window.previews.length === {number + 1}", "a stroke")
            page.until(f"return [...window.previews[{number}].filter.cells.values()].every(Boolean)", "what is there is known")
            mask, value = preview(page, number)
            saved(page)
            wanted[mask] = value
            assert mask.any() and np.array_equal(labels_of(server), wanted), f"{rules}: {(labels_of(server) != wanted).sum()} voxels differ"


def test_tools_and_undo():
    """Eraser, right button, fill, V; undo and redo over planes and a reload; keys."""
    with Painting("--run", "run") as (server, page):
        body = page.find("body")
        states = [labels_of(server)]

        def step(what):
            saved(page)
            now = labels_of(server)
            assert not np.array_equal(now, states[-1]), f"{what} changed nothing"
            states.append(now)

        body.send_keys("b2]]")
        assert page.js("return [page.paint.tool, page.paint.value, page.paint.size]") == ["brush", 1, 12]
        drag(page, 0, [(-60, -60), (60, -60), (60, 60), (-60, 60), (-60, -60)])
        step("a ring")
        body.send_keys("f")
        drag(page, 0, [(0, 0)])
        step("fill")
        assert states[-1][30, 150, 210] == 1 and states[-1][30, 0, 0] == 255, "the ring is filled, and nothing outside"
        body.send_keys("e")
        drag(page, 0, [(-10, 0), (10, 0)])
        step("the eraser")
        assert states[-1][30, 150, 210] == 255
        body.send_keys("b")
        drag(page, 0, [(0, 40), (20, 40)], "right")
        step("the right button erases")
        page.js("page.view.move(0, 4)")
        drag(page, 0, [(0, 0), (30, 10)])
        step("another slice")
        page.find("#pane-z canvas").send_keys("v")
        step("V")
        assert (states[-1][31:34] == 1).any(axis=(1, 2)).all(), "slices in between"
        body.send_keys("o")
        drag(page, 2, [(0, 0)])
        step("a ball across x")
        assert (states[-1] != states[-2]).any(axis=(0, 1)).sum() > 5, "a ball is deep"
        for back in range(len(states) - 2, -1, -1):
            body.send_keys(Keys.CONTROL, "z")
            saved(page)
            assert np.array_equal(labels_of(server), states[back]), f"undo to {back}"
        body.send_keys(Keys.CONTROL, "z")
        page.until("return document.getElementById('notice').textContent.includes('nothing to undo')", "the end is said")
        for forth in range(1, 4):
            body.send_keys(Keys.CONTROL, "y")
        saved(page)
        assert np.array_equal(labels_of(server), states[3]), "redo"
        page.open(server.address)
        page.js("page.paint.choose('brush')")
        page.find("body").send_keys(Keys.CONTROL, Keys.SHIFT, "z")
        saved(page)
        assert np.array_equal(labels_of(server), states[4]), "redo after a reload"
        page.js("page.showTab('labels')")
        page.until("return document.querySelectorAll('.history li').length === 7 && document.querySelectorAll('.history .undone').length === 3",
                   "all that was done is listed, and what was undone")
        page.js("page.paint.choose('box')")
        page.js("page.paint.set({ depth: 4 })")
        drag(page, 0, [(-90, -60), (-30, -20)])
        words = page.js("return page.paint.boxWords")
        part = tuple(slice(*map(int, ends.split(":"))) for ends in words.split(","))
        page.js("[...document.querySelectorAll('#panel-labels button')].find(button => button.textContent === 'Accept segmentation').click()")
        saved(page)
        assert np.array_equal(labels_of(server)[part], seg[part]), f"accepted in {words}"


def test_classes():
    """Names and colours of classes, a new one, over a reload; text is only text."""
    with Painting() as (server, page):
        page.js("page.showTab('labels')")
        name = page.find(".class-list li:nth-child(2) input:not([type=color])")
        name.clear()
        name.send_keys("pore <b>x</b>\t")
        page.until("return page.paint.state.classes[1].name.startsWith('pore')", "a name")
        page.js("[...document.querySelectorAll('#panel-labels button')].find(button => button.textContent === 'Add a class').click()")
        page.until("return page.paint.state.classes.length === 3 && page.paint.value === 2", "a class")
        page.open(server.address)
        assert page.js("return page.paint.state.classes.map(item => item.name)") == ["rest", "pore <b>x</b>", "class 2"]
        page.find("body").send_keys("b3")
        assert page.js("return page.paint.value") == 2
        drag(page, 0, [(0, 0), (20, 0)])
        saved(page)
        assert (labels_of(server) == 2).any() and page.js("return page.paint.state.counts[2]") == int((labels_of(server) == 2).sum())
        assert not page.js("return document.querySelector('.class-list b')"), "a name became markup"


def test_killed_while_painting():
    """The server is killed and started again while strokes are painted: none is lost, none is done twice."""
    with Painting("--port", str(own_port())) as (server, page):
        page.js(COVER)
        page.js("page.paint.set({ size: 10, value: 1, tool: 'brush' })")
        wanted, port, number = np.full(SHAPE, 255, np.uint8), server.port, 0
        for round_ in range(3):
            for _ in range(2):
                drag(page, 0, [(-60 + 10 * number, -40), (-50 + 10 * number, 30)])
                number += 1
            os.kill(server.process.pid, signal.SIGKILL)
            server.process.wait()
            for _ in range(3):
                drag(page, 0, [(-60 + 10 * number, -40), (-50 + 10 * number, 30)])
                number += 1
            page.until("return document.getElementById('connection').dataset.state === 'offline'", "the dot says that it is gone")
            assert page.js("return page.paint.queue.items.length") >= 3
            again = Server("scan.npy", port=port)
            server.process, server.address = again.process, again.address
            page.until("return document.getElementById('connection').dataset.state === 'connected'", "and that all is saved", 30)
        saved(page)
        assert page.js("return window.previews.length") == number
        for i in range(number):
            mask, value = preview(page, i)
            wanted[mask] = value
        assert np.array_equal(labels_of(server), wanted), f"{(labels_of(server) != wanted).sum()} voxels differ"
        history = json.loads(ask(server, "labels/history"))
        assert history["undo"] == number, f"{history['undo']} operations of {number}"
        page.said = []
        page.complaints()
        page.said = []  # of the lines that were cut a browser complains, and should


def test_full_disk():
    """What a full disk refuses stays in the page, and is there as soon as there is room."""
    script = f"mount -t tmpfs -o size=600k tmpfs small && cd small && head -c 450k /dev/zero >filler && exec '{PROGRAM}' view ../scan.npy --no-browser --cache none --project full"
    os.makedirs(os.path.join(FOLDER, "small"), exist_ok=True)
    if subprocess.run(["unshare", "-Urm", "sh", "-c", "mount -t tmpfs -o size=300k tmpfs small"], capture_output=True, cwd=FOLDER).returncode != 0:
        print("skipped: no file system of its own can be made here", flush=True)
        return
    server = Server(command=["unshare", "-Urm", "sh", "-c", script])
    page = Page(server.address)
    try:
        page.js("page.view.setZoom(3); page.view.cross = false; page.view.goTo([30, 150, 210], true)")
        page.until_drawn()
        page.js(COVER)
        page.js("page.paint.set({ size: 50, value: 1, tool: 'brush', greyOn: true, grey: [5000, 6500] })")  # of noise: nothing packs
        number = 0
        while page.js("return page.paint.queue.tries") == 0 and number < 150:
            page.js("page.view.move(0, arguments[0])", 1 if number % 40 < 20 else -1)
            drag(page, 0, [(-70 + number, -40), (70 - number, 40)])
            number += 1
            page.until(f"return window.previews.length === {number} && [...window.previews[{number - 1}].filter.cells.values()].every(Boolean)", "what is there is known")
            page.until("return page.paint.queue.items.length === 0 || page.paint.queue.tries > 0", "saved, or refused")
        assert page.js("return page.paint.queue.items.length") > 0, f"it never got full in {number} strokes"
        assert "Not saved yet" in page.find("#notice").text and "tries again" in page.find("#notice").text, page.find("#notice").text
        page.until("return document.getElementById('connection').dataset.state === 'saving'", "the dot says that something isn't saved")
        os.remove(f"/proc/{server.process.pid}/cwd/filler")  # its file system is seen by nobody else
        saved(page)
        wanted = np.full(SHAPE, 255, np.uint8)
        for i in range(number):
            mask, value = preview(page, i)
            wanted[mask] = value
        assert np.array_equal(labels_of(server), wanted), f"{(labels_of(server) != wanted).sum()} voxels differ"
        page.picture("full-disk")
    finally:
        page.close()
        server.stop()


def test_two_tabs():
    """Two tabs paint in turn: each sees the other's, and neither loses anything."""
    with Painting() as (server, page):
        other = Page(server.address)
        try:
            other.js("page.view.setZoom(3); page.view.cross = false; page.view.goTo([30, 150, 210], true)")
            for tab in (page, other):
                tab.js(COVER)
                tab.js("page.paint.set({ size: 10, tool: 'brush' })")
            page.js("page.paint.set({ value: 1 })")
            other.js("page.paint.set({ value: 0 })")
            wanted = np.full(SHAPE, 255, np.uint8)
            for i in range(4):
                tab = (page, other)[i % 2]
                drag(tab, 0, [(-60 + 30 * i, -40), (-50 + 30 * i, 30)])
                saved(tab)
                mask, value = preview(tab, i // 2)
                wanted[mask] = value
            # With an old revision: as if it hadn't heard of the other's.
            page.js("page.paint.queue.revision = 1")
            drag(page, 0, [(70, 0), (90, 20)])
            saved(page)
            mask, value = preview(page, 2)
            wanted[mask] = value
            assert np.array_equal(labels_of(server), wanted), f"{(labels_of(server) != wanted).sum()} voxels differ"
            other.until("return page.paint.state.revision === 5", "the other one hears of it")
            place = [30] + [int(v) for v in np.argwhere(wanted[30] == 1)[0]]
            saved(other)
            r, g, b = other.pixel_at(0, place)
            assert r > b + 20, f"the other one shows it: {r, g, b}"
            page.complaints()
            page.said = [entry for entry in page.said if "409" not in entry["message"]]
        finally:
            complaints = other.complaints()
            other.close()
        assert not complaints, complaints


def test_by_keyboard():
    """Tab to a plane, a tool by its letter, Enter paints at the cross-hair."""
    with Painting() as (server, page):
        page.js("window.heard = []; const say = page.say.bind(page); page.say = words => { window.heard.push(words); say(words); }")
        page.find("#pane-z canvas").send_keys("b")
        canvas = page.find("#pane-z canvas")
        page.js("document.querySelector('#pane-z canvas').focus(); page.view.goTo([30, 150, 210], true); page.paint.set({ value: 1 })")
        for keys in ("[", "[", Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ENTER, Keys.ARROW_RIGHT, Keys.ENTER, "1", ",", Keys.ENTER):
            canvas.send_keys(keys)
        saved(page)
        labels = labels_of(server)
        assert labels[30, 151, 211] == 1 and labels[30, 151, 212] == 1 and labels[29, 151, 212] == 0, "painted by keys"
        heard = page.js("return window.heard")
        assert sum("stroke: " in words and "voxels" in words for words in heard) == 3 and "Brush" in heard, f"what a screen reader is told: {heard}"
        canvas.send_keys("g")
        for keys in (Keys.ENTER, *([Keys.ARROW_RIGHT] * 12), Keys.ENTER, *([Keys.ARROW_DOWN] * 12), Keys.ENTER, *([Keys.ARROW_LEFT] * 12), *([Keys.ARROW_UP] * 12), Keys.ENTER):
            canvas.send_keys(keys)
        saved(page)
        assert labels_of(server)[29, 155, 216] == 0, "a polygon by keys"
        canvas.send_keys(Keys.ESCAPE)
        assert page.js("return page.paint.tool") == "navigate"
        canvas.send_keys(Keys.CONTROL, "s")
        assert "saved" in page.find("#notice").text


def test_held_out():
    """In a held-out box predictions are hidden while a tool is in hand."""
    with Painting("--run", "run") as (server, page):
        ask(server, "boxes", "POST", {"role": "exam", "box": "20:40,100:200,160:260"})
        page.until("return page.paint.state.boxes.length === 1", "the box is heard of")
        page.js("page.view.layers.forEach(layer => page.view.toggle(layer.id, ['scan', 'uncertainty'].includes(layer.id))); page.view.setOpacity(page.view.layer('uncertainty'), 100)")
        page.until_drawn()
        bright = [30] + [int(v) for v in np.argwhere(scan[30, 120:180, 180:240] > 7800)[0] + (120, 180)]
        r, g, b = page.pixel_at(0, bright)
        assert not r == g == b, f"navigating, the map is seen: {r, g, b}"
        page.js("page.paint.choose('brush')")
        page.until_drawn()
        r, g, b = page.pixel_at(0, bright)
        assert r == g == b, f"painting, it isn't: {r, g, b}"
        outside = [30] + [int(v) for v in np.argwhere(scan[30, 205:230, 180:240] > 7800)[0] + (205, 180)]
        r, g, b = page.pixel_at(0, outside)
        assert not r == g == b, f"outside it is: {r, g, b}"


def test_read_only():
    shutil.rmtree(os.path.join(FOLDER, "scan.view"), ignore_errors=True)
    with Painting("--read-only") as (server, page):
        page.find("body").send_keys("b")
        assert page.js("return page.paint.tool") == "navigate" and "read-only" in page.find("#notice").text
        assert page.js("return [...document.querySelectorAll('#rail button')].every(button => button.disabled)")


def test_looks():
    """Nothing is cut off at 1100 x 700, in light and dark."""
    for scheme in ("light", "dark"):
        with Painting("--run", "run", width=1100, height=700, scheme=scheme) as (server, page):
            page.js("page.showTab('labels'); page.paint.choose('brush')")
            drag(page, 0, [(-60, -40), (20, 10), (50, -30)])
            page.js("page.paint.set({ value: 0 }); page.paint.toggleGrey()")
            drag(page, 0, [(-60, 40), (60, 50)])
            saved(page)
            page.picture(f"paint-small-{scheme}")
            assert page.js("return document.documentElement.scrollWidth <= innerWidth"), "wider than the window"
            cut = page.js("""return [...document.querySelectorAll('#rail > *, #panel-labels button, #panel-labels input')].filter(node => {
                const box = node.getBoundingClientRect(), holder = node.closest('#rail, #tab-panels').getBoundingClientRect();
                return box.width > 0 && (box.left < holder.left - 0.5 || box.right > holder.right + 0.5); }).map(node => node.outerHTML.slice(0, 90))""")
            assert not cut, f"cut off: {cut}"
            assert page.js("const rail = document.getElementById('rail'); return rail.scrollHeight <= rail.clientHeight"), "the tools don't fit"


if __name__ == "__main__":
    sys.exit(run([test_strokes_agree, test_rules_agree, test_tools_and_undo, test_classes, test_killed_while_painting, test_full_disk, test_two_tabs, test_by_keyboard, test_held_out,
                  test_read_only, test_looks]))
