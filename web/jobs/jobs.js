// Train & predict: what is wanted, what it would take, and the job that runs.
import { get, getJson, send } from '../api.js';
import { down, right } from '../look/view.js';
import { make } from '../parts/make.js';
import { text } from '../text.js';
import { button, choice, field, Wish } from './wish.js';

const shortSteps = 600; // of a training that goes on from a model

export class Jobs {
  constructor(page, state) {
    Object.assign(this, { page, view: page.view, job: null, iterations: [], scratch: false });
    this.preset = choice(Object.entries(text.presets));
    this.from = choice([]);
    this.fromField = field(text.startFrom, this.from);
    this.steps = make('input', { inputMode: 'numeric', placeholder: text.stepsUsual });
    this.members = make('input', { inputMode: 'numeric', placeholder: '1', title: text.membersWhy });
    this.model = choice([]);
    this.part = choice(Object.entries(text.parts), 'slab');
    this.samples = make('input', { inputMode: 'numeric', placeholder: text.samplesUsual });
    this.exam = make('p', { className: 'soft small' });
    const more = make('details', {}, make('summary', {}, text.moreSettings), field(text.presetWord, this.preset), field(text.stepCount, this.steps), field(text.members, this.members));
    this.train = new Wish(this, 'train', text.trainHead, [this.fromField], [
      { words: () => text.goOnSteps(this.stepsWanted || shortSteps), options: () => this.goOnOptions({ 'max-steps': this.stepsWanted || shortSteps }) },
      { words: () => text.goOnPreset, options: () => (this.stepsWanted ? null : this.goOnOptions({})) },
      { words: () => text.trainScratch, options: () => this.trainOptions() }], [this.exam, more]);
    this.predict = new Wish(this, 'predict', text.predictHead, [field(text.modelOf, this.model), field(text.part, this.part), field(text.samples, this.samples)],
      [{ words: () => text.predict, options: () => this.predictOptions() }]);
    this.line = document.getElementById('job-line');
    this.lineBar = document.getElementById('job-bar');
    this.lineBar.ariaLabel = text.jobs;
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

  get stepsWanted() {
    const value = Number(this.steps.value);
    return Number.isInteger(value) && value > 0 ? value : 0;
  }

  trainOptions() {
    const options = { preset: this.preset.value };
    this.number(this.steps, options, 'max-steps');
    this.number(this.members, options, 'members');
    return options;
  }

  // From a model; null: there is none.
  goOnOptions(steps) { return this.from.value === '' ? null : { ...this.trainOptions(), ...steps, iteration: Number(this.from.value) }; }

  // The way that is advised: on from the last model, or from scratch where that has led astray.
  advised(wish) { return wish === this.train && this.scratch ? wish.ways.at(-1) : undefined; }

  predictOptions() {
    const options = {};
    if (this.model.value !== '') options.iteration = Number(this.model.value);
    this.number(this.samples, options, 'samples');
    if (this.part.value === 'slab') options.preview = true;
    if (this.part.value === 'held') options.boxes = 'held-out';
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

  // A training is followed by its exam.
  async start(what, options) {
    try {
      this.show(await send('POST', 'jobs', { do: what, options, ...(what === 'train' ? { exam: true } : {}) }));
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
    this.page.boxes.take(state.loop);
    this.show(state.job);
  }

  // Something was painted: the first stroke is what a training can begin with.
  labelled() {
    if (!this.trainable) this.changed();
  }

  async changed() {
    const before = this.job;
    try { this.take(await getJson('state')); } catch { return; }
    const follows = this.job?.do === 'score' ? this.running && this.job.number !== before?.number : this.job?.exam && this.job.state === 'done' && this.page.boxes.loop?.exam > 0;
    if (before?.state === 'running' && this.job && (follows || !this.running)) {
      const words = follows ? text.examFollows : text.ended[this.job.state]?.(this.job.do) ?? '';
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
    this.lineBar.hidden = !this.running;
    if (!this.running) this.line.textContent = '';
    this.showLog();
    this.settle();
  }

  progress(progress) {
    if (!this.running || progress.number !== this.job.number) return;
    this.bar.max = progress.total;
    this.bar.value = progress.done;
    this.said.textContent = text.progress(progress);
    this.line.textContent = text.short(progress);
    this.lineBar.max = progress.total;
    this.lineBar.value = progress.done;
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
    let answer;
    try { answer = await getJson('iterations'); } catch { return; }
    this.iterations = answer.iterations;
    this.scratch = answer.scratch;
    const done = this.iterations.filter(({ model, jobs }) => model ?? jobs.some(job => job.do === 'train' && job.state === 'done'));
    const given = this.view.state.model ? [0] : [];
    const trained = done.map(({ number }) => number).filter(number => number > 0), own = done.filter(({ number, loop }) => number > 0 && (loop === undefined || loop === answer.loop)).map(({ number }) => number);
    const fill = (select, numbers) => {
      const before = select.value, count = select.options.length, items = numbers.map(number => make('option', { value: number }, text.ofIteration(number)));
      select.replaceChildren(...(items.length > 0 ? items : [make('option', { value: '' }, text.noneYet)]));
      if (count === select.options.length && [...select.options].some(option => option.value === before)) select.value = before;
    };
    fill(this.from, [...own].reverse().concat(given));
    fill(this.model, trained.length > 0 ? [...trained].reverse() : given);
    this.fromField.hidden = this.from.value === '';
    this.hasModel = trained.length > 0 || given.length > 0;
    this.settle();
    this.page.steps.update();
    this.page.history?.load(answer);
  }

  settle() {
    const exams = this.page.boxes.loop?.exam ?? 0;
    this.exam.hidden = exams === 0;
    this.exam.textContent = text.thenExam(exams);
    const held = [...this.part.options].find(option => option.value === 'held');
    held.disabled = exams + (this.page.boxes.loop?.check ?? 0) === 0;
    if (held.disabled && this.part.value === 'held') this.part.value = 'slab';
    const locked = this.writable ? null : text.startsNothing;
    this.train.allow(locked ?? (this.trainable ? null : text.nothingLabelled));
    this.predict.allow(locked ?? (this.hasModel ? null : text.noModel));
    if (!this.panel?.hidden) this.replan();
  }

  replan() {
    if (this.running) return;
    this.train.plan();
    this.predict.plan();
  }

  // ---- asked for from elsewhere ----

  lead(wish, control) {
    this.page.tabs.show('train');
    wish.plan();
    wish.card.scrollIntoView({ block: 'nearest' });
    control.focus();
  }

  predictWith(iteration) {
    this.model.value = String(iteration);
    this.lead(this.predict, this.predict.go);
  }

  goOnFrom(iteration) {
    this.from.value = String(iteration);
    this.lead(this.train, this.train.ways[0].go);
  }

  focusScratch() { this.lead(this.train, this.train.go); }
}
