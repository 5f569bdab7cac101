// The address of a view: #at=512,300,410&zoom=1.3&show=scan:2000-24000,seg:60,unc:40&run=4&pane=z
const short = { probability: 'prob', segmentation: 'seg', uncertainty: 'unc' };
const nameOf = id => short[id] ?? id;
const round = value => Number(value.toPrecision(6));

export function writeLink(view) {
  const show = view.stack.filter(layer => layer.visible)
    .map(layer => `${nameOf(layer.id)}:${layer.kind === 'scan' ? layer.window.map(round).join('-') : Math.round(layer.opacity)}`);
  let link = `#at=${view.place.join(',')}&zoom=${round(view.zoom)}&show=${show.join(',')}`;
  const run = iterationOf(view.run);
  if (view.chosen && run !== null) link += `&run=${run}`;
  if (view.full) link += `&pane=${view.full}`;
  return link;
}

// The iteration that a run belongs to.
const iterationOf = run => {
  const found = /iterations\/0*(\d+)\//.exec(run ?? '');
  return found ? Number(found[1]) : null;
};

// "2000-24000", "-5--1", "1e-5-2e-5": the dash that is no sign parts the two.
function parseRange(words) {
  const parts = /^(-?[\d.]+(?:e[+-]?\d+)?)-(-?[\d.]+(?:e[+-]?\d+)?)$/.exec(words);
  const range = parts ? [Number(parts[1]), Number(parts[2])] : null;
  return range && range[0] < range[1] ? range : null;
}

// Applies what it can and gives back the names of what isn't here.
export function readLink(hash, view) {
  const missing = [];
  const fields = new URLSearchParams(hash.replace(/^#/, ''));
  const at = (fields.get('at') ?? '').split(',').map(Number);
  if (at.length === 3 && at.every(Number.isFinite)) view.goTo(at, true);
  const zoom = Number(fields.get('zoom'));
  if (zoom > 0 && Number.isFinite(zoom)) view.setZoom(zoom);
  if (fields.has('run')) {
    const run = view.runs.findLast(name => iterationOf(name) === Number(fields.get('run')));
    if (run) view.showRun(run);
    else missing.push(`run ${fields.get('run')}`);
  }
  if (fields.has('show')) {
    const wanted = new Map(fields.get('show').split(',').filter(Boolean).map(item => item.split(/:(.*)/s)));
    for (const layer of view.stack) {
      const value = wanted.get(nameOf(layer.id));
      layer.visible = value !== undefined;
      wanted.delete(nameOf(layer.id));
      if (!layer.visible) continue;
      const range = layer.kind === 'scan' ? parseRange(value) : null;
      if (range) layer.window = range;
      if (layer.kind !== 'scan' && Number(value) >= 0) layer.opacity = Math.min(100, Number(value));
    }
    missing.push(...wanted.keys());
  }
  const pane = fields.get('pane');
  view.full = ['z', 'y', 'x'].includes(pane) ? pane : null;
  return missing;
}
