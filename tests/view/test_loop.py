"""The loop in the page: held-out boxes, predictions hidden in them, what is proposed, an exam, and how the error falls."""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import FOLDER, Keys, Page, Server, np, run, saved  # noqa: E402

SHAPE = (40, 64, 72)


def phantom():
    rng = np.random.default_rng(11)
    z, y, x = np.meshgrid(*[np.arange(n) for n in SHAPE], indexing="ij")
    truth = (np.sin(z / 5) + np.sin(y / 4 + 1) + np.sin(x / 6 + 2) > 0.4).astype(np.uint8)
    np.save(os.path.join(FOLDER, "scan.npy"), (1000 + 900 * truth + rng.normal(0, 150, SHAPE)).astype(np.uint16))
    return truth


def ask(page, method, path, body=None):
    """As the page itself asks."""
    return page.driver.execute_async_script("""const [method, path, body, done] = arguments;
        import('/web/api.js').then(({ getJson, send }) => (method === 'GET' ? getJson(path) : send(method, path, body)), error => ({ failed: error.message })).then(done, error => done({ failed: error.message }))""", method, path, body)


def ends_of(box):
    return [tuple(map(int, part.split(":"))) for part in box.split(",")]


def label_box(page, box, truth):
    """The truth, as two kinds of rectangles: what is looked for row by row."""
    (z0, z1), (y0, y1), (x0, x1) = ends_of(box)
    for z in range(z0, z1):
        ask(page, "POST", "labels", {"do": "polygon", "axis": 0, "slice": z, "value": 0, "points": [8 * v for v in (y0, x0, y0, x1, y1, x1, y1, x0)]})
        points, starts = [], []
        for y in range(y0, y1):
            row = np.flatnonzero(np.diff(np.concatenate(([0], truth[z, y, x0:x1], [0])))) + x0
            for first, end in zip(row[::2].tolist(), row[1::2].tolist()):
                starts.append((y, first))
                points += [(y, first), (y, end), (y + 1, end), (y + 1, first), (y, first)]
        if points:
            ask(page, "POST", "labels", {"do": "polygon", "axis": 0, "slice": z, "value": 1, "points": [8 * v for point in points + starts[-2::-1] for v in point]})


def click(page, selector):
    page.until(f"const found = document.querySelector({json.dumps(selector)}); return found && !found.disabled && found.checkVisibility()", f"{selector} can be clicked")
    page.js(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{ block: 'center' }})")
    page.find(selector).click()


def wait_for_job(page, what):
    page.until(f"return page.jobs.job?.do === '{what}' && page.jobs.job.state !== 'running'", f"{what} ends", 400)
    assert page.js("return page.jobs.job.state") == "done", page.js("return page.jobs.job")


def start_training(page, words, number):
    """And wait for its exam, which follows by itself."""
    page.js("page.showTab('train'); page.jobs.steps.value = '8'; page.jobs.steps.dispatchEvent(new Event('change', { bubbles: true }))")
    page.until(f"return [...document.querySelectorAll('#panel-train .way button')].some(button => button.checkVisibility() && !button.disabled && button.textContent.startsWith('{words}'))", f"the way '{words}'")
    page.js(f"[...document.querySelectorAll('#panel-train .way button')].find(button => button.checkVisibility() && button.textContent.startsWith('{words}')).click()")
    page.until("return page.jobs.running && page.jobs.job.do === 'train'", "it runs")
    command = page.js("return page.jobs.job.command")
    page.until(f"return !page.jobs.running && page.jobs.iterations.some(one => one.number === {number} && one.score)", "the training ends, and is judged", 400)
    assert page.js("return page.jobs.job.do") == "score", page.js("return page.jobs.job")
    return command


