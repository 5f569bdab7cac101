// The slices of the opening, in all three directions: the page carries them reduced (src/report/stack.c), and they are
// unpacked when somebody first moves something. Without this script the middle slices stay as they are.
(() => {
  const look = document.querySelector('.look[data-facts]');
  if (!look || typeof DecompressionStream === 'undefined') return;
  const facts = JSON.parse(look.dataset.facts);
  const names = ['z', 'y', 'x'], tint = 0.55;
  const colour = (text, i) => [0, 2, 4].map(k => parseInt(text.slice(6 * i + k, 6 * i + k + 2), 16));
  const colours = Array.from({ length: 256 }, (_, i) => colour(facts.colours, i));
  const tints = Array.from({ length: facts.tints.length / 6 }, (_, i) => colour(facts.tints, i));
  const masked = colour(facts.masked, 0);
  const panes = [...look.querySelectorAll('img[data-look]')].map(image => ({ image, what: image.dataset.look }));
  const state = { axis: 0, at: facts.shape.map(n => Math.floor(n / 2)), over: 1 };
  let volumes = null;

  // ---- a grey PNG, undone by hand: a canvas may not give back exactly what it was given ----

  async function unpack(id) {
    const element = document.getElementById(id);
    if (!element) return null;
    const file = Uint8Array.from(atob(element.textContent), sign => sign.charCodeAt(0));
    const view = new DataView(file.buffer), parts = [];
    const width = view.getUint32(16), height = view.getUint32(20);
    for (let at = 8; at < file.length;) {
      const length = view.getUint32(at);
      if (String.fromCharCode(...file.subarray(at + 4, at + 8)) === 'IDAT') parts.push(file.subarray(at + 8, at + 8 + length));
      at += 12 + length;
    }
    const stream = new Blob(parts).stream().pipeThrough(new DecompressionStream('deflate'));
    const lines = new Uint8Array(await new Response(stream).arrayBuffer());
    const out = new Uint8Array(width * height);
    for (let row = 0; row < height; row++) {
      const kind = lines[row * (width + 1)], from = row * (width + 1) + 1, to = row * width;
      for (let i = 0; i < width; i++) {
        const left = i > 0 ? out[to + i - 1] : 0, up = row > 0 ? out[to + i - width] : 0;
        const corner = i > 0 && row > 0 ? out[to + i - width - 1] : 0;
        out[to + i] = lines[from + i] + guess(kind, left, up, corner);
      }
    }
    return out;
  }

  function guess(kind, left, up, corner) {
    if (kind === 1) return left;
    if (kind === 2) return up;
    if (kind === 3) return (left + up) >> 1;
    if (kind !== 4) return 0;
    const near = left + up - corner;
    const a = Math.abs(near - left), b = Math.abs(near - up), c = Math.abs(near - corner);
    return a <= b && a <= c ? left : b <= c ? up : corner;
  }

  // ---- drawing ----

  const rowAxis = () => state.axis === 0 ? 1 : 0;
  const columnAxis = () => state.axis === 2 ? 1 : 2;
  const edge = axis => facts.steps[axis] * (facts.spacing[axis] || 1);

  function colourOf(what, grey, at) {
    if (what === 'scan') return [grey, grey, grey];
    const run = Number(what.at(-1));
    if (what === 'differ') {
      const other = volumes.seg0[at] !== volumes.seg1[at] && volumes.seg0[at] !== 255 && volumes.seg1[at] !== 255;
      return blend([grey, grey, grey], tints[1], other ? tint : 0);
    }
    if (what.startsWith('unc')) return blend([grey, grey, grey], colours[volumes[what][at]], state.over);
    const found = volumes[what][at], two = facts.classes[run] === 2;
    if (found === 255) return [grey, grey, grey];
    return blend([grey, grey, grey], tints[two ? 0 : found], two && found === 0 ? 0 : tint);
  }

  const blend = (a, b, share) => a.map((v, k) => v + share * (b[k] - v));

  function drawPane(pane) {
    const rows = facts.shape[rowAxis()], columns = facts.shape[columnAxis()];
    const [, ny, nx] = facts.shape, strides = [ny * nx, nx, 1];
    const pixels = new ImageData(columns, rows), first = state.at[state.axis] * strides[state.axis];
    const place = (r, c) => first + r * strides[rowAxis()] + c * strides[columnAxis()];
    const seg = volumes[/[01]$/.test(pane.what) ? `seg${pane.what.at(-1)}` : 'seg0'];
    const outside = (r, c) => seg && seg[place(r, c)] === 255;
    // The mask's line: what lies outside and beside what doesn't.
    const line = (r, c) => [[r - 1, c], [r + 1, c], [r, c - 1], [r, c + 1]].some(([i, k]) =>
      i >= 0 && i < rows && k >= 0 && k < columns && !outside(i, k));
    for (let r = 0; r < rows; r++) {
      for (let c = 0; c < columns; c++) {
        const at = place(r, c);
        let rgb = colourOf(pane.what, volumes.scan[at], at);
        if (outside(r, c)) rgb = line(r, c) ? masked : rgb.map(v => v * (1 - tint));
        pixels.data.set([rgb[0], rgb[1], rgb[2], 255], 4 * (r * columns + c));
      }
    }
    pane.canvas.width = columns;
    pane.canvas.height = rows;
    pane.canvas.style.aspectRatio = `${columns * edge(columnAxis())} / ${rows * edge(rowAxis())}`;
    pane.canvas.getContext('2d').putImageData(pixels, 0, 0);
    drawBar(pane);
  }

  // A round length of about a third of the picture.
  function drawBar(pane) {
    const width = facts.shape[columnAxis()] * edge(columnAxis());
    if (!facts.spacing[columnAxis()]) { pane.bar.hidden = true; return; }
    const power = 10 ** Math.floor(Math.log10(width * 0.36));
    const length = [5, 2, 1].map(f => f * power).find(v => v <= width * 0.36);
    pane.bar.style.width = `${100 * length / width}%`;
    pane.bar.textContent = `${Number(length.toPrecision(3))} ${facts.unit}`;
  }

  function place() {
    const axis = state.axis, at = state.at[axis], step = facts.steps[axis];
    const first = at * step, last = Math.min(first + step, facts.whole[axis]) - 1;
    const voxels = [first, last].map(v => v + facts.origin[axis]);
    const depth = facts.spacing[axis] ? ` \u00b7 ${Number((first * facts.spacing[axis]).toPrecision(4))} ${facts.unit}` : '';
    return `${names[axis]} = ${first === last ? voxels[0] : voxels.join(' to ')}${depth}`;
  }

  function makeCanvas(pane) {
    const frame = document.createElement('div');
    frame.className = 'slice';
    pane.canvas = document.createElement('canvas');
    pane.canvas.setAttribute('role', 'img');
    pane.bar = document.createElement('span');
    frame.append(pane.canvas, pane.bar);
    pane.image.replaceWith(frame);
  }

  async function show() {
    if (!volumes) {
      volumes = {};
      const list = ['scan', 'seg0', 'unc0', 'seg1', 'unc1'];
      for (const [i, data] of (await Promise.all(list.map(name => unpack(`stack-${name}`)))).entries()) volumes[list[i]] = data;
      panes.forEach(makeCanvas);
    }
    slider.max = facts.shape[state.axis] - 1;
    slider.value = state.at[state.axis];
    slider.setAttribute('aria-valuetext', place());
    where.textContent = place();
    for (const pane of panes) {
      pane.canvas.setAttribute('aria-label', `${pane.what}, ${place()}`);
      drawPane(pane);
    }
  }

  // ---- what steers it ----

  const where = look.querySelector('.where');
  const steer = document.createElement('div');
  steer.className = 'steer';
  const axes = document.createElement('span');
  axes.setAttribute('role', 'group');
  axes.setAttribute('aria-label', 'Slices across');
  const buttons = names.map((name, axis) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = name;
    button.title = `slices across ${name}`;
    button.setAttribute('aria-pressed', axis === 0);
    button.addEventListener('click', () => {
      state.axis = axis;
      buttons.forEach((other, k) => other.setAttribute('aria-pressed', k === axis));
      show();
    });
    return button;
  });
  axes.append(...buttons);

  function range(words, max, value, change) {
    const label = document.createElement('label'), input = document.createElement('input');
    input.type = 'range';
    input.min = 0;
    input.max = max;
    input.value = value;
    input.addEventListener('input', () => { change(Number(input.value)); show(); });
    label.append(words, input);
    steer.append(label);
    return input;
  }

  steer.append(axes);
  const slider = range('slice', facts.shape[0] - 1, state.at[0], value => { state.at[state.axis] = value; });
  if (panes.some(pane => pane.what.startsWith('unc'))) {
    range('uncertainty over the scan', 100, 100, value => { state.over = value / 100; });
  }
  where.before(steer);
  if (Math.max(...facts.steps) > 1) {
    const note = document.createElement('p');
    note.className = 'note screen';
    note.textContent = `While you move, ${facts.steps.join(' \u00d7 ')} voxels (z, y, x) are drawn as one, by their mean.`;
    where.after(note);
  }
})();

// The viewer takes the next port where its usual one isn't free: a field for that of the address which it printed.
for (const place of document.querySelectorAll('.port')) {
  const label = document.createElement('label'), input = document.createElement('input');
  const links = place.closest('section').querySelectorAll('.regions a');
  Object.assign(input, { type: 'number', min: 1, max: 65535, value: place.dataset.port });
  input.addEventListener('input', () => {
    if (input.checkValidity() && input.value) links.forEach(link => { link.port = input.value; });
  });
  label.append('Port in that address: ', input);
  place.replaceChildren(label);
}

// Copies the paragraph above the button.
for (const button of document.querySelectorAll('button.copy')) {
  if (!navigator.clipboard) continue;
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.parentElement.previousElementSibling.textContent);
    button.textContent = 'Copied';
  });
}
