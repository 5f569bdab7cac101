// What was painted, on its way to the server: one after the other, kept as long as the server can't be reached, and sent
// again with the same id, so that nothing is done twice.
import { getJson, send } from '../api.js';
import { text } from '../text.js';

const limit = 200, waits = [500, 1000, 2000, 4000, 8000, 10000];

const newId = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), byte => byte.toString(16).padStart(2, '0')).join('');

export class Queue {
  constructor(page, state) {
    Object.assign(this, { page, items: [], revision: state.revision, busy: false, tries: 0, trusted: true });
    addEventListener('beforeunload', event => { if (this.items.length > 0) event.preventDefault(); });
  }

  get full() { return this.items.length >= limit; }

  // `path` is labels, labels/undo or labels/redo. `item.cover` is drawn until the server's tiles show it.
  add(path, operation, cover = null) {
    if (this.full) {
      this.page.notice(text.queueFull(limit));
      return null;
    }
    const item = { path, operation: { ...operation, id: newId() }, cover, value: operation.value, shown: null };
    this.items.push(item);
    this.page.said();
    this.run();
    return item;
  }

  // The line was cut, or nobody listened: whoever answers now may be another server.
  doubt() { this.trusted = false; }

  // Is it still the one that all this was painted for?
  async trust() {
    if (this.trusted) return true;
    try { this.trusted = await this.page.sameServer(); } catch { this.later(); }
    return this.trusted;
  }

  later() {
    this.timer = setTimeout(() => {
      this.timer = null;
      this.run();
    }, waits[Math.min(this.tries++, waits.length - 1)]);
  }

  // All that waits, soon.
  hurry() {
    this.tries = 0;
    clearTimeout(this.timer);
    this.timer = null;
    this.run();
  }

  async run() {
    if (this.busy || this.timer || this.stopped) return;
    this.busy = true;
    while (this.items.length > 0 && !this.stopped) {
      const item = this.items[0];
      if (!await this.trust()) break;
      try {
        const answer = await send('POST', item.path, { ...item.operation, revision: this.revision });
        this.revision = Math.max(this.revision, answer.revision);
        this.tries = 0;
        this.items.shift();
        this.page.painted(item, answer);
      } catch (error) {
        if (!await this.failed(item, error)) break;
      }
    }
    this.busy = false;
    this.page.said();
  }

  // True: go on at once.
  async failed(item, error) {
    if (error.code === 'old_revision') {
      try {
        this.page.paintState(await getJson('state'));
        return true;
      } catch { /* as if it couldn't be reached */ }
    } else if (error.status >= 400 && error.status < 500) { // refused: it would be so again
      this.items.shift();
      this.page.refused(item, error);
      return true;
    }
    if (error.status >= 500) this.page.notice(text.askedAgain(error.message));
    else this.doubt();
    this.later();
    return false;
  }
}
