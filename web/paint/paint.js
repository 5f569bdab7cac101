// Painting: the tool in hand, what the mouse does with it, and what is seen before the server has answered.
import { getJson } from '../api.js';
import { down, right } from '../look/view.js';
import { text } from '../text.js';
import { Filter } from './filter.js';
import { Queue } from './queue.js';
import { edgesOf, polygon, Stroke } from './raster.js';

const pointsAtMost = 4096;
export const sizes = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 100, 128];

export class Paint extends EventTarget {
  constructor(page, state) {
    super();
    Object.assign(this, { page, view: page.view, tool: 'navigate', size: 8, ball: false, greyOn: false, grey: null, over: 'all', value: 1, corners: [], box: null, depth: 16, waiting: [], lately: [] });
    this.edges = edgesOf(this.view.spacing);
    this.queue = new Queue(this, state.labels);
    this.take(state.labels);
    this.recall();
  }

  tell() {
    this.dispatchEvent(new Event('change'));
    this.page.draw();
  }

  get layer() { return this.view.layers[this.state.layer]; }
  get active() { return this.tool !== 'navigate'; }

  // What the server says of labels.
  take(labels) {
    this.state = labels;
    const { layer } = this, known = JSON.stringify(labels.classes);
    this.queue.revision = labels.revision;
    layer.classes = Array.from({ length: 16 }, (_, value) => ({ value, name: labels.classes.find(item => item.value === value)?.name ?? text.newClass(value) }));
    layer.colours = layer.classes.map(({ value }) => labels.classes.find(item => item.value === value)?.colour ?? null);
    labels.counts.forEach((count, value) => { if (count > 0 && !layer.colours[value]) layer.colours[value] = '999999'; });
    if (known !== this.known) {
      this.known = known;
      this.view.changed(layer);
      this.view.tell('layers');
    }
    this.tell();
  }

  paintState(state) {
    this.view.state.project = state.project;
    this.view.grown(this.layer, state.layers[this.state.layer]);
    this.take(state.labels);
    this.page.boxes.take(state.loop);
  }

  async reload() {
    try { this.paintState(await getJson('state')); } catch { /* the line is cut: said elsewhere */ }
  }

  // In which slices was a class painted lately? For filling between them.
  async recall() {
    try {
      const { operations } = await getJson('labels/history');
      this.lately = operations.filter(({ undone, about }) => !undone && about.axis !== undefined).map(({ about }) => about);
      this.dispatchEvent(new Event('history'));
    } catch { /* none then */ }
  }

  choose(tool) {
    if (tool !== 'navigate' && !this.state.writable) return this.page.notice(text.readOnly);
    this.tool = tool;
    this.corners = [];
    document.getElementById('centre').dataset.tool = tool;
    this.page.say(text.tools[tool]);
    if (this.active && this.state.boxes.some(box => box.role !== 'train')) this.page.notice(text.hidden, 4000);
    this.tell();
  }

  resize(step) {
    const at = sizes.findIndex(size => size >= this.size);
    this.size = sizes[Math.max(0, Math.min(sizes.length - 1, at + step))];
    this.page.say(text.sizeOf(this.size));
    this.tell();
  }

  set(values) {
    Object.assign(this, values);
    this.tell();
  }

  toggleGrey() {
    this.grey ??= [...this.view.layer('scan')?.window ?? [0, 1]].map(value => Number(value.toPrecision(5)));
    this.set({ greyOn: !this.greyOn });
  }

  // What every operation has besides its shape.
  rules(value) {
    const others = this.state.classes.map(item => item.value).filter(other => other !== value).concat(255);
    const over = this.over === 'others' ? others : this.over;
    return { value, over, ...(this.greyOn ? { grey: this.grey } : {}) };
  }

  pointOf(pane, event) {
    const at = pane.voxelAt(event.offsetX, event.offsetY);
    return [down[pane.axis], right[pane.axis]].map(axis => Math.max(-8000, Math.min(8 * this.view.shape[axis] + 8000, Math.floor(8 * at[axis]))));
  }

  // ---- the mouse; true: it was ours ----

