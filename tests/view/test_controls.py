"""Every key and control of the page that test_look.py and test_paint.py leave out, the order in which tiles are asked for, and who else may
answer at the page's address."""
import os
import shutil
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import FOLDER, Both, Keys, Page, Server, drag, np, own_port, run  # noqa: E402

SHAPE = (60, 300, 420)
scan = np.random.default_rng(5).integers(4000, 8000, SHAPE).astype(np.uint16)
seg = (scan > 6000).astype(np.uint8)
np.save(os.path.join(FOLDER, "scan.npy"), scan)
for name in ("run", "older"):
    os.makedirs(os.path.join(FOLDER, name))
    for role, volume in (("prob", seg * 255), ("seg", seg), ("unc", (scan - 4000) // 16)):
        np.save(os.path.join(FOLDER, name, f"scan_{role}.npy"), volume.astype(np.uint8))


def wheel(page, axis, delta, modifiers=0):
    x, y = page.js("const b = page.panes[arguments[0]].canvas.getBoundingClientRect(); return [b.left + 100, b.top + 100]", axis)
    page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": x, "y": y, "modifiers": modifiers})
    page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": delta, "modifiers": modifiers})


def press(page, *keys):
    page.canvas(0).send_keys(*keys)


def test_moving_keys():
    """Page up and down, by ten with Shift, plus, minus and nought, Space and the middle button, Shift and the pointer."""
    with Both("scan.npy") as page:
        page.js("page.view.goTo([30, 150, 210], true)")
        for keys, place in (((Keys.PAGE_DOWN,), 31), ((Keys.PAGE_UP,), 30), ((Keys.SHIFT, Keys.PAGE_DOWN), 40), ((Keys.SHIFT, "<"), 30), ((">",), 40)):
            press(page, *keys)
            assert page.place()[0] == place, f"{keys}: {page.place()}"
        wheel(page, 0, 100, 8)  # Shift
        page.until("return page.view.place[0] === 50", "ten slices by Shift and the wheel")
        fits = page.js("return page.view.zoom")
        press(page, "+")
        assert page.js("return page.view.zoom") > fits, "plus"
        press(page, "-", "-")
        assert page.js("return page.view.zoom") < fits, "minus"
        press(page, "0")
        assert abs(page.js("return page.view.zoom") - fits) < 1e-9, "nought fits"
        page.js("page.view.setZoom(4)")
        centre, place = page.js("return page.view.centre"), page.place()
        drag(page, 0, [(0, 0), (20, 10), (40, 20)], "middle")
        moved = page.js("return page.view.centre")
        assert moved[2] < centre[2] and moved[1] < centre[1] and page.place() == place, f"the middle button: {centre} to {moved}"
        page.js("page.paint.choose('brush')")
        page.canvas(0).click()  # paints; the keyboard is the plane's
        page.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyDown", "key": " ", "code": "Space", "windowsVirtualKeyCode": 32})
        centre, painted = page.js("return page.view.centre"), page.js("return page.paint.lately.length")
        drag(page, 0, [(0, 0), (-30, 0), (-60, 0)])
        page.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyUp", "key": " ", "code": "Space", "windowsVirtualKeyCode": 32})
        assert page.js("return page.view.centre")[2] > centre[2] + 10, "Space and drag pans, with the brush in hand, too"
        assert page.js("return page.paint.lately.length") == painted, "and paints nothing"
        press(page, Keys.ESCAPE)
        x, y = page.voxel_on_screen(0, [50, 140, 200])
        box = page.js("const b = page.panes[0].canvas.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]")
        page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": box[0] + x, "y": box[1] + y, "modifiers": 8})
        page.until("return page.view.place.join() === '50,140,200'", "with Shift the cross-hair follows the pointer")


def test_showing_keys():
    """Layers, opacity, cross-hair, range of grey, the older run, the link."""
    with Both("scan.npy", "--run", "run") as page:
        for key, layer in (("s", "segmentation"), ("l", "labels"), ("u", "uncertainty"), ("p", "probability")):
            before = page.js("return page.view.layer(arguments[0]).visible", layer)
            press(page, key)
            assert page.js("return page.view.layer(arguments[0]).visible", layer) is not before, f"{key} switches {layer}"
        before = page.js("return page.view.layer('probability').opacity")
        press(page, "a")
        assert page.js("return page.view.layer('probability').opacity") == before - 10, "A: less of what was switched last"
        press(page, "d")
        assert page.js("return page.view.layer('probability').opacity") == before, "D: more"
        press(page, "x")
        assert page.js("return page.view.cross") is False, "X"
        press(page, "b", "r")
        assert page.js("return page.paint.greyOn && page.paint.grey.length === 2"), "R: the range of grey"
        size = page.js("return page.paint.size")
        wheel(page, 0, -100, 8)
        page.until(f"return page.paint.size > {size}", "Shift and the wheel: the brush")
        press(page, "o")
        assert page.js("return page.paint.ball") is True, "O"
        press(page, "q")
        assert "no older prediction" in page.find("#notice").text, "Q without an older run says so"
        page.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
        page.js("window.copied = null; navigator.clipboard.writeText = words => { window.copied = words; return Promise.resolve(); }")
        press(page, "c")
        link = page.until("return window.copied", "C copies the link")
        assert "#at=" in link and "key" not in link and len(link) < 300, link
        page.open(link)
        assert page.js("return [page.view.layer('probability').visible, page.view.layer('segmentation').visible]") == [True, False], "and it leads to the same layers"
        page.driver.get("about:blank")


def test_mouse_controls():
    """Sliders, the map's faces, the borders between planes, light and dark, windows and opacities typed in."""
    with Both("scan.npy", "--run", "run") as page:
        page.js("const s = page.panes[2].slider; s.value = 77; s.dispatchEvent(new Event('input', { bubbles: true }))")
        assert page.place()[2] == 77, f"the slider of x: {page.place()}"
        for axis in range(3):
            box = page.js("const f = document.querySelectorAll('#map .face')[arguments[0]].getBoundingClientRect(); return [f.left + f.width / 2, f.top + f.height / 2]", axis)
            page.js("page.view.goTo([10, 20, 30], true)")
            for kind, held in (("mousePressed", 1), ("mouseReleased", 0)):
                page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": box[0], "y": box[1], "button": "left", "buttons": held, "clickCount": 1})
            place = page.place()
            others = [i for i in range(3) if i != axis]
            assert place[axis] == [10, 20, 30][axis] and all(abs(place[i] - SHAPE[i] / 2) < SHAPE[i] / 10 + 2 for i in others), f"the middle of face {axis}: {place}"
        widths = page.js("return page.panes.map(pane => pane.canvas.clientWidth)")
        bar = page.js("const b = document.getElementById('split-columns').getBoundingClientRect(); return [b.left + b.width / 2, b.top + 40]")
        for kind, x, held in (("mousePressed", 0, 1), ("mouseMoved", -60, 1), ("mouseReleased", -60, 0)):
            page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": bar[0] + x, "y": bar[1], "button": "left", "buttons": held, "clickCount": 1})
        page.until(f"return page.panes[0].canvas.clientWidth < {widths[0] - 40} && page.panes[0].canvas.clientWidth === page.panes[1].canvas.clientWidth", "the border moves, and columns stay aligned")
        page.js("document.getElementById('split-rows').focus()")
        height = page.js("return page.panes[0].canvas.clientHeight")
        page.actions().send_keys(Keys.ARROW_DOWN).perform()
        page.until(f"return page.panes[0].canvas.clientHeight > {height}", "and by the keyboard")
        for theme in ("light", "dark", None):
            page.find("#theme").click()
            assert page.js("return document.documentElement.dataset.theme ?? null") == theme, f"colours: {theme}"
        fields = "document.querySelectorAll('#panel-layers .window input')"
        page.js(f"const f = {fields}[0]; f.value = '5000'; f.dispatchEvent(new Event('change', {{ bubbles: true }}))")
        assert page.js("return page.view.layers[0].window[0]") == 5000, "black, typed in"
        page.js(f"const f = {fields}[1]; f.value = '4000'; f.dispatchEvent(new Event('change', {{ bubbles: true }}))")
        assert page.js(f"return {fields}[1].getAttribute('aria-invalid')") == "true" and page.js("return page.view.layers[0].window[1]") > 5000, "white below black isn't taken"
        page.js("[...document.querySelectorAll('#panel-layers .window button')][0].click()")
        assert page.js("return page.view.layers[0].window[0]") != 5000, "Reset"
        zoom = page.find("#zoom")
        zoom.clear()
        zoom.send_keys("3", Keys.ENTER)
        assert page.js("return page.view.zoom") == 3, "a zoom typed in"


def test_order_of_tiles():
    """At most four tiles are under way, and what isn't wanted any more is never asked for."""
    with Both("scan.npy", "--cache", "none") as page:
        page.js("page.view.setZoom(3)")
        page.until_drawn()
        # A server that takes its time: what is asked for is held back while 59 slices go by.
        page.js("""window.held = []; window.post = page.tiles.worker.postMessage.bind(page.tiles.worker);
            page.tiles.worker.postMessage = message => window.held.push(message);""")
        page.driver.execute_async_script("""const done = arguments[0]; let z = 0;
            const step = () => { if (z === 59) return done(); page.view.goTo([++z, 150, 210]); requestAnimationFrame(step); }; step();""")
        asked, under_way = page.js("return [window.held.map(message => message.key), page.tiles.underWay.size]")
        assert len(asked) == 4 and under_way == 4, f"asked for at once: {asked}"
        page.js("page.tiles.worker.postMessage = message => { window.held.push(message); window.post(message); }; [...window.held].forEach(message => window.post(message))")
        page.until_drawn()
        asked = page.js("return window.held.map(message => message.key)")[4:]
        passed = [key for key in asked if key.split("/")[2] == "z" and int(key.split("/")[4]) << int(key.split("/")[3]) < 55]
        assert not passed, f"slices that nobody sees any more: {passed}"
        assert page.pixel_at(0, [59, 150, 212])[0] > 0, "and the last one is there"


def test_what_comes_next():
    """Two slices either way are fetched ahead; what isn't there is drawn from the coarser level; on a slow line moves are a level coarser."""
    with Both("scan.npy") as page:
        page.js("page.view.setZoom(3); page.view.cross = false; page.view.goTo([30, 150, 210], true)")
        page.until_drawn()
        page.until("""const [pane] = page.panes, layer = page.view.layers[0];
            return [28, 29, 31, 32].every(slice => { let all = true; pane.forTiles(layer, 0, (row, column) => { all &&= page.tiles.kept.has(page.tiles.keyOf(layer, 0, 0, slice, row, column)); }); return all; })""", "slices ahead")
        page.js("page.tiles.worker.postMessage = () => {}; page.view.goTo([51, 150, 210]); page.view.goTo([50, 150, 210])")  # a server that says nothing
        page.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))")
        assert not page.js("const [pane] = page.panes; return pane.keysOf(page.view.layers[0]).every(key => page.tiles.kept.has(key))"), "the sharp tiles are there already"
        page.js("""const [pane] = page.panes, layer = page.view.layers[0];
            pane.forTiles(layer, 1, (row, column) => { const from = page.tiles.keyOf(layer, 0, 1, 15, row, column), to = page.tiles.keyOf(layer, 0, 1, 25, row, column);
              if (page.tiles.kept.has(from) && !page.tiles.kept.has(to)) page.tiles.kept.set(to, page.tiles.kept.get(from)); }); page.draw();""")
        page.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))")
        assert page.pixel_at(0, [50, 150, 210])[0] > 0, "a hole where the coarser level is there"
        levels = page.js("""const [pane] = page.panes, layer = page.view.layers[0], found = [];
            for (const [time, moving] of [[10, true], [200, false], [200, true]]) { page.tiles.times = Array(32).fill(time); page.moving = moving; found.push(pane.levelFor(layer)); } return found""")
        assert levels == [0, 0, 1], f"levels on a fast line, at rest, and while moving on a slow one: {levels}"


