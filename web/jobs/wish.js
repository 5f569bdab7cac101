// One kind of job that can be started: its fields, what it would take, and its buttons; one for each way to do it.
import { getJson } from '../api.js';
import { make } from '../parts/make.js';
import { text } from '../text.js';

export const field = (words, control) => make('label', { className: 'field' }, make('span', {}, words), control);

export function choice(options, value) {
  const select = make('select', {}, ...options.map(([id, words]) => make('option', { value: id }, words)));
  if (value !== undefined) select.value = value;
  return select;
}

export function button(words, work, main = false) {
  const made = make('button', { type: 'button', className: main ? 'main' : '' }, words);
  made.addEventListener('click', work);
  return made;
}

export class Wish {
  // `ways`: each with words() and options(); a way whose options are null can't be gone now.
  constructor(jobs, what, head, fields, ways, more = []) {
    Object.assign(this, { jobs, what });
    this.ways = ways.map(way => this.way(way));
    this.go = this.ways.at(-1).go;
    this.said = make('p', { className: 'plan soft', role: 'status' });
    this.command = make('pre', { tabIndex: 0 });
    this.details = make('details', {}, make('summary', {}, text.command), this.command, button(text.copy, () => this.copyCommand()));
    this.card = make('section', { className: 'job', ariaLabel: head }, make('h3', {}, head), ...fields, this.said, ...this.ways.map(way => way.row), ...more, this.details);
    this.details.hidden = true;
    this.card.addEventListener('change', () => this.plan());
  }

  way(way) {
    const go = button(way.words(), () => this.jobs.start(this.what, way.options()), true), time = make('span', { className: 'soft' });
    return { ...way, go, time, row: make('div', { className: 'row way' }, go, time) };
  }

  // Which ways there are, and the one to be advised.
  settle(advised = this.ways.find(way => way.options())) {
    for (const way of this.ways) {
      way.row.hidden = !way.options();
      way.go.textContent = way.words();
      way.go.classList.toggle('main', way === advised);
    }
  }

  // Is there a reason why it can't be started?
  allow(reason) {
    this.ways.forEach(way => { way.go.disabled = Boolean(reason) || this.jobs.running; });
    this.blocked = reason;
    if (!reason) return;
    this.said.textContent = reason;
    this.ways.forEach(way => { way.time.textContent = ''; });
    this.details.hidden = true;
  }

  // Asked for once the fields rest, and only where they are seen.
  plan() {
    clearTimeout(this.later);
    this.settle(this.jobs.advised(this));
    if (this.blocked || this.jobs.panel.hidden) return;
    this.later = setTimeout(() => this.ask(), 400);
  }

  async ask() {
    const number = this.asked = (this.asked ?? 0) + 1, ways = this.ways.filter(way => way.options()), plans = [];
    this.said.textContent = text.planning;
    try {
      for (const way of ways) {
        const words = Object.entries(way.options()).map(([key, value]) => `&${key}=${value}`).join('');
        const plan = await getJson(`plan?do=${this.what}${words}`);
        if (number !== this.asked || this.blocked) return;
        way.time.textContent = ways.length > 1 && plan.seconds !== null ? text.takes(plan.seconds) : '';
        plans.push(plan);
      }
      this.said.textContent = ways.length > 1 && plans.some(plan => plan.seconds !== null) ? text.needs(plans) : text.plan(plans[0]);
      this.command.textContent = ways.length > 1 ? ways.map((way, i) => `# ${way.words()}\n${plans[i].command}`).join('\n') : plans[0].command;
      this.details.hidden = false;
    } catch (error) {
      if (number === this.asked) this.said.textContent = error.message;
    }
  }

  async copyCommand() {
    try {
      await navigator.clipboard.writeText(this.command.textContent);
      this.jobs.page.notice(text.copied, 3000);
    } catch { getSelection().selectAllChildren(this.command); }
  }
}