def test_loop():
    truth = phantom()
    server = Server("scan.npy", "--project", "loop", "--cache", "none")
    page = Page(server.address, 1440, 900)
    page.js("page.showTab('labels')")
    assert page.js("return page.boxes.add.textContent") == "Add a held-out box (exam)", "the exam comes first"
    for number in range(1, 4):
        page.js("page.boxes.add.click()")
        page.until(f"return page.paint.state.boxes.length === {number}", "a box comes")
    boxes = page.js("return page.paint.state.boxes")
    assert [box["role"] for box in boxes] == ["exam", "check", "exam"], boxes
    low = ends_of(boxes[-1]["box"])
    assert all(first <= at < end for (first, end), at in zip(low, page.place())), f"its middle is shown: {page.place()} in {boxes[-1]}"
    assert page.js("return page.paint.tool") == "brush", "and can be painted"
    page.until("return document.querySelectorAll('polygon.box.exam, polygon.box.check').length === 9", "the map shows three faces of each")
    for box in boxes:
        label_box(page, box["box"], truth)
    page.until("return [...document.querySelectorAll('.boxes .go')].filter(item => item.textContent.includes('100 % labelled')).length === 3", "they are labelled")
    page.until_drawn()
    page.pictures("held-out")
    page.until("return page.proposals.list.length > 0 && page.proposals.said.textContent.includes('no prediction')", "boxes at random are proposed")
    taken = page.js("return page.proposals.list[0].box")
    page.js("[...document.querySelectorAll('ol.boxes li button:last-child')][0].click()")
    page.until("return page.paint.state.boxes.length === 4", "a proposal is taken")
    assert page.js("return page.paint.state.boxes[3]") == {"number": 4, "role": "train", "box": taken}
    label_box(page, taken, truth)
    page.until("return page.jobs.trainable", "there is something to learn from")
    assert page.js("return page.jobs.exam.textContent").startswith("Then its exam: 2 held-out boxes"), "what comes after it is said"
    assert "--valid-label" in start_training(page, "From scratch", 1), "checks are given"
    page.js("page.jobs.part.value = 'whole'; page.jobs.samples.value = '4'; page.jobs.part.dispatchEvent(new Event('change', { bubbles: true }))")
    click(page, "#panel-train section[aria-label='Predict with it'] button.main")
    wait_for_job(page, "predict")
    page.until("return page.view.layer('uncertainty')?.run === 'iterations/001/runs/1' && !page.view.layer('uncertainty').finished", "the run is shown", 30)
    hidden_in_held_out(page, boxes[0])
    page.js("page.showTab('labels')")
    page.until("return page.proposals.list.length > 0 && page.proposals.list[0].excess !== null", "boxes are proposed by the run", 60)
    held = [ends_of(box["box"]) for box in boxes]
    for proposal in page.js("return page.proposals.list"):
        assert not any(all(a < d + 8 and c < b + 8 for (a, b), (c, d) in zip(ends_of(proposal["box"]), box)) for box in held), f"{proposal} beside {held}"
    click(page, "ol.boxes li .go")
    page.until_drawn()
    page.pictures("proposals")
    held_out_boxes(page, boxes)
    page.js("page.showTab('iterations')")
    page.until("return document.querySelectorAll('#panel-iterations .plot .point').length === 1", "its error is drawn")
    assert page.js("return document.getElementById('panel-iterations').textContent.includes('Fewer than three exam boxes')"), "two boxes say little"
    start_training(page, "Go on, 8 steps", 2)
    page.js("page.showTab('iterations')")
    page.js("[...document.querySelectorAll('#panel-iterations section button')].find(button => button.textContent === 'Score it again').click()")
    page.until("return page.jobs.job?.do === 'score' && page.jobs.job.iteration === 2 && page.jobs.running", "another exam")
    wait_for_job(page, "score")
    page.until("return document.querySelectorAll('#panel-iterations .plot .point').length === 2", "two points")
    assert page.js("return document.querySelectorAll('#panel-iterations .plot rect.point').length") == 1, "a square for the one from scratch"
    page.pictures("loop-iterations")
    advised(page)
    begin_anew(page)
    # A refusal is shown as a sentence, and the browser notes its status: a plan that was asked for before the loop began anew may be refused.
    page.complaints()
    page.said = [entry for entry in page.said if not ("/plan?" in entry["message"] and "422" in entry["message"])]
    assert not page.complaints(), page.complaints()
    page.close()
    assert server.stop() == 0


