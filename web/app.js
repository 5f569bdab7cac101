// The page as a whole: builds its parts from the state of the server, and draws once a frame at most.
import { getJson, key, ApiError } from './api.js';
import { Events } from './events.js';
import { text } from './text.js';
import { Jobs } from './jobs/jobs.js';
import { Histogram } from './look/histogram.js';
import { layerPanel } from './look/layers.js';
import { readLink, writeLink } from './look/link.js';
import { VolumeMap } from './look/map.js';
import { Pane } from './look/pane.js';
import { Regions } from './look/regions.js';
import { Tiles } from './look/tiles.js';
import { axes, down, right, View } from './look/view.js';
import { Boxes, middleOf } from './loop/boxes.js';
import { History } from './loop/iterations.js';
import { Proposals } from './loop/proposals.js';
import { Labels } from './paint/labels.js';
import { Paint } from './paint/paint.js';
import { hiddenAt } from './paint/preview.js';
import { showKeys, stop } from './parts/dialogs.js';
import { listenToKeys } from './parts/keys.js';
import { make } from './parts/make.js';
import { buildRail } from './parts/rail.js';
import { listenToSplits } from './parts/splits.js';
import { Steps } from './parts/steps.js';
import { Tabs } from './parts/tabs.js';
import { buildTheme } from './parts/theme.js';

const $ = id => document.getElementById(id);

class Page {
  constructor(state) {
    this.view = new View(state);
    this.tiles = new Tiles(this.view, data => this.tileCame(data));
    this.panes = ['z', 'y', 'x'].map(name => new Pane(axes.indexOf(name), $(`pane-${name}`), this.view, this.tiles, this));
    this.active = this.panes[0];
    this.paint = new Paint(this, state);
    this.histogram = new Histogram($('histogram'), this.view);
    this.map = new VolumeMap($('map'), this);
    this.steps = new Steps(this);
    $('tabs').before(this.steps.root);
    this.tabs = new Tabs($('tabs'), $('tab-panels'));
    this.tabs.add('layers', text.layers, layerPanel(this.view));
    this.boxes = new Boxes(this, state);
    this.proposals = new Proposals(this);
    this.labels = new Labels(this);
    this.tabs.add('labels', text.labels, this.labels.panel, { opened: () => this.proposals.load() });
    this.history = new History(this);
    this.jobs = new Jobs(this, state);
    this.tabs.add('train', text.jobs, this.jobs.panel, { opened: () => this.jobs.replan() });
    this.tabs.add('iterations', text.iterations, this.history.panel);
    this.showRegions(state);
    buildRail($('rail'), this.paint);
    this.buildTop();
    listenToKeys(this);
    listenToSplits($('centre'), () => this.draw());
    this.view.addEventListener('change', event => this.changed(event.detail));
    this.view.centre = this.view.shape.map(n => n / 2);
    this.fit();
    this.follow();
    addEventListener('hashchange', () => this.follow());
    this.listen(state);
  }

