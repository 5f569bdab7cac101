// The panel about labels: classes, what was done, the box in hand, export.
import { getJson, send } from '../api.js';
import { classColours, drawSwatch } from '../look/colours.js';
import { make, makeSwatch } from '../parts/make.js';
import { text } from '../text.js';

export class Labels {
  constructor(page) {
    Object.assign(this, { page, paint: page.paint });
    this.classes = make('ul', { className: 'class-list' });
    this.add = make('button', { type: 'button' }, text.addClass);
    this.add.addEventListener('click', () => this.addClass());
    this.said = make('p', { className: 'soft small' });
    this.history = make('ol', { className: 'history' });
    this.panel = make('div', {}, make('h3', {}, text.classesTitle), this.classes, this.add, page.boxes.panel, page.proposals.panel, this.boxPart(), this.exportPart(),
      make('h3', {}, text.historyTitle), this.said, this.history);
    this.paint.addEventListener('change', () => this.update());
    this.paint.addEventListener('history', () => this.loadHistory());
    this.update();
  }

  get list() { return this.paint.state.classes; }

  // Rows are made anew only where a class has come or gone: a field that is typed into stays.
  update() {
    const { state, value } = this.paint, values = this.list.map(item => item.value).join();
    if (this.values !== values) {
      this.values = values;
      this.rows = this.list.map((item, i) => this.row(item.value, i));
      this.classes.replaceChildren(...this.rows.map(row => row.node));
    }
    this.rows.forEach((row, i) => {
      const item = this.list[i];
      row.choose.setAttribute('aria-pressed', String(item.value === value));
      row.choose.ariaLabel = text.paintWith(item.name);
      row.node.classList.toggle('current', item.value === value);
      drawSwatch(row.swatch, item.colour, item.value);
      if (document.activeElement !== row.name) row.name.value = item.name;
      row.colour.value = `#${item.colour}`.toLowerCase();
      row.count.textContent = text.voxelCount(state.counts[item.value]);
    });
    this.add.hidden = this.list.length >= 16 || !state.writable;
    this.said.textContent = state.made ? `${text.made(this.page.view.state.project)} ${text.historyFar(state.undo, true)}.` : text.historyEmpty;
    this.boxWords.textContent = this.paint.boxWords ?? text.boxNone;
    this.boxButtons.forEach(button => { button.disabled = !this.paint.box || !state.writable; });
    this.accept.hidden = this.belowRow.hidden = !this.page.view.layer('segmentation');
    this.accept.disabled ||= this.page.view.run !== this.page.view.runs.at(-1);
    this.exporting.disabled = !state.made || !state.writable;
  }

  row(value, i) {
    const swatch = makeSwatch();
    const choose = make('button', { type: 'button', className: 'choose' }, swatch, make('kbd', {}, i < 9 ? String(i + 1) : ''));
    const name = make('input', { ariaLabel: text.className(value), maxLength: 40 }), colour = make('input', { type: 'color', ariaLabel: text.classColour(value) });
    const count = make('output', { className: 'soft' });
    choose.addEventListener('click', () => this.paint.set({ value }));
    name.addEventListener('change', () => name.value.trim() && this.change(value, { name: name.value.trim() }));
    colour.addEventListener('change', () => this.change(value, { colour: colour.value.slice(1).toUpperCase() }));
    return { node: make('li', {}, choose, name, colour, count), swatch, choose, name, colour, count };
  }

  addClass() {
    const value = [...Array(16).keys()].find(free => this.list.every(item => item.value !== free));
    this.save([...this.list, { value, name: text.newClass(value), colour: classColours[value % classColours.length] }]);
    this.paint.set({ value });
  }

  change(value, what) { this.save(this.list.map(item => (item.value === value ? { ...item, ...what } : item))); }

  async save(list) {
    try {
      await send('PUT', 'classes', list);
      await this.paint.reload();
    } catch (error) { this.page.notice(error.message); }
    this.update();
  }

  // ---- the box ----

  boxPart() {
    const { paint } = this;
    this.boxWords = make('p', { className: 'small' });
    this.accept = make('button', { type: 'button' }, text.accept);
    this.clear = make('button', { type: 'button' }, text.clear);
    this.boxButtons = [this.accept, this.clear];
    const deep = make('input', { inputMode: 'numeric', value: paint.depth, ariaLabel: text.boxDepth }), below = make('input', { inputMode: 'decimal', ariaLabel: text.acceptBelow });
    deep.addEventListener('change', () => {
      const depth = Number(deep.value), good = Number.isInteger(depth) && depth >= 1;
      deep.ariaInvalid = String(!good);
      if (good) paint.set({ depth });
    });
    this.accept.addEventListener('click', () => {
      const limit = below.value.trim() === '' ? {} : { below: Number(below.value) };
      below.ariaInvalid = String(Number.isNaN(limit.below));
      if (!Number.isNaN(limit.below)) paint.post({ do: 'accept', box: paint.boxWords, ...limit, over: paint.rules(paint.value).over });
    });
    this.clear.addEventListener('click', () => paint.post({ do: 'clear', box: paint.boxWords }));
    this.belowRow = make('label', { className: 'row' }, make('span', {}, text.acceptBelow), below);
    return make('section', {}, make('h3', {}, text.boxTitle), this.boxWords, make('label', { className: 'row' }, make('span', {}, text.boxDepth), deep), this.belowRow,
      make('div', { className: 'row' }, this.accept, this.clear));
  }

  // ---- export ----

  exportPart() {
    const name = make('input', { value: 'label.tif', ariaLabel: text.exportAs });
    this.exporting = make('button', { type: 'button' }, text.exportGo);
    this.exporting.addEventListener('click', async () => {
      try {
        await send('POST', 'labels/export', { name: name.value.trim(), box: this.paint.boxWords });
        this.page.notice(text.exportWait, 3000);
      } catch (error) { this.page.notice(error.message); }
    });
    return make('section', {}, make('h3', {}, text.exportTitle), make('div', { className: 'row' }, name, this.exporting));
  }

  // ---- what was done ----

  async loadHistory() {
    let operations;
    try { ({ operations } = await getJson('labels/history')); } catch { return; }
    const nameOf = value => this.list.find(item => item.value === value)?.name ?? text.newClass(value);
    this.history.replaceChildren(...operations.map(({ about, undone }) => {
      const go = make('button', { type: 'button' }, make('b', {}, text.operation(about, nameOf)), make('span', { className: 'soft' }, text.operationSize(about)));
      go.addEventListener('click', () => this.page.view.goTo(about.low.map((at, i) => Math.floor((at + about.high[i] - 1) / 2)), true));
      return make('li', { className: undone ? 'undone' : '' }, go);
    }));
  }
}
