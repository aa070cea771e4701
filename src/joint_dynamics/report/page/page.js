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
