// Coloured tiles: what is there, what is asked for next, what is given up.
import { headers } from '../api.js';

const underWayAtMost = 4;
const keptBytes = 256 << 20;

export class Tiles {
  constructor(view, onArrival) {
    this.view = view;
    this.onArrival = onArrival;
    this.kept = new Map();   // key -> entry, the least used first
    this.taken = 0;
    this.wanted = new Map(); // key -> {job, rank}, of the frame at hand
    this.underWay = new Map();
    this.later = new Map();  // key -> when it may be asked for again: not there yet, or failed
    this.number = 0;
    this.times = [];
    this.there = 1;
    this.requests = 0;
    this.worker = new Worker('/web/look/tile_worker.js', { type: 'module' });
    this.worker.postMessage({ headers });
    this.worker.onmessage = ({ data }) => this.arrived(data);
  }

  keyOf(layer, axis, level, slice, row, column) {
    const range = layer.kind === 'scan' ? `?lo=${layer.range[0]}&hi=${layer.range[1]}` : '';
    return `${layer.number}/${layer.revision}/${'zyx'[axis]}/${level}/${slice}/${row}/${column}${range}`;
  }

  // The entry, as it should look or as it once did; asks for what is missing. `rank`: the smaller, the sooner.
  find(layer, axis, level, slice, row, column, factor, rank) {
    const key = this.keyOf(layer, axis, level, slice, row, column);
    const look = `${layer.look}/${factor}/${layer.outline}`;
    const entry = this.kept.get(key);
    if (entry) {
      this.kept.delete(key);
      this.kept.set(key, entry);
    }
    if (entry?.look !== look && !this.underWay.has(key) && !(this.later.get(key) > performance.now())) {
      const known = this.wanted.get(key);
      if (!known || known.rank > rank) this.wanted.set(key, { rank, layer, look, factor, key });
    }
    return entry;
  }

  // A frame begins: what nobody asks for again isn't wanted any more.
  begin() {
    this.wanted.clear();
    if (this.later.size > 4096) this.later.clear();
  }

  // And ends.
  ask() {
    while (this.underWay.size < underWayAtMost && this.wanted.size > 0) {
      let next = null;
      for (const item of this.wanted.values()) if (!next || item.rank < next.rank) next = item;
      this.wanted.delete(next.key);
      const id = ++this.number;
      this.underWay.set(next.key, { ...next, id, since: performance.now() });
      this.worker.postMessage({
        id, key: next.key, url: `/api/1/tile/${next.key}`, table: next.layer.table,
        classes: next.layer.kind === 'classes', factor: next.factor, outline: next.layer.outline,
      });
      this.requests++;
    }
  }

  // How often each byte occurs in these tiles, as far as they are there.
  count(keys) {
    const id = ++this.number;
    this.worker.postMessage({ id, count: keys });
    return new Promise(done => { this.counting = { id, done }; });
  }

  arrived(data) {
    if (data.counts) {
      if (this.counting?.id === data.id) this.counting.done(data.counts);
      return;
    }
    const item = [...this.underWay.values()].find(other => other.id === data.id);
    if (!item) return;
    this.underWay.delete(item.key);
    if (data.bitmap) {
      this.keep(item.key, { bitmap: data.bitmap, rows: data.rows, columns: data.columns, look: item.look });
      this.times.push(performance.now() - item.since);
      if (this.times.length > 32) this.times.shift();
      this.there = 1;
      this.later.delete(item.key);
    } else if (data.there !== undefined) {
      this.there = data.there;
      this.later.set(item.key, performance.now() + 500);
    } else {
      this.later.set(item.key, performance.now() + 1800);
    }
    this.onArrival(data);
  }

  keep(key, entry) {
    const bytes = tile => tile.bitmap.width * tile.bitmap.height * 4;
    const old = this.kept.get(key);
    if (old) {
      this.taken -= bytes(old);
      old.bitmap.close();
      this.kept.delete(key);
    }
    this.kept.set(key, entry);
    this.taken += bytes(entry);
    for (const [name, other] of this.kept) {
      if (this.taken <= keptBytes) break;
      this.kept.delete(name);
      this.taken -= bytes(other);
      other.bitmap.close();
    }
  }

  // How long a tile takes: on a slow line one level coarser is asked for while the view moves.
  get slow() {
    if (this.times.length < 8) return false;
    const sorted = [...this.times].sort((a, b) => a - b);
    return sorted[sorted.length >> 1] > 80;
  }
}
