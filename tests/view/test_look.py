"""The page in a real browser: planes, moves, window, links, colours, keyboard, names."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import FOLDER, PROGRAM, Both, Keys, Page, Server, np, own_port, run  # noqa: E402

SHAPE = (60, 300, 420)
noise = np.random.default_rng(5)
z, y, x = np.meshgrid(*map(np.arange, SHAPE), indexing="ij")
scan = (4000 + 40 * z + 20 * y + 30 * x + noise.integers(0, 50, SHAPE)).astype(np.uint16)
inside = (((z % 30) - 15) ** 2 + ((y % 60) - 30) ** 2 + ((x % 60) - 30) ** 2 < 200).astype(np.uint8)
os.makedirs(os.path.join(FOLDER, "run"))
np.save(os.path.join(FOLDER, "scan.npy"), scan)
np.save(os.path.join(FOLDER, "label.npy"), inside)
np.save(os.path.join(FOLDER, "run/scan_prob.npy"), inside * 255)
np.save(os.path.join(FOLDER, "run/scan_seg.npy"), inside)
np.save(os.path.join(FOLDER, "run/scan_unc.npy"), (inside * 128).astype(np.uint8))
os.makedirs(os.path.join(FOLDER, "spots"))
spots = np.zeros(SHAPE, np.uint8)
for k, corner in enumerate(((4, 20, 30), (30, 200, 300), (44, 100, 380), (12, 250, 90))):
    spots[tuple(slice(at, at + 10) for at in corner)] = 250 - 20 * k
np.save(os.path.join(FOLDER, "spots/scan_prob.npy"), inside * 255)
np.save(os.path.join(FOLDER, "spots/scan_seg.npy"), inside)
np.save(os.path.join(FOLDER, "spots/scan_unc.npy"), spots)
subprocess.run([PROGRAM, "convert", "scan.npy", "packed.nii.gz", "--quiet"], cwd=FOLDER, check=True)
SPACING = ("--spacing", "1.3,0.65,0.65,um")


def grey_of(page, value):
    low, high = page.js("return page.view.layers[0].window")
    return 255 * (value - low) / (high - low)


def grey_step(page):
    """Half a step of a tile's 256, and half of the screen's, in grey values of the screen."""
    return page.js("const { range, window } = page.view.layers[0]; return (range[1] - range[0]) / (window[1] - window[0]) / 2 + 0.51")


def test_first_run():
    """Three planes, each with the right pixels at known voxels."""
    with Both("scan.npy", *SPACING) as page:
        page.js("page.view.setZoom(4); page.view.cross = false; page.view.goTo([30, 150, 210], true)")
        page.until_drawn()
        for axis in range(3):
            for shift in (0, 7, -9):
                place = [30, 150, 210]
                place[(axis + 1) % 3] += shift
                seen, wanted = page.pixel_at(axis, place), grey_of(page, float(scan[tuple(place)]))
                assert seen[0] == seen[1] == seen[2] and abs(seen[0] - max(0, min(255, wanted))) <= grey_step(page), f"axis {axis}, {place}: {seen}, not {wanted}"
        assert page.js("return location.hash").find("key=") < 0, "the key stays in the address"
        assert grey_step(page) < 1.8, "fewer than a hundred steps in the window"
        assert "scan.npy" in page.js("return document.title")
        assert page.find("#scan-facts").text == "60 × 300 × 420 · u16 · 1.3 × 0.65 × 0.65 um"


def test_moves():
    """Wheel, zoom about the pointer, pan, click; the other planes follow; the scale bar is right."""
    with Both("scan.npy", *SPACING) as page:
        canvas = page.canvas(0)
        page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseWheel", "x": 300, "y": 250, "deltaX": 0, "deltaY": 300})
        page.until("return page.view.place[0] === 33", "three slices by the wheel")
        x, y = page.voxel_on_screen(0, [33, 100, 300])
        page.actions().move_to_element_with_offset(canvas, round(x), round(y)).click().perform()
        place = page.place()
        assert place[0] == 33 and abs(place[1] - 100) <= 1 and abs(place[2] - 300) <= 1, f"click: {place}"
        assert page.find("#pane-x output").text.startswith(f"x {place[2]} / 419"), "the x plane follows"
        assert page.find("#pane-y output").text.startswith(f"y {place[1]} / 299"), "the y plane follows"
        before = page.js("return page.panes[0].voxelAt(100, 100)")
        box = page.js("const b = page.panes[0].canvas.getBoundingClientRect(); return [b.left, b.top]")
        page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseMoved", "x": box[0] + 100, "y": box[1] + 100})
        page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseWheel", "x": box[0] + 100, "y": box[1] + 100, "deltaX": 0, "deltaY": -200, "modifiers": 2})
        page.until("return page.view.zoom > 1", "zoomed")
        after = page.js("return page.panes[0].voxelAt(100, 100)")
        assert max(abs(a - b) for a, b in zip(before[1:], after[1:])) < 0.51, f"zoom moved {before} to {after}"
        centre = page.js("return page.view.centre")
        page.actions().move_to_element(canvas).click_and_hold().move_by_offset(-40, 20).release().perform()
        moved = page.js("return page.view.centre")
        zoom = page.js("return page.view.zoom")
        assert abs((moved[2] - centre[2]) * zoom - 40) < 1.5 and abs((moved[1] - centre[1]) * zoom + 20) < 1.5, f"pan: {centre} to {moved}"
        bar = page.js("return import('/web/look/overlay.js').then(m => m.scaleBar(page.panes[0]))")
        length, unit = bar["words"].split()
        assert unit == "um" and abs(bar["pixels"] - float(length) / 0.65 * zoom) < 0.5, f"scale bar: {bar}"
        bar = page.js("return import('/web/look/overlay.js').then(m => m.scaleBar(page.panes[2]))")  # across x, z runs to the right
        assert abs(bar["pixels"] - float(bar["words"].split()[0]) / 0.65 * zoom) < 0.5, f"scale bar along z: {bar}"


def test_window():
    """Dragging the window changes pixels and asks for nothing."""
    with Both("scan.npy") as page:
        page.js("page.view.setZoom(3); page.view.cross = false; page.view.goTo([30, 150, 210], true)")
        page.until_drawn()
        before = page.pixel_at(0, [30, 150, 212])[0]
        window = page.js("return page.view.layers[0].window")
        page.js("performance.clearResourceTimings(); page.fetched = page.tiles.kept.size")
        box = page.js("const b = page.panes[0].canvas.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]")
        mouse = lambda kind, dx, dy: page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {
            "type": kind, "x": box[0] + dx, "y": box[1] + dy, "button": "right", "buttons": 2, "clickCount": 1})
        mouse("mousePressed", 0, 0)
        for step in range(1, 9):
            mouse("mouseMoved", 0, -8 * step)
        page.until_drawn()
        now = page.js("return page.view.layers[0].window")
        assert now[0] < window[0] and now[1] < window[1], f"up is lighter: {window} to {now}"
        page.until("return page.tiles.kept.size > 0 && !page.waiting", "drawn")
        time.sleep(0.3)
        page.until_drawn()
        assert page.pixel_at(0, [30, 150, 212])[0] > before + 20, "the picture is lighter"
        assert page.js("return page.tiles.kept.size === page.fetched"), "no tile was asked for while dragging"
        mouse("mouseReleased", 0, -64)
        page.find("#pane-z canvas").send_keys("w")
        page.until(f"return Math.abs(page.view.layers[0].window[0] - {now[0]}) > 1", "the window from what is in view")


def test_links():
    """A link leads to the same view, without the key; what it names and isn't there is said."""
    with Both("scan.npy", "--run", "run") as page:
        page.js("page.view.setZoom(2.5); page.view.goTo([12, 34, 56], true); page.view.setWindow(page.view.layers[0], 5000, 12000); page.view.toggle('segmentation')")
        time.sleep(0.8)
        link = page.js("return location.hash")
        assert "at=12,34,56" in link and "key" not in link and len(link) < 300 and "scan:5000-12000" in link, link
        address = page.js("return location.href")
        page.open(address.replace("unc:70", "unc:30,gone:5"))
        state = page.js("const v = page.view; return [v.place, v.zoom, v.layers[0].window, v.layer('uncertainty').opacity, v.layer('segmentation').visible]")
        assert state == [[12, 34, 56], 2.5, [5000, 12000], 30, False], f"{state}"
        assert "gone" in page.js("return document.getElementById('notice').textContent"), "what isn't there is said"
        page.driver.get("about:blank")


