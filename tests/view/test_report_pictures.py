"""Pictures of reports for people to look at, in every variant: two and three classes, a mask, two runs, dark, printed, on a
phone. They lie in build/view-pictures. What a program can see of a page is checked: nothing is wider than the window, all
pictures are there, the slider draws the mask's line, and the links to the viewer follow the port.

    test_report_pictures.py [PAGE.html...]      pictures of these pages, in place of made-up ones
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(TESTS, "interop"))
PROGRAM = os.path.abspath(os.environ.get("CREDENCE_PROGRAM", "build/credence"))
PICTURES = os.path.abspath(os.environ.get("CREDENCE_PICTURES", os.path.join(os.environ.get("CREDENCE_BUILD", "build"), "view-pictures")))
CHROMIUM = shutil.which("chromium")
if not CHROMIUM:
    print("skipped: there is no chromium")
    sys.exit(77)
try:
    import numpy as np
    import run_folder
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)
if "PNG pictures and slices: yes" not in subprocess.run([PROGRAM, "--version"], capture_output=True, text=True).stdout:
    print("skipped: no libpng")
    sys.exit(77)

failures = []
FOLDER = tempfile.mkdtemp(prefix="credence-pages-")
SAID = """<script>addEventListener('load', async () => {
    const wait = () => new Promise(next => setTimeout(next, 60));
    %s
    const bad = [...document.images].filter(image => !image.naturalWidth).length;
    const wide = document.documentElement.scrollWidth > innerWidth + 1;
    const back = getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number);
    const nav = getComputedStyle(document.querySelector('nav')).display;
    const opening = Math.max(...[...document.images].slice(0, 3).map(image => image.getBoundingClientRect().bottom));
    document.title = JSON.stringify({height: document.documentElement.scrollHeight, bad, wide, back, nav, opening, ...(window.said || {})}); });</script>"""
# Slices across x, a quarter in, half of the map over the scan.
SLID = """
    const [slice, over] = document.querySelectorAll('.steer input');
    document.querySelectorAll('.steer button')[2].click();
    while (!document.querySelector('.slice canvas')) await wait();
    for (const [input, value] of [[slice, slice.max / 4], [over, 50]]) { input.value = value; input.dispatchEvent(new Event('input')); }
    await wait();
    const canvas = document.querySelectorAll('.slice canvas')[1];
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let line = 0;
    for (let i = 0; i < pixels.length; i += 4) line += pixels[i] === 0xf2 && pixels[i + 1] === 0xf2 && pixels[i + 2] === 0xf2;
    window.said = {line};"""
PORT = """
    const field = document.querySelector('.port input');
    field.value = 8475;
    field.dispatchEvent(new Event('input'));
    window.said = {links: [...field.closest('section').querySelectorAll('.regions a')].map(link => link.href)};"""


def check(condition, what):
    if not condition:
        failures.append(what)
        print("failed:", what)


def browse(page, *words):
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1", "--virtual-time-budget=20000"]
    return subprocess.run([CHROMIUM, *flags, *words, "file://" + page], capture_output=True, text=True, timeout=180)


def picture(page, name, width=1280, scheme="light", script="", media=None):
    """A picture of all of the page: (what its script said)."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    if media:  # as it is printed: the sheet's rules for that, on the screen
        text = text.replace("@media print", "@media all")
    probe = os.path.join(FOLDER, "probe.html")
    with open(probe, "w", encoding="utf-8") as file:
        file.write(text.replace("</head>", SAID % script + "</head>"))
    colours = ["--blink-settings=preferredColorScheme=0"] if scheme == "dark" else []
    found = re.search(r"<title>(\{.*?\})</title>", browse(probe, f"--window-size={width},900", "--dump-dom", *colours).stdout)
    check(found, f"{name}: the page's script didn't end")
    if not found:
        return {}
    said = json.loads(found[1].replace("&amp;", "&"))
    check(not said["bad"] and not said["wide"], f"{name}: {said}")
    target = os.path.join(PICTURES, f"report-{name}.png")
    browse(probe, f"--window-size={width},{said['height']}", f"--screenshot={target}", *colours)
    check(os.path.exists(target) and os.path.getsize(target) > 20000, f"{name}: an empty picture")
    return said


def report(name, *words):
    page = os.path.join(FOLDER, f"{name}.html")
    subprocess.run([PROGRAM, "report", *words, "-o", page, "--quiet"], cwd=FOLDER, check=True)
    return page


def make_pages():
    """{name: page}"""
    for kind, folder in (("graphite", "g"), ("electrode", "e")):
        subprocess.run([PROGRAM, "phantom", kind, "-o", folder, "--shape", "32,96,112", "--format", "npy", "--quiet"], cwd=FOLDER, check=True)
    g, e = (os.path.join(FOLDER, folder) for folder in "ge")
    run_folder.make(f"{FOLDER}/two", f"{g}/scan.npy", f"{g}/truth.npy", warnings=["The scan is unlike those of the training."])
    run_folder.make(f"{FOLDER}/other", f"{g}/scan.npy", f"{g}/truth.npy", kind="mcdn", spread=0.3, intervals=(), seed=2)
    run_folder.make_classes(f"{FOLDER}/three", f"{e}/scan.npy", f"{e}/truth.npy", ["pore", "particle", "binder"], [0, 1, 2])
    y, x = np.ogrid[:96, :112]
    np.save(f"{FOLDER}/inside.npy", np.broadcast_to(((y - 47.5) / 44) ** 2 + ((x - 55.5) / 50) ** 2 < 1, (32, 96, 112)).astype("u1"))
    return {"two": report("two", "two", "--label", "g/truth.npy"), "three": report("three", "three", "--label", "e/truth.npy"),
            "masked": report("masked", "two", "--mask", "inside.npy", "--label", "g/truth.npy"),
            "three-masked": report("three-masked", "three", "--mask", "inside.npy"),
            "runs": report("runs", "two", "other", "--label", "g/truth.npy")}


def main():
    os.makedirs(PICTURES, exist_ok=True)
    pages = {os.path.basename(page)[:-5]: os.path.abspath(page) for page in sys.argv[1:]} or make_pages()
    for name, page in pages.items():
        light, dark = picture(page, name), picture(page, f"{name}-dark", scheme="dark")
        printed, phone = picture(page, f"{name}-print", width=800, media="print"), picture(page, f"{name}-phone", width=390)
        check(light.get("opening", 900) < 900, f"{name}: the first pictures aren't on the first screen")
        check(min(light.get("back", [0])) > 200 and max(dark.get("back", [255])) < 60, f"{name}: light {light.get('back')}, dark {dark.get('back')}")
        check(printed.get("nav") == "none" != phone.get("nav"), f"{name}: links to sections on paper, or none on the screen")
        said = picture(page, f"{name}-slid", script=SLID)
        check((said.get("line", 0) > 0) == ("masked" in name), f"{name}: the mask's line in the slider: {said}")
        links = picture(page, f"{name}-port", script=PORT).get("links", [])
        check(links and all(link.startswith("http://127.0.0.1:8475/#at=") for link in links), f"{name}: links to another port: {links}")
    shutil.rmtree(FOLDER)
    print(f"{len(failures)} failed; pictures are in {PICTURES}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
