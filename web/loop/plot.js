// The exam's error over labelled voxels: a point for each iteration, with its interval.
import { text } from '../text.js';

const svg = (name, attributes = {}, words = '') => {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = words;
  return node;
};

const width = 300, height = 190, left = 44, right = 12, top = 14, bottom = 38;

// Round numbers from 0 to at least `most`, about so many.
export function ticks(most, count) {
  const rough = most / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(factor => factor * power >= rough * 0.999);
  return Array.from({ length: Math.ceil(most / step - 1e-9) + 1 }, (_, i) => i * step);
}

const short = count => (count >= 1e6 ? `${Number((count / 1e6).toPrecision(3))} M` : count >= 1000 ? `${Number((count / 1000).toPrecision(3))} k` : String(count));
const percent = share => `${Number((100 * share).toPrecision(3))} %`;

export function errorPlot(iterations) {
  const points = iterations.filter(({ score, labels }) => score && labels).map(({ number, score, labels, warm }) => ({ number, warm, x: labels.voxels, y: score.error, ends: score.enough ? score.error_interval : null }));
  if (points.length === 0) return null;
  const across = ticks(Math.max(...points.map(point => point.x), 1), 4), upward = ticks(Math.max(...points.map(point => (point.ends ? point.ends[1] : point.y)), 0.001), 4);
  const x = value => left + value / across.at(-1) * (width - left - right), y = value => height - bottom - value / upward.at(-1) * (height - top - bottom);
  const root = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': text.plotLabel(points.map(point => text.plotPoint(point.number, point.x, percent(point.y)))), class: 'plot' });
  for (const value of upward) {
    root.append(svg('line', { x1: left, x2: width - right, y1: y(value), y2: y(value), class: value === 0 ? 'axis' : 'grid' }));
    root.append(svg('text', { x: left - 5, y: y(value) + 4, 'text-anchor': 'end' }, percent(value)));
  }
  for (const value of across) root.append(svg('text', { x: x(value), y: height - bottom + 15, 'text-anchor': value === across.at(-1) ? 'end' : 'middle' }, short(value)));
  root.append(svg('text', { x: (left + width - right) / 2, y: height - 5, 'text-anchor': 'middle' }, text.plotAcross));
  root.append(svg('polyline', { points: points.map(point => `${x(point.x)},${y(point.y)}`).join(' '), class: 'path' }));
  const numbers = []; /* where several points lie together one list of their numbers stands */
  for (const point of points) {
    const at = [x(point.x), y(point.y)];
    if (point.ends) root.append(svg('line', { x1: at[0], x2: at[0], y1: y(point.ends[0]), y2: y(point.ends[1]), class: 'interval' }));
    root.append(point.warm ? svg('circle', { cx: at[0], cy: at[1], r: 4, class: 'point' }) : svg('rect', { x: at[0] - 4, y: at[1] - 4, width: 8, height: 8, class: 'point' }));
    const late = at[0] > width - 60, near = numbers.find(other => Math.hypot(other.at[0] - at[0], other.at[1] - at[1]) < 14);
    if (near) near.node.textContent += `, ${point.number}`;
    else numbers.push({ at, node: svg('text', { x: at[0] + (late ? -7 : 7), y: at[1] - 6, 'text-anchor': late ? 'end' : 'start', class: 'number' }, String(point.number)) });
  }
  root.append(...numbers.map(({ node }) => node));
  return root;
}
