// What is looked at: place of the cross-hair, centre and zoom of the planes, and how layers are drawn. All planes share
// it, so rows and columns of neighbouring panes are aligned.
import { greyTable, mapTable, classTable } from './colours.js';

export const axes = ['z', 'y', 'x'];
export const down = [1, 0, 1];  // of each plane: the axis that runs down the screen,
export const right = [2, 2, 0]; // and the one that runs to the right

const defaults = { segmentation: [true, 100], labels: [true, 100], label: [true, 100], uncertainty: [true, 70] };

// About twice the window, in powers of the root of two: dragging it stays inside what was fetched, tiles of one window
// serve the next, and more than a hundred of the 256 steps are left for what is seen.
function rangeFor(layer) {
  const [low, high] = layer.window;
  const limits = { u8: [0, 255], i8: [-128, 127] }[layer.type];
  if (limits) return limits;
  const width = 2 ** (Math.ceil(2 * Math.log2(1.4 * (high - low))) / 2), step = width / 8;
  const start = Math.floor(((low + high - width) / 2) / step) * step;
  return [start, start + width + step];
}

export class View extends EventTarget {
  constructor(state) {
    super();
    this.state = state;
    this.scan = state.scan;
    this.shape = state.scan.shape;
    const known = state.scan.spacing.every(edge => edge > 0);
    this.spacing = known ? state.scan.spacing : [1, 1, 1];
    this.unit = known ? state.scan.unit || '' : '';
    this.known = known;
    const least = Math.min(...this.spacing);
    this.edge = this.spacing.map(edge => edge / least); // of a voxel, in pixels at zoom 1
    this.place = this.shape.map(n => Math.floor(n / 2));
    this.centre = this.shape.map(n => n / 2);
    this.zoom = 1;
    this.full = null;
    this.cross = true;
    this.map = state.map;
    this.layers = state.layers.map(layer => this.makeLayer(layer)); // by their numbers
    this.restack();
  }

  // What is drawn, from the bottom: outlines are on top, and of maps the one that a run goes by. Of runs one is seen,
  // the latest if none was chosen; under it, where it doesn't reach, lies the one before.
  restack() {
    const order = ['scan', 'probability', undefined, 'uncertainty', 'segmentation', 'label', 'labels'];
    const depth = layer => (order.includes(layer.id) ? order.indexOf(layer.id) : 2);
    const seen = this.peeking ? this.older : this.run, current = new Map();
    for (const layer of this.layers) if (!layer.run || layer.run === seen) current.set(layer.id, this.likeBefore(layer));
    this.stack = [...current.values()].sort((a, b) => depth(a) - depth(b));
    for (const layer of this.stack) this.lay(layer);
  }

  // What lies under a layer: the other parts of its run, then that of the run before, and so on until one is whole. What
  // grew before a run was complete is no part of it.
  lay(layer) {
    const parts = layer.run ? this.layers.filter(other => other !== layer && other.id === layer.id && other.run === layer.run && !other.finished) : [];
    const chain = [layer, ...parts], last = chain.at(-1);
    chain.forEach((part, i) => { part.under = chain[i + 1] ?? null; });
    if (last.shape.every((n, i) => n === this.shape[i]) && !last.finished) return;
    last.under = this.before(layer);
    if (last.under) this.lay(last.under);
  }

  // A layer and all that is seen under it.
  *downFrom(layer) { for (let at = layer; at; at = at.under) yield at; }

  // The same of the run before, if that is complete.
  before({ id, run }) {
    const { runs } = this;
    for (let i = runs.indexOf(run) - 1; i >= 0; i--) {
      const found = this.layers.findLast(other => other.id === id && other.run === runs[i] && !other.finished);
      if (found) return found;
    }
    return null;
  }

  // Another run's layer is drawn as the one whose place it takes.
  likeBefore(layer) {
    const before = this.stack?.find(other => other.id === layer.id);
    if (before && before !== layer) {
      for (const key of ['visible', 'opacity', 'outline']) layer[key] = before[key];
      if (this.latest === before) this.latest = layer;
    }
    return layer;
  }

  // ---- runs: the one that is seen, and an older one to compare it with ----

  // In the order in which they were made, which isn't always that in which the server has read them.
  get runs() {
    const names = [...new Set(this.layers.map(layer => layer.run).filter(Boolean))];
    const made = name => /iterations\/(\d+)\/runs\/(\d+)$/.exec(name)?.slice(1).map(Number) ?? [-1, names.indexOf(name)];
    return names.map(name => [made(name), name]).sort(([a], [b]) => a[0] - b[0] || a[1] - b[1]).map(([, name]) => name);
  }

  get run() { return this.runs.includes(this.chosen) ? this.chosen : this.runs.at(-1); }
  get older() { return this.runs.includes(this.compared) && this.compared !== this.run ? this.compared : this.runs[this.runs.indexOf(this.run) - 1]; }

  // Null: the latest, whichever that is.
  showRun(run) {
    this.chosen = run;
    this.restack();
    this.tell('layers');
  }

