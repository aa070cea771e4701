'use strict';
// Figures to zoom into and to read: each takes the place of its static drawing when it comes into view.
(() => {
  const root = document.documentElement;
  const colour = name => getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  const faint = name => `color-mix(in srgb, ${colour(name)} 16%, transparent)`;
  const shown = value => (value === null || value === undefined || Number.isNaN(value)
    ? '–' : String(+value.toPrecision(4)).replace('-', '−'));
  const HELP = 'drag: zoom; double click: all; keys: ← → read, Shift + ← → move, + − zoom, 0 all';
  const live = [];

  const difference = (a, b) => Float64Array.from(a, (value, k) => value - b[k]);

  // uPlot's data and series of one panel; a band's edges are series of their own, without a line.
  const made = (panel, bytes) => {
    const cache = new Map();
    const array = entry => {
      const key = JSON.stringify(entry);
      if (!cache.has(key)) cache.set(key, packing.decoded(entry, bytes));
      return cache.get(key);
    };
    const data = [array(panel.x)], series = [{}], bands = [], whiskers = [], ways = [], ys = [];
    for (const row of panel.series) ys.push(row.difference ? null : array(row.y));
    panel.series.forEach((row, k) => {
      if (row.difference) ys[k] = difference(ys[row.difference[0]], ys[row.difference[1]]);
    });
    panel.series.forEach((row, k) => {
      const points = row.kind === 'points', few = panel.x.n < 60;
      data.push(ys[k]);
      series.push({
        label: row.label, spanGaps: true, stroke: () => colour(row.colour), width: points ? 0 : 1.2,
        dash: row.dashed ? [5, 4] : undefined,
        paths: points || row.way ? () => null : row.kind === 'step' ? uPlot.paths.stepped({ align: 1 }) : undefined,
        points: { show: points, size: few ? 7 : 4, width: 0, fill: () => colour(row.colour) },
      });
      if (row.way) ways.push({ row, x: array(row.way.x), y: array(row.way.y), at: series.length - 1 });
      if (!row.low) return;
      const low = array(row.low), high = array(row.high);
      const edge = { stroke: null, width: 0, spanGaps: true, points: { show: false }, hidden: true };
      data.push(high, low);
      if (points) {
        whiskers.push({ row, low, high, at: series.length - 1 });
        series.push({ ...edge, paths: () => null }, { ...edge, paths: () => null });
      } else {
        bands.push({ series: [series.length, series.length + 1], fill: () => faint(row.colour) });
        series.push({ ...edge }, { ...edge });
      }
    });
    return { data, series, bands, whiskers, ways };
  };

  // The sample that is nearest on the screen: a line that turns back has several at one abscissa.
  const nearest = (plot, k, index) => {
    const xs = plot.data[0], ys = plot.data[k], { left, top } = plot.cursor, reach = plot.posToVal(24, 'x') - plot.posToVal(0, 'x');
    if (k === 0 || left < 0) return index;
    let found = null, least = Infinity;
    const look = at => {
      if (ys[at] === null || Number.isNaN(ys[at])) return;
      const far = Math.hypot(plot.valToPos(xs[at], 'x') - left, plot.valToPos(ys[at], 'y') - top);
      if (far < least) { least = far; found = at; }
    };
    for (let at = index; at >= 0 && xs[index] - xs[at] < reach; at--) look(at);
    for (let at = index + 1; at < xs.length && xs[at] - xs[index] < reach; at++) look(at);
    return found;
  };

  // A line as it goes, back and forth.
  const way = (plot, x, y, stroke, dashed) => {
    const pen = plot.ctx, { left, top, width, height } = plot.bbox;
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    pen.strokeStyle = stroke;
    pen.lineWidth = 1.2 * devicePixelRatio;
    pen.setLineDash(dashed ? [5 * devicePixelRatio, 4 * devicePixelRatio] : []);
    pen.beginPath();
    let on = false;
    for (let k = 0; k < x.length; k++) {
      const there = y[k] !== null && !Number.isNaN(y[k]);
      if (there) pen[on ? 'lineTo' : 'moveTo'](plot.valToPos(x[k], 'x', true), plot.valToPos(y[k], 'y', true));
      on = there;
    }
    pen.stroke();
    pen.restore();
  };

  const build = async figure => {
    const specification = JSON.parse(figure.querySelector('script.specification').textContent);
    const source = figure.querySelector('script.arrays');
    const bytes = await packing.inflated(source.textContent);
    const plots = [], panels = [...figure.querySelectorAll('.panel')];
    const { linked, clock } = specification;
    let busy = false, quiet = false;
    const each = (plot, work) => {
      if (busy) return;
      busy = true;
      for (const other of linked ? plots : [plot]) work(other);
      busy = false;
    };
    const zoom = (plot, min, max) => {
      const xs = plot.data[0], first = xs[0], last = xs[xs.length - 1], span = Math.min(max - min, last - first);
      const from = Math.max(first, Math.min(min, last - span));
      each(plot, other => other.setScale('x', { min: from, max: from + span }));
    };
    const all = plot => each(plot, other => other.setData(other.data, true));
    const range = plot => [plot.scales.x.min, plot.scales.x.max];
    const about = plot => (plot.cursor.left >= 0 ? plot.posToVal(plot.cursor.left, 'x') : (range(plot)[0] + range(plot)[1]) / 2);
    const scaled = (plot, factor) => {
      const [min, max] = range(plot), middle = about(plot);
      zoom(plot, middle - (middle - min) * factor, middle + (max - middle) * factor);
    };
    const moved = (plot, share) => {
      const [min, max] = range(plot);
      zoom(plot, min + share * (max - min), max + share * (max - min));
    };
    const read = (plot, value) => {
      const [min, max] = range(plot), x = Math.max(min, Math.min(max, value));
      plot.setCursor({ left: plot.valToPos(x, 'x'), top: plot.over.clientHeight / 2 }, true, true);
      tell(plot, x);
    };
    const tell = (plot, t) => {
      if (clock && !quiet) document.dispatchEvent(new CustomEvent('clock', { detail: { clock, t, from: figure } }));
    };

    const tools = document.createElement('div');
    tools.className = 'tools';
    tools.setAttribute('role', 'toolbar');
    tools.setAttribute('aria-label', 'zoom');
    const targets = () => (linked ? plots.slice(0, 1) : plots);
    for (const [text, label, work] of [
      ['◀', 'move left', plot => moved(plot, -0.25)], ['▶', 'move right', plot => moved(plot, 0.25)],
      ['+', 'zoom in', plot => scaled(plot, 0.5)], ['−', 'zoom out', plot => scaled(plot, 2)], ['all', 'show all', all],
    ]) {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = text;
      button.title = label;
      button.setAttribute('aria-label', label);
      button.addEventListener('click', () => targets().forEach(work));
      tools.append(button);
    }
    const bar = document.createElement('div'), hint = document.createElement('span');
    bar.className = 'bar';
    hint.className = 'hint';
    hint.textContent = HELP;
    const legend = figure.querySelector('.legend');
    if (legend) {
      bar.append(legend);
      for (const item of legend.children) {
        const button = document.createElement('button'), label = item.dataset.label;
        button.type = 'button';
        button.setAttribute('aria-pressed', 'true');
        button.append(...item.childNodes);
        item.append(button);
        button.addEventListener('click', () => {
          const show = button.getAttribute('aria-pressed') !== 'true';
          button.setAttribute('aria-pressed', String(show));
          for (const plot of plots) plot.names.forEach((name, k) => name === label && plot.setSeries(k, { show }));
        });
      }
    }
    bar.append(hint, tools);
    figure.prepend(bar);

    const columns = +figure.dataset.columns, last = specification.panels.length;
    const labelled = index => specification.x_label && index >= last - columns;

    specification.panels.forEach((panel, index) => {
      const holder = document.createElement('div'), output = panels[index].querySelector('output');
      holder.className = 'plot';
      holder.tabIndex = 0;
      holder.setAttribute('role', 'group');
      holder.setAttribute('aria-roledescription', 'figure to zoom into');
      holder.setAttribute('aria-label', `${panel.title}, ${panel.unit}. ${HELP}`);
      panels[index].append(holder);
      const { data, series, bands, whiskers, ways } = made(panel, bytes);
      const axis = linked && columns === 1 ? index === last - 1 : true;
      const names = [null];
      let label = '';
      for (const row of panel.series) {
        label = row.label || label;
        names.push(label, ...(row.low ? [label, label] : []));
      }
      const line = { stroke: () => colour('soft'), font: '11px system-ui, sans-serif',
        grid: { stroke: () => colour('line'), width: 1 }, ticks: { stroke: () => colour('line'), width: 1, size: 4 } };
      const options = {
        width: Math.max(160, holder.clientWidth), height: specification.height + (axis ? (labelled(index) ? 44 : 28) : 8),
        legend: { show: false }, bands,
        cursor: { sync: linked ? { key: figure.id, scales: ['x', null] } : undefined,
          drag: { x: true, y: !linked, uni: linked ? Infinity : 24 }, y: !linked, points: { size: 6 },
          dataIdx: ways.length ? nearest : undefined },
        scales: { x: { time: false }, y: { distr: panel.log ? 3 : 1 } },
        axes: [
          axis ? { ...line, gap: 2, ...(labelled(index)
            ? { size: 26, label: specification.x_label, labelSize: 14, labelGap: -4, labelFont: '11px system-ui, sans-serif' } : { size: 22 }) }
            : { ...line, size: 4, values: () => [], ticks: { show: false } },
          { ...line, size: 52, gap: 3, space: 26 },
        ],
        padding: [9, 8, 0, 0], pxAlign: 0, series,
        hooks: {
          setScale: [(plot, key) => {
            if (key !== 'x' || busy || !linked) return;
            const [min, max] = range(plot);
            each(plot, other => other !== plot && other.setScale('x', { min, max }));
          }],
          setCursor: [plot => {
            const k = plot.cursor.idx;
            if (k === null || k === undefined || plot.cursor.left < 0) { output.textContent = ''; return; }
            const values = panel.series.map((row, at) => [row.label, plot.data[plot.places[at]][plot.cursor.idxs[plot.places[at]] ?? k]])
              .filter(([name, value]) => name && value !== null && value !== undefined);
            output.textContent = [`${specification.x_label.split(' [')[0]} ${shown(plot.data[0][k])}`,
              ...values.map(([name, value]) => `${name} ${shown(value)}`)].join('   ');
            if (plot.cursor.event) tell(plot, plot.data[0][k]);
          }],
          draw: [plot => {
            const pen = plot.ctx;
            for (const { row, x, y, at } of ways) if (plot.series[at].show !== false) way(plot, x, y, colour(row.colour), row.dashed);
            for (const { row, low, high, at } of whiskers) {
              if (plot.series[at].show === false) continue;
              pen.save();
              pen.strokeStyle = colour(row.colour);
              pen.lineWidth = devicePixelRatio;
              pen.beginPath();
              for (let k = 0; k < low.length; k++) {
                if (low[k] === null || high[k] === null) continue;
                const x = plot.valToPos(plot.data[0][k], 'x', true);
                pen.moveTo(x, plot.valToPos(low[k], 'y', true));
                pen.lineTo(x, plot.valToPos(high[k], 'y', true));
              }
              pen.stroke();
              pen.restore();
            }
          }],
        },
      };
      const plot = new uPlot(options, data, holder);
      plot.names = names;
      plot.places = [];
      let place = 1;
      for (const row of panel.series) { plot.places.push(place); place += row.low ? 3 : 1; }
      plots.push(plot);
      holder.range = () => range(plot);
      live.push(plot);
      holder.addEventListener('keydown', event => {
        const [min, max] = range(plot), step = (max - min) / 100;
        const work = {
          ArrowLeft: () => (event.shiftKey ? moved(plot, -0.25) : read(plot, about(plot) - step)),
          ArrowRight: () => (event.shiftKey ? moved(plot, 0.25) : read(plot, about(plot) + step)),
          '+': () => scaled(plot, 0.5), '=': () => scaled(plot, 0.5), '-': () => scaled(plot, 2),
          0: () => all(plot), Escape: () => all(plot),
        }[event.key];
        if (!work || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        work();
      });
      new ResizeObserver(() => {
        const width = Math.max(160, holder.clientWidth);
        if (holder.clientWidth && width !== plot.width) plot.setSize({ width, height: options.height });
      }).observe(holder);
    });
    if (clock) {
      document.addEventListener('clock', event => {
        if (event.detail.clock !== clock || event.detail.from === figure) return;
        quiet = true;
        const plot = plots[0], x = event.detail.t, [min, max] = range(plot);
        const left = x < min || x > max ? -10 : plot.valToPos(x, 'x');
        plot.setCursor({ left, top: left < 0 ? -10 : plot.over.clientHeight / 2 }, true, true);
        quiet = false;
      });
    }
    figure.classList.add('live');
    for (const plot of plots) plot.setSize({ width: Math.max(160, plot.root.parentNode.clientWidth), height: plot.height });
    source.remove();
    figure.dispatchEvent(new CustomEvent('drawn', { bubbles: true }));
  };

  document.addEventListener('themechange', () => { for (const plot of live) plot.redraw(false); });
  if (typeof DecompressionStream === 'undefined') return; // the static drawings stay
  const watcher = new IntersectionObserver(entries => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      watcher.unobserve(entry.target);
      build(entry.target);
    }
  }, { rootMargin: '600px' });
  for (const figure of document.querySelectorAll('figure.chart:has(> script.arrays)')) watcher.observe(figure);
})();