def test_layers():
    """Outlines and maps where they belong, switched by keys."""
    with Both("scan.npy", "--run", "run", "--label", "label.npy") as page:
        page.js("""const v = page.view; v.setZoom(8); v.cross = false; v.goTo([15, 30, 30], true);
                v.toggle('label', false); v.toggle('segmentation', false); v.toggle('uncertainty', true); v.setOpacity(v.layer('uncertainty'), 100)""")
        page.until_drawn()
        inner, outer = page.pixel_at(0, [15, 30, 30]), page.pixel_at(0, [15, 58, 30])
        rgb = page.js("const i = Math.round(255 * Math.min(1, 128 / 255 / page.view.layer('uncertainty').high)); return [0, 2, 4].map(k => parseInt(page.view.map.slice(6 * i + k, 6 * i + k + 2), 16))")
        assert max(abs(a - b) for a, b in zip(inner, rgb)) <= 3, f"uncertainty: {inner}, not {rgb}"
        assert outer[0] == outer[1] == outer[2], f"none outside: {outer}"
        page.canvas(0).send_keys("u")
        page.canvas(0).send_keys("s")
        page.until_drawn()
        time.sleep(0.2)
        line = page.js("""const p = page.panes[0], x = Math.round(p.across(30.5)), data = p.context.getImageData(x, 0, 1, p.canvas.height).data;
                const rows = []; for (let i = 0; i < data.length; i += 4) if (data[i + 2] > data[i] + 60) rows.push(i / 4); return rows.map(r => p.view.centre[1] + (r - p.canvas.height / 2) / p.pixels(1))""")
        column = inside[15, :, 30]
        edges = [i for i in range(1, 300) if column[i] != column[i - 1] and line and line[0] - 1 < i < line[-1] + 1]
        assert line and all(any(abs(at - edge) < 0.6 for edge in edges) for at in line), f"outline at {line}, edges at {edges}"
        page.find("#panel-layers [aria-label='segmentation: drawn as']").send_keys("f")
        page.until_drawn()
        time.sleep(0.2)
        filled = page.pixel_at(0, [15, 30, 30])
        assert filled[2] > filled[0] + 40, f"filled: {filled}"
        page.canvas(0).send_keys("m")
        page.until("return document.getElementById('centre').dataset.full === 'z'", "one plane fills the centre")
        page.canvas(0).send_keys(Keys.ESCAPE)
        page.until("return !document.getElementById('centre').dataset.full", "and all are back")


