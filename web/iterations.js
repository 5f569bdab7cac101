// Iterations: each training with what came of it, the latest first.
import { make } from './panel.js';
import { text } from './text.js';

// A value of an option in a command line.
const option = (job, name) => new RegExp(`--${name} (\\S+)`).exec(job.command)?.[1];

export class History {
  constructor(page) {
    this.page = page;
    this.panel = make('div');
    this.load([]);
  }

  load(iterations) {
    this.panel.replaceChildren(...(iterations.length ? [...iterations].reverse().map(one => this.card(one)) : [make('p', { className: 'soft' }, text.noIterations)]));
  }

  card({ number, jobs }) {
    const training = jobs.find(job => job.do === 'train'), runs = jobs.filter(job => job.do === 'predict');
    const head = make('h3', {}, text.ofIteration(number));
    const part = make('section', { className: 'job', ariaLabel: text.ofIteration(number) }, head);
    if (training) {
      head.append(this.state(training));
      part.append(make('p', { className: 'small' }, this.facts(training)));
    }
    if (training?.state === 'done' || !training) {
      const use = make('button', { type: 'button' }, text.useModel);
      use.addEventListener('click', () => this.page.jobs.predictWith(number));
      part.append(make('div', { className: 'row' }, use));
    }
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

  facts({ result, command }) {
    if (!result) return '';
    const from = /--init \S*iterations\/0*(\d+)\/model\.h5/.exec(command)?.[1], right = result.heldout?.accuracy;
    return [text.trained(result), from ? text.warmFrom(text.ofIteration(Number(from))) : '', typeof right === 'number' ? text.onHeldOut(right) : text.noHeldOut].filter(Boolean).join(', ');
  }
}
