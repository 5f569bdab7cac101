"""Train and predict from the page: progress is seen, the result grows and takes the place of the one before; all of it by keyboard, too."""
import time

from browser import FOLDER, Keys, Page, Server, np, os, run

SHAPE = (128, 48, 56)


def phantom():
    """Pores in a matrix, with noise; the label is the truth in a few boxes, and 255 where nobody looked."""
    rng = np.random.default_rng(11)
    z, y, x = np.meshgrid(*[np.arange(n) for n in SHAPE], indexing="ij")
    truth = (np.sin(z / 5) + np.sin(y / 4 + 1) + np.sin(x / 6 + 2) > 0.4).astype(np.uint8)
    np.save(os.path.join(FOLDER, "scan.npy"), (1000 + 900 * truth + rng.normal(0, 150, SHAPE)).astype(np.uint16))
    label = np.full(SHAPE, 255, np.uint8)
    for corner in ((8, 4, 4), (60, 20, 30), (100, 28, 8)):
        box = tuple(slice(at, at + 20) for at in corner)
        label[box] = truth[box]
    np.save(os.path.join(FOLDER, "label.npy"), label)


def open_page(server, **more):
    page = Page(server.address, **{"width": 1440, "height": 860, **more})
    page.js("page.showTab('train')")
    return page


def value(page, selector, what="value"):
    return page.js(f"return document.querySelector('{selector}').{what}")


def test_train_and_predict():
    server = Server("scan.npy", "--label", "label.npy", "--project", "watched", "--spacing", "0.65,0.65,0.65,um")
    page = open_page(server)
    page.until("return page.jobs.train.said.textContent.includes('one such training')", "a first training can't be timed")
    assert page.js("return page.jobs.train.command.textContent").startswith("credence train --scan /"), "the command line"
    assert page.js("return page.jobs.predict.go.disabled && page.jobs.predict.said.textContent.includes('no model')"), "nothing to predict with yet"
    page.js("page.jobs.steps.value = '12'; page.jobs.steps.dispatchEvent(new Event('change', {bubbles: true}))")
    page.until("return page.jobs.train.command.textContent.includes('--max-steps 12')", "the command follows the fields")
    page.find("#panel-train section[aria-label='Train a model'] button.main").click()
    page.until("return page.jobs.running && page.jobs.bar.max === 12 && page.jobs.bar.value > 0 && "
               "document.getElementById('job-line').textContent.startsWith('training ')", "progress is seen, in the line at the bottom, too", 60)
    page.pictures("training")
    page.until("return page.jobs.job.state === 'done'", "the training ends", 600)
    page.until("return !page.jobs.predict.go.disabled && page.jobs.model.value === '1'", "its model can be used")
    page.js("page.jobs.part.value = 'slab'; page.jobs.samples.value = '4'; page.jobs.part.dispatchEvent(new Event('change', {bubbles: true}))")
    page.until("return /about .* of memory/.test(page.jobs.predict.said.textContent)", "what a prediction takes", 120)
    page.find("#panel-train section[aria-label='Predict with it'] button.main").click()
    page.until("return page.jobs.job.do === 'predict' && page.jobs.job.state === 'done'", "the slab is predicted", 400)
    page.until("return page.view.layer('uncertainty')?.run === 'iterations/001/runs/1' && !page.view.layer('uncertainty').finished", "and shown", 30)
    slab = page.js("const layer = page.view.layer('segmentation'); return [layer.origin, layer.shape, layer.number]")
    assert slab[1][0] < SHAPE[0], f"a slab: {slab}"
    page.js("page.jobs.part.value = 'whole'; page.jobs.samples.value = '8'; page.jobs.part.dispatchEvent(new Event('change', {bubbles: true}))")
    page.find("#panel-train section[aria-label='Predict with it'] button.main").click()
    page.until("const layer = page.view.layer('segmentation'); return layer.run === 'iterations/001/runs/2' && layer.finished?.length > 0 && layer.finished[0][1] < 128", "the result grows", 400)
    grown = page.js("""const layer = page.view.layer('segmentation'); page.view.goTo([8, 24, 28], true);
        return {under: layer.under?.run ?? null, finished: layer.finished, parts: page.view.partsOf(layer, 2)}""")
    assert grown["under"] == "iterations/001/runs/1", f"under it lies the run before: {grown}"
    page.js("page.fit()")
    page.until("return !page.waiting", "all of it is seen")
    page.pictures("growing")
    page.until("return page.jobs.job.state === 'done'", "the prediction ends", 600)
    page.until("const layer = page.view.layer('segmentation'); return layer.run === 'iterations/001/runs/2' && !layer.finished && !layer.under", "and takes the place of what was", 30)
    page.until("return page.regions?.list.length > 0", "where to look first is found anew", 30)
    page.until_drawn()
    page.js("document.querySelector('#pane-z canvas').focus()")
    shown = "return page.view.layer('segmentation').run"
    page.actions().key_down("q").perform()
    assert page.js(shown) == "iterations/001/runs/1", "Q: the older run, as long as it is held"
    page.actions().key_up("q").perform()
    assert page.js(shown) == "iterations/001/runs/2", "and then the newest again"
    page.js("page.showTab('iterations')")
    assert page.js("return [...document.querySelectorAll('#panel-iterations .runs li')].length") == 2, "two predictions of one iteration"
    page.pictures("iterations")
    # A plan may take too long on a machine that does a lot else.
    wrong = [words for words in page.complaints() if not ("/api/1/plan" in words and "503" in words)]
    assert not wrong, wrong
    page.close()
    assert server.stop() == 0