def test_values():
    """The voxel under the pointer, in every layer."""
    with Both("scan.npy", "--run", "run") as page:
        page.js("page.view.setZoom(4); page.view.goTo([15, 30, 30], true)")
        page.until_drawn()
        x, y = page.voxel_on_screen(0, [15, 32, 35])
        page.actions().move_to_element_with_offset(page.canvas(0), round(x), round(y)).perform()
        page.until(f"return document.getElementById('under-pointer').textContent.includes('scan {scan[15, 32, 35]}')", "the grey value")
        words = page.find("#under-pointer").text
        assert "segmentation foreground" in words and "uncertainty 0.502" in words and "probability 1" in words, words


def test_keyboard():
    """Everything without a mouse."""
    with Both("scan.npy") as page:
        page.js("document.querySelector('#pane-y canvas').focus()")
        page.actions().send_keys(Keys.ARROW_RIGHT, Keys.ARROW_DOWN).key_down(Keys.SHIFT).send_keys(Keys.ARROW_DOWN).key_up(Keys.SHIFT).send_keys(".", ",", ".").perform()
        assert page.place() == [41, 151, 211], f"arrows in the y plane: {page.place()}"
        page.actions().send_keys("?").perform()
        page.until("return document.getElementById('keys').open", "the list of keys")
        page.actions().send_keys(Keys.ESCAPE).perform()
        field = page.find("#place-z")
        field.clear()
        field.send_keys("7", Keys.ENTER)
        page.until("return page.view.place[0] === 7", "a typed place")
        field.clear()
        field.send_keys("777", Keys.ENTER)
        page.until("return document.getElementById('place-z').getAttribute('aria-invalid') === 'true'", "a place that isn't there is marked")
        assert page.place()[0] == 7, "and not gone to"
        before = page.js("return page.view.layers[0].window")
        page.js("document.querySelector('.handle').focus()")
        page.actions().send_keys(Keys.ARROW_RIGHT).perform()
        assert page.js("return page.view.layers[0].window")[0] > before[0], "a handle of the window"
        page.js("document.body.focus(); localStorage.setItem('credence-letters', 'off')")
        page.canvas(0).send_keys("x")
        assert page.js("return page.view.cross") is True, "letters that are switched off do nothing"
        page.js("localStorage.removeItem('credence-letters')")


