// The list of layers: what is shown, how strongly, in which colours.
import { make, makeSwatch } from '../parts/make.js';
import { text } from '../text.js';
import { coloursOf, drawSwatch } from './colours.js';

const keyOf = { segmentation: 'S', labels: 'L', uncertainty: 'U', probability: 'P' };

function opacityRow(view, layer) {
  const slider = make('input', { type: 'range', min: 0, max: 100, ariaLabel: `${layer.name}: ${text.opacity}` }), number = make('output');
  slider.addEventListener('input', () => view.setOpacity(layer, Number(slider.value)));
  const update = () => {
    slider.value = layer.opacity;
    number.textContent = `${Math.round(layer.opacity)} %`;
  };
  return { row: make('div', { className: 'row' }, make('span', {}, text.opacity), slider, number), update };
}

function windowRow(view, layer) {
  const fields = [text.low, text.high].map(word => make('input', { inputMode: 'decimal', ariaLabel: `${layer.name}: ${word}` }));
  const reset = make('button', { type: 'button' }, text.reset);
  fields.forEach((field, end) => field.addEventListener('change', () => {
    const window = [...layer.window];
    window[end] = Number(field.value);
    const good = field.value.trim() !== '' && window[1] > window[0] && window.every(Number.isFinite);
    field.ariaInvalid = String(!good);
    if (good) view.setWindow(layer, ...window);
  }));
  reset.addEventListener('click', () => view.setWindow(layer, ...layer.first));
  const update = () => fields.forEach((field, end) => {
    if (document.activeElement !== field) field.value = Number(layer.window[end].toPrecision(6));
  });
  return { row: make('div', { className: 'row window' }, make('span', {}, text.window), ...fields, reset), update };
}

function classRows(view, layer) {
  const mode = make('select', { ariaLabel: `${layer.name}: ${text.drawnAs}` }, make('option', { value: 'outline' }, text.outline), make('option', { value: 'fill' }, text.filled));
  mode.addEventListener('change', () => {
    layer.outline = mode.value === 'outline';
    view.changed(layer);
  });
  const list = make('ul', { className: 'classes' });
  coloursOf(layer).forEach((colour, k) => {
    if (!colour) return;
    const swatch = makeSwatch();
    drawSwatch(swatch, colour, k);
    list.append(make('li', {}, swatch, layer.classes[k].name));
  });
  return { rows: [make('div', { className: 'row' }, make('span', {}, text.drawnAs), mode), list], update: () => { mode.value = layer.outline ? 'outline' : 'fill'; } };
}

// The colours of a map, with the ends of what it shows.
function mapScale(view, layer) {
  const strip = make('canvas', { className: 'scale', width: 256, height: 1, ariaHidden: 'true' });
  const context = strip.getContext('2d'), pixels = context.createImageData(256, 1);
  for (let i = 0; i < 256; i++) {
    [0, 2, 4].forEach((at, k) => { pixels.data[4 * i + k] = parseInt(view.map.slice(6 * i + at, 6 * i + at + 2), 16); });
    pixels.data[4 * i + 3] = 255;
  }
  context.putImageData(pixels, 0, 0);
  return make('div', { className: 'row ends' }, make('span', { className: 'soft' }, '0'), strip, make('span', { className: 'soft' }, String(layer.high)));
}

// Fills the panel anew; gives back what brings it up to date.
function fill(panel, view) {
  const updates = [];
  panel.replaceChildren();
  for (const layer of [...view.stack].reverse()) {
    const box = make('input', { type: 'checkbox', ariaLabel: text.shown(layer.name) });
    box.addEventListener('change', () => view.toggle(layer.id, box.checked));
    const head = make('h3', {}, make('label', {}, box, layer.name));
    if (keyOf[layer.id]) head.append(make('kbd', { title: text.shown(layer.name) }, keyOf[layer.id]));
    const part = make('section', { className: 'layer', ariaLabel: layer.name }, head);
    updates.push(() => { box.checked = layer.visible; });
    if (layer.kind === 'scan') {
      const { row, update } = windowRow(view, layer);
      part.append(row);
      updates.push(update);
    } else {
      const { row, update } = opacityRow(view, layer);
      part.append(row);
      updates.push(update);
    }
    if (layer.kind === 'map') part.append(mapScale(view, layer));
    if (layer.kind === 'classes') {
      const { rows, update } = classRows(view, layer);
      part.append(...rows);
      updates.push(update);
    }
    panel.append(part);
  }
  return () => updates.forEach(each => each());
}

export function layerPanel(view) {
  const panel = make('div');
  let update = fill(panel, view);
  view.addEventListener('change', ({ detail }) => {
    if (detail === 'layers') update = fill(panel, view);
    if (detail === 'layer' || detail === 'layers') update();
  });
  update();
  return panel;
}
