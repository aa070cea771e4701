'use strict';
// A robot that moves: triangles on a plain canvas, farthest first, from poses that report/robot_view.py sampled.
(() => {
  const rgb = name => page.colour(name).match(/[\d.]+/g).slice(0, 3).map(Number);
  const text = number => (Math.round(100 * number) / 100 || 0).toFixed(2).replace('-', '−');
  const clamped = (low, value, high) => Math.max(low, Math.min(high, value));

  const placed = (pose, p) => [
    pose[0] * p[0] + pose[1] * p[1] + pose[2] * p[2] + pose[9],
    pose[3] * p[0] + pose[4] * p[1] + pose[5] * p[2] + pose[10],
    pose[6] * p[0] + pose[7] * p[1] + pose[8] * p[2] + pose[11],
  ];

  const build = async figure => {
    const specification = JSON.parse(figure.querySelector('script.specification').textContent);
    const bytes = await page.inflated(figure.querySelector('script.arrays').textContent);
    const arrays = entries => entries.map(entry => page.decoded(entry, bytes));
    const poses = specification.poses.map(arrays), joints = arrays(specification.joints);
    const path = arrays(specification.path).map(values => [...values]);
    const { frames, step, start, clock, centre, reach } = specification;
    const bodies = specification.shapes.map(shape => ({
      ...shape, triangles: shape.faces.map(face => face.map(k => placed(shape.pose, shape.corners[k]))),
    }));
    const canvas = figure.querySelector('canvas'), slider = figure.querySelector('input');
    const button = figure.querySelector('.play'), clockText = figure.querySelector('.time');
    const nows = figure.querySelectorAll('.now'), values = figure.querySelectorAll('.live');
    const length = (frames - 1) * step;
    let time = 0, playing = false, last = 0, yaw = -0.9, pitch = 0.42, zoom = 1, colours;

    const theme = () => {
      colours = { line: page.colour('line'), path: page.colour('third'), bodies: bodies.map(body => rgb(body.colour)) };
    };
    const poseAt = (rows, t) => {
      const at = clamped(0, t / step, frames - 1), k = Math.min(frames - 2, Math.floor(at)), share = at - k;
      return rows.map(row => row[k] + share * (row[k + 1] - row[k]));
    };
    const draw = () => {
      const width = canvas.clientWidth, height = canvas.clientHeight, ratio = devicePixelRatio || 1;
      if (!width) return;
      if (canvas.width !== Math.round(width * ratio)) {
        canvas.width = Math.round(width * ratio);
        canvas.height = Math.round(height * ratio);
      }
      const pen = canvas.getContext('2d');
      pen.setTransform(ratio, 0, 0, ratio, 0, 0);
      pen.clearRect(0, 0, width, height);
      const [cy, sy, cp, sp] = [Math.cos(yaw), Math.sin(yaw), Math.cos(pitch), Math.sin(pitch)];
      const away = 4 * reach, scale = (zoom * 0.5 * Math.min(width, height)) / reach;
      // Camera: turned about the vertical, tilted, seen from `away`.
      const seen = p => {
        const x = p[0] - centre[0], y = p[1] - centre[1], z = p[2] - centre[2];
        const u = cy * x + sy * y, v = -sy * x + cy * y, depth = cp * v - sp * z, up = sp * v + cp * z;
        const f = away / (away + depth);
        return [width / 2 + scale * f * u, height / 2 - scale * f * up, depth];
      };
      const line = (points, stroke, width) => {
        pen.strokeStyle = stroke;
        pen.lineWidth = width;
        pen.beginPath();
        for (const point of points) pen.lineTo(...seen(point).slice(0, 2));
        pen.stroke();
      };
      const { cell, floor } = specification, edge = 5 * cell;
      for (let at = -edge; at <= 1.001 * edge; at += cell) {
        line([[at, -edge, floor], [at, edge, floor]], colours.line, 1);
        line([[-edge, at, floor], [edge, at, floor]], colours.line, 1);
      }
      const faces = [];
      const light = [0.35, -0.45, 0.82];
      bodies.forEach((body, k) => {
        const pose = body.link < 0 ? [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0] : poseAt(poses[body.link], time);
        const tone = colours.bodies[k];
        for (const triangle of body.triangles) {
          const [a, b, c] = triangle.map(p => placed(pose, p));
          const e = [b[0] - a[0], b[1] - a[1], b[2] - a[2]], f = [c[0] - a[0], c[1] - a[1], c[2] - a[2]];
          const n = [e[1] * f[2] - e[2] * f[1], e[2] * f[0] - e[0] * f[2], e[0] * f[1] - e[1] * f[0]];
          const size = Math.hypot(...n) || 1;
          const screen = [seen(a), seen(b), seen(c)];
          const [p, q, r] = screen;
          if ((q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0]) >= 0) continue; // seen from behind
          const shade = 0.68 + 0.32 * Math.max(0, (n[0] * light[0] + n[1] * light[1] + n[2] * light[2]) / size);
          faces.push([p[2] + q[2] + r[2], screen, `rgb(${tone.map(part => Math.round(part * shade)).join()})`]);
        }
      });
      faces.sort((a, b) => b[0] - a[0]);
      pen.lineWidth = 0.7;
      for (const [, [p, q, r], fill] of faces) {
        pen.fillStyle = pen.strokeStyle = fill;
        pen.beginPath();
        pen.moveTo(p[0], p[1]);
        pen.lineTo(q[0], q[1]);
        pen.lineTo(r[0], r[1]);
        pen.closePath();
        pen.fill();
        pen.stroke(); // covers the seams between neighbours
      }
      line(path[0].map((x, k) => [x, path[1][k], path[2][k]]), colours.path, 1);
      figure.dataset.faces = faces.length;
    };
    const show = (t, tell = true) => {
      time = clamped(0, t, length);
      slider.value = time;
      clockText.textContent = `${(start + time).toFixed(2)} s`;
      slider.setAttribute('aria-valuetext', clockText.textContent);
      const q = poseAt(joints, time);
      nows.forEach((now, j) => {
        const [low, high] = specification.limits[j];
        now.style.left = `${(100 * (q[j] - low)) / (high - low)}%`;
        values[j].textContent = `${text(q[j])} ${specification.units[j]}`;
      });
      draw();
      if (tell) document.dispatchEvent(new CustomEvent('clock', { detail: { clock, t: start + time, from: figure } }));
    };
    const tick = now => {
      if (!playing) return;
      const next = time + Math.min(100, now - last) / 1000;
      last = now;
      if (next > length) play(false);
      show(next > length ? 0 : next);
      requestAnimationFrame(tick);
    };
    const play = on => {
      playing = on;
      button.textContent = on ? 'pause' : 'play';
      last = performance.now();
      tick(last);
    };
    const look = (turn, tilt, factor = 1) => {
      yaw += turn;
      pitch = clamped(-1.4, pitch + tilt, 1.5);
      zoom = clamped(0.4, zoom * factor, 4);
      draw();
    };
    slider.max = length;
    slider.step = step / 2;
    slider.addEventListener('input', () => { play(false); show(+slider.value); });
    button.addEventListener('click', () => play(!playing));
    document.addEventListener('clock', event => {
      if (event.detail.clock !== clock || event.detail.from === figure) return;
      play(false);
      show(event.detail.t - start, false);
    });
    canvas.addEventListener('pointerdown', event => canvas.setPointerCapture(event.pointerId));
    canvas.addEventListener('pointermove', event => {
      if (event.buttons) look(-0.01 * event.movementX, 0.01 * event.movementY);
    });
    canvas.addEventListener('keydown', event => {
      const work = {
        ArrowLeft: () => look(0.1, 0), ArrowRight: () => look(-0.1, 0), ArrowUp: () => look(0, 0.1),
        ArrowDown: () => look(0, -0.1), '+': () => look(0, 0, 1.2), '-': () => look(0, 0, 1 / 1.2),
        ' ': () => play(!playing),
      }[event.key];
      if (!work || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      work();
    });
    document.addEventListener('themechange', () => { theme(); draw(); });
    new ResizeObserver(draw).observe(canvas);
    theme();
    figure.classList.add('live');
    show(0, false);
    if (!matchMedia('(prefers-reduced-motion: reduce)').matches) play(true);
  };
  for (const figure of document.querySelectorAll('figure.robot')) build(figure);
})();
