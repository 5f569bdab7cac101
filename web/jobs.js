// Train & predict: what is wanted, what it would take, and the job that runs.
import { get, getJson, send } from './api.js';
import { make } from './panel.js';
import { text } from './text.js';
import { down, right } from './view.js';

const field = (words, control) => make('label', { className: 'field' }, make('span', {}, words), control);
const choice = (options, value) => {
  const select = make('select', {}, ...options.map(([id, words]) => make('option', { value: id }, words)));
  if (value !== undefined) select.value = value;
  return select;
};
const button = (words, work, main = false) => {
  const made = make('button', { type: 'button', className: main ? 'main' : '' }, words);
  made.addEventListener('click', work);
  return made;
};

// One kind of job: its fields, its plan, and the button that starts it.
class Wish {
  constructor(jobs, what, head, fields) {
    Object.assign(this, { jobs, what });
    this.said = make('p', { className: 'plan soft', role: 'status' });
    this.command = make('pre', { tabIndex: 0 });
    this.copy = button(text.copy, () => this.copyCommand());
    this.details = make('details', {}, make('summary', {}, text.command), this.command, this.copy);
    this.go = button(what === 'train' ? text.train : text.predict, () => jobs.start(what, this.options()), true);
    this.card = make('section', { className: 'job', ariaLabel: head }, make('h3', {}, head), ...fields, this.said, make('div', { className: 'row' }, this.go), this.details);
    this.details.hidden = true;
    this.card.addEventListener('change', () => this.plan());
  }

  options() { return this.what === 'train' ? this.jobs.trainOptions() : this.jobs.predictOptions(); }

  // Is there a reason why it can't be started?
  allow(reason) {
    this.go.disabled = Boolean(reason) || this.jobs.running;
    this.blocked = reason;
    if (reason) {
      this.said.textContent = reason;
      this.details.hidden = true;
    }
  }

  // Asked for once the fields rest, and only where they are seen.
  plan() {
    clearTimeout(this.later);
    if (this.blocked || this.jobs.panel.hidden) return;
    this.later = setTimeout(async () => {
      const number = this.asked = (this.asked ?? 0) + 1;
      this.said.textContent = text.planning;
      try {
        const words = Object.entries(this.options()).map(([key, value]) => `&${key}=${value}`).join('');
        const plan = await getJson(`plan?do=${this.what}${words}`);
        if (number !== this.asked || this.blocked) return;
        this.said.textContent = text.plan(plan);
        this.command.textContent = plan.command;
        this.details.hidden = false;
      } catch (error) {
        if (number === this.asked) this.said.textContent = error.message;
      }
    }, 400);
  }

  async copyCommand() {
    try {
      await navigator.clipboard.writeText(this.command.textContent);
      this.jobs.page.notice(text.copied, 3000);
    } catch { getSelection().selectAllChildren(this.command); }
  }
}

export class Jobs {
  constructor(page, state) {
    Object.assign(this, { page, view: page.view, job: null, iterations: [] });
    this.preset = choice(Object.entries(text.presets));
    this.from = choice([['', text.scratch]]);
    this.steps = make('input', { inputMode: 'numeric', placeholder: text.stepsUsual });
    this.members = make('input', { inputMode: 'numeric', placeholder: '1', title: text.membersWhy });
    this.model = choice([]);
    this.part = choice(Object.entries(text.parts), 'slab');
    this.samples = make('input', { inputMode: 'numeric', placeholder: text.samplesUsual });
    this.train = new Wish(this, 'train', text.trainHead, [field(text.startFrom, this.from), field(text.presetWord, this.preset), field(text.stepCount, this.steps), field(text.members, this.members)]);
    this.predict = new Wish(this, 'predict', text.predictHead, [field(text.modelOf, this.model), field(text.part, this.part), field(text.samples, this.samples)]);
    this.buildJob();
    this.panel = make('div', {}, this.card, this.train.card, this.predict.card);
    this.take(state);
    this.loadIterations();
  }

  get running() { return this.job?.state === 'running'; }

  buildJob() {
    this.title = make('span');
    this.state = make('span', { className: 'state' });
    this.bar = make('progress', { max: 1, value: 0 });
    this.said = make('p', { className: 'said soft' });
    this.cancel = button(text.cancel, () => this.act('cancel'));
    this.resume = button(text.resume, () => this.act('resume'));
    this.log = make('pre', { tabIndex: 0 });
    this.details = make('details', {}, make('summary', {}, text.log), this.log);
    this.details.addEventListener('toggle', () => this.showLog());
    this.card = make('section', { className: 'job', id: 'job', ariaLabel: text.jobs }, make('h3', {}, this.title, this.state), this.bar, this.said,
      make('div', { className: 'row' }, this.cancel, this.resume), this.details);
  }

  // ---- what is wanted ----

  number(input, options, name) {
    const value = Number(input.value);
    const good = input.value.trim() === '' || (Number.isInteger(value) && value > 0);
    input.setAttribute('aria-invalid', String(!good));
    if (good && value > 0) options[name] = value;
  }

  trainOptions() {
    const options = { preset: this.preset.value };
    this.number(this.steps, options, 'max-steps');
    this.number(this.members, options, 'members');
    if (this.from.value !== '') options.iteration = Number(this.from.value);
    return options;
  }

  predictOptions() {
    const options = {};
    if (this.model.value !== '') options.iteration = Number(this.model.value);
    this.number(this.samples, options, 'samples');
    if (this.part.value === 'slab') options.preview = true;
    if (this.part.value === 'view') options.bbox = this.boxInView();
    return options;
  }

