// What may be painted over: where only some classes or a range of grey are painted, the voxels about the stroke are
// fetched, so that what is seen is what will be there.
import { get } from '../api.js';
import { down, right } from '../look/view.js';

const edge = 64, arrays = { '|u1': Uint8Array, '|i1': Int8Array, '<u2': Uint16Array, '<i2': Int16Array, '<u4': Uint32Array, '<i4': Int32Array, '<f4': Float32Array, '<f8': Float64Array };

// A .npy as the server writes it.
async function readBox(layer, low, high) {
  const box = low.map((at, i) => `${at}:${high[i]}`).join(',');
  const bytes = await (await get(`box/${layer}?box=${box}`)).arrayBuffer();
  const head = new TextDecoder('latin1').decode(bytes.slice(10, 128)), kind = arrays[/'descr': '([^']+)'/.exec(head)[1]];
  return new kind(bytes, 128);
}

export class Filter {
  // Null: all is painted.
  static for(paint, rules, shape, point) {
    if (rules.over === 'all' && !rules.grey) return null;
    return new Filter(paint, rules, shape, point);
  }

  constructor(paint, rules, shape, point) {
    Object.assign(this, { paint, shape, cells: new Map(), last: point, reachVoxels: [0, 1, 2].map(i => Math.ceil((shape.radius ?? 0) * 64 / paint.edges[i] / 8) + 1) });
    this.over = rules.over === 'all' ? null : new Set(rules.over === 'unlabelled' ? [255] : rules.over);
    this.grey = rules.grey ?? null;
    this.asked = Promise.resolve();
    this.reach(point);
  }

  // Everything that a stroke to this point can cover is asked for.
  reach(point) {
    const { axis, slice, ball } = this.shape, d = down[axis], r = right[axis], { shape } = this.paint.view;
    const span = (i, from, to) => [Math.floor(Math.max(0, from - this.reachVoxels[i]) / edge), Math.floor(Math.min(shape[i] - 1, to + this.reachVoxels[i]) / edge)];
    const rows = span(d, ...[this.last[0], point[0]].map(at => Math.floor(at / 8)).sort((a, b) => a - b));
    const columns = span(r, ...[this.last[1], point[1]].map(at => Math.floor(at / 8)).sort((a, b) => a - b));
    const deep = ball ? this.reachVoxels[axis] : 0;
    const slices = [Math.max(0, slice - deep), Math.min(shape[axis] - 1, slice + deep)];
    this.last = point;
    for (let row = rows[0]; row <= rows[1]; row++) for (let column = columns[0]; column <= columns[1]; column++) this.ask(row, column, slices);
  }

  ask(row, column, slices) {
    const key = `${row},${column}`;
    if (this.cells.has(key)) return;
    const { axis } = this.shape, { shape } = this.paint.view, low = [0, 0, 0], high = [0, 0, 0];
    [[axis, slices[0], slices[1] + 1], [down[axis], row * edge, (row + 1) * edge], [right[axis], column * edge, (column + 1) * edge]]
      .forEach(([i, first, end]) => { low[i] = first; high[i] = Math.min(shape[i], end); });
    const cell = { low, size: high.map((end, i) => end - low[i]), labels: null, grey: null };
    this.cells.set(key, null);
    const wanted = [this.over ? readBox(this.paint.state.layer, low, high) : null, this.grey ? readBox(0, low, high) : null];
    Promise.all(wanted).then(([labels, grey]) => {
      this.cells.set(key, Object.assign(cell, { labels, grey }));
      this.paint.page.draw();
    }, () => { /* it isn't drawn before the server has answered */ });
  }

  // Is the voxel painted? False as long as it isn't known.
  has(at) {
    const { axis } = this.shape;
    const cell = this.cells.get(`${Math.floor(at[down[axis]] / edge)},${Math.floor(at[right[axis]] / edge)}`);
    if (!cell) return false;
    const i = ((at[0] - cell.low[0]) * cell.size[1] + at[1] - cell.low[1]) * cell.size[2] + at[2] - cell.low[2];
    return (!cell.labels || this.over.has(cell.labels[i])) && (!cell.grey || (cell.grey[i] >= this.grey[0] && cell.grey[i] <= this.grey[1]));
  }

  // The parts of a run of voxels that are painted.
  * parts([low, high]) {
    const r = right[this.shape.axis], at = [...low];
    let first = null;
    for (at[r] = low[r]; at[r] <= high[r]; at[r]++) {
      const in_ = at[r] < high[r] && this.has(at);
      if (in_ && first === null) first = at[r];
      if (in_ || first === null) continue;
      const from = [...low], to = [...high];
      [from[r], to[r]] = [first, at[r]];
      first = null;
      yield [from, to];
    }
  }
}
