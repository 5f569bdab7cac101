// What lies over the page: the list of keys, a question before something that can't be taken back, and the end.
import { text } from '../text.js';
import { letters } from './keys.js';
import { make } from './make.js';

const button = (words, work, main = false) => {
  const made = make('button', { type: 'button', className: main ? 'main' : '' }, words);
  made.addEventListener('click', work);
  return made;
};

function open(dialog, ...nodes) {
  document.body.append(dialog);
  dialog.append(...nodes);
  dialog.addEventListener('close', () => dialog.remove());
  dialog.showModal();
}

// "[Ctrl] wheel" with its keys as keys.
function withKeys(words) {
  return words.split(/(\[(?:\]|[^\]]+)\])/).filter(Boolean).map(part => (part[0] === '[' ? make('kbd', {}, part.slice(1, -1)) : part));
}

export function showKeys(steps) {
  const dialog = make('dialog', { id: 'keys', 'aria-labelledby': 'keys-title' });
  const check = (words, checked, work) => {
    const box = make('input', { type: 'checkbox', checked });
    box.addEventListener('change', () => work(box.checked));
    return make('label', {}, box, ` ${words}`);
  };
  const rows = text.keyRows.map(([keys, does]) => make('tr', {}, make('th', { scope: 'row' }, ...withKeys(keys)), make('td', {}, does)));
  open(dialog, make('h2', { id: 'keys-title' }, text.keysTitle), make('table', {}, make('tbody', {}, ...rows)),
    make('div', { className: 'row' }, make('span', {}, check(text.lettersOff, letters.on, on => { letters.on = on; }), ' ', check(text.stepsShown, steps.shown, on => steps.show(on))),
      button(text.close, () => dialog.close())));
  dialog.tabIndex = -1; /* its beginning is seen, not the first of its buttons */
  dialog.focus();
}

// True where the user wants it; Escape and "Cancel" don't.
export function ask(title, words, yes) {
  return new Promise(done => {
    const dialog = make('dialog', { className: 'question', 'aria-labelledby': 'question-title', 'aria-describedby': 'question-words' });
    let wanted = false;
    dialog.addEventListener('close', () => done(wanted));
    const stay = button(text.cancel, () => dialog.close());
    open(dialog, make('h2', { id: 'question-title' }, title), make('p', { id: 'question-words' }, words), make('div', { className: 'row end' }, stay, button(yes, () => {
      wanted = true;
      dialog.close();
    }, true)));
    stay.focus();
  });
}

// Nothing goes on behind it: another program, or another project, answers at this address.
export function stop(words) {
  if (document.getElementById('stopped')) return;
  const dialog = make('dialog', { id: 'stopped', className: 'question', role: 'alertdialog', 'aria-labelledby': 'stopped-words' });
  dialog.addEventListener('cancel', event => event.preventDefault());
  open(dialog, make('p', { id: 'stopped-words' }, words), make('div', { className: 'row end' }, button(text.reload, () => location.reload(), true)));
}
