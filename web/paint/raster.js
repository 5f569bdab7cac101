// Which voxels a brush or a polygon covers: the same ones, in the same whole numbers, as the server's
// (src/view/labels/shapes.c), so that what is seen while painting is what will be there.
//
// Voxel i spans 8 i to 8 i + 8. Lengths along the axes are made comparable by edges, in 1/64 of the smallest one.
import { down, right } from '../look/view.js';

const unit = 64, most = 65536;

const floorDiv = (a, b) => {
  const guess = Math.floor(a / b); // may be one off where a is large
  return guess * b > a ? guess - 1 : (guess + 1) * b <= a ? guess + 1 : guess;
};
const ceilDiv = (a, b) => -floorDiv(-a, b);

// The largest whole number whose square is no more.
function root(square) {
  let guess = Math.floor(Math.sqrt(square));
  while (guess * guess > square) guess--;
  while ((guess + 1) * (guess + 1) <= square) guess++;
  return guess;
}

export function edgesOf(spacing) {
  const least = Math.min(...spacing);
  return spacing.map(edge => {
    const ratio = least > 0 ? edge / least : 1;
    return ratio < most / unit ? Math.floor(unit * ratio + 0.5) : most;
  });
}

// Runs of voxels in planes across `axis`: rows of first and last, apart from each other and in order.
export class Cover {
  constructor(axis, shape) {
    Object.assign(this, { axis, shape, rows: new Map() });
  }

  add(slice, row, first, last) {
    const d = down[this.axis], r = right[this.axis];
    first = Math.max(first, 0);
    last = Math.min(last, this.shape[r] - 1);
    if (slice < 0 || slice >= this.shape[this.axis] || row < 0 || row >= this.shape[d] || first > last) return;
    const key = slice * this.shape[d] + row, runs = this.rows.get(key), kept = [];
    if (!runs) {
      this.rows.set(key, [first, last]);
      return;
    }
    for (let i = 0; i < runs.length; i += 2) {
      if (runs[i + 1] < first - 1 || runs[i] > last + 1) kept.push(runs[i], runs[i + 1]);
      else [first, last] = [Math.min(first, runs[i]), Math.max(last, runs[i + 1])];
    }
    let at = 0;
    while (at < kept.length && kept[at] < first) at += 2;
    kept.splice(at, 0, first, last);
    this.rows.set(key, kept);
  }

  // Each run as a box of voxels: [low, high].
  * boxes() {
    const d = down[this.axis], r = right[this.axis];
    for (const [key, runs] of this.rows) {
      const slice = Math.floor(key / this.shape[d]), row = key % this.shape[d];
      for (let i = 0; i < runs.length; i += 2) {
        const low = [0, 0, 0], high = [0, 0, 0];
        [low[this.axis], low[d], low[r]] = [slice, row, runs[i]];
        [high[this.axis], high[d], high[r]] = [slice + 1, row + 1, runs[i + 1] + 1];
        yield [low, high];
      }
    }
  }

  get empty() { return this.rows.size === 0; }
}

export class Stroke {
  constructor({ axis, slice, radius, ball }, edges, shape) {
    Object.assign(this, { axis, slice, ball, edges, radius: radius * unit, points: [] });
    this.cover = new Cover(axis, shape);
  }

  // The next point, in eighths of a voxel: down, right.
  add(point) {
    const from = this.points.at(-1) ?? point;
    const span = [point[0] - from[0], point[1] - from[1]], steps = Math.max(1, Math.floor((Math.max(Math.abs(span[0]), Math.abs(span[1])) + 7) / 8));
    this.points.push(point);
    if (this.points.length === 1) return this.put(point);
    for (let i = 1; i <= steps; i++) this.put([from[0] + floorDiv(span[0] * i, steps), from[1] + floorDiv(span[1] * i, steps)]);
  }

  put(at) {
    const edge = this.edges[this.axis], deep = this.ball ? Math.floor(Math.floor(this.radius / edge) / 8) : 0;
    for (let slice = this.slice - deep; slice <= this.slice + deep; slice++) {
      this.disc(slice, at, this.radius ** 2 - (8 * (slice - this.slice) * edge) ** 2);
    }
    this.cover.add(this.slice, floorDiv(at[0], 8), floorDiv(at[1], 8), floorDiv(at[1], 8));
  }

  disc(slice, at, square) {
    const edge = this.edges[down[this.axis]], up = Math.floor(root(square) / edge);
    for (let row = ceilDiv(at[0] - up - 4, 8); row <= floorDiv(at[0] + up - 4, 8); row++) {
      const reach = Math.floor(root(square - ((8 * row + 4 - at[0]) * edge) ** 2) / this.edges[right[this.axis]]);
      this.cover.add(slice, row, ceilDiv(at[1] - reach - 4, 8), floorDiv(at[1] + reach - 4, 8));
    }
  }
}

export function polygon({ axis, slice, points }, shape) {
  const cover = new Cover(axis, shape), d = down[axis];
  const rows = points.map(point => point[0]);
  for (let row = Math.max(0, floorDiv(Math.min(...rows), 8)); row <= Math.min(shape[d] - 1, floorDiv(Math.max(...rows), 8)); row++) {
    const middle = 8 * row + 4, turns = [];
    points.forEach((point, i) => {
      let a = point, b = points[(i + 1) % points.length];
      if ((a[0] <= middle) === (b[0] <= middle)) return;
      if (a[0] > b[0]) [a, b] = [b, a];
      const rise = b[0] - a[0], crossing = a[1] * rise + (middle - a[0]) * (b[1] - a[1]);
      turns.push(Math.max(0, ceilDiv(crossing - 4 * rise, 8 * rise)));
    });
    turns.sort((a, b) => a - b);
    for (let i = 0; i + 1 < turns.length; i += 2) cover.add(slice, row, turns[i], turns[i + 1] - 1);
  }
  return cover;
}