  // All that any pane shows: along each axis from the first to the last voxel.
  boxInView() {
    const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity], { view } = this;
    for (const pane of this.page.panes) {
      if (pane.canvas.clientWidth === 0) continue;
      const [first, last] = [pane.voxelAt(0, 0), pane.voxelAt(pane.canvas.clientWidth, pane.canvas.clientHeight)];
      for (const axis of [right[pane.axis], down[pane.axis]]) {
        low[axis] = Math.min(low[axis], first[axis]);
        high[axis] = Math.max(high[axis], last[axis]);
      }
    }
    return view.shape.map((n, i) => {
      const [from, to] = Number.isFinite(low[i]) ? [low[i], high[i]] : [view.place[i], view.place[i] + 1];
      const begin = Math.max(0, Math.min(n - 1, Math.floor(from)));
      return `${begin}:${Math.max(begin + 1, Math.min(n, Math.ceil(to)))}`;
    }).join(',');
  }

  async start(what, options) {
    try {
      this.show(await send('POST', 'jobs', { do: what, options }));
      this.page.say(text.began(what));
      this.card.scrollIntoView({ block: 'nearest' });
    } catch (error) { this.page.notice(error.message); }
  }

  // ---- the job ----

  async act(what) {
    try { this.show(await send('POST', `jobs/${this.job.number}/${what}`, {})); } catch (error) { this.page.notice(error.message); }
  }

  // The server's state has been asked for anew.
  take(state) {
    this.trainable = state.trainable;
    this.writable = state.labels?.writable ?? true;
    this.show(state.job);
  }

  // Something was painted: the first stroke is what a training can begin with.
  labelled() {
    if (!this.trainable) this.changed();
  }

  async changed() {
    const before = this.job;
    try { this.take(await getJson('state')); } catch { return; }
    if (before?.state === 'running' && !this.running && this.job) {
      const words = text.ended[this.job.state]?.(this.job.do) ?? '';
      this.page.notice(words);
      this.page.say(words);
    }
    this.loadIterations();
  }

  show(job) {
    const anew = job?.number !== this.job?.number;
    this.job = job;
    this.card.hidden = !job;
    if (job) {
      this.title.textContent = text.job(job);
      this.state.textContent = job.cancelling ? text.ending : text.states[job.state];
      this.state.dataset.state = job.state;
      this.bar.hidden = this.cancel.hidden = !this.running;
      this.cancel.disabled = job.cancelling;
      this.resume.hidden = this.running || job.state === 'done';
      this.said.classList.toggle('error', Boolean(job.error) && job.state !== 'cancelled');
      this.said.textContent = job.error ? (job.state === 'cancelled' ? text.stoppedAt(job.error) : job.error) : (this.running ? text.starting : job.ended ? text.took(job.ended - job.began) : '');
      if (job.progress) this.progress(job.progress);
      if (!this.running) this.bar.removeAttribute('value');
    }
    if (anew) this.log.textContent = '';
    if (!this.running) document.getElementById('job-line').textContent = '';
    this.showLog();
    this.settle();
  }

  progress(progress) {
    if (!this.running || progress.number !== this.job.number) return;
    this.bar.max = progress.total;
    this.bar.value = progress.done;
    this.said.textContent = text.progress(progress);
    document.getElementById('job-line').textContent = text.short(progress);
    this.showLog();
  }

  // What it has said, without the progress, which the bar shows; the end of it is seen.
  async showLog() {
    if (!this.details.open || !this.job || this.reading) return;
    this.reading = true;
    try {
      const lines = (await (await get(`jobs/${this.job.number}/log`)).text()).split('\n').filter(Boolean).flatMap(line => {
        try {
          const said = JSON.parse(line);
          return said.event === 'message' ? [said.text] : [];
        } catch { return [line]; }
      });
      this.log.textContent = lines.join('\n');
      this.log.scrollTop = this.log.scrollHeight;
    } catch { /* it comes with the next */ }
    setTimeout(() => { this.reading = false; }, 1000);
  }

  // ---- iterations: what one can start from ----

  async loadIterations() {
    try { this.iterations = (await getJson('iterations')).iterations; } catch { return; }
    const trained = this.iterations.filter(({ jobs }) => jobs.some(job => job.do === 'train' && job.state === 'done')).map(({ number }) => number);
    const fill = (select, first) => {
      const before = select.value, known = [...select.options].map(option => option.value);
      select.replaceChildren(...first, ...[...trained].reverse().map(number => make('option', { value: number }, text.ofIteration(number))));
      if ([...select.options].some(option => option.value === before) && known.length === select.options.length) select.value = before;
    };
    fill(this.from, [make('option', { value: '' }, text.scratch)]);
    fill(this.model, trained.length ? [] : [make('option', { value: '' }, this.view.state.model ? text.ofIteration(0) : text.noneYet)]);
    this.hasModel = trained.length > 0 || this.view.state.model;
    this.settle();
    this.page.history?.load(this.iterations);
  }

  settle() {
    const locked = this.writable ? null : text.readOnly;
    this.train.allow(locked ?? (this.trainable ? null : text.nothingLabelled));
    this.predict.allow(locked ?? (this.hasModel ? null : text.noModel));
    if (!this.panel?.hidden) this.replan();
  }

  replan() {
    if (this.running) return;
    this.train.plan();
    this.predict.plan();
  }

  predictWith(iteration) {
    this.model.value = String(iteration);
    this.page.showTab('train');
    this.predict.card.scrollIntoView({ block: 'nearest' });
    this.predict.go.focus();
  }
}
