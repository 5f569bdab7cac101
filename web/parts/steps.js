// The four steps from a scan to a result, and which of them is next.
import { text } from '../text.js';
import { make } from './make.js';

const stored = 'credence-steps';

export class Steps {
  constructor(page) {
    Object.assign(this, { page, moved: false });
    const hide = make('button', { type: 'button', className: 'quiet' }, text.hideSteps);
    hide.addEventListener('click', () => this.show(false));
    this.items = text.fourSteps.map(step => this.item(step));
    this.root = make('section', { id: 'steps', ariaLabel: text.stepsTitle }, make('div', { className: 'row' }, make('h3', {}, text.stepsTitle), hide), make('ol', {}, ...this.items.map(item => item.node)));
    page.view.addEventListener('change', ({ detail }) => {
      if (detail === 'place' || detail === 'pan' || detail === 'zoom') this.moved = true;
      this.update();
    });
    page.paint.addEventListener('change', () => this.update());
    this.show(this.shown);
  }

  get shown() { try { return localStorage.getItem(stored) !== 'off'; } catch { return true; } }

  show(on) {
    try { localStorage.setItem(stored, on ? 'on' : 'off'); } catch { /* for this tab only */ }
    this.root.hidden = !on;
    this.update();
  }

  item({ name, hint, go }) {
    const button = make('button', { type: 'button' }, name), mark = make('span', { className: 'mark', ariaHidden: 'true' }), said = make('span', { className: 'unseen' });
    button.addEventListener('click', () => this.go(go));
    return { button, mark, said, node: make('li', {}, make('div', {}, mark, button, said), make('p', {}, hint)) };
  }

  go(where) {
    const { page } = this;
    if (where === 'labels') page.paint.choose('brush');
    page.tabs.show(where === 'regions' && !page.regions ? 'train' : where);
  }

  // Each is done once there is what it leads to; the last one goes on for ever.
  get done() {
    const { paint, jobs, view } = this.page;
    const painted = paint.state.counts.filter(count => count > 0).length > 1 || Boolean(jobs?.trainable && !paint.state.made);
    const predicted = view.runs.length > 0, trained = Boolean(jobs?.hasModel);
    return [this.moved || painted || trained || predicted, painted || trained || predicted, trained || predicted, false];
  }

  update() {
    if (this.root.hidden) return;
    const { done } = this, next = done.indexOf(false), words = `${done}`;
    if (words === this.words) return;
    this.words = words;
    this.items.forEach(({ node, mark, said, button }, i) => {
      node.className = i === next ? 'next' : done[i] ? 'done' : '';
      mark.textContent = done[i] ? '✓' : String(i + 1);
      said.textContent = done[i] ? text.stepDone : '';
      if (i === next) button.setAttribute('aria-current', 'step');
      else button.removeAttribute('aria-current');
    });
  }
}
