// The borders between the panes, dragged with the mouse or moved with arrows.
import { text } from '../text.js';

export function listenToSplits(centre, changed) {
  const columns = document.getElementById('split-columns'), rows = document.getElementById('split-rows');
  const shares = { columns: 0.5, rows: 0.5 };
  const show = () => {
    const set = (name, value) => centre.style.setProperty(name, value);
    set('--left', `${shares.columns}fr`);
    set('--right', `${1 - shares.columns}fr`);
    set('--upper', `${shares.rows}fr`);
    set('--lower', `${1 - shares.rows}fr`);
    columns.style.left = `calc(5px + (100% - 15px) * ${shares.columns})`;
    rows.style.top = `calc(5px + (100% - 15px) * ${shares.rows})`;
    columns.setAttribute('aria-valuenow', String(Math.round(100 * shares.columns)));
    rows.setAttribute('aria-valuenow', String(Math.round(100 * shares.rows)));
    changed();
  };
  const move = (which, share) => {
    shares[which] = Math.max(0.15, Math.min(0.85, share));
    show();
  };
  for (const [bar, which] of [[columns, 'columns'], [rows, 'rows']]) {
    bar.setAttribute('aria-label', which === 'columns' ? text.borderColumns : text.borderRows);
    bar.addEventListener('pointerdown', event => { bar.setPointerCapture(event.pointerId); event.preventDefault(); bar.focus(); });
    bar.addEventListener('pointermove', event => {
      if (!bar.hasPointerCapture(event.pointerId)) return;
      const box = centre.getBoundingClientRect();
      move(which, which === 'columns' ? (event.clientX - box.left) / box.width : (event.clientY - box.top) / box.height);
    });
    bar.addEventListener('dblclick', () => move(which, 0.5));
    bar.addEventListener('keydown', event => {
      const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      move(which, shares[which] + 0.02 * step);
    });
  }
  show();
}