def test_regions():
    """N goes through all regions, centres them and draws their box; K ticks, and ticks stay."""
    with Both("scan.npy", "--run", "spots") as page:
        page.until("return page.regions.list.length > 0", "regions come")
        count = page.js("return page.regions.list.length")
        centres = page.js("return page.regions.list.map(region => region.centre)")
        seen = []
        for _ in range(count):
            page.canvas(0).send_keys("n")
            seen.append(page.place())
        assert seen == centres, f"N goes through {seen}, not {centres}"
        assert page.find("#panel-regions").is_displayed() and page.js("return page.regions.current === page.regions.list.at(-1)")
        page.canvas(0).send_keys("n")  # around to the first
        page.canvas(0).send_keys("k")
        page.until("return page.regions.list[0].looked", "K ticks")
        page.canvas(0).send_keys("n")
        page.actions().key_down(Keys.SHIFT).send_keys("n").key_up(Keys.SHIFT).perform()
        assert page.place() == centres[-1], "the ticked one is left out"
        page.until("return document.querySelectorAll('.regions img').length > 0 && [...document.querySelectorAll('.regions img')].every(image => image.naturalWidth > 0)", "thumbnails")
        page.picture("regions")
        page.js("location.reload()")
        page.until("return window.page?.regions?.list.length > 0", "again")
        assert page.js("return page.regions.list[0].looked"), "a tick outlives the tab"
        page.js("const s = document.querySelector('#panel-regions select'); s.value = 'mean'; s.dispatchEvent(new Event('change'))")
        page.until("return page.regions.list[0]?.number === 1000", "the other order")


def test_packed_stack():
    """Planes across a packed stack: coarse, then sharp, and never a complaint."""
    with Both("packed.nii.gz") as page:
        page.until("return page.view.layers[0].revision >= 2", "all of it is read", 60)
        page.js("page.view.setZoom(2); page.view.cross = false; page.view.goTo([30, 150, 210], true)")
        page.until_drawn()
        seen, wanted = page.pixel_at(2, [30, 150, 210])[0], grey_of(page, float(scan[30, 150, 210]))
        assert abs(seen - max(0, min(255, wanted))) <= grey_step(page), f"sharp across x: {seen}, not {wanted}"


