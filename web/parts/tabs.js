// The tabs of the right panel: one can be reached by Tab, the others from there by arrows.
import { text } from '../text.js';
import { make } from './make.js';

export class Tabs {
  constructor(list, panels) {
    Object.assign(this, { list, panels, items: [] });
    list.setAttribute('aria-label', text.tabs);
    list.addEventListener('keydown', event => this.key(event));
  }

  add(id, name, panel, { before = null, opened = null } = {}) {
    const tab = make('button', { type: 'button', role: 'tab', id: `tab-${id}`, 'aria-controls': `panel-${id}`, 'aria-selected': 'false', tabIndex: -1 }, name);
    tab.addEventListener('click', () => this.show(id));
    panel.id = `panel-${id}`;
    panel.setAttribute('role', 'tabpanel');
    panel.setAttribute('aria-labelledby', tab.id);
    panel.hidden = true;
    const at = before ? this.items.findIndex(item => item.id === before) : this.items.length;
    this.list.insertBefore(tab, this.items[at]?.tab ?? null);
    this.items.splice(at, 0, { id, tab, panel, opened });
    this.panels.append(panel);
    if (this.items.length === 1) this.show(id);
  }

  show(id) {
    const found = this.items.find(item => item.id === id);
    if (!found) return;
    for (const { tab, panel } of this.items) {
      panel.hidden = panel !== found.panel;
      tab.setAttribute('aria-selected', String(!panel.hidden));
      tab.tabIndex = panel.hidden ? -1 : 0;
    }
    this.panels.scrollTop = 0;
    found.opened?.();
  }

  key(event) {
    const at = this.items.findIndex(item => item.tab === event.target), { length } = this.items;
    const next = { ArrowLeft: (at + length - 1) % length, ArrowRight: (at + 1) % length, Home: 0, End: length - 1 }[event.key];
    if (at < 0 || next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.show(this.items[next].id);
    this.items[next].tab.focus();
  }
}