  press(pane, event) {
    const erases = this.tool === 'eraser' || event.button === 2;
    if (!this.active || event.button === 1 || this.page.spaceHeld) return false;
    const voxel = pane.voxelAt(event.offsetX, event.offsetY).map(Math.floor);
    if (this.tool === 'polygon') {
      if (event.button === 2) this.closePolygon();
      else this.addCorner(pane, this.pointOf(pane, event));
    } else if (this.tool === 'fill') this.fill(pane, voxel, event.button === 2);
    else if (this.tool === 'box') {
      if (event.button === 2) this.set({ box: null });
      else this.drag = { pane, from: voxel };
    } else this.begin(pane, erases ? 255 : this.value, this.pointOf(pane, event));
    return true;
  }

  move(pane, event) {
    if (this.stroke?.pane === pane) {
      for (const each of event.getCoalescedEvents?.() ?? [event]) this.extend(this.pointOf(pane, each));
      this.page.draw();
    } else if (this.drag?.pane === pane) this.stretch(pane, pane.voxelAt(event.offsetX, event.offsetY).map(Math.floor));
    else if (this.active) this.page.draw(); /* the brush's outline */
    return Boolean(this.stroke || this.drag);
  }

  release() {
    const was = this.stroke || this.drag;
    if (this.stroke) this.end();
    this.drag = null;
    return Boolean(was);
  }

  // ---- strokes ----

  begin(pane, value, point) {
    if (this.queue.full) return this.page.notice(text.queueFull(200));
    const shape = { axis: pane.axis, slice: this.view.place[pane.axis], radius: Math.round(4 * this.size), ball: this.ball };
    const rules = this.rules(value);
    this.stroke = { pane, shape, value, raster: new Stroke(shape, this.edges, this.view.shape), filter: Filter.for(this, rules, shape, point) };
    this.extend(point);
    this.page.draw();
  }

  extend(point) {
    const { raster, pane, value } = this.stroke, last = raster.points.at(-1);
    if (last && last[0] === point[0] && last[1] === point[1]) return;
    if (raster.points.length === pointsAtMost) {
      this.end();
      this.begin(pane, value, last);
    }
    this.stroke.raster.add(point);
    this.stroke.filter?.reach(point);
  }

  end() {
    const { shape, raster, value, filter } = this.stroke;
    this.stroke = null;
    this.post({ do: 'stroke', ...shape, points: raster.points.flat(), ...this.rules(value) }, raster.cover, filter);
  }

  post(operation, cover = null, filter = null) {
    const item = this.queue.add('labels', operation, cover);
    if (!item) return;
    item.filter = filter;
    if (operation.axis !== undefined && operation.value !== 255) this.lately.unshift(operation);
    if (cover) this.waiting.push(item);
    this.page.draw();
  }

  // Enter: at the cross-hair of a plane.
  enter(pane) {
    const { place } = this.view, point = [8 * place[down[pane.axis]] + 4, 8 * place[right[pane.axis]] + 4];
    if (this.tool === 'fill') this.fill(pane, place, false);
    else if (this.tool === 'polygon') this.addCorner(pane, point);
    else if (this.tool === 'box') this.stretch(pane, place.map(at => at + 8), place.map(at => at - 8));
    else {
      this.begin(pane, this.tool === 'eraser' ? 255 : this.value, point);
      if (this.stroke) this.end();
    }
  }

  fill(pane, voxel, erases) {
    if (voxel.some((at, i) => at < 0 || at >= this.view.shape[i])) return;
    const { axis } = pane;
    this.post({ do: 'fill', axis, slice: this.view.place[axis], at: [voxel[down[axis]], voxel[right[axis]]], ...this.rules(erases ? 255 : this.value) });
  }

  // ---- polygons ----

  addCorner(pane, point) {
    const slice = this.view.place[pane.axis];
    if (this.corners.length > 0 && (this.corners.axis !== pane.axis || this.corners.slice !== slice)) this.corners = [];
    Object.assign(this.corners, { axis: pane.axis, slice });
    const first = this.corners[0], near = 8 * 6 / Math.max(0.1, this.view.zoom);
    if (this.corners.length > 2 && Math.hypot(point[0] - first[0], point[1] - first[1]) < near) return this.closePolygon();
    if (this.corners.length < pointsAtMost) this.corners.push(point);
    this.page.draw();
  }

  closePolygon() {
    const { corners } = this;
    this.corners = [];
    if (corners.length < 3) return this.page.draw();
    const shape = { axis: corners.axis, slice: corners.slice };
    const rules = this.rules(this.value), filter = Filter.for(this, rules, shape, corners[0]);
    corners.forEach(point => filter?.reach(point));
    this.post({ do: 'polygon', ...shape, points: corners.flat(), ...rules }, polygon({ ...shape, points: corners }, this.view.shape), filter);
  }

