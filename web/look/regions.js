// Look here first: the most uncertain regions, one after the other, each to be ticked once it has been looked at.
import { get, getJson, headers } from '../api.js';
import { make } from '../parts/make.js';
import { text } from '../text.js';

const number = (value, digits = 2) => Number(value.toPrecision(digits));

export class Regions {
  constructor(page) {
    Object.assign(this, { page, view: page.view, list: [], at: -1, order: 'excess' });
    this.items = make('ol', { className: 'regions' });
    this.said = make('p', { className: 'soft' }, text.regionsWait(0));
    this.choice = make('select', { ariaLabel: text.orderBy }, make('option', { value: 'excess' }, text.byExcess), make('option', { value: 'mean' }, text.byMean));
    this.choice.addEventListener('change', () => {
      this.order = this.choice.value;
      this.load();
    });
    const step = (word, by) => {
      const button = make('button', { type: 'button' }, word);
      button.addEventListener('click', () => this.next(by));
      return button;
    };
    this.panel = make('div', {}, make('p', { className: 'soft small' }, text.regionsWhy), this.choice,
      make('div', { className: 'row spread' }, this.said, make('span', { className: 'space' }), step(text.previousRegion, -1), step(text.nextRegion, 1)), this.items);
  }

  get current() { return this.list[this.at] ?? null; }

  async load() {
    let answer;
    try { answer = await getJson(`regions?order=${this.order}`); } catch (error) {
      this.said.textContent = error.message;
      return;
    }
    if (!answer.ready) {
      this.said.textContent = text.regionsWait(answer.there);
      setTimeout(() => this.load(), 1000);
      return;
    }
    this.list = answer.regions;
    this.at = -1;
    this.items.replaceChildren(...this.list.map((region, i) => this.card(region, i)));
    this.count();
    this.page.map.draw();
    for (const region of this.list) await this.picture(region);
  }

  count() {
    const looked = this.list.filter(region => region.looked).length;
    this.said.textContent = this.list.length ? text.regionsLooked(looked, this.list.length) : text.regionsNone;
  }

  card(region, i) {
    const size = region.high.map((end, axis) => end - region.low[axis]);
    const box = make('input', { type: 'checkbox', checked: region.looked, ariaLabel: text.lookedAt(i + 1) });
    box.addEventListener('change', () => this.tick(region, box.checked));
    const image = make('img', { alt: '', width: 80, height: 80 });
    const go = make('button', { type: 'button', className: 'region' }, image, make('span', {},
      make('b', {}, `${i + 1}`), make('span', {}, text.regionAt(region.centre)), make('span', { className: 'soft' }, text.regionSize(size)),
      make('span', { className: 'soft' }, text.regionMean(this.order, number(region.mean), number(region.peak)))));
    go.addEventListener('click', () => this.goTo(i));
    const item = make('li', {}, go, make('label', { className: 'soft' }, box, ` ${text.looked}`));
    Object.assign(region, { item, box, image });
    return item;
  }

  async picture(region) {
    if (region.image.src) return;
    try {
      const answer = await get(`thumbnail/${region.number}`);
      region.image.src = URL.createObjectURL(await answer.blob());
    } catch { region.image.hidden = true; }
  }

  // To the next one that isn't ticked, or the one before.
  next(by) {
    const count = this.list.length;
    for (let step = 1; step <= count; step++) {
      const i = ((this.at < 0 && by < 0 ? 0 : this.at) + by * step + count * 2) % count;
      if (!this.list[i].looked) return this.goTo(i);
    }
    if (count) this.page.notice(text.regionsDone, 4000);
  }

  goTo(i) {
    this.list.forEach((region, k) => region.item.classList.toggle('current', k === i));
    this.at = i;
    const region = this.current;
    region.item.scrollIntoView({ block: 'nearest' });
    this.page.showTab('regions');
    this.view.goTo(region.centre, true);
    this.page.say(`${text.regionNumber(i + 1)}, ${text.regionAt(region.centre)}, ${text.regionMean(this.order, number(region.mean), number(region.peak))}`);
  }

  tickCurrent() {
    if (this.current) this.tick(this.current, !this.current.looked);
  }

  async tick(region, looked) {
    try {
      await get(`regions/${region.number}`, { method: 'PUT', body: JSON.stringify({ looked }), headers: { ...headers, 'Content-Type': 'application/json' } });
      region.looked = looked;
    } catch (error) {
      this.page.notice(error.message);
    }
    region.box.checked = region.looked;
    this.count();
    this.page.map.draw();
  }
}