def test_by_keyboard():
    """Train and cancel without a mouse, and with the job found again by a page that is opened anew."""
    server = Server("scan.npy", "--label", "label.npy", "--project", "keys")
    page = Page(server.address)
    page.js("document.getElementById('tab-train').focus()")
    page.actions().send_keys(Keys.ENTER).perform()
    page.until("return !page.jobs.panel.hidden && !page.jobs.train.go.disabled", "the tab opens")
    for _ in range(12):
        page.actions().send_keys(Keys.TAB).perform()
        if page.js("return document.activeElement === page.jobs.train.go"):
            break
        if page.js("return document.activeElement === page.jobs.steps"):
            page.actions().send_keys("4000").perform()
    assert page.js("return document.activeElement === page.jobs.train.go"), "the button is reached"
    page.actions().send_keys(Keys.ENTER).perform()
    page.until("return page.jobs.running && page.jobs.bar.value > 0", "it runs", 60)
    assert page.js("return page.jobs.train.go.disabled"), "one at a time"
    page.open(server.address)
    page.js("page.showTab('train')")
    page.until("return page.jobs.running && page.jobs.bar.value > 0", "a page that is opened later sees it, too", 20)
    page.js("page.jobs.cancel.focus()")
    page.actions().send_keys(Keys.ENTER).perform()
    page.until("return page.jobs.job.state === 'cancelled' && !page.jobs.resume.hidden", "it ends in good order", 60)
    page.pictures("cancelled")
    assert page.js("return page.jobs.said.textContent.startsWith('stopped')"), "and says so"
    assert page.js("return !page.jobs.train.go.disabled"), "another may begin"
    page.close()
    server.stop()


def test_nothing_to_do():
    server = Server("scan.npy", "--project", "empty", "--read-only")
    page = open_page(server, width=1100, height=700, scheme="dark")
    page.until("return page.jobs.train.said.textContent.includes('--read-only') && page.jobs.train.go.disabled", "--read-only is said")
    page.picture("jobs-dark")
    page.close()
    server.stop()


if __name__ == "__main__":
    phantom()
    raise SystemExit(run([test_train_and_predict, test_by_keyboard, test_nothing_to_do]))
