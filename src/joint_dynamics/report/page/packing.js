'use strict';
// Undoes the packing of report/figure_html.py.
const packing = (() => {
  const MISSING = -32768;
  const inflated = async text => {
    const packed = atob(text), bytes = new Uint8Array(packed.length);
    for (let k = 0; k < packed.length; k++) bytes[k] = packed.charCodeAt(k);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  // An array with null where there is no value; typed where there is one everywhere.
  const decoded = (entry, bytes) => {
    const found = new Float64Array(entry.n);
    if (entry.kind === 'ramp') {
      for (let k = 0; k < entry.n; k++) found[k] = entry.start + entry.step * k;
      return found;
    }
    const { n, at } = entry;
    let code = 0, missing = false;
    for (let k = 0; k < n; k++) {
      code = (code + bytes[at + k] + (bytes[at + n + k] << 8)) & 0xffff;
      const signed = code > 32767 ? code - 65536 : code;
      missing ||= signed === MISSING;
      found[k] = signed === MISSING ? NaN : entry.start + entry.step * signed;
    }
    return missing ? Array.from(found, value => (Number.isNaN(value) ? null : value)) : found;
  };
  return { inflated, decoded };
})();
