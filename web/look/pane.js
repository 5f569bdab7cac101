// One plane on the screen: draws its tiles, and turns mouse and keys into moves.
import { drawLabels, drawTool, hiddenParts } from '../paint/preview.js';
import { text } from '../text.js';
import { drawOver } from './overlay.js';
import { axes, down, right } from './view.js';

const edge = 256;

export class Pane {
  constructor(axis, section, view, tiles, page) {
    Object.assign(this, { axis, section, view, tiles, page });
    this.build();
    this.listen();
    new ResizeObserver(() => this.resize()).observe(this.canvas);
  }

  build() {
    const name = axes[this.axis];
    this.section.innerHTML = '<div class="pane-head"><output></output><input type="range" min="0"><button type="button">⤢</button></div><canvas tabindex="0"></canvas>';
    this.canvas = this.section.querySelector('canvas');
    this.slider = this.section.querySelector('input');
    this.number = this.section.querySelector('output');
    this.button = this.section.querySelector('button');
    this.context = this.canvas.getContext('2d', { alpha: false });
    this.section.setAttribute('aria-label', text.planeOf(name));
    this.slider.setAttribute('aria-label', text.sliderOf(name));
    this.slider.max = this.view.shape[this.axis] - 1;
    this.button.setAttribute('aria-label', text.fill(name));
    this.button.title = text.fill(name);
    this.canvas.setAttribute('role', 'application');
    this.canvas.setAttribute('aria-roledescription', text.planeOf(name));
    this.say();
  }

