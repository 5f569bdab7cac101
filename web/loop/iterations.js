// Iterations: each training with what came of it, the latest first, and how the error fell from one to the next.
import { send } from '../api.js';
import { make } from '../parts/make.js';
import { text } from '../text.js';
import { errorPlot } from './plot.js';

// A value of an option in a command line.
const option = (job, name) => new RegExp(`--${name} (\\S+)`).exec(job.command)?.[1];

export class History {
  constructor(page) {
    this.page = page;
    this.items = [];
    this.panel = make('div');
    page.view.addEventListener('change', ({ detail }) => detail === 'layers' && this.showAwaited());
    this.load({ iterations: [] });
  }

  load(answer) {
    this.items = answer.iterations;
    this.answer = answer;
    const plot = errorPlot(this.items), scored = this.items.filter(one => one.score);
    this.panel.replaceChildren(...(plot ? [make('h3', {}, text.plotTitle), plot, make('p', { className: 'soft small' }, text.plotWhy)] : []));
    if (plot && !scored.some(({ score }) => score.enough)) this.panel.append(make('p', { className: 'small' }, text.tooFew));
    if (answer.scratch) this.panel.append(this.advice());
    if (this.items.length === 0) this.panel.append(make('p', { className: 'soft' }, text.noIterations));
    this.panel.append(...[...this.items].reverse().map(one => this.card(one)));
  }

  // The error rose twice: what warm starts keep of early mistakes only a training from scratch gets rid of.
  advice() {
    const go = this.button(text.toScratch, () => this.page.jobs.focusScratch());
    return make('div', { className: 'job advice' }, make('p', {}, text.twoRises), make('div', { className: 'row' }, go));
  }

  button(words, work, disabled = false) {
    const made = make('button', { type: 'button', disabled }, words);
    made.addEventListener('click', work);
    return made;
  }

  card(one) {
    const { number, jobs } = one, { page } = this, training = jobs.find(job => job.do === 'train'), runs = jobs.filter(job => job.do === 'predict');
    const head = make('h3', {}, text.ofIteration(number)), part = make('section', { className: 'job', ariaLabel: text.ofIteration(number) }, head);
    const shown = [...runs].reverse().find(run => run.state === 'done' || run.state === 'running');
    if (training) head.append(this.state(training));
    const facts = this.facts(one, training);
    if (facts) part.append(make('p', { className: 'small' }, facts));
    if (one.score) part.append(this.score(one.score));
    if (one.loop && this.answer.loop !== one.loop) part.append(make('p', { className: 'soft small' }, text.earlierLoop));
    const own = !one.loop || one.loop === this.answer.loop, model = one.model ?? (training?.state === 'done' || !training);
    part.append(make('div', { className: 'row wrap' },
      ...(shown ? [this.button(text.show, () => this.show(shown)), this.button(text.compare, () => this.show(shown, true))] : []),
      ...(model ? [this.button(text.useModel, () => page.jobs.predictWith(number))] : []),
      ...(model && own ? [this.button(text.goOn, () => page.jobs.goOnFrom(number)), this.button(one.score ? text.scoreAgain : text.scoreIt, () => page.jobs.start('score', { iteration: number }))] : [])));
    if (runs.length) part.append(make('ul', { className: 'runs', ariaLabel: text.runs(runs.length) }, ...runs.map(run => make('li', {}, `${this.extent(run)} · `, this.state(run)))));
    return part;
  }

  state(job) {
    const words = job.state === 'done' ? text.took(job.ended - job.began) : text.states[job.state];
    const made = make('span', { className: 'state' }, words);
    made.dataset.state = job.state;
    return made;
  }

  extent(run) {
    const box = option(run, 'bbox');
    return box ? `z y x ${box}` : run.command.includes(' --preview') ? text.parts.slab : text.parts.whole;
  }

  facts({ labels, from, warm, jobs }, training) {
    const done = jobs.find(job => job.do === 'train' && job.result)?.result, right = done?.heldout?.accuracy;
    return [labels ? text.labelFacts(labels) : '', done ? text.trained(done) : '', training ? (warm ? text.warmFrom(text.ofIteration(from)) : text.fromScratch) : '',
      done ? (typeof right === 'number' ? text.onHeldOut(right) : training.command.includes(' --valid-label ') ? '' : text.noHeldOut) : ''].filter(Boolean).join(', ');
  }

  score(score) {
    const row = (words, value, interval, form) => [make('dt', {}, words), make('dd', {}, make('b', {}, form(value)), interval && score.enough ? ` ${text.from(interval.map(form))}` : '')];
    return make('div', { className: 'score' }, make('dl', {}, ...row(text.examError, score.error, score.error_interval, text.percent), ...row(text.nll, score.nll, score.nll_interval, text.number),
      ...(score.uncertain === null ? [] : row(text.uncertainWrong, score.uncertain, score.uncertain_interval, text.percent))),
    make('p', { className: 'soft small' }, `${text.scoredOn(score)}${score.enough ? '' : ` ${text.tooFew}`}`));
  }

  // ---- a run to be seen, or to be compared with: the server reads it first where it hasn't yet ----

  async show(job, compare = false) {
    this.awaited = { run: job.folder, compare };
    if (this.showAwaited()) return;
    try { await send('POST', `jobs/${job.number}/show`, {}); } catch (error) {
      this.awaited = null;
      this.page.notice(error.message);
    }
  }

  showAwaited() {
    const { awaited } = this, { view } = this.page;
    if (!awaited || !view.runs.includes(awaited.run)) return false;
    this.awaited = null;
    if (awaited.compare && view.run === awaited.run) this.page.notice(text.compareItself, 5000);
    else if (awaited.compare) {
      view.compareWith(awaited.run);
      this.page.notice(text.comparing(text.runName(awaited.run)), 6000);
    } else {
      view.showRun(awaited.run);
      this.page.notice(text.showing(text.runName(awaited.run)), 4000);
    }
    return true;
  }
}
