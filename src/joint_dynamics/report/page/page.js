'use strict';
// The switch between the system's colours, light and dark. Whoever draws listens for `themechange`.
(() => {
  const button = document.getElementById('theme'), names = ['system', 'light', 'dark'];
  let chosen = 0;
  const say = () => document.dispatchEvent(new Event('themechange'));
  button.hidden = false;
  button.addEventListener('click', () => {
    chosen = (chosen + 1) % names.length;
    if (chosen) document.documentElement.dataset.theme = names[chosen];
    else delete document.documentElement.dataset.theme;
    button.textContent = `theme: ${names[chosen]}`;
    say();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', say);
})();
// A long name that is wider than its column goes on after an underscore, not in the middle of a word.
for (const cell of document.querySelectorAll('th, td:first-child')) {
  for (const text of [...cell.childNodes].filter(node => node.nodeType === Node.TEXT_NODE && node.length > 12)) {
    const parts = text.data.split(/(?<=_)/);
    text.replaceWith(...parts.flatMap((part, k) => k ? [document.createElement('wbr'), part] : [part]));
  }
}
