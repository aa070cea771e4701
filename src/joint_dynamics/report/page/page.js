'use strict';
// The switch between the system's colours, light and dark. Whoever draws listens for `themechange`.
const page = (() => {
  const root = document.documentElement, button = document.getElementById('theme'), names = ['system', 'light', 'dark'];
  const probe = document.body.appendChild(document.createElement('i'));
  probe.hidden = true;
  const say = () => document.dispatchEvent(new Event('themechange'));
  const choose = name => {
    if (name === 'system') delete root.dataset.theme;
    else root.dataset.theme = name;
    say();
  };
  let chosen = 'system';
  button.hidden = false;
  button.addEventListener('click', () => {
    chosen = names[(names.indexOf(chosen) + 1) % names.length];
    button.textContent = `theme: ${chosen}`;
    choose(chosen);
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', say);
  addEventListener('beforeprint', () => choose('light')); // paper is white
  addEventListener('afterprint', () => choose(chosen));
  // A long name in a table goes on after an underscore, not in the middle of a word.
  for (const cell of document.querySelectorAll('th, td:first-child')) {
    for (const text of [...cell.childNodes].filter(node => node.nodeType === Node.TEXT_NODE && node.length > 12)) {
      const parts = text.data.split(/(?<=_)/);
      text.replaceWith(...parts.flatMap((part, k) => k ? [document.createElement('wbr'), part] : [part]));
    }
  }
  return {
    colour: name => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color;
    },
    shown: value => (value === null || value === undefined || Number.isNaN(value)
      ? '–' : String(+value.toPrecision(4)).replace('-', '−')),
  };
})();
