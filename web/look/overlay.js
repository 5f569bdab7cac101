// What is drawn over a plane: outline of the volume, cross-hair, scale bar.
import { text } from '../text.js';
import { axes, down, right } from './view.js';

const colours = { z: '#f0c000', y: '#2bd6a0', x: '#f29cc8' };

// 1, 2 or 5 times a power of ten, about so long.
export function roundLength(length) {
  const power = 10 ** Math.floor(Math.log10(length));
  const rest = length / power;
  return power * (rest >= 5 ? 5 : rest >= 2 ? 2 : 1);
}

export function scaleBar(pane) {
  const view = pane.view, r = right[pane.axis], perPixel = (view.known ? view.spacing[r] : 1) / (view.zoom * view.edge[r]);
  const length = roundLength(140 * perPixel);
  return { pixels: length / perPixel, words: `${Number(length.toPrecision(3))} ${view.known ? view.unit : text.voxels}`.trim() };
}

function line(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

// The cross-hair leaves its middle free: that is what one looks at.
function drawCross(pane) {
  const { context, canvas, view, ratio } = pane;
  const r = right[pane.axis], d = down[pane.axis], gap = 14 * ratio;
  const x = Math.round(pane.across(view.place[r] + 0.5)) + 0.5, y = Math.round(pane.along(view.place[d] + 0.5)) + 0.5;
  const gapX = Math.max(gap, pane.pixels(r) / 2 + 4), gapY = Math.max(gap, pane.pixels(d) / 2 + 4);
  context.lineWidth = Math.max(1, Math.round(ratio));
  context.globalAlpha = 0.85;
  context.strokeStyle = colours[axes[r]];
  line(context, x, 0, x, y - gapY);
  line(context, x, y + gapY, x, canvas.height);
  context.strokeStyle = colours[axes[d]];
  line(context, 0, y, x - gapX, y);
  line(context, x + gapX, y, canvas.width, y);
  context.globalAlpha = 1;
}

// The box of the region that is looked at, where the plane cuts it.
function drawRegion(pane, region) {
  const { context, view, ratio } = pane, r = right[pane.axis], d = down[pane.axis], at = view.place[pane.axis];
  if (at < region.low[pane.axis] || at >= region.high[pane.axis]) return;
  const x = Math.round(pane.across(region.low[r])) - 0.5, y = Math.round(pane.along(region.low[d])) - 0.5;
  const width = Math.round(pane.across(region.high[r])) - x, height = Math.round(pane.along(region.high[d])) - y;
  context.lineWidth = 3 * ratio;
  context.strokeStyle = 'rgb(0 0 0 / 0.6)';
  context.strokeRect(x, y, width, height);
  context.lineWidth = 1.5 * ratio;
  context.strokeStyle = '#fff';
  context.strokeRect(x, y, width, height);
}

function drawScale(pane) {
  const { context, canvas, ratio } = pane;
  const bar = scaleBar(pane), width = Math.round(bar.pixels * ratio), height = Math.round(4 * ratio);
  const x = canvas.width - width - 14 * ratio, y = canvas.height - 16 * ratio;
  context.font = `${12 * ratio}px system-ui, sans-serif`;
  context.textAlign = 'center';
  context.textBaseline = 'bottom';
  context.lineJoin = 'round';
  context.fillStyle = 'rgb(0 0 0 / 0.55)';
  context.fillRect(x - 7 * ratio, y - 20 * ratio, width + 14 * ratio, height + 27 * ratio);
  context.fillStyle = '#fff';
  context.fillRect(x, y, width, height);
  context.fillText(bar.words, x + width / 2, y - 2 * ratio);
}

// That it is an older run which is seen, and which.
function drawName({ context, ratio }, words) {
  context.font = `${13 * ratio}px system-ui, sans-serif`;
  context.textAlign = 'left';
  context.textBaseline = 'top';
  context.fillStyle = 'rgb(0 0 0 / 0.7)';
  context.fillRect(8 * ratio, 8 * ratio, context.measureText(words).width + 16 * ratio, 24 * ratio);
  context.fillStyle = '#ffd75e';
  context.fillText(words, 16 * ratio, 14 * ratio);
}

// How far a run has come that is still computed: where the new result ends and the one before goes on.
function drawFronts(pane) {
  const { context, view, ratio } = pane, layer = view.stack.find(other => other.visible && other.finished && view.partsOf(other, pane.axis).length > 0);
  if (!layer) return;
  context.lineWidth = Math.max(1, Math.round(ratio));
  context.strokeStyle = '#ffd75e';
  context.setLineDash([6 * ratio, 4 * ratio]);
  for (const part of view.partsOf(layer, pane.axis)) {
    const [x, y, width, height] = pane.placeOf(part);
    context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  }
  context.setLineDash([]);
}

export function drawOver(pane) {
  const { context, view, ratio } = pane;
  const r = right[pane.axis], d = down[pane.axis];
  const x0 = Math.round(pane.across(0)) - 0.5, x1 = Math.round(pane.across(view.shape[r])) + 0.5;
  const y0 = Math.round(pane.along(0)) - 0.5, y1 = Math.round(pane.along(view.shape[d])) + 0.5;
  context.lineWidth = Math.max(1, Math.round(ratio));
  context.strokeStyle = '#555c66';
  context.strokeRect(x0, y0, x1 - x0, y1 - y0);
  drawFronts(pane);
  for (const box of [pane.page.regions?.current, pane.page.proposals.current]) if (box) drawRegion(pane, box);
  if (view.cross) drawCross(pane);
  drawScale(pane);
  if (view.peeking) drawName(pane, text.older(text.runName(view.older)));
}
