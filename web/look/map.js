// A small picture of the whole volume with the three planes, boxes and uncertain regions in it. A click on a face goes to that place.
import { endsOf } from '../loop/boxes.js';
import { text } from '../text.js';
import { axes } from './view.js';

const svg = (name, attributes = {}) => {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};

// Directions of the axes on the screen: x to the right, y to the front, z down.
const direction = { z: [0, 1], y: [-0.5, 0.32], x: [0.86, 0.16] };

export class VolumeMap {
  constructor(holder, page) {
    const { view } = page;
    Object.assign(this, { holder, page, view });
    this.root = svg('svg', { role: 'img', 'aria-label': text.mapOf });
    holder.append(this.root);
    new ResizeObserver(() => this.draw()).observe(holder);
    view.addEventListener('change', event => event.detail === 'place' && this.draw());
  }

  // A corner of the box, as shares 0 to 1 along z, y, x, on the screen.
  at(shares) {
    const { sizes, scale, origin } = this.frame;
    return [0, 1].map(i => origin[i] + scale * axes.reduce((sum, axis, k) => sum + direction[axis][i] * sizes[k] * shares[k], 0));
  }

  measure() {
    const width = this.root.clientWidth, height = this.root.clientHeight;
    const sizes = this.view.shape.map((n, i) => n * this.view.edge[i]);
    this.frame = { sizes, scale: 1, origin: [0, 0] };
    const corners = [0, 1, 2, 3, 4, 5, 6, 7].map(i => this.at([i & 1, i >> 1 & 1, i >> 2]));
    const low = [0, 1].map(i => Math.min(...corners.map(c => c[i]))), high = [0, 1].map(i => Math.max(...corners.map(c => c[i])));
    const scale = Math.min((width - 30) / (high[0] - low[0]), (height - 14) / (high[1] - low[1]));
    this.frame = { sizes, scale, origin: [width / 2 - scale * (low[0] + high[0]) / 2, height / 2 - scale * (low[1] + high[1]) / 2] };
    return width > 20 && height > 20;
  }

  polygon(corners, attributes) {
    return svg('polygon', { points: corners.map(c => this.at(c).map(v => v.toFixed(1)).join(',')).join(' '), ...attributes });
  }

  // The face on which an axis has the share `at`.
  face(axis, at) {
    return [[0, 0], [0, 1], [1, 1], [1, 0]].map(([a, b]) => {
      const corner = [a, b];
      corner.splice(axis, 0, at);
      return corner;
    });
  }

  // Its three faces that are seen.
  box({ low, high }, name) {
    const [from, to] = [low, high].map(ends => ends.map((at, i) => at / this.view.shape[i]));
    return [[0, from], [1, to], [2, to]].map(([axis, at]) => this.polygon(this.face(axis, 0).map(corner => corner.map((share, i) => (i === axis ? at[i] : share ? to[i] : from[i]))), { class: name }));
  }

  draw() {
    if (!this.measure()) return;
    const { view } = this, parts = [];
    [0, 1, 2].forEach(axis => [0, 1].forEach(at => parts.push(this.polygon(this.face(axis, at), { class: 'frame' }))));
    axes.forEach((name, axis) => {
      const share = (view.place[axis] + 0.5) / view.shape[axis];
      parts.push(this.polygon(this.face(axis, share), { class: 'plane', stroke: `var(--${name})`, fill: `var(--${name})` }));
    });
    for (const region of this.page.regions?.list ?? []) {
      const [x, y] = this.at(region.centre.map((at, i) => at / view.shape[i]));
      parts.push(svg('circle', { cx: x.toFixed(1), cy: y.toFixed(1), r: 2.5, class: region.looked ? 'dot looked' : 'dot' }));
    }
    const { paint, proposals } = this.page;
    for (const { box, role } of paint?.state.boxes ?? []) parts.push(...this.box(endsOf(box), `box ${role}`));
    if (proposals?.current) parts.push(...this.box(proposals.current, 'box proposed'));
    // Faces turned to the reader take clicks: above (z 0), in front (y 1), to the right (x 1).
    [[0, 0], [1, 1], [2, 1]].forEach(([axis, at]) => {
      const face = this.polygon(this.face(axis, at), { class: 'face' });
      face.addEventListener('click', event => this.goTo(axis, at, event));
      parts.push(face);
    });
    const label = (name, shares, dx, dy) => {
      const [x, y] = this.at(shares), node = svg('text', { x: x + dx, y: y + dy });
      node.textContent = name;
      parts.push(node);
    };
    label('x', [0, 0, 0.5], 2, -4);
    label('y', [0, 0.5, 0], -12, 0);
    label('z', [0.5, 1, 0], -12, 4);
    this.root.replaceChildren(...parts);
  }

  goTo(axis, at, event) {
    const box = this.root.getBoundingClientRect(), { sizes, scale } = this.frame;
    const start = [0, 0, 0];
    start[axis] = at;
    const corner = this.at(start), dx = (event.clientX - box.left - corner[0]) / scale, dy = (event.clientY - box.top - corner[1]) / scale;
    const [a, b] = [0, 1, 2].filter(other => other !== axis), p = direction[axes[a]], q = direction[axes[b]];
    const area = p[0] * q[1] - p[1] * q[0], place = [...this.view.place];
    place[a] = (dx * q[1] - dy * q[0]) / area / sizes[a] * this.view.shape[a];
    place[b] = (p[0] * dy - p[1] * dx) / area / sizes[b] * this.view.shape[b];
    this.view.goTo(place, true);
  }
}
