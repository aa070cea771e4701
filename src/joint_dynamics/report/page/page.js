'use strict';
// Colours, numbers and arrays of the page. Whoever draws listens for `themechange`.
const page = (() => {
  const MISSING = -32768;
  const root = document.documentElement;
  const probe = document.body.appendChild(document.createElement('i'));
  probe.hidden = true;
  const say = () => document.dispatchEvent(new Event('themechange'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', say);
  addEventListener('beforeprint', () => { root.dataset.theme = 'light'; say(); }); // paper is white
  addEventListener('afterprint', () => { delete root.dataset.theme; say(); });
  return {
    colour: name => {
      probe.style.color = `var(--${name})`;
      return getComputedStyle(probe).color;
    },
    shown: value => (value === null || value === undefined || Number.isNaN(value)
      ? '–' : String(+value.toPrecision(4)).replace('-', '−')),
    // These undo the packing of report/figure.py.
    inflated: async text => {
      const packed = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
      const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
      return new Uint8Array(await new Response(stream).arrayBuffer());
    },
    // An array with null where there is no value; typed where there is one everywhere.
    decoded: ({ kind, n, at, start, step }, bytes) => {
      if (kind === 'ramp') return Float64Array.from({ length: n }, (_, k) => start + step * k);
      const found = new Float64Array(n);
      let code = 0, missing = false;
      for (let k = 0; k < n; k++) {
        code = (code + bytes[at + k] + (bytes[at + n + k] << 8)) & 0xffff;
        const signed = code > 32767 ? code - 65536 : code;
        missing ||= signed === MISSING;
        found[k] = signed === MISSING ? NaN : start + step * signed;
      }
      return missing ? Array.from(found, value => (Number.isNaN(value) ? null : value)) : found;
    },
  };
})();
