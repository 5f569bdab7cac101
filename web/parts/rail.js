// The tools at the left: what is in hand, how large it is, and what it may paint.
import { drawSwatch } from '../look/colours.js';
import { sizes } from '../paint/paint.js';
import { text } from '../text.js';
import { make, makeSwatch } from './make.js';

const icons = {
  navigate: 'M5 3l12 8-5 1 3 6-2 1-3-6-4 4z',
  brush: 'M4 17c0-3 2-5 4-5l2 2c0 2-2 4-6 3zM10 11l7-8 1 1-7 8z',
  eraser: 'M3 14l8-9 6 5-7 8H6zM7 10l6 5',
  fill: 'M4 11l7-7 6 6-7 7zM17 13c1 2 2 3 1 4s-2-1-1-4z',
  polygon: 'M4 15L6 5l9-1 2 8-6 5z',
  box: 'M3 5h14v10H3z',
};
const keys = { navigate: 'Esc', brush: 'B', eraser: 'E', fill: 'F', polygon: 'G' };

function icon(path) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg'), node = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  svg.setAttribute('viewBox', '0 0 20 20');
  svg.setAttribute('aria-hidden', 'true');
  node.setAttribute('d', path);
  svg.append(node);
  return svg;
}

export function buildRail(rail, paint) {
  const updates = [], update = () => updates.forEach(each => each());
  rail.setAttribute('aria-label', text.rail);
  for (const [tool, name] of Object.entries(text.tools)) {
    const title = keys[tool] ? text.toolTitle(name, keys[tool]) : name;
    const button = make('button', { type: 'button', className: 'tool', title, ariaLabel: title }, icon(icons[tool]));
    button.addEventListener('click', () => paint.choose(tool));
    updates.push(() => button.setAttribute('aria-pressed', String(paint.tool === tool)));
    rail.append(button);
  }
  const part = (...nodes) => rail.append(make('div', { className: 'rail-part' }, ...nodes));

  const colour = makeSwatch();
  updates.push(() => {
    drawSwatch(colour, paint.layer.colours[paint.value] ?? '000000', paint.value);
    colour.title = paint.layer.classes[paint.value].name;
  });
  const slider = make('input', { type: 'range', min: 0, max: sizes.length - 1, ariaLabel: text.size }), shown = make('output');
  slider.addEventListener('input', () => paint.set({ size: sizes[slider.value] }));
  updates.push(() => {
    slider.value = sizes.findIndex(size => size >= paint.size);
    slider.setAttribute('aria-valuetext', text.sizeOf(paint.size));
    shown.textContent = paint.size;
  });
  part(colour, make('span', {}, text.size), shown, slider);

  const ball = make('button', { type: 'button' });
  ball.addEventListener('click', () => paint.set({ ball: !paint.ball }));
  updates.push(() => {
    ball.textContent = paint.ball ? text.ball : text.disc;
    ball.title = paint.ball ? text.ballTitle : text.discTitle;
    ball.setAttribute('aria-pressed', String(paint.ball));
  });
  part(ball);

  const grey = make('button', { type: 'button', title: text.greyTitle }, text.grey);
  const ends = [text.greyLow, text.greyHigh].map(label => make('input', { inputMode: 'decimal', ariaLabel: label, title: label }));
  grey.addEventListener('click', () => paint.toggleGrey());
  ends.forEach((field, end) => field.addEventListener('change', () => {
    const range = [...paint.grey];
    range[end] = Number(field.value);
    const good = field.value.trim() !== '' && range[0] <= range[1] && range.every(Number.isFinite);
    field.ariaInvalid = String(!good);
    if (good) paint.set({ grey: range });
  }));
  updates.push(() => {
    grey.setAttribute('aria-pressed', String(paint.greyOn));
    ends.forEach((field, end) => {
      field.hidden = !paint.greyOn;
      if (paint.grey && document.activeElement !== field) field.value = paint.grey[end];
    });
  });
  part(grey, ...ends);

  const over = make('select', { ariaLabel: text.overTitle, title: text.overTitle },
    ...[['all', text.overAll], ['unlabelled', text.overUnlabelled], ['others', text.overOthers]].map(([value, name]) => make('option', { value }, name)));
  over.addEventListener('change', () => paint.set({ over: over.value }));
  updates.push(() => { over.value = paint.over; });
  part(make('span', {}, text.over), over);

  const undo = document.getElementById('undo'), redo = document.getElementById('redo');
  for (const [button, word, turn] of [[undo, text.undo, () => paint.undo()], [redo, text.redo, () => paint.redo()]]) {
    button.title = button.ariaLabel = word;
    button.addEventListener('click', turn);
  }
  updates.push(() => {
    const waits = paint.queue.items.length > 0;
    undo.disabled = !waits && paint.state.undo === 0;
    redo.disabled = !waits && paint.state.redo === 0;
    rail.querySelectorAll('.tool, .rail-part button, .rail-part select, .rail-part input').forEach(node => { node.disabled = !paint.state.writable; });
  });
  paint.addEventListener('change', update);
  update();
}