  // To where the address leads: at the start, and where one is pasted into this tab.
  follow() {
    if (/[#&]key=/.test(location.hash)) return location.reload();
    const missing = readLink(location.hash, this.view);
    this.setFull(this.view.full);
    if (missing.length > 0) this.notice(text.skipped(missing.join(', ')));
    this.changed('place');
    this.view.layers.forEach(layer => this.view.changed(layer));
  }

  showRegions(state) {
    if (!state.regions || this.regions) return;
    this.regions = new Regions(this);
    this.tabs.add('regions', text.regions, this.regions.panel, { before: 'labels' });
    this.regions.load();
  }

  // ---- drawing ----

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.tiles.begin();
      this.panes.forEach(pane => pane.draw());
      if (this.tiles.wanted.size === 0 && !this.moving && this.tiles.there === 1) this.panes.forEach(pane => pane.prefetch());
      this.tiles.ask();
      this.paint.settle(this.allThere(this.paint.layer));
    });
  }

  // Is all that is seen of a layer there, as it is now?
  allThere(layer) {
    if (!layer.visible) return true;
    return this.panes.every(pane => pane.canvas.clientWidth === 0 || pane.keysOf(layer).every(key => this.tiles.kept.has(key)));
  }

  changed(what) {
    if (what === 'place') {
      this.panes.forEach(pane => pane.say());
      axes.forEach((name, i) => { if (document.activeElement !== $(`place-${name}`)) $(`place-${name}`).value = this.view.place[i]; });
      const { spacing, unit, place, known } = this.view;
      $('place-length').value = known ? `${place.map((at, i) => Number((at * spacing[i]).toPrecision(5))).join(', ')} ${unit}` : '';
      this.sayPlace();
      if (this.active.pointer) this.pointAt(this.active, this.active.voxelAt(this.active.pointer.x, this.active.pointer.y).map(Math.floor));
    }
    if (what === 'zoom' && document.activeElement !== $('zoom')) $('zoom').value = Number(this.view.zoom.toPrecision(3));
    this.moving = what === 'pan' || what === 'zoom' || what === 'place';
    clearTimeout(this.rest);
    this.rest = setTimeout(() => {
      this.moving = false;
      history.replaceState(null, '', writeLink(this.view));
      this.draw();
    }, 500);
    this.draw();
  }

  tileCame(data) {
    if (data.failed && data.status === 401) this.notice(text.wrongKey);
    if (data.there !== undefined) {
      clearTimeout(this.again);
      this.again = setTimeout(() => this.draw(), 600);
      return;
    }
    if (data.failed) {
      clearTimeout(this.again);
      this.again = setTimeout(() => this.draw(), 2000);
      return;
    }
    this.draw();
  }

  fit() {
    this.view.centre = this.view.shape.map(n => n / 2);
    const shown = this.panes.filter(pane => pane.canvas.clientWidth > 0);
    this.view.setZoom(Math.min(...shown.map(pane => pane.fitZoom())) * 0.96);
  }

  // ---- the voxel under the pointer ----

  pointAt(pane, place) {
    this.pointed = place;
    if (!place || place.some((at, i) => at < 0 || at >= this.view.shape[i])) {
      $('under-pointer').textContent = place ? text.outside : '';
      return;
    }
    this.askValues();
  }

  async askValues() {
    if (this.asking) return;
    this.asking = true;
    while (this.pointed && this.pointed !== this.answered) {
      const place = this.answered = this.pointed;
      try {
        const words = await this.valuesAt(place);
        if (this.pointed) $('under-pointer').replaceChildren(...words);
      } catch { break; }
    }
    this.asking = false;
  }

  async valuesAt(place) {
    const { values } = await getJson(`voxel?at=${place.join(',')}`);
    const parts = [`z ${place[0]}, y ${place[1]}, x ${place[2]}`];
    const blind = hiddenAt(this.paint, place), shown = new Set(this.view.stack.flatMap(layer => [...this.view.downFrom(layer)]));
    for (const { number, value, class: found } of values) {
      const layer = this.view.layers[number];
      if (value === null || !shown.has(layer) || (blind && layer.run)) continue;
      const words = layer.kind === 'classes' ? (layer.classes[found]?.name ?? text.nothing) : Number(value.toPrecision(layer.kind === 'map' ? 3 : 6));
      parts.push(' · ', `${layer.name} `, make('b', {}, String(words)));
    }
    return parts;
  }

  say(words) { $('live').textContent = words; }

  // What a screen reader hears, once the cross-hair rests.
  sayPlace() {
    clearTimeout(this.saying);
    this.saying = setTimeout(async () => {
      try {
        const words = (await this.valuesAt(this.view.place)).map(part => part.textContent ?? part).join('');
        this.panes.forEach(pane => pane.say(words));
        if (document.activeElement?.tagName === 'CANVAS') this.say(words);
      } catch { /* said elsewhere */ }
    }, 400);
  }

  // ---- top bar ----

  buildTop() {
    const { scan, view } = { scan: this.view.scan, view: this.view };
    document.title = text.title(scan.name);
    $('scan-name').textContent = scan.name;
    $('scan-name').title = scan.name;
    $('scan-facts').textContent = `${scan.shape.join(' × ')} · ${scan.type}${view.known ? ` · ${scan.spacing.map(edge => Number(edge.toPrecision(4))).join(' × ')} ${scan.unit}` : ''}`;
    $('zoom-word').textContent = text.zoom;
    $('copy-link').textContent = text.link;
    $('show-keys').textContent = text.keys;
    $('drawer').textContent = text.drawer;
    $('place').addEventListener('submit', event => event.preventDefault());
    axes.forEach((name, i) => $(`place-${name}`).addEventListener('change', () => {
      const place = [...view.place], words = $(`place-${name}`).value.trim(), at = Number(words);
      const good = words !== '' && Number.isInteger(at) && at >= 0 && at < view.shape[i];
      $(`place-${name}`).setAttribute('aria-invalid', String(!good));
      if (!good) return;
      place[i] = at;
      view.goTo(place, true);
    }));
    $('zoom').addEventListener('change', () => Number($('zoom').value) > 0 && view.setZoom(Number($('zoom').value)));
    $('copy-link').addEventListener('click', () => this.copyLink());
    $('show-keys').addEventListener('click', () => this.showKeys());
    $('drawer').addEventListener('click', () => $('drawer').setAttribute('aria-expanded', String($('side').classList.toggle('open'))));
    buildTheme($('theme'));
  }

  showTab(id) { this.tabs.show(id); }

  // A box, centred, and as large as it can be seen whole in each plane that is there.
  showBox(box) {
    const { view } = this, shown = this.panes.filter(pane => pane.canvas.clientWidth > 0);
    view.goTo(middleOf(box), true);
    view.centre = box.low.map((at, i) => (at + box.high[i]) / 2);
    const fits = (pane, axis, pixels) => pixels / ((box.high[axis] - box.low[axis]) * view.edge[axis]);
    view.setZoom(0.8 * Math.min(...shown.flatMap(pane => [fits(pane, right[pane.axis], pane.canvas.clientWidth), fits(pane, down[pane.axis], pane.canvas.clientHeight)])));
  }

  fill(name) { this.setFull(this.view.full === name ? null : name); }

  setFull(name) {
    this.view.full = name;
    if (name) $('centre').dataset.full = name;
    else delete $('centre').dataset.full;
    if (name) this.active = this.panes[axes.indexOf(name)];
    this.changed('layer');
  }

  async copyLink() {
    const link = location.origin + location.pathname + writeLink(this.view);
    try {
      await navigator.clipboard.writeText(link);
      this.notice(text.linkCopied, 3000);
    } catch {
      this.notice(link, 20000);
    }
  }

  // The window from 0.5 to 99.5 percent of what the plane shows now.
  async windowFromView(pane) {
    const scan = this.view.layers.find(layer => layer.kind === 'scan');
    if (!scan) return;
    const [low, high] = scan.range, counts = await this.tiles.count(pane.keysOf(scan)), all = counts.reduce((a, b) => a + b, 0);
    const below = share => {
      let sum = 0;
      return low + (high - low) * counts.findIndex(count => (sum += count) > share * all) / 255;
    };
    if (all > 0) this.view.setWindow(scan, below(0.005), Math.max(below(0.995), below(0.005) + (high - low) / 255));
  }

  showKeys() { showKeys(this.steps); }

  notice(words, milliseconds = 8000) {
    $('notice').textContent = words;
    $('notice').hidden = false;
    clearTimeout(this.noticeEnds);
    this.noticeEnds = setTimeout(() => { $('notice').hidden = true; }, milliseconds);
  }

  // ---- the server ----

  connected(yes) {
    this.online = yes;
    this.saving(this.paint.queue.items.length);
    if (yes) this.paint.queue.hurry();
  }

  // How many operations aren't on the server's disk yet.
  saving(count) {
    const waits = this.online && count > 0;
    $('connection').dataset.state = !this.online ? 'offline' : waits ? 'saving' : 'connected';
    $('connection').lastElementChild.textContent = !this.online ? text.offline : waits ? text.saving(count) : text.connected;
  }

  listen(state) {
    this.events = new Events();
    this.events.last = state.event;
    this.connected(true);
    this.events.on('online', () => this.refresh());
    document.addEventListener('visibilitychange', () => this.paint.queue.doubt());
    this.events.on('offline', error => {
      this.paint.queue.doubt();
      this.connected(false);
      this.notice(error?.status === 401 ? text.wrongKey : text.gone);
    });
    this.events.on('cache', ({ layer, there }) => {
      $('progress').textContent = there < 1 ? text.sharper(this.view.layers[layer].name, there) : '';
      if (there === 1 || this.tiles.there < 1) this.draw();
    });
    this.events.on('layers', () => this.refresh());
    this.events.on('layer', data => {
      const { layer } = data;
      if (!this.view.layers[layer]) return;
      this.view.grown(this.view.layers[layer], data);
      if (this.view.layers[layer].kind === 'scan') this.histogram.load();
      this.draw();
    });
    this.events.on('label', data => {
      this.paint.changed(data);
      this.jobs.labelled();
    });
    this.events.on('classes', () => {
      this.paint.reload();
      this.proposals.load();
    });
    this.events.on('proposals', () => this.proposals.load());
    this.events.on('job', () => this.jobs.changed());
    this.events.on('progress', data => this.jobs.progress(data));
    this.events.on('regions', () => this.regions?.load());
    this.events.on('message', ({ text: words }) => this.notice(words));
    this.events.open();
  }

  // After a line was cut: is it still the same server, and what did we miss?
  async refresh() {
    try {
      const state = await getJson('state');
      const other = this.otherServer(state);
      if (other) return this.stop(other);
      this.view.update(state);
      this.paint.take(state.labels);
      this.connected(true);
      this.jobs.take(state);
      this.showRegions(state);
      this.draw();
    } catch { this.connected(false); }
  }

  // Does somebody else answer at this address now?
  otherServer(state) {
    const known = this.view.state;
    if (state.version !== known.version) return text.otherVersion;
    if (state.scan.name !== known.scan.name || state.scan.shape.join() !== this.view.shape.join()) return text.otherScan;
    return state.project === known.project ? null : text.otherProject(state.project);
  }

  async sameServer() {
    const other = this.otherServer(await getJson('state'));
    if (other) this.stop(other);
    return !other;
  }

  // What waits isn't sent to it.
  stop(words) {
    this.paint.queue.stopped = true;
    this.events.close();
    this.events.stopped = true;
    this.connected(false);
    stop(words);
  }
}

async function begin() {
  if (!key) throw new ApiError(401, 'key', text.noKey);
  window.page = new Page(await getJson('state'));
}

begin().catch(error => {
  $('notice').textContent = error.status === 401 ? (key ? text.wrongKey : text.noKey) : error.message;
  $('notice').hidden = false;
  $('connection').dataset.state = 'offline';
  $('connection').lastElementChild.textContent = text.offline;
});
