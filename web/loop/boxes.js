// Held-out boxes: places at random that no training learns from, so that their labels tell how wrong a model is.
import { getJson, send } from '../api.js';
import { ask } from '../parts/dialogs.js';
import { make } from '../parts/make.js';
import { text } from '../text.js';

// "0:16,0:64,8:72": its ends, low and high.
export function endsOf(words) {
  const ends = words.split(',').map(range => range.split(':').map(Number));
  return { low: ends.map(([from]) => from), high: ends.map(([, to]) => to) };
}

export const middleOf = ({ low, high }) => low.map((at, i) => Math.floor((at + high[i] - 1) / 2));

export class Boxes {
  constructor(page, state) {
    Object.assign(this, { page, paint: page.paint, view: page.view, loop: state.loop, facts: new Map() });
    const button = (words, work) => {
      const made = make('button', { type: 'button' }, words);
      made.addEventListener('click', work);
      return made;
    };
    this.said = make('p', { className: 'soft small' });
    this.add = button('', () => this.place());
    this.list = make('ul', { className: 'boxes' });
    this.sizes = ['z', 'y', 'x'].map(axis => make('input', { inputMode: 'numeric', ariaLabel: text.boxSizeAlong(axis) }));
    this.sizes.forEach(field => field.addEventListener('change', () => this.resize()));
    this.sizeRow = make('div', { className: 'row' }, make('span', {}, text.boxSize), ...this.sizes);
    this.anew = button(text.anew, () => this.beginAnew());
    this.details = make('details', {}, make('summary', {}, text.boxMore), this.sizeRow, make('p', { className: 'soft small' }, text.anewWhy), make('div', { className: 'row' }, this.anew));
    this.panel = make('section', { ariaLabel: text.heldOut }, make('h3', {}, text.heldOut), this.said, make('div', { className: 'row' }, this.add), this.list, this.details);
    this.paint.addEventListener('change', () => this.update());
    this.paint.addEventListener('history', () => this.count());
    this.update();
  }

  get all() { return this.paint.state.boxes; }
  get heldOut() { return this.all.filter(box => box.role !== 'train'); }

  take(loop) {
    this.loop = loop;
    this.update();
    this.count();
  }

  // How much of each is labelled.
  async count() {
    if (this.all.length === 0) return;
    try {
      const { boxes } = await getJson('boxes');
      this.facts = new Map(boxes.map(box => [box.number, box]));
    } catch { return; }
    this.rows = null;
    this.update();
  }

  update() {
    this.panel.hidden = this.page.proposals ? this.page.proposals.panel.hidden = !this.loop : !this.loop;
    if (!this.loop) return;
    const { writable } = this.paint.state, words = JSON.stringify(this.all);
    this.said.textContent = text.heldOutSaid(this.loop);
    this.add.textContent = text.addHeldOut(text.roles[this.loop.next]);
    this.add.disabled = this.anew.disabled = !writable;
    this.sizes.forEach((field, i) => {
      if (document.activeElement !== field) field.value = this.loop.size[i];
      field.disabled = !writable || this.heldOut.length > 0;
    });
    if (words === this.rows) return;
    this.rows = words;
    this.list.replaceChildren(...this.all.map(box => this.row(box)));
    this.page.map?.draw();
  }

  row(box) {
    const facts = this.facts.get(box.number), words = text.boxAt(box);
    const go = make('button', { type: 'button', className: 'go' }, make('b', { className: `role ${box.role}` }, text.roles[box.role]), make('span', {}, words),
      make('span', { className: 'soft' }, facts && facts.labelled !== null ? text.boxLabelled(facts.labelled / facts.voxels) : ''));
    const remove = make('button', { type: 'button', ariaLabel: text.removeBox(text.roles[box.role], words), title: text.remove, disabled: !this.paint.state.writable }, '✕');
    go.addEventListener('click', () => this.goTo(box));
    remove.addEventListener('click', () => this.remove(box));
    return make('li', {}, go, remove);
  }

  // Centred, and as large as the panes let it be.
  goTo(box) { this.page.showBox(endsOf(box.box)); }

  async work(request) {
    try {
      const answer = await request();
      await this.paint.reload();
      return answer;
    } catch (error) {
      this.page.notice(error.message);
      return null;
    }
  }

  async place() {
    const box = await this.work(() => send('POST', 'boxes', { held_out: true }));
    if (!box) return;
    this.goTo(box);
    this.paint.choose('brush');
    this.page.notice(text.boxPlaced(text.roles[box.role]), 8000);
  }

  async remove(box) {
    if (this.facts.get(box.number)?.used && !await ask(text.removeTitle, text.removeUsed, text.remove)) return;
    await this.work(() => send('DELETE', `boxes/${box.number}`, {}));
  }

  async resize() {
    const size = this.sizes.map(field => Number(field.value)), good = size.map(edge => Number.isInteger(edge) && edge >= 8 && edge <= 512);
    this.sizes.forEach((field, i) => field.setAttribute('aria-invalid', String(!good[i])));
    if (good.every(Boolean)) await this.work(() => send('PUT', 'loop', { size }));
  }

  async beginAnew() {
    if (await ask(text.anewTitle, text.anewAsk, text.anewYes)) await this.work(() => send('POST', 'loop/anew', {}));
    this.page.jobs.loadIterations();
  }
}