def test_iterations_drawn():
    """The error over what was learnt from: intervals where there are boxes enough, numbers that lie together in one list, no figure that is only noise."""
    with Both("scan.npy") as page:
        def iteration(number, voxels, error, boxes=4, warm=True):
            score = {"boxes": boxes, "voxels": 4096 * boxes, "enough": boxes >= 3, "error": error, "error_interval": [error / 2, 2 * error], "nll": 0.2, "nll_interval": [0.1, 0.4],
                     "uncertain": 0.5, "uncertain_interval": [0.000004, 0.9]}
            return {"number": number, "jobs": [], "model": True, "loop": 1, "warm": warm, "from": number - 1, "labels": {"voxels": voxels, "boxes": 4}, "score": score}
        load = lambda *items: page.js("page.showTab('iterations'); page.history.load({ iterations: arguments[0], loop: 1, scratch: false })", list(items))
        texts = lambda: page.js("return [...document.querySelectorAll('.plot .number')].map(node => node.textContent)")
        load(iteration(1, 8000, 0.12, warm=False), iteration(2, 16000, 0.08), iteration(3, 16100, 0.081), iteration(4, 24000, 0.05))
        assert texts() == ["1", "2, 3", "4"], f"numbers: {texts()}"
        assert page.js("return document.querySelectorAll('.plot .interval').length") == 4, "an interval for each"
        words = page.find("#panel-iterations").text
        assert "5 % (2.5 to 10 %)" in words and "(0 to 90 %)" in words, words
        page.pictures("iterations-four")
        load(iteration(1, 8000, 0.12, boxes=2, warm=False))
        assert page.js("return document.querySelectorAll('.plot .interval').length") == 0, "two boxes have no interval"
        words = page.find("#panel-iterations").text
        assert "too few to say" in words and " to " not in words.split("NLL")[1].split("Fewer")[0], words


