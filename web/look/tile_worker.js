// Fetches tiles and colours them, away from the thread that draws. It keeps the bytes, so that another window or colour
// needs no request.
import { hatch } from './colours.js';

const kept = new Map();
const limit = 128 << 20;
let taken = 0;
let headers = {};

function keep(key, tile) {
  const old = kept.get(key);
  if (old) taken -= old.bytes.length;
  kept.delete(key);
  kept.set(key, tile);
  taken += tile.bytes.length;
  for (const [name, other] of kept) {
    if (taken <= limit) break;
    kept.delete(name);
    taken -= other.bytes.length;
  }
}

async function load(job) {
  const found = kept.get(job.key);
  if (found) return found;
  const response = await fetch(job.url, { headers });
  if (response.status === 202) return { there: (await response.json()).there };
  if (!response.ok) throw Object.assign(new Error(`tile: ${response.status}`), { status: response.status });
  const [rows, columns] = response.headers.get('X-Tile').split(',').map(Number);
  const tile = { rows, columns, bytes: new Uint8Array(await response.arrayBuffer()) };
  if (tile.bytes.length !== rows * columns) throw new Error('a tile came incomplete');
  keep(job.key, tile);
  return tile;
}

function plain(tile, table) {
  const pixels = new Uint32Array(tile.bytes.length);
  for (let i = 0; i < pixels.length; i++) pixels[i] = table[tile.bytes[i]];
  return new ImageData(new Uint8ClampedArray(pixels.buffer), tile.columns, tile.rows);
}

// Lines of a hatching are darker than what they lie on, so that they are seen on light and dark voxels.
const darker = colour => ((colour >>> 1 & 0x7f7f7f) | 0xff000000) >>> 0;

// A class fills the tile, or has a line where another one begins. Enlarged by `factor`, so that lines stay thin.
function classes(tile, table, factor, outline) {
  const rows = Math.min(tile.rows, 256), columns = Math.min(tile.columns, 256);
  const width = columns * factor, height = rows * factor;
  const pixels = new Uint32Array(width * height);
  const at = (r, c) => tile.bytes[Math.min(r, tile.rows - 1) * tile.columns + Math.min(c, tile.columns - 1)];
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      const own = at(r, c), right = at(r, c + 1), below = at(r + 1, c);
      const x0 = c * factor, y0 = r * factor;
      if (!outline) {
        const colour = table[own];
        if (colour === 0) continue;
        const line = hatch[own % hatch.length], faint = (colour & 0x00ffffff | 0x90000000) >>> 0, dark = darker(colour);
        for (let y = y0; y < y0 + factor; y++) {
          for (let x = x0; x < x0 + factor; x++) pixels[y * width + x] = line(x, y) ? dark : faint;
        }
        continue;
      }
      // The line takes the colour of the higher class; of what isn't drawn it has none.
      if (own !== right) {
        const colour = table[own] && (own > right || !table[right]) ? table[own] : table[right];
        for (let y = y0; y < y0 + factor; y++) pixels[y * width + x0 + factor - 1] = colour;
      }
      if (own !== below) {
        const colour = table[own] && (own > below || !table[below]) ? table[own] : table[below];
        for (let x = x0; x < x0 + factor; x++) pixels[(y0 + factor - 1) * width + x] = colour;
      }
    }
  }
  return new ImageData(new Uint8ClampedArray(pixels.buffer), width, height);
}

async function work(job) {
  try {
    const tile = await load(job);
    if (tile.there !== undefined) return postMessage({ id: job.id, there: tile.there });
    const image = job.classes ? classes(tile, job.table, job.factor, job.outline) : plain(tile, job.table);
    const bitmap = await createImageBitmap(image);
    postMessage({ id: job.id, bitmap, rows: Math.min(tile.rows, 256), columns: Math.min(tile.columns, 256) }, [bitmap]);
  } catch (error) {
    postMessage({ id: job.id, failed: error.message, status: error.status ?? 0 });
  }
}

function count(keys) {
  const counts = new Array(256).fill(0);
  for (const key of keys) for (const byte of kept.get(key)?.bytes ?? []) counts[byte]++;
  return counts;
}

onmessage = ({ data }) => {
  if (data.headers) headers = data.headers;
  else if (data.count) postMessage({ id: data.id, counts: count(data.count) });
  else work(data);
};