def contrast(a, b):
    def light(colour):
        parts = [c / 255 / 12.92 if c / 255 <= 0.03928 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    high, low = max(light(a), light(b)), min(light(a), light(b))
    return (high + 0.05) / (low + 0.05)


NAMES = """
const seen = [];
for (const node of document.querySelectorAll('button, input, select, canvas[tabindex], [role=slider], [role=separator], [role=tab]')) {
  if (!node.checkVisibility()) continue;
  const label = node.getAttribute('aria-label') || node.ariaLabel || node.closest('label')?.textContent.trim() || node.textContent.trim() || node.title;
  if (!label) seen.push(node.outerHTML.slice(0, 120));
}
return seen;"""
COLOURS = """
const found = [], numbers = text => text.match(/[\\d.]+/g).map(Number);
for (const node of document.querySelectorAll('body *')) {
  if (!node.checkVisibility() || ![...node.childNodes].some(child => child.nodeType === 3 && child.textContent.trim())) continue;
  const own = getComputedStyle(node), ink = numbers(node.namespaceURI.endsWith('svg') ? own.fill : own.color);
  let back = null;
  for (let at = node; at && !back; at = at.parentElement) {
    const colour = numbers(getComputedStyle(at).backgroundColor);
    if (colour.length < 4 || colour[3] > 0.9) back = colour;
  }
  found.push([node.textContent.trim().slice(0, 30), ink.slice(0, 3), (back ?? [255, 255, 255]).slice(0, 3)]);
}
return found;"""


def check_names_and_contrast(page):
    nameless = page.js(NAMES)
    assert not nameless, f"without a name: {nameless}"
    for words, ink, back in page.js(COLOURS):
        assert contrast(ink, back) >= 4.5, f"'{words}': {ink} on {back} has {contrast(ink, back):.2f} to 1"


def test_words():
    """No part's words take the place of another's."""
    with Both("scan.npy") as page:
        twice = page.driver.execute_async_script("""const done = arguments[0];
            Promise.all(['jobs/text_jobs', 'paint/text_paint', 'loop/text_loop'].map(name => import(`/web/${name}.js`)).concat(import('/web/text.js'))).then(modules => {
                const parts = modules.slice(0, 3).map(module => Object.values(module).find(value => typeof value === 'object')), whole = modules[3].text;
                done(parts.flatMap(part => Object.keys(part).filter(key => key !== 'keyRows' && part[key] !== whole[key])));
            }, error => done([error.message]));""")
        assert not twice, f"words of the same name: {twice}"


def test_names_and_contrast():
    """Of every control in every tab, of the list of keys, and of a question."""
    for scheme in ("light", "dark"):
        with Both("scan.npy", "--run", "run", "--label", "label.npy", scheme=scheme) as page:
            for tab in page.js("return page.tabs.items.map(item => item.id)"):
                page.js("page.showTab(arguments[0]); document.querySelectorAll('#tab-panels details').forEach(part => { part.open = true; })", tab)
                page.until(f"return document.getElementById('panel-{tab}').checkVisibility()", f"the tab {tab}")
                check_names_and_contrast(page)
            page.js("page.showTab('labels'); page.boxes.anew.click()")
            check_names_and_contrast(page)
            page.actions().send_keys(Keys.ESCAPE).perform()
            page.find("#show-keys").click()
            check_names_and_contrast(page)


def test_small_and_large():
    """From 1100 x 700 on nothing is cut off; below that the panel is a drawer; 200 % zoom works."""
    with Both("scan.npy", "--run", "run", width=1100, height=700) as page:
        page.picture("small")
        assert page.js("return document.documentElement.scrollWidth <= innerWidth"), "wider than the window"
        assert page.find("#side").is_displayed()
        assert page.js("return page.panes.every(pane => pane.canvas.clientWidth > 250 && pane.canvas.clientHeight > 180)"), "planes too small"
        assert page.js("const b = document.getElementById('connection').getBoundingClientRect(); return b.right <= innerWidth"), "the bar is cut off"
        page.driver.set_window_size(900, 700)
        page.until("return !document.getElementById('side').checkVisibility({visibilityProperty: true})", "the panel is a drawer")
        page.find("#drawer").click()
        page.until("return document.getElementById('side').checkVisibility({visibilityProperty: true})", "it opens")
        page.driver.set_window_size(800 + page.js("return outerWidth - innerWidth"), 450 + page.js("return outerHeight - innerHeight"))  # as 1600 x 900 at 200 %
        page.until("return innerWidth <= 810", "the window of 200 %")
        assert page.js("return document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight"), "200 %: larger than the window"
        page.picture("zoomed")
        outside = page.js("""return [...document.querySelectorAll('#top button, #top input, #rail button, #side [role=tab]')].filter(node => node.checkVisibility()).filter(node => {
            const box = node.getBoundingClientRect(), rail = node.closest('#rail');
            return box.left < -0.5 || box.right > innerWidth + 0.5 || (!rail && box.bottom > innerHeight); }).map(node => node.outerHTML.slice(0, 80))""")
        assert not outside, f"200 %: out of reach: {outside}"
    with Both("scan.npy", flags=("--force-device-scale-factor=2",)) as page:
        page.js("page.view.setZoom(2); page.view.cross = false; page.view.goTo([30, 150, 210], true)")
        page.until_drawn()
        seen, wanted = page.pixel_at(0, [30, 150, 210])[0], grey_of(page, float(scan[30, 150, 210]))
        assert abs(seen - wanted) <= grey_step(page), f"at two pixels each: {seen}, not {wanted}"


def test_without_webgl():
    with Both("scan.npy", flags=("--disable-3d-apis",)) as page:
        assert page.js("return document.createElement('canvas').getContext('webgl')") is None
        assert page.pixel_at(0, [30, 150, 210])[0] > 0


def test_server_gone_and_back():
    server = Server("scan.npy", port=own_port())
    page = Page(server.address)
    try:
        port = server.port
        server.stop()
        page.until("return document.getElementById('connection').dataset.state === 'offline'", "the dot says that it is gone")
        server = Server("scan.npy", port=port)
        page.until("return document.getElementById('connection').dataset.state === 'connected'", "and that it is back", 25)
        page.js("page.view.move(0, 5)")
        page.until_drawn()
    finally:
        page.close()
        server.stop()


def test_wrong_key():
    server = Server("scan.npy")
    page = Page(server.address)
    try:
        page.js("localStorage.clear()")
        page.driver.get("about:blank")
        page.driver.get(server.address.split("#")[0])
        page.until("return document.getElementById('notice').textContent.includes('no key')", "it says that there is no key")
        page.driver.get("about:blank")
        page.driver.get(server.address.split("#")[0] + "#key=" + "0" * 32)
        page.until("return document.getElementById('notice').textContent.includes('not accept')", "it says that the key is wrong")
    finally:
        page.close()
        server.stop()


if __name__ == "__main__":
    sys.exit(run([test_first_run, test_moves, test_window, test_links, test_layers, test_values, test_regions, test_packed_stack, test_keyboard, test_words, test_names_and_contrast,
                  test_small_and_large, test_without_webgl, test_server_gone_and_back, test_wrong_key]))
