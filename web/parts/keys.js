// The keyboard. Letters rest while one types into a field, and can be switched off.
import { down, right } from '../look/view.js';
import { text } from '../text.js';

const stored = 'credence-letters';
export const letters = {
  get on() { try { return localStorage.getItem(stored) !== 'off'; } catch { return true; } },
  set on(value) { try { localStorage.setItem(stored, value ? 'on' : 'off'); } catch { /* for this tab only */ } },
};

const layerKeys = { s: 'segmentation', l: 'labels', u: 'uncertainty', p: 'probability' };

function isTyping(target) {
  return target.matches('input:not([type="range"]):not([type="checkbox"]), select, textarea');
}

// Moves the cross-hair in the plane with the focus; the plane follows where it would leave it.
function arrow(page, pane, event) {
  const steps = event.shiftKey ? 10 : 1;
  const [axis, by] = { ArrowLeft: [right, -1], ArrowRight: [right, 1], ArrowUp: [down, -1], ArrowDown: [down, 1] }[event.key];
  page.view.move(axis[pane.axis], by * steps);
  const width = pane.canvas.clientWidth, height = pane.canvas.clientHeight, r = right[pane.axis], d = down[pane.axis];
  const x = pane.across(page.view.place[r]) / pane.ratio, y = pane.along(page.view.place[d]) / pane.ratio;
  if (x < 20 || y < 20 || x > width - 20 || y > height - 20) page.view.goTo(page.view.place, true);
}

// As long as the key is held the older run is seen.
function peek(page, again) {
  if (again) return;
  if (!page.view.peek(true)) return page.notice(text.noOlder, 4000);
  page.say(text.older(text.runName(page.view.older)));
}

function unpeek(page) { if (page.view.peeking) page.view.peek(false); }

// True: it was one of ours. In a text field they are the field's own.
function withControl(page, event) {
  const key = event.key.toLowerCase();
  if (!(event.ctrlKey || event.metaKey) || event.altKey || isTyping(event.target) || !['z', 'y', 's'].includes(key)) return false;
  if (key === 's') page.notice(page.paint.queue.items.length === 0 ? text.saved : text.savingLong(page.paint.queue.items.length), 3000);
  else if (key === 'z' && !event.shiftKey) page.paint.undo();
  else page.paint.redo();
  return true;
}

export function listenToKeys(page) {
  const { view, paint } = page;
  const actions = {
    ',': pane => view.move(pane.axis, -1), '.': pane => view.move(pane.axis, 1),
    '<': pane => view.move(pane.axis, -10), '>': pane => view.move(pane.axis, 10), ';': pane => view.move(pane.axis, -10), ':': pane => view.move(pane.axis, 10),
    '+': pane => pane.zoomBy(Math.SQRT2), '=': pane => pane.zoomBy(Math.SQRT2), '-': pane => pane.zoomBy(Math.SQRT1_2), 0: () => page.fit(),
    x: () => { view.cross = !view.cross; view.tell('layer'); },
    w: pane => page.windowFromView(pane), m: pane => page.fill('zyx'[pane.axis]), c: () => page.copyLink(), '?': () => page.showKeys(),
    k: () => page.regions?.tickCurrent(),
    b: () => paint.choose('brush'), e: () => paint.choose('eraser'), f: () => paint.choose('fill'), g: () => paint.choose('polygon'),
    '[': () => paint.resize(-1), ']': () => paint.resize(1), o: () => paint.set({ ball: !paint.ball }), r: () => paint.toggleGrey(),
    v: pane => paint.between(pane),
    a: () => view.latest && view.setOpacity(view.latest, view.latest.opacity - 10), d: () => view.latest && view.setOpacity(view.latest, view.latest.opacity + 10),
  };
  document.addEventListener('keydown', event => {
    if (withControl(page, event)) return event.preventDefault();
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || document.querySelector('dialog[open]')) return;
    const pane = page.active, onCanvas = event.target === pane.canvas, key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key === 'PageUp' || key === 'PageDown') view.move(pane.axis, (key === 'PageUp' ? -1 : 1) * (event.shiftKey ? 10 : 1));
    else if (key.startsWith('Arrow') && (onCanvas || event.target === document.body)) arrow(page, pane, event);
    else if (key === 'Escape' && paint.active) paint.choose('navigate');
    else if (key === 'Enter' && onCanvas && paint.active) paint.enter(pane);
    else if (/^[1-9]$/.test(key) && paint.state.classes[key - 1]) paint.set({ value: paint.state.classes[key - 1].value });
    else if (key === 'Escape' && view.full) page.fill(view.full);
    else if (key === 'q' && letters.on) return peek(page, event.repeat);
    else if (key === 'n' && letters.on) page.regions?.next(event.shiftKey ? -1 : 1);
    else if (key.length === 1 && letters.on && layerKeys[key]) view.toggle(layerKeys[key]);
    else if (key.length === 1 && (letters.on || !/[a-z]/.test(key)) && actions[key] && key !== ' ') actions[key](pane);
    else if (key === ' ' && onCanvas) page.spaceHeld = true; /* with the mouse: pans; the page doesn't scroll */
    else return;
    event.preventDefault();
  });
  document.addEventListener('keyup', event => {
    if (event.key === ' ') page.spaceHeld = false;
    if (event.key.toLowerCase() === 'q') unpeek(page);
  });
  addEventListener('blur', () => unpeek(page)); /* the key is let go elsewhere */
}
