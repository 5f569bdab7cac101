// The grey values of the scan, with the window's two ends as handles.
import { getJson } from '../api.js';
import { text } from '../text.js';

const svg = (name, attributes = {}) => {
  const node = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
};

export class Histogram {
  constructor(holder, view) {
    Object.assign(this, { holder, view, layer: view.layers.find(layer => layer.kind === 'scan') });
    if (!this.layer) return;
    this.root = svg('svg', { role: 'group' });
    this.bars = svg('path', { class: 'bars' });
    this.shades = [svg('rect', { class: 'outside', y: 0 }), svg('rect', { class: 'outside', y: 0 })];
    this.caption = svg('text', { x: 2, y: 11 });
    this.handles = [0, 1].map(end => this.makeHandle(end));
    this.root.append(this.bars, ...this.shades, this.caption, ...this.handles);
    holder.append(this.root);
    new ResizeObserver(() => this.draw()).observe(holder);
    view.addEventListener('change', event => event.detail === 'layer' && this.draw());
    this.load();
  }

  async load() {
    if (!this.layer) return;
    this.data = await getJson(`histogram/${this.layer.number}`);
    this.root.setAttribute('aria-label', text.histogram(this.data.exact));
    this.caption.textContent = text.histogram(this.data.exact);
    this.draw();
  }

  makeHandle(end) {
    const handle = svg('g', { class: 'handle', role: 'slider', tabindex: 0, 'aria-label': `${text.window}: ${end ? text.high : text.low}` });
    handle.append(svg('line'), svg('path'), svg('text', { 'text-anchor': end ? 'start' : 'end' }));
    handle.addEventListener('pointerdown', event => {
      handle.setPointerCapture(event.pointerId);
      handle.focus();
      event.preventDefault();
    });
    handle.addEventListener('pointermove', event => handle.hasPointerCapture(event.pointerId) && this.moveTo(end, event, false));
    handle.addEventListener('pointerup', event => this.moveTo(end, event, true));
    handle.addEventListener('keydown', event => {
      const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1 }[event.key];
      if (!steps || !this.data) return;
      event.preventDefault();
      event.stopPropagation();
      const window = [...this.layer.window];
      window[end] += steps * (event.shiftKey ? 10 : 1) * (this.span[1] - this.span[0]) / 200;
      this.set(end, window[end], true);
    });
    return handle;
  }

  moveTo(end, event, done) {
    const box = this.root.getBoundingClientRect();
    const value = this.span[0] + (event.clientX - box.left) / box.width * (this.span[1] - this.span[0]);
    this.set(end, value, done);
  }

  set(end, value, done) {
    const window = [...this.layer.window], least = (this.span[1] - this.span[0]) / 1000;
    window[end] = end ? Math.max(value, window[0] + least) : Math.min(value, window[1] - least);
    this.view.setWindow(this.layer, ...window, done);
  }

  // From a little below the smallest value that matters to a little above the largest, and the window in any case.
  get span() {
    const { percentiles } = this.data, low = percentiles[1], high = percentiles[3], rest = Math.max((high - low) * 0.35, 1e-9);
    return [Math.min(Math.max(low - rest, percentiles[0]), this.layer.window[0]), Math.max(Math.min(high + rest, percentiles[4]), this.layer.window[1])];
  }

  draw() {
    if (!this.data) return;
    const width = this.root.clientWidth, height = this.root.clientHeight;
    if (width < 10 || height < 10) return;
    const [low, high] = this.span, at = value => (value - low) / (high - low) * width;
    const { bins } = this.data, step = (this.data.high - this.data.low) / bins.length, most = Math.log1p(Math.max(...bins));
    const floor = height - 16, room = floor - 16;
    let path = `M${at(this.data.low)},${floor}`;
    bins.forEach((count, i) => {
      const y = floor - (most > 0 ? Math.log1p(count) / most : 0) * room;
      path += `L${at(this.data.low + i * step)},${y}L${at(this.data.low + (i + 1) * step)},${y}`;
    });
    this.bars.setAttribute('d', `${path}L${at(this.data.high)},${floor}Z`);
    const ends = this.layer.window.map(at);
    const shade = (rect, x0, x1) => {
      rect.setAttribute('x', Math.min(x0, x1));
      rect.setAttribute('width', Math.abs(x1 - x0));
      rect.setAttribute('height', floor);
    };
    shade(this.shades[0], 0, ends[0]);
    shade(this.shades[1], ends[1], width);
    this.handles.forEach((handle, end) => {
      const x = Math.max(1, Math.min(width - 1, ends[end])), [line, grip, words] = handle.children, value = this.layer.window[end];
      line.setAttribute('x1', x);
      line.setAttribute('x2', x);
      line.setAttribute('y1', 14);
      line.setAttribute('y2', floor);
      grip.setAttribute('d', `M${x - 6},${floor}l6,-9l6,9z`);
      words.textContent = Number(value.toPrecision(4));
      words.setAttribute('x', Math.max(end ? 2 : 40, Math.min(end ? width - 40 : width - 2, x)));
      words.setAttribute('y', height - 3);
      handle.setAttribute('aria-valuenow', value);
      handle.setAttribute('aria-valuemin', low);
      handle.setAttribute('aria-valuemax', high);
    });
  }
}
