// Tables of 256 colours that turn the bytes of a tile into pixels.

// Okabe and Ito: told apart by colour-blind people, too. Two classes are drawn as in the report.
export const classColours = ['E69F00', '56B4E9', '009E73', 'F0E442', '0072B2', 'D55E00', 'CC79A7', '999999'];
export const segmentationColour = '00E0FF';
export const labelColour = 'FF9E1B';

// Directions of the classes' hatchings, so that none is told by its colour alone.
export const hatch = [
  (x, y) => (x + y) % 8 === 0, (x, y) => (x - y & 7) === 0, (x, y) => y % 8 === 0, x => x % 8 === 0,
  (x, y) => (x + y) % 8 === 0 || (x - y & 7) === 0, (x, y) => y % 8 === 0 || x % 8 === 0,
  (x, y) => x % 4 === 0 && y % 4 === 0, () => false,
];

export const rgbOf = hex => [0, 2, 4].map(i => parseInt(hex.slice(i, i + 2), 16));

// Of a layer of classes: the first is what surrounds the others, and isn't drawn where there are only two.
export function coloursOf(layer) {
  if (layer.colours) return layer.colours; // of painted labels: as the user chose them
  if (layer.classes.length > 2) return layer.classes.map((_, k) => classColours[k % classColours.length]);
  return [null, layer.id === 'label' ? labelColour : segmentationColour];
}

// Bytes span `range`, the user sees `window` of it.
export function greyTable(range, window) {
  const table = new Uint32Array(256);
  const width = Math.max(window[1] - window[0], Number.MIN_VALUE);
  for (let i = 0; i < 256; i++) {
    const value = range[0] + (range[1] - range[0]) * i / 255;
    const grey = Math.max(0, Math.min(255, Math.round(255 * (value - window[0]) / width)));
    table[i] = (0xff000000 | grey << 16 | grey << 8 | grey) >>> 0;
  }
  return table;
}

// The report's map; nothing where the quantity is 0, and little colour where there is little of it.
export function mapTable(hex) {
  const table = new Uint32Array(256);
  for (let i = 0; i < 256; i++) {
    const [r, g, b] = rgbOf(hex.slice(6 * i, 6 * i + 6));
    const alpha = Math.round(255 * Math.min(1, i / 64));
    table[i] = (alpha << 24 | b << 16 | g << 8 | r) >>> 0;
  }
  return table;
}

export function classTable(layer) {
  const table = new Uint32Array(256);
  coloursOf(layer).forEach((hex, k) => {
    if (!hex) return;
    const [r, g, b] = rgbOf(hex);
    table[k] = (0xff000000 | b << 16 | g << 8 | r) >>> 0;
  });
  return table;
}

// The patch of a class in a list: its colour, and its hatching in black or white, whichever is seen.
export function drawSwatch(canvas, hex, value) {
  const { width, height } = canvas, context = canvas.getContext('2d'), [r, g, b] = rgbOf(hex);
  context.fillStyle = `#${hex}`;
  context.fillRect(0, 0, width, height);
  context.fillStyle = 0.3 * r + 0.6 * g + 0.1 * b > 110 ? '#000b' : '#fffb';
  for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) if (hatch[value % hatch.length](x, y)) context.fillRect(x, y, 1, 1);
}