  say(values = '') {
    const axis = this.axis, at = this.view.place[axis];
    this.slider.value = at;
    this.number.textContent = text.slice(axes[axis], at, this.view.shape[axis], this.view.length(axis, at));
    this.slider.setAttribute('aria-valuetext', this.number.textContent);
    this.canvas.setAttribute('aria-label', text.canvas(axes[axis], this.view.place, values));
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(this.canvas.clientWidth * ratio)), height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    if (this.canvas.width === width && this.canvas.height === height) return;
    this.canvas.width = width;
    this.canvas.height = height;
    this.page.draw();
  }

  // From voxels to pixels of the canvas, and back.
  get ratio() { return this.canvas.width / Math.max(1, this.canvas.clientWidth); }
  pixels(axis) { return this.view.zoom * this.view.edge[axis] * this.ratio; }
  across(x) { return this.canvas.width / 2 + (x - this.view.centre[right[this.axis]]) * this.pixels(right[this.axis]); }
  along(y) { return this.canvas.height / 2 + (y - this.view.centre[down[this.axis]]) * this.pixels(down[this.axis]); }

  // The voxel at a point of the canvas in CSS pixels, as fractions; may lie outside.
  voxelAt(x, y) {
    const place = [...this.view.place];
    place[right[this.axis]] = this.view.centre[right[this.axis]] + (x - this.canvas.clientWidth / 2) / (this.view.zoom * this.view.edge[right[this.axis]]);
    place[down[this.axis]] = this.view.centre[down[this.axis]] + (y - this.canvas.clientHeight / 2) / (this.view.zoom * this.view.edge[down[this.axis]]);
    return place;
  }

  fitZoom() {
    const r = right[this.axis], d = down[this.axis], { shape, edge: size } = this.view;
    return Math.min(this.canvas.clientWidth / (shape[r] * size[r]), this.canvas.clientHeight / (shape[d] * size[d]));
  }

  levelFor(layer) {
    const pixel = Math.max(this.pixels(right[this.axis]), this.pixels(down[this.axis]));
    const sharp = Math.max(0, Math.floor(Math.log2(1 / pixel) + 0.25));
    return Math.min(layer.levels - 1, sharp + (this.tiles.slow && this.page.moving ? 1 : 0));
  }

  draw() {
    const { context, canvas, view } = this;
    if (canvas.width < 2 || canvas.clientWidth === 0) return;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.globalAlpha = 1;
    context.fillStyle = '#000';
    context.fillRect(0, 0, canvas.width, canvas.height);
    for (const layer of view.stack) {
      if (!layer.visible || layer.opacity === 0) continue;
      context.globalAlpha = layer.opacity / 100;
      const hidden = layer.run ? hiddenParts(this, this.page.paint) : [];
      if (hidden.length > 0) this.clipped(hidden, false, () => this.drawParts(layer));
      else if (layer.id === 'labels' && this.page.paint) drawLabels(this, this.page.paint, layer, () => this.drawAt(layer));
      else this.drawParts(layer);
    }
    context.globalAlpha = 1;
    drawOver(this);
    if (this.page.paint) drawTool(this, this.page.paint);
  }

  drawParts(layer) {
    const parts = layer.finished || layer.under ? this.view.partsOf(layer, this.axis) : null;
    if (layer.under) this.clipped(parts, false, () => this.drawParts(layer.under));
    if (parts) this.clipped(parts, true, () => this.drawAt(layer));
    else this.drawAt(layer);
  }

  drawAt(layer) {
    const slice = this.view.place[this.axis] - layer.origin[this.axis];
    if (slice >= 0 && slice < layer.shape[this.axis]) this.drawLayer(layer, slice);
  }

  // Where a box of voxels lies on the canvas: x, y, width, height.
  placeOf([low, high]) {
    const r = right[this.axis], d = down[this.axis];
    const x = Math.round(this.across(low[r])), y = Math.round(this.along(low[d]));
    return [x, y, Math.round(this.across(high[r])) - x, Math.round(this.along(high[d])) - y];
  }

  // Draws inside these parts of the plane, or outside them.
  clipped(parts, inside, work) {
    const { context, canvas } = this;
    context.save();
    context.beginPath();
    if (!inside) context.rect(0, 0, canvas.width, canvas.height);
    for (const part of parts) context.rect(...this.placeOf(part));
    context.clip('evenodd');
    work();
    context.restore();
  }

  // How much a tile of classes is enlarged before it is kept, so that outlines stay thin.
  factorFor(layer, level) {
    if (layer.kind !== 'classes') return 1;
    const scale = this.pixels(right[this.axis]) * 2 ** level / this.ratio;
    return Math.max(1, Math.min(4, 2 ** Math.floor(Math.log2(Math.max(1, scale)))));
  }

  // Tiles of one layer at the level that fits the zoom; what isn't there yet, from the coarser ones.
  drawLayer(layer, slice) {
    const level = this.levelFor(layer), top = layer.levels - 1;
    const scale = this.pixels(right[this.axis]) * 2 ** level;
    const factor = this.factorFor(layer, level);
    this.context.imageSmoothingEnabled = scale < 1 || (layer.kind === 'classes' && layer.outline);
    this.context.imageSmoothingQuality = 'medium';
    if (top > level) this.forTiles(layer, top, (row, column) => this.tiles.find(layer, this.axis, top, slice >> top, row, column, 1, this.rank(layer, top, row, column) - 1e6));
    this.forTiles(layer, level, (row, column) => {
      const entry = this.tiles.find(layer, this.axis, level, slice >> level, row, column, factor, this.rank(layer, level, row, column));
      if (entry) this.put(entry, layer, level, column * edge, row * edge, 0, 0, entry.columns, entry.rows);
      else this.drawCoarser(layer, level, slice, row, column);
    });
  }

  // What is likely to be seen next, once all that is seen is there: two slices either way, and one ring of tiles.
  prefetch() {
    if (this.canvas.width < 2 || this.canvas.clientWidth === 0) return;
    for (const layer of this.view.stack) {
      const own = this.view.place[this.axis] - layer.origin[this.axis], level = this.levelFor(layer);
      if (!layer.visible || layer.opacity === 0 || own < 0 || own >= layer.shape[this.axis]) continue;
      const factor = this.factorFor(layer, level);
      const ask = (slice, margin, rank) => this.forTiles(layer, level, (row, column) => this.tiles.find(layer, this.axis, level, slice, row, column, factor, rank), margin);
      for (const step of [1, -1, 2, -2]) {
        const slice = (own >> level) + step;
        if (slice >= 0 && slice < Math.ceil(layer.shape[this.axis] / 2 ** level)) ask(slice, 0, 1e6 + Math.abs(step) + (this.pointer ? 0 : 10));
      }
      ask(own >> level, 1, 1e6 + 5 + (this.pointer ? 0 : 10));
    }
  }

  forTiles(layer, level, work, margin = 0) {
    const r = right[this.axis], d = down[this.axis], size = edge * 2 ** level;
    const [x0, y0] = [this.canvasStart(r, this.canvas.width) - layer.origin[r], this.canvasStart(d, this.canvas.height) - layer.origin[d]];
    const [x1, y1] = [x0 + this.canvas.width / this.pixels(r), y0 + this.canvas.height / this.pixels(d)];
    const lastColumn = Math.ceil(layer.shape[r] / size) - 1, lastRow = Math.ceil(layer.shape[d] / size) - 1;
    for (let row = Math.max(0, Math.floor(y0 / size) - margin); row <= Math.min(lastRow, Math.floor(y1 / size) + margin); row++) {
      for (let column = Math.max(0, Math.floor(x0 / size) - margin); column <= Math.min(lastColumn, Math.floor(x1 / size) + margin); column++) work(row, column);
    }
  }

  canvasStart(axis, width) { return this.view.centre[axis] - width / 2 / this.pixels(axis); }

  // Near the pointer first, this pane's before others' if the pointer is in it.
  rank(layer, level, row, column) {
    const size = edge * 2 ** level, at = this.pointer ?? { x: this.canvas.clientWidth / 2, y: this.canvas.clientHeight / 2 };
    const x = this.across(layer.origin[right[this.axis]] + (column + 0.5) * size) / this.ratio - at.x;
    const y = this.along(layer.origin[down[this.axis]] + (row + 0.5) * size) / this.ratio - at.y;
    return Math.hypot(x, y) + (this.pointer ? 0 : 500) + layer.number;
  }

  // Part of an entry's bitmap, from (sx, sy) on and so many pixels, onto the voxels from (column, row) on of a level.
  // Ends are rounded to pixels, so that neighbours have no gap between them.
  put(entry, layer, level, column, row, sx, sy, columns, rows) {
    const r = right[this.axis], d = down[this.axis], size = 2 ** level, { bitmap } = entry;
    const fx = bitmap.width / entry.columns, fy = bitmap.height / entry.rows;
    const end = (axis, last) => layer.origin[axis] + Math.min(last * size, layer.shape[axis]);
    const x0 = Math.round(this.across(layer.origin[r] + column * size)), x1 = Math.round(this.across(end(r, column + columns)));
    const y0 = Math.round(this.along(layer.origin[d] + row * size)), y1 = Math.round(this.along(end(d, row + rows)));
    this.context.drawImage(bitmap, sx * fx, sy * fy, columns * fx, rows * fy, x0, y0, x1 - x0, y1 - y0);
  }

  drawCoarser(layer, level, slice, row, column) {
    for (const revision of layer.past ?? []) { /* of a volume that grows: what was seen a moment ago */
      const entry = this.tiles.kept.get(this.tiles.keyOf({ ...layer, revision }, this.axis, level, slice >> level, row, column));
      if (entry) return this.put(entry, layer, level, column * edge, row * edge, 0, 0, entry.columns, entry.rows);
    }
    for (let n = level + 1; n < layer.levels; n++) {
      const shift = n - level, part = edge >> shift;
      const entry = this.tiles.kept.get(this.tiles.keyOf(layer, this.axis, n, slice >> n, row >> shift, column >> shift));
      if (!entry) continue;
      const sx = (column % 2 ** shift) * part, sy = (row % 2 ** shift) * part;
      const columns = Math.min(part, entry.columns - sx), rows = Math.min(part, entry.rows - sy);
      if (columns > 0 && rows > 0) this.put(entry, layer, n, (column >> shift) * edge + sx, (row >> shift) * edge + sy, sx, sy, columns, rows);
      return;
    }
  }

  // The tiles that show a layer now.
  keysOf(layer) {
    const level = this.levelFor(layer), slice = this.view.place[this.axis] - layer.origin[this.axis], keys = [];
    this.forTiles(layer, level, (row, column) => keys.push(this.tiles.keyOf(layer, this.axis, level, slice >> level, row, column)));
    return keys;
  }

  // ---- mouse and slider; keys are in keys.js ----

  listen() {
    const { canvas, view, page } = this;
    this.slider.addEventListener('input', () => view.move(this.axis, Number(this.slider.value) - view.place[this.axis]));
    this.button.addEventListener('click', () => page.fill(axes[this.axis]));
    canvas.addEventListener('wheel', event => this.wheel(event), { passive: false });
    canvas.addEventListener('contextmenu', event => event.preventDefault());
    canvas.addEventListener('pointerdown', event => this.press(event));
    canvas.addEventListener('pointermove', event => this.moveTo(event));
    canvas.addEventListener('pointerup', event => this.release(event));
    canvas.addEventListener('pointercancel', () => {
      this.drag = null;
      page.paint.release();
    });
    canvas.addEventListener('pointerleave', () => {
      this.pointer = null;
      page.pointAt(null, null);
      if (page.paint.active) page.draw();
    });
    canvas.addEventListener('pointerenter', () => { page.active = this; });
    canvas.addEventListener('focus', () => { page.active = this; });
  }

  wheel(event) {
    event.preventDefault();
    if (event.shiftKey && this.page.paint.active) return this.page.paint.resize(Math.sign(-(event.deltaY || event.deltaX)));
    const steps = event.deltaMode === 0 ? event.deltaY / 100 : event.deltaY / 3;
    if (event.ctrlKey || event.metaKey) {
      this.zoomBy(2 ** (-Math.max(-3, Math.min(3, steps)) / 2));
      return;
    }
    this.rest = (this.rest ?? 0) + steps * (event.shiftKey ? 10 : 1);
    const whole = Math.trunc(this.rest);
    this.rest -= whole;
    if (whole !== 0) this.view.move(this.axis, whole);
  }

  zoomBy(factor) {
    const about = [null, null, null];
    if (this.pointer) {
      const at = this.voxelAt(this.pointer.x, this.pointer.y);
      about[right[this.axis]] = at[right[this.axis]];
      about[down[this.axis]] = at[down[this.axis]];
    }
    this.view.setZoom(this.view.zoom * factor, about);
  }

  press(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.canvas.focus({ preventScroll: true });
    event.preventDefault();
    this.pointer = { x: event.offsetX, y: event.offsetY };
    if (this.page.paint.press(this, event)) return;
    const scan = this.view.layer('scan');
    this.drag = { x: event.offsetX, y: event.offsetY, button: event.button, moved: 0, window: scan?.window };
  }

  moveTo(event) {
    this.pointer = { x: event.offsetX, y: event.offsetY };
    const drag = this.drag;
    if (!drag && this.page.paint.move(this, event)) return;
    if (drag) {
      const dx = event.offsetX - drag.x, dy = event.offsetY - drag.y;
      drag.moved = Math.max(drag.moved, Math.hypot(dx, dy));
      if (drag.moved < 4) return;
      this.canvas.classList.toggle('panning', drag.button !== 2);
      if (drag.button === 2) this.changeWindow(dx, dy, false);
      else {
        this.view.pan(this.axis, dx, dy);
        drag.x = event.offsetX;
        drag.y = event.offsetY;
      }
      return;
    }
    const at = this.voxelAt(event.offsetX, event.offsetY).map(Math.floor);
    if (event.shiftKey) this.view.goTo(at);
    this.page.pointAt(this, at);
  }

  release(event) {
    if (this.page.paint.release()) return;
    const drag = this.drag;
    this.drag = null;
    this.canvas.classList.remove('panning');
    if (!drag) return;
    if (drag.moved >= 4) {
      if (drag.button === 2) this.changeWindow(event.offsetX - drag.x, event.offsetY - drag.y, true, drag);
    } else if (drag.button === 0) {
      this.view.goTo(this.voxelAt(event.offsetX, event.offsetY).map(Math.floor));
    }
  }

  // Across: the width, so that right is softer; up and down: the level, so that up is lighter.
  changeWindow(dx, dy, done, drag = this.drag) {
    const scan = this.view.layer('scan');
    if (!scan || !drag.window) return;
    const [low, high] = drag.window, width = (high - low) * 2 ** (dx / 200), level = (low + high) / 2 + (high - low) * dy / 300;
    this.view.setWindow(scan, level - width / 2, level + width / 2, done);
  }
}