def held_out_boxes(page, boxes):
    """All of them are predicted, and seen together over the run before."""
    page.js("page.showTab('train'); page.jobs.part.value = 'held'; page.jobs.samples.value = '2'; page.jobs.part.dispatchEvent(new Event('change', { bubbles: true }))")
    assert page.js("return page.jobs.predictOptions().boxes") == "held-out"
    click(page, "#panel-train section[aria-label='Predict with it'] button.main")
    page.until("return page.jobs.running && page.jobs.job.steps === 3", "it runs")
    wait_for_job(page, "predict")
    page.until("return [...page.view.downFrom(page.view.layer('probability'))].length === 4", "three boxes over the run before", 60)
    chain = page.js("return [...page.view.downFrom(page.view.layer('probability'))].map(layer => [layer.run, layer.origin])")
    assert [run for run, _ in chain] == ["iterations/001/runs/2"] * 3 + ["iterations/001/runs/1"], chain
    assert sorted(origin for _, origin in chain[:3]) == sorted([low for low, _ in ends_of(box["box"])] for box in boxes), chain
    page.js("page.view.toggle('labels', false); page.view.toggle('probability', true); page.view.toggle('uncertainty', false); page.view.toggle('segmentation', false); page.view.cross = false; page.view.setZoom(6)")
    for box in boxes:  # each box has its own map, and what lies beside it that of the whole run
        middle = [(a + b) // 2 for a, b in ends_of(box["box"])]
        page.js("page.view.goTo(arguments[0], true)", middle)
        page.until_drawn()
        assert page.js("return page.panes.every(pane => [...page.view.downFrom(page.view.layer('probability'))].some(layer => layer.run === 'iterations/001/runs/2' && arguments[0].every((at, i) => at >= layer.origin[i] && at < layer.origin[i] + layer.shape[i])))", middle)
        shown = [page.pixel_at(0, [middle[0], middle[1], middle[2] + k]) for k in range(-3, 4)]
        assert any(max(colour) - min(colour) > 20 for colour in shown), f"a prediction is coloured: {shown}"
    page.pictures("held-out-predicted")
    page.js("page.view.toggle('labels', true); page.view.toggle('uncertainty', true); page.view.toggle('segmentation', true); page.view.toggle('probability', false); page.view.cross = true")


def hidden_in_held_out(page, box):
    """Painting there, no prediction is seen, and none is accepted; navigating, it is."""
    middle = [(a + b) // 2 for a, b in ends_of(box["box"])]
    page.js("page.view.setZoom(6); page.view.goTo(arguments[0], true); page.view.cross = false", middle)
    page.js("page.view.toggle('labels', false); page.view.toggle('probability', true); page.view.toggle('uncertainty', false); page.view.toggle('segmentation', false)")
    page.js("page.paint.choose('navigate')")
    page.until_drawn()
    shown = [page.pixel_at(0, [middle[0], middle[1], middle[2] + k]) for k in range(-3, 4)]
    page.js("page.paint.choose('brush')")
    page.until_drawn()
    bare = [page.pixel_at(0, [middle[0], middle[1], middle[2] + k]) for k in range(-3, 4)]
    assert any(max(colour) - min(colour) > 20 for colour in shown), f"a prediction is coloured: {shown}"
    assert all(max(colour) - min(colour) <= 3 for colour in bare), f"and hidden while painting: {bare}"
    page.pictures("hidden")
    answer = ask(page, "POST", "labels", {"do": "accept", "box": box["box"]})
    assert "held out" in answer["failed"], answer
    page.js("page.paint.choose('navigate')")
    page.js("page.view.toggle('labels', true)")
    page.complaints()
    page.said = [entry for entry in page.said if "422" not in entry["message"]]


def advised(page):
    """Two rises in a row, as the server would say it."""
    page.js("page.history.load({ ...page.history.answer, scratch: true }); page.jobs.scratch = true")
    assert page.js("return document.querySelector('.advice').textContent.includes('rose twice')"), "the page proposes a training from scratch"
    page.find(".advice button").click()
    page.until("return document.activeElement.textContent === 'From scratch' && document.activeElement.classList.contains('main')", "which is the way that is advised")
    page.js("page.jobs.scratch = false")


def begin_anew(page):
    page.js("page.showTab('labels'); page.boxes.details.open = true; page.boxes.anew.click()")
    page.until("return document.querySelector('dialog.question')?.open", "it asks first")
    page.actions().send_keys(Keys.ESCAPE).perform()
    time.sleep(0.2)
    assert page.js("return page.paint.state.boxes.length") == 4, "Escape: nothing is done"
    page.js("page.boxes.anew.click()")
    page.until("return document.querySelector('dialog.question')?.open", "it asks again")
    page.js("document.querySelector('dialog.question button.main').click()")
    page.until("return page.paint.state.boxes.length === 1 && page.boxes.loop.number === 2", "held-out boxes are given up")
    page.js("page.showTab('iterations')")
    page.until("return document.getElementById('panel-iterations').textContent.includes('Of an earlier loop')", "earlier iterations are marked")
    assert page.js("return ![...document.querySelectorAll('#panel-iterations button')].some(button => button.textContent === 'Go on from it')"), "and none goes on"


if __name__ == "__main__":
    raise SystemExit(run([test_loop]))
