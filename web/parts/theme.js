// Light, dark, or as the system has it.
import { text } from '../text.js';

const stored = 'credence-theme', names = ['system', 'light', 'dark'];

export function buildTheme(button) {
  let theme = 'system';
  try { theme = localStorage.getItem(stored) ?? 'system'; } catch { /* the system's */ }
  if (!names.includes(theme)) theme = 'system';
  const show = () => {
    if (theme === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = text.themes[theme];
  };
  button.addEventListener('click', () => {
    theme = names[(names.indexOf(theme) + 1) % names.length];
    try { localStorage.setItem(stored, theme); } catch { /* for this tab only */ }
    show();
  });
  show();
}