def test_others_at_the_address():
    """Another project, another scan or another version at this address: the page stops, and sends nothing."""
    port = own_port()
    for what, words, change in (("Another project", ("scan.npy", "--project", "second"), ""), ("another version", ("scan.npy", "--project", "first"), "page.view.state.version = '0.0.0'"),
                                ("Another scan", ("scan.npy", "--project", "first"), "page.view.scan.name = page.view.state.scan.name = 'else.npy'")):
        for name in ("first", "second"):
            shutil.rmtree(os.path.join(FOLDER, name), ignore_errors=True)
        server = Server("scan.npy", "--project", "first", port=port)
        page = Page(server.address)
        try:
            page.js(f"page.view.setZoom(3); page.paint.choose('brush'); {change}")
            server.stop()
            drag(page, 0, [(0, 0), (20, 0)])
            assert page.js("return page.paint.queue.items.length") == 1, "painting goes on"
            server = Server(*words, port=port)
            page.until("return document.getElementById('stopped')?.open", f"{what}: the page stops", 30)
            assert what in page.find("#stopped").text, page.find("#stopped").text
            time.sleep(1.5)
            assert page.js("return page.paint.queue.items.length") == 1, f"{what}: what waits isn't sent"
            assert not os.path.exists(os.path.join(FOLDER, words[2], "labels.journal")), f"{what}: nothing was painted there"
            page.js("document.querySelector('#stopped button').focus()")
            page.actions().send_keys(Keys.ESCAPE).perform()
            assert page.js("return document.getElementById('stopped').open"), f"{what}: Escape doesn't go on"
        finally:
            page.close()
            server.stop()


if __name__ == "__main__":
    sys.exit(run([test_moving_keys, test_showing_keys, test_mouse_controls, test_order_of_tiles, test_what_comes_next, test_iterations_drawn, test_others_at_the_address]))
