'use strict';
// Figures to zoom into and to read, drawn by uPlot.
(() => {
  const { colour, shown } = page;
  const FONT = '11px system-ui, sans-serif';
  const PAPER = 680; // pixels between the margins of a printed page
  const SMALLEST = 160; // pixels, of a panel
  const live = [];

  // uPlot's data and series of one panel; the edges of a band are series of their own, without a line.
  const made = (panel, bytes, above) => {
    const cache = new Map();
    const array = entry => {
      const key = JSON.stringify(entry);
      if (!cache.has(key)) cache.set(key, page.decoded(entry, bytes));
      return cache.get(key);
    };
    const data = [array(panel.x)], series = [{}], bands = [], drawn = [];
    const size = panel.x.n < 60 ? 7 : 4;
    let label = '';
    for (const row of panel.series) {
      const points = row.kind === 'points', stroke = () => colour(row.colour);
      label = row.label || label;
      const values = row.difference
        ? Float64Array.from(above[row.difference[0]], (value, k) => value - above[row.difference[1]][k]) : array(row.y);
      const one = {
        label, named: row.label, spanGaps: true, stroke, width: points ? 0 : row.colour === 'measured' ? 2.4 : 1.2,
        dash: row.dashed ? [5, 4] : undefined,
        points: { show: points, size, width: 0, fill: stroke },
      };
      if (points || row.path) one.paths = () => null;
      data.push(values);
      series.push(one);
      if (row.path) drawn.push({ one, row, lines: [array(row.path.x), array(row.path.y)] });
      if (!row.low) continue;
      const low = array(row.low), high = array(row.high), edge = { label, stroke: null, width: 0, spanGaps: true, points: { show: false } };
      if (points) drawn.push({ one, row, whiskers: [data[0], low, high] });
      else {
        data.push(high, low);
        bands.push({
          series: [series.length, series.length + 1],
          fill: () => `color-mix(in srgb, ${colour(row.colour)} 22%, transparent)`,
        });
        series.push({ ...edge }, { ...edge });
      }
    }
    return { data, series, bands, drawn };
  };

  // Whiskers of points, and lines that turn back, which uPlot does not draw.
  const draw = (plot, { one, row, lines, whiskers }) => {
    if (one.show === false) return;
    const pen = plot.ctx, { left, top, width, height } = plot.bbox, ratio = devicePixelRatio;
    const at = (x, y) => [plot.valToPos(x, 'x', true), plot.valToPos(y, 'y', true)];
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    pen.strokeStyle = colour(row.colour);
    pen.lineWidth = (lines ? 1.2 : 1) * ratio;
    pen.setLineDash(row.dashed ? [5 * ratio, 4 * ratio] : []);
    pen.beginPath();
    const [x, y, high] = lines ?? whiskers;
    let on = false;
    for (let k = 0; k < x.length; k++) {
      const there = Number.isFinite(y[k]);
      if (there) pen[on && lines ? 'lineTo' : 'moveTo'](...at(x[k], y[k]));
      if (there && whiskers) pen.lineTo(...at(x[k], high[k]));
      on = there;
    }
    pen.stroke();
    pen.restore();
  };

  const build = async figure => {
    const { panels, x_label, linked, clock, columns } = JSON.parse(figure.querySelector('script.specification').textContent);
    const source = figure.querySelector('script.arrays'), bytes = await page.inflated(source.textContent);
    const plots = [], places = figure.querySelectorAll('.plot'), outputs = figure.querySelectorAll('output');
    const cells = [...figure.querySelectorAll('.cells > div')];
    let busy = false, quiet = false;
    // A signal that never changes lies in the middle of its panel.
    const padded = (low, high) => (low === null ? [null, null]
      : low === high ? [low - 1, high + 1] : uPlot.rangeNum(low, high, 0.1, true));
    const range = plot => [plot.scales.x.min, plot.scales.x.max];
    const each = (plot, work) => {
      if (busy) return;
      busy = true;
      (linked ? plots : [plot]).forEach(work);
      busy = false;
    };
    const zoom = (plot, min, max) => {
      const xs = plot.data[0], first = xs[0], end = xs[xs.length - 1], span = Math.min(max - min, end - first);
      const from = Math.max(first, Math.min(min, end - span));
      each(plot, other => other.setScale('x', { min: from, max: from + span }));
    };
    const tell = (plot, t) => {
      if (clock && !quiet) document.dispatchEvent(new CustomEvent('clock', { detail: { clock, t, from: figure } }));
    };
    const read = (plot, value) => {
      const [min, max] = range(plot), x = Math.max(min, Math.min(max, value));
      plot.setCursor({ left: plot.valToPos(x, 'x'), top: plot.over.clientHeight / 2 }, true, true);
      tell(plot, x);
    };
    const pressed = (plot, event) => {
      const [min, max] = range(plot), span = max - min;
      const at = plot.cursor.left >= 0 ? plot.posToVal(plot.cursor.left, 'x') : (min + max) / 2;
      const scaled = factor => zoom(plot, at - (at - min) * factor, at + (max - at) * factor);
      const moved = sign => (event.shiftKey
        ? zoom(plot, min + 0.25 * sign * span, max + 0.25 * sign * span) : read(plot, at + 0.01 * sign * span));
      const work = {
        ArrowLeft: () => moved(-1), ArrowRight: () => moved(1), '+': () => scaled(0.5), '-': () => scaled(2),
        0: () => each(plot, other => other.setData(other.data, true)),
      }[event.key];
      if (!work || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      work();
    };

    panels.forEach((panel, index) => {
      const holder = places[index], output = outputs[index];
      const { data, series, bands, drawn } = made(panel, bytes, plots.at(-1)?.data.slice(1));
      const labelled = x_label && cells.indexOf(holder.closest('.cells > div')) >= cells.length - columns;
      const line = { stroke: () => colour('soft'), font: FONT, grid: { stroke: () => colour('line'), width: 1 },
        ticks: { stroke: () => colour('line'), width: 1, size: 4 } };
      const bottom = panel.axis ? { ...line, gap: 2, size: 22 } : { ...line, size: 4, values: () => [] };
      if (panel.axis && labelled) Object.assign(bottom, { label: x_label, labelSize: 16, labelGap: -2, labelFont: FONT });
      const plot = new uPlot({
        width: Math.max(SMALLEST, holder.clientWidth), height: panel.height + (panel.axis ? (labelled ? 44 : 28) : 8),
        legend: { show: false }, bands, series, padding: [9, 8, 0, 0], pxAlign: 0,
        cursor: { sync: linked ? { key: figure.id, scales: ['x', null] } : undefined,
          drag: { x: true, y: !linked, uni: linked ? Infinity : 24 }, y: !linked, points: { size: 6 } },
        scales: { x: { time: false }, y: { range: (_, low, high) => padded(low, high) } },
        axes: [bottom, { ...line, size: 52, gap: 3, space: 26 }],
        hooks: {
          setScale: [(plot, key) => {
            const [min, max] = range(plot);
            if (key === 'x' && linked) each(plot, other => other.setScale('x', { min, max }));
          }],
          setCursor: [plot => {
            const { idx, idxs, left } = plot.cursor;
            output.textContent = '';
            if (idx === null || idx === undefined || left < 0) return;
            const values = plot.series.map((one, k) => [one.named, k && plot.data[k][idxs[k] ?? idx]])
              .filter(([name, value]) => name && Number.isFinite(value)).map(([name, value]) => `${name} ${shown(value)}`);
            const t = plot.data[0][idx];
            output.textContent = [`${x_label.split(' [')[0]} ${shown(t)}`, ...values].join('   ');
            if (plot.cursor.event) tell(plot, t);
          }],
          draw: [plot => drawn.forEach(item => draw(plot, item))],
        },
      }, data, holder);
      for (const item of drawn) item.one = plot.series[series.indexOf(item.one)];
      plots.push(plot);
      holder.range = () => range(plot);
      holder.addEventListener('keydown', event => pressed(plot, event));
      const fit = width => { if (width && width !== plot.width) plot.setSize({ width, height: plot.height }); };
      live.push({ plot, screen: () => fit(holder.clientWidth), paper: () => fit(PAPER / Math.min(2, columns)) });
      new ResizeObserver(() => fit(holder.clientWidth)).observe(holder);
    });
    for (const button of figure.querySelectorAll('.legend button')) {
      button.addEventListener('click', () => {
        const show = button.getAttribute('aria-pressed') !== 'true';
        button.setAttribute('aria-pressed', String(show));
        for (const plot of plots) {
          plot.series.forEach((one, k) => one.label === button.dataset.label && plot.setSeries(k, { show }));
        }
      });
    }
    if (clock) {
      document.addEventListener('clock', event => {
        if (event.detail.clock !== clock || event.detail.from === figure) return;
        const plot = plots[0], [min, max] = range(plot), { t } = event.detail;
        const [left, top] = t < min || t > max ? [-10, -10] : [plot.valToPos(t, 'x'), plot.over.clientHeight / 2];
        quiet = true;
        plot.setCursor({ left, top }, true, true);
        quiet = false;
      });
    }
    figure.classList.add('live');
    source.remove();
  };

  document.addEventListener('themechange', () => { for (const { plot } of live) plot.redraw(false); });
  addEventListener('beforeprint', () => { for (const { paper } of live) paper(); });
  addEventListener('afterprint', () => { for (const { screen } of live) screen(); });
  for (const figure of document.querySelectorAll('figure.chart')) {
    const folded = figure.closest('details:not([open])');
    if (folded) folded.addEventListener('toggle', () => build(figure), { once: true });
    else build(figure);
  }
})();
