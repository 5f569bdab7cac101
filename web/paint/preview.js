// Draws what was painted and isn't in the tiles yet, and what the tool in hand looks like.
import { rgbOf } from '../look/colours.js';
import { down, right } from '../look/view.js';
import { endsOf } from '../loop/boxes.js';
import { text } from '../text.js';

// Boxes of a cover that the plane cuts, as rectangles of the canvas.
function * rectangles(pane, { cover, filter }) {
  const { axis } = pane, at = pane.view.place[axis];
  for (const box of cover.boxes()) {
    if (at < box[0][axis] || at >= box[1][axis]) continue;
    for (const part of filter ? filter.parts(box) : [box]) {
      const [x, y, width, height] = pane.placeOf(part);
      if (x < pane.canvas.width && y < pane.canvas.height && x + width > 0 && y + height > 0) yield [x, y, width, height];
    }
  }
}

const pathOf = (pane, item) => {
  const path = new Path2D();
  for (const rectangle of rectangles(pane, item)) path.rect(...rectangle);
  return path;
};

// Labels as they are known (`draw`), and over them what has been painted since, in the order in which it was done.
export function drawLabels(pane, paint, layer, draw) {
  const { context, canvas } = pane, items = paint.covers().map(item => ({ ...item, path: pathOf(pane, item) }));
  if (items.length === 0) return draw();
  context.save();
  for (const { path } of items) { /* whatever was there is gone: a new class, or nothing, is there */
    const rest = new Path2D(path);
    rest.rect(0, 0, canvas.width, canvas.height);
    context.clip(rest, 'evenodd');
  }
  draw();
  context.restore();
  const scratch = pane.scratch ??= new OffscreenCanvas(1, 1), own = scratch.getContext('2d');
  [scratch.width, scratch.height] = [canvas.width, canvas.height];
  for (const { path, value } of items) {
    own.globalCompositeOperation = 'destination-out';
    own.fillStyle = '#000';
    own.fill(path);
    if (value === 255) continue;
    own.globalCompositeOperation = 'source-over';
    own.fillStyle = `rgb(${rgbOf(layer.colours[value] ?? '999999').join(' ')} / 0.5647)`; /* as in the tiles */
    own.fill(path);
  }
  context.drawImage(scratch, 0, 0);
}

// What a box is for, in its corner, where it is large enough to hold it.
function label({ context, ratio }, words, [x, y, width]) {
  if (width < 60 * ratio) return;
  context.font = `${11 * ratio}px system-ui, sans-serif`;
  context.textAlign = 'left';
  context.textBaseline = 'top';
  context.fillStyle = 'rgb(0 0 0 / 0.6)';
  context.fillRect(x + 2 * ratio, y + 2 * ratio, context.measureText(words).width + 8 * ratio, 16 * ratio);
  context.fillStyle = '#fff';
  context.fillText(words, x + 6 * ratio, y + 4 * ratio);
}

// The brush's outline under the pointer, corners of a polygon, the box in hand, and held-out boxes.
export function drawTool(pane, paint) {
  const { context, ratio, view } = pane, { axis } = pane;
  const both = (work, colour) => {
    context.lineWidth = 3 * ratio;
    context.strokeStyle = 'rgb(0 0 0 / 0.7)';
    work();
    context.lineWidth = 1.5 * ratio;
    context.strokeStyle = colour;
    work();
  };
  for (const { box, role } of paint.state.boxes) {
    const { low, high } = endsOf(box);
    if (view.place[axis] < low[axis] || view.place[axis] >= high[axis]) continue;
    both(() => context.strokeRect(...pane.placeOf([low, high])), role === 'train' ? '#ffffff' : '#ffd75e');
    label(pane, text.roles[role], pane.placeOf([low, high]));
  }
  if (paint.box && view.place[axis] >= paint.box.low[axis] && view.place[axis] < paint.box.high[axis]) {
    const [x, y, width, height] = pane.placeOf([paint.box.low, paint.box.high]);
    context.setLineDash([6 * ratio, 4 * ratio]);
    both(() => context.strokeRect(x, y, width, height), '#7fb0ff');
    context.setLineDash([]);
  }
  if (!paint.active) return;
  const colour = `#${paint.tool === 'eraser' ? 'ffffff' : paint.layer.colours[paint.value] ?? 'ffffff'}`;
  if (paint.corners.length > 0 && paint.corners.axis === axis && paint.corners.slice === view.place[axis]) {
    const at = point => [pane.across(point[1] / 8), pane.along(point[0] / 8)];
    both(() => {
      context.beginPath();
      paint.corners.forEach(point => context.lineTo(...at(point)));
      if (pane.pointer) context.lineTo(pane.pointer.x * ratio, pane.pointer.y * ratio);
      context.stroke();
      context.strokeRect(at(paint.corners[0])[0] - 3 * ratio, at(paint.corners[0])[1] - 3 * ratio, 6 * ratio, 6 * ratio);
    }, colour);
  }
  if (!['brush', 'eraser'].includes(paint.tool)) return;
  const onCanvas = document.activeElement === pane.canvas;
  if (!pane.pointer && !onCanvas) return;
  const x = pane.pointer ? pane.pointer.x * ratio : pane.across(view.place[right[axis]] + 0.5), y = pane.pointer ? pane.pointer.y * ratio : pane.along(view.place[down[axis]] + 0.5);
  both(() => {
    context.beginPath();
    context.arc(x, y, Math.max(2, paint.size / 2 * view.zoom * ratio), 0, 2 * Math.PI);
    context.stroke();
  }, colour);
}

// In held-out boxes the user paints without being told what the model says.
const heldOut = paint => (paint?.active ? paint.state.boxes.filter(({ role }) => role !== 'train').map(({ box }) => endsOf(box)) : []);

// The parts of a plane to leave out of what the model says.
export function hiddenParts({ axis, view }, paint) {
  return heldOut(paint).filter(({ low, high }) => view.place[axis] >= low[axis] && view.place[axis] < high[axis]).map(({ low, high }) => [low, high]);
}

export const hiddenAt = (paint, place) => heldOut(paint).some(({ low, high }) => place.every((at, i) => at >= low[i] && at < high[i]));
