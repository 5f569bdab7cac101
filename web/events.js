// What is new on the server, as long as this tab is seen. fetch, not EventSource: that sends no key.
import { get, headers, ApiError } from './api.js';

export class Events {
  constructor() {
    this.handlers = {};
    this.last = 0;
    this.wait = 500;
    this.stop = null;
    document.addEventListener('visibilitychange', () => (document.hidden ? this.close() : this.open()));
  }

  on(name, handler) { this.handlers[name] = handler; }

  close() {
    this.stop?.abort();
    this.stop = null;
  }

  async open() {
    if (this.stop || this.stopped || document.hidden) return;
    const stop = this.stop = new AbortController();
    while (!stop.signal.aborted) {
      try {
        await this.listen(stop.signal);
      } catch (error) {
        if (stop.signal.aborted) return;
        this.handlers.offline?.(error instanceof ApiError ? error : null);
      }
      await new Promise(done => setTimeout(done, this.wait));
      this.wait = Math.min(this.wait * 2, 10000);
    }
  }

  async listen(signal) {
    const response = await get('events', { signal, headers: { ...headers, 'Last-Event-ID': String(this.last) } });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    this.wait = 500;
    this.handlers.online?.();
    let rest = '';
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop();
      blocks.forEach(block => this.take(block));
    }
  }

  take(block) {
    const field = name => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
    const data = field('data');
    this.last = Number(field('id') ?? this.last);
    if (data !== undefined) this.handlers[field('event')]?.(JSON.parse(data));
  }
}
