// Paint here next: boxes where labels would teach the model most, each to be gone to, and taken as a box to train on.
import { getJson, send } from '../api.js';
import { make } from '../parts/make.js';
import { text } from '../text.js';
import { middleOf } from './boxes.js';

export class Proposals {
  constructor(page) {
    Object.assign(this, { page, list: [], current: null, order: '' });
    this.said = make('p', { className: 'soft small', role: 'status' });
    this.items = make('ol', { className: 'boxes' });
    this.choice = make('select', { ariaLabel: text.proposalOrder }, ...Object.entries(text.proposalOrders).map(([value, words]) => make('option', { value }, words)));
    this.choice.addEventListener('change', () => {
      this.order = this.choice.value;
      this.load();
    });
    page.paint.addEventListener('history', () => this.load());
    this.panel = make('section', { ariaLabel: text.proposals }, make('h3', {}, text.proposals), this.choice, this.said, this.items);
  }

  // Asked for where they are seen, once what asks for them rests.
  load() {
    clearTimeout(this.later);
    this.later = setTimeout(() => this.panel.checkVisibility() && this.fetch(), 300);
  }

  async fetch() {
    let answer;
    try { answer = await getJson(`proposals${this.order ? `?order=${this.order}` : ''}`); } catch (error) {
      this.said.textContent = error.message;
      return;
    }
    this.choice.value = answer.order;
    this.choice.disabled = answer.ready && !answer.run;
    this.list = answer.proposals;
    this.current = this.list.find(item => item.box === this.current?.box) ?? null;
    this.said.textContent = !answer.ready ? text.proposalsWait(answer.there) : this.list.length === 0 ? text.proposalsNone : answer.run ? text.proposalsWhy[answer.order] : text.proposalsRandom;
    this.items.replaceChildren(...this.list.map((item, i) => this.row(item, i)));
    this.page.draw();
    this.page.map.draw();
  }

  row(item, i) {
    const go = make('button', { type: 'button', className: 'go' }, make('b', {}, String(i + 1)), make('span', {}, text.boxAt(item)),
      make('span', { className: 'soft' }, item.excess === null ? '' : text.proposalFigure(item)));
    const take = make('button', { type: 'button', ariaLabel: text.takeProposal(i + 1), title: text.takeProposal(i + 1), disabled: !this.page.paint.state.writable }, text.take);
    go.addEventListener('click', () => this.goTo(item));
    take.addEventListener('click', () => this.take(item));
    return make('li', { className: item === this.current ? 'current' : '' }, go, take);
  }

  goTo(item) {
    this.current = item;
    [...this.items.children].forEach((node, i) => node.classList.toggle('current', this.list[i] === item));
    this.page.showBox(item);
    this.page.say(`${text.boxAt(item)}${item.excess === null ? '' : `, ${text.proposalFigure(item)}`}`);
    this.page.map.draw();
  }

  async take(item) {
    try {
      await send('POST', 'boxes', { role: 'train', box: item.box });
      await this.page.paint.reload();
    } catch (error) { return this.page.notice(error.message); }
    this.page.showBox(item);
    this.page.paint.choose('brush');
    this.page.notice(text.proposalTaken, 6000);
    this.page.view.goTo(middleOf(item), true);
    return this.fetch();
  }
}