  compareWith(run) {
    this.compared = run;
    this.tell('layers');
  }

  // The older run, as long as a key is held. False: there is none.
  peek(on) {
    if (on && !this.older) return false;
    this.peeking = on;
    this.restack();
    this.tell('layer');
    return true;
  }

  // Layers that have come since, or have grown.
  update(state) {
    const newest = this.runs.at(-1);
    this.state = state;
    for (const layer of state.layers) {
      const known = this.layers[layer.number];
      if (known) this.grown(known, layer);
      else this.layers[layer.number] = this.makeLayer(layer);
    }
    if (this.runs.at(-1) !== newest) this.chosen = null; /* a new one is what the user waits for */
    this.restack();
    this.tell('layers');
  }

  // More of a layer is there: its tiles are asked for again, and until they are there the last ones are drawn.
  grown(layer, { revision, finished, high }) {
    if (revision === layer.revision) return;
    layer.past = finished || layer.id === 'labels' ? [layer.revision, ...(layer.past ?? [])].slice(0, 3) : [];
    layer.revision = revision;
    if (finished) layer.finished = finished;
    if (high !== undefined) layer.high = high;
  }

  // The parts of a plane where a layer has something to show: [low, high] in voxels of the scan, for each.
  partsOf(layer, axis) {
    const slice = this.place[axis] - layer.origin[axis];
    if (slice < 0 || slice >= layer.shape[axis]) return [];
    const along = layer.finished ?? [[0, layer.shape[0]]];
    const met = axis === 0 ? along.filter(([begin, end]) => slice >= begin && slice < end) : along;
    return met.map(([begin, end]) => [[begin, 0, 0].map((at, i) => at + layer.origin[i]), [end, layer.shape[1], layer.shape[2]].map((at, i) => at + layer.origin[i])]);
  }

  makeLayer(layer) {
    const [visible, opacity] = defaults[layer.id] ?? [layer.kind === 'scan', 100];
    const made = { ...layer, visible: visible || layer.number === 0, opacity, look: 0, outline: layer.kind === 'classes' && layer.classes.length <= 2 };
    if (layer.kind === 'scan') {
      made.first = [...layer.window];
      made.range = rangeFor(made);
    }
    made.table = this.tableOf(made);
    return made;
  }

  tableOf(layer) {
    if (layer.kind === 'scan') return greyTable(layer.range, layer.window);
    return layer.kind === 'map' ? mapTable(this.map) : classTable(layer);
  }

  // As it is drawn, or would be.
  layer(id) { return this.stack.find(layer => layer.id === id); }

  tell(what) { this.dispatchEvent(new CustomEvent('change', { detail: what })); }

  goTo(place, centre = false) {
    this.place = place.map((at, i) => Math.max(0, Math.min(this.shape[i] - 1, Math.round(at))));
    if (centre) this.centre = this.place.map(at => at + 0.5);
    this.tell('place');
  }

  move(axis, steps) {
    const place = [...this.place];
    place[axis] += steps;
    this.goTo(place);
  }

  setZoom(zoom, about = null) {
    const next = Math.max(0.005, Math.min(64, zoom));
    if (about) this.centre = this.centre.map((at, i) => (about[i] === null ? at : about[i] + (at - about[i]) * this.zoom / next));
    this.zoom = next;
    this.tell('zoom');
  }

  // Moves the centre so that the plane is shifted by so many pixels.
  pan(axis, dx, dy) {
    this.centre[right[axis]] -= dx / (this.zoom * this.edge[right[axis]]);
    this.centre[down[axis]] -= dy / (this.zoom * this.edge[down[axis]]);
    this.keepInSight();
    this.tell('pan');
  }

  keepInSight() {
    this.centre = this.centre.map((at, i) => Math.max(0, Math.min(this.shape[i], at)));
  }

  setWindow(layer, low, high, done = true) {
    if (!(high > low)) high = low + Math.max(Math.abs(low) * 1e-6, 1e-9);
    layer.window = [low, high];
    const width = layer.range[1] - layer.range[0], own = high - low;
    const outside = low < layer.range[0] || high > layer.range[1];
    // While dragging, nothing is asked for: what lies beyond the range is shown as its end.
    if (done && (outside || own < width / 4) && layer.type !== 'u8' && layer.type !== 'i8') layer.range = rangeFor(layer);
    this.changed(layer);
  }

  // The layer is drawn otherwise: its tiles are coloured anew.
  changed(layer) {
    layer.table = this.tableOf(layer);
    layer.look++;
    this.tell('layer');
  }

  toggle(id, visible = undefined) {
    const layer = this.layer(id);
    if (!layer) return;
    layer.visible = visible ?? !layer.visible;
    this.latest = layer;
    this.tell('layer');
  }

  setOpacity(layer, opacity) {
    layer.opacity = Math.max(0, Math.min(100, opacity));
    this.tell('layer');
  }

  // "97.5 um"
  length(axis, voxels) {
    if (!this.known) return '';
    return `${Number((voxels * this.spacing[axis]).toPrecision(5))} ${this.unit}`.trim();
  }
}
