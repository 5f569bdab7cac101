"""What the browser tests share: a server, a Chromium without a screen, and what a page can be asked."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../http"))
from ports import own_port  # noqa: E402, F401

PROGRAM = os.path.abspath(os.environ.get("CREDENCE_PROGRAM", "build/credence"))
SOURCE = os.environ.get("CREDENCE_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
PICTURES = os.path.abspath(os.environ.get("CREDENCE_PICTURES", os.path.join(os.environ.get("CREDENCE_BUILD", "build"), "view-pictures")))

try:
    import numpy as np
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
if not CHROMIUM or not DRIVER:
    print("skipped: there is no chromium with its chromedriver")
    sys.exit(77)
if "page in the browser (view): yes" not in subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout:
    print("skipped: this build has no web server (libmicrohttpd)")
    sys.exit(77)

# A busy machine takes many times as long for everything: how long a test waits says nothing about what it waits for.
PATIENCE = 5

FOLDER = tempfile.mkdtemp()
os.environ["XDG_CACHE_HOME"] = os.path.join(FOLDER, "cache")
os.environ["XDG_RUNTIME_DIR"] = os.path.join(FOLDER, "runtime")
os.mkdir(os.environ["XDG_RUNTIME_DIR"])
os.makedirs(PICTURES, exist_ok=True)


class Server:
    def __init__(self, *words, port=None, command=None):
        """`command`: any that ends as a server."""
        command = command or [PROGRAM, "view", *words, "--no-browser", *(["--port", str(port)] if port else [])]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=FOLDER)
        said = ""
        while not (found := re.search(r"http://\S+", said)):
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"{command}: {said}")
            said += line
        self.address = found[0]
        self.port = int(re.search(r":(\d+)/", self.address)[1])

    def stop(self):
        self.process.terminate()
        code = self.process.wait(20)
        self.process.stdout.close()
        return code


class Page:
    """A tab. Waits ask again and again; whoever asks too long fails with what was asked."""

    def __init__(self, address, width=1600, height=900, scheme="light", flags=()):
        options = Options()
        options.binary_location = CHROMIUM
        for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                     f"--window-size={width},{height}", "--force-device-scale-factor=1", "--disable-background-networking", *flags):
            options.add_argument(flag)
        if scheme == "dark":
            options.add_argument("--blink-settings=preferredColorScheme=0")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(DRIVER), options=options)
        self.driver.set_script_timeout(60 * PATIENCE)
        self.said = []
        # The window's frame takes some of it: what counts is the page.
        inner = self.driver.execute_script("return [innerWidth, innerHeight]")
        self.driver.set_window_size(2 * width - inner[0], 2 * height - inner[1])
        self.open(address)

    def open(self, address):
        self.driver.get("about:blank")
        self.driver.get(address)
        self.until("return Boolean(window.page)", "the page begins")
        self.until_drawn()

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, script, what, seconds=60):
        seconds *= PATIENCE
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if answer := self.js(script):
                return answer
            time.sleep(0.03)
        raise AssertionError(f"{what}: not after {seconds} s; notice: {self.js('return document.getElementById(`notice`).textContent')}")

    def until_drawn(self):
        """All tiles that are wanted are there, and drawn."""
        self.until("return page.tiles.underWay.size === 0 && page.tiles.wanted.size === 0 && !page.waiting && page.tiles.kept.size > 0", "tiles come")
        self.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))")

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def actions(self):
        return ActionChains(self.driver, duration=30)

    def voxel_on_screen(self, axis, place):
        """Where a voxel's middle lies in a pane, in CSS pixels from the canvas's middle."""
        return self.js("""const pane = page.panes[arguments[0]], place = arguments[1];
            const r = [2, 2, 0][pane.axis], d = [1, 0, 1][pane.axis];
            return [pane.across(place[r] + 0.5) / pane.ratio - pane.canvas.clientWidth / 2, pane.along(place[d] + 0.5) / pane.ratio - pane.canvas.clientHeight / 2]""",
                       axis, place)

    def pixel_at(self, axis, place):
        """The colour that a pane shows in the middle of a voxel."""
        x, y = self.voxel_on_screen(axis, place)
        return self.js("""const pane = page.panes[arguments[0]];
            const x = Math.round((arguments[1] + pane.canvas.clientWidth / 2) * pane.ratio), y = Math.round((arguments[2] + pane.canvas.clientHeight / 2) * pane.ratio);
            return Array.from(pane.context.getImageData(x, y, 1, 1).data).slice(0, 3)""", axis, x, y)

    def canvas(self, axis):
        return self.find(f"#pane-{'zyx'[axis]} canvas")

    def place(self):
        return self.js("return page.view.place")

    def complaints(self):
        self.said += [entry for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        # Looking at pixels is what the tests do, not the page.
        return [entry["message"] for entry in self.said if "willReadFrequently" not in entry["message"]]

    def picture(self, name):
        path = os.path.join(PICTURES, name + ".png")
        self.driver.save_screenshot(path)
        return path

    def pictures(self, name):
        """In light and in dark."""
        for scheme in ("light", "dark"):
            self.js("document.documentElement.dataset.theme = arguments[0]", scheme)
            self.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))")
            assert os.path.getsize(self.picture(f"{name}-{scheme}")) > 20000, "an empty picture"
        self.js("delete document.documentElement.dataset.theme")

    def close(self):
        self.driver.quit()


class Both:
    """A server and a tab on it; a picture is kept where a test fails, and nothing may be complained of."""

    def __init__(self, *words, link="", **look):
        self.words, self.link, self.look = words, link, look

    def __enter__(self):
        self.server = Server(*self.words)
        self.page = Page(self.server.address + self.link, **self.look)
        return self.page

    def __exit__(self, kind, error, trace):
        try:
            if kind is not None:
                self.page.picture("failed")
            complaints = self.page.complaints()
        finally:
            self.page.close()
            code = self.server.stop()
        if kind is None:
            assert not complaints, f"the console says {complaints}"
            assert code == 0, f"the server ended with {code}"


def drag(page, axis, path, button="left"):
    """The mouse in a pane, along points in pixels about the canvas's middle."""
    box = page.js("const b = page.panes[arguments[0]].canvas.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]", axis)
    buttons = {"left": 1, "right": 2, "middle": 4}[button]

    def mouse(kind, x, y, held):
        page.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": box[0] + x, "y": box[1] + y, "button": button, "buttons": held, "clickCount": 1})
    mouse("mousePressed", *path[0], buttons)
    for x, y in path[1:]:
        mouse("mouseMoved", x, y, buttons)
    mouse("mouseReleased", *path[-1], 0)


def saved(page):
    """All that was painted is on the server's disk, and in the tiles that are seen."""
    page.until("return page.paint.queue.items.length === 0 && !page.paint.queue.busy", "all is saved")
    page.until("return page.paint.waiting.length === 0 && !page.waiting", "the tiles show it")
    page.until_drawn()


def run(tests):
    """Each test gets nothing and cleans up after itself; returns an exit code."""
    failed = []
    for test in tests:
        if len(sys.argv) > 1 and not any(word in test.__name__ for word in sys.argv[1:]):
            continue
        try:
            test()
            print("ok    ", test.__name__, flush=True)
        except Exception as error:  # a failure of any kind is one
            failed.append(test.__name__)
            print("FAILED", test.__name__, f"{type(error).__name__}: {error}", flush=True)
    shutil.rmtree(FOLDER, ignore_errors=True)
    return 1 if failed else 0