  // ---- between slices, boxes, undo ----

  between(pane) {
    const slice = this.view.place[pane.axis];
    const last = this.lately.find(about => about.axis === pane.axis && about.value === this.value && Math.abs(about.slice - slice) > 1);
    if (!this.state.writable || !last) return this.page.notice(this.state.writable ? text.betweenNone : text.readOnly, 5000);
    this.post({ do: 'between', axis: pane.axis, slice: last.slice, to: slice, ...this.rules(this.value) });
  }

  // A rectangle of the plane, as deep as is chosen, about its slice.
  stretch(pane, to, from = this.drag.from) {
    const clip = (at, i) => Math.max(0, Math.min(this.view.shape[i] - 1, at));
    const low = [0, 1, 2].map(i => clip(Math.min(from[i], to[i]), i)), high = [0, 1, 2].map(i => clip(Math.max(from[i], to[i]), i) + 1);
    low[pane.axis] = clip(this.view.place[pane.axis] - Math.floor((this.depth - 1) / 2), pane.axis);
    high[pane.axis] = Math.min(this.view.shape[pane.axis], low[pane.axis] + this.depth);
    this.set({ box: { low, high } });
  }

  get boxWords() { return this.box && this.box.low.map((at, i) => `${at}:${this.box.high[i]}`).join(','); }

  undo() { if (this.mayTurn()) this.queue.add('labels/undo', {}); }

  redo() { if (this.mayTurn()) this.queue.add('labels/redo', {}); }

  mayTurn() {
    if (!this.state.writable) this.page.notice(text.readOnly);
    return this.state.writable;
  }

  // ---- what the queue says ----

  painted(item, answer) {
    const { layer } = this, turned = item.path !== 'labels';
    if (!this.state.made && answer.revision > 0) this.page.notice(text.made(this.view.state.project));
    Object.assign(this.state, { revision: answer.revision, undo: answer.undo, redo: answer.redo, counts: answer.counts, made: this.state.made || answer.revision > 0 });
    this.view.grown(layer, { revision: answer.shown });
    item.shown = answer.shown;
    if (answer.nothing) this.page.notice(item.path === 'labels/undo' ? text.nothingToUndo : text.nothingToRedo, 3000);
    else if (turned && answer.low) this.show(answer);
    this.page.say(!turned ? text.painted(item.operation.do, answer.voxels) : item.path === 'labels/undo' ? text.undone(answer.voxels) : text.redone(answer.voxels));
    this.recallSoon();
    this.tell();
  }

  recallSoon() {
    clearTimeout(this.recalls);
    this.recalls = setTimeout(() => this.recall(), 300);
  }

  // What was undone elsewhere is brought into sight.
  show({ low, high }) {
    const { place } = this.view;
    if (place.every((at, i) => at < low[i] || at >= high[i])) this.view.goTo(low.map((at, i) => Math.floor((at + high[i] - 1) / 2)), true);
  }

  refused(item, error) {
    this.waiting = this.waiting.filter(other => other !== item);
    this.page.notice(text.refused(error.message));
    this.tell();
  }

  sameServer() { return this.page.sameServer(); }
  said() { this.page.saving(this.queue.items.length); }
  notice(words) { this.page.notice(words); }

  // Another tab, or a script, has painted.
  changed({ revision, shown }) {
    if (shown > this.layer.revision) {
      this.view.grown(this.layer, { revision: shown });
      if (revision > this.queue.revision && !this.queue.busy) {
        this.reload();
        this.recallSoon();
      }
    }
    this.page.draw();
  }

  // The covers that tiles don't show yet. `complete`: all tiles of the labels that are in sight are there.
  settle(complete) {
    if (complete && this.waiting.length > 0) this.waiting = this.waiting.filter(item => item.shown === null || item.shown > this.layer.revision);
  }

  // Covers to be drawn, in their order: of what waits, and of the stroke under the pointer.
  covers() {
    const list = this.waiting.map(({ cover, value, filter }) => ({ cover, value, filter }));
    if (this.stroke) list.push({ cover: this.stroke.raster.cover, value: this.stroke.value, filter: this.stroke.filter });
    return list;
  }
}
