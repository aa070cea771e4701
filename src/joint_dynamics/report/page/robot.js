'use strict';
// A robot that moves: triangles on a plain canvas, farthest first, from poses that report/robot_view.py sampled.
(() => {
  const rgb = name => page.colour(name).match(/[\d.]+/g).slice(0, 3).map(Number);
  const text = number => (Math.round(100 * number) / 100 || 0).toFixed(2).replace('-', '−');
  const clamped = (low, value, high) => Math.max(low, Math.min(high, value));

  // Triangles (corners in the frame of the shape) of a lathe: rings of radius r at height z.
  const turned = (rings, sides = 14) => {
    const corners = rings.map(([r, z]) => Array.from({ length: sides }, (_, k) => {
      const angle = (2 * Math.PI * k) / sides;
      return [r * Math.cos(angle), r * Math.sin(angle), z];
    }));
    const found = [];
    for (let i = 0; i + 1 < corners.length; i++) {
      for (let k = 0; k < sides; k++) {
        const n = (k + 1) % sides, [a, b, c, d] = [corners[i][k], corners[i][n], corners[i + 1][n], corners[i + 1][k]];
        if (rings[i][0] > 0) found.push([a, b, c]);
        if (rings[i + 1][0] > 0) found.push([a, c, d]);
      }
    }
    return found;
  };
  const cap = (r, z, side) => {
    const found = [];
    for (let k = 0; k <= 4; k++) {
      const angle = (Math.PI / 2) * (k / 4);
      found.push([r * Math.cos(angle), z + side * r * Math.sin(angle)]);
    }
    return side < 0 ? found.reverse() : found;
  };
  const solids = {
    sphere: ({ radius: r }) => turned([...cap(r, 0, -1), ...cap(r, 0, 1).slice(1)]),
    capsule: ({ radius: r, length: l }) => turned([...cap(r, -l / 2, -1), ...cap(r, l / 2, 1)]),
    cylinder: ({ radius: r, length: l }) => turned([[0, -l / 2], [r, -l / 2], [r, l / 2], [0, l / 2]]),
    box: ({ size: [x, y, z] }) => {
      const c = (a, b, d) => [(a * x) / 2, (b * y) / 2, (d * z) / 2];
      const sides = [];
      for (const [i, j, k] of [[0, 1, 2], [1, 2, 0], [2, 0, 1]]) {
        for (const s of [-1, 1]) {
          const at = (u, v) => { const p = [0, 0, 0]; p[i] = s; p[j] = u * s; p[k] = v; return c(...p); };
          sides.push([at(-1, -1), at(1, -1), at(1, 1)], [at(-1, -1), at(1, 1), at(-1, 1)]);
        }
      }
      return sides;
    },
    mesh: ({ corners, faces }) => faces.map(face => face.map(k => corners[k])),
  };
  const placed = (pose, p) => [
    pose[0] * p[0] + pose[1] * p[1] + pose[2] * p[2] + pose[9],
    pose[3] * p[0] + pose[4] * p[1] + pose[5] * p[2] + pose[10],
    pose[6] * p[0] + pose[7] * p[1] + pose[8] * p[2] + pose[11],
  ];

  const build = async figure => {
    const specification = JSON.parse(figure.querySelector('script.specification').textContent);
    const bytes = await packing.inflated(figure.querySelector('script.arrays').textContent);
    const arrays = entries => entries.map(entry => packing.decoded(entry, bytes));
    const poses = specification.poses.map(arrays), joints = arrays(specification.joints);
    const path = arrays(specification.path);
    const { frames, step, start, clock, centre, reach } = specification;
    const bodies = specification.shapes.map(shape => ({
      ...shape, triangles: solids[shape.kind](shape).map(t => t.map(p => placed(shape.pose, p))),
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
      pen.strokeStyle = colours.line;
      pen.lineWidth = 1;
      pen.beginPath();
      const cell = specification.cell, floor = specification.floor;
      for (let k = -5; k <= 5; k++) {
        for (const [a, b] of [[[k, -5], [k, 5]], [[-5, k], [5, k]]]) {
          const p = seen([a[0] * cell, a[1] * cell, floor]), q = seen([b[0] * cell, b[1] * cell, floor]);
          pen.moveTo(p[0], p[1]);
          pen.lineTo(q[0], q[1]);
        }
      }
      pen.stroke();
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
          const shade = 0.55 + 0.45 * Math.max(0, (n[0] * light[0] + n[1] * light[1] + n[2] * light[2]) / size);
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
      pen.strokeStyle = colours.path;
      pen.lineWidth = 1.2;
      pen.globalAlpha = 0.75;
      pen.beginPath();
      for (let k = 0; k < frames; k++) {
        const p = seen([path[0][k], path[1][k], path[2][k]]);
        if (k) pen.lineTo(p[0], p[1]); else pen.moveTo(p[0], p[1]);
      }
      pen.stroke();
      pen.globalAlpha = 1;
      figure.dataset.faces = faces.length;
    };
    const show = (t, tell = true) => {
      time = clamped(0, t, length);
      slider.value = time;
      clockText.textContent = `${(start + time).toFixed(2)} s`;
      slider.setAttribute('aria-valuetext', clockText.textContent);
      const q = poseAt(joints, time);
      nows.forEach((now, j) => {
        const { low, high, unit } = specification.limits[j];
        now.style.left = `${(100 * (q[j] - low)) / (high - low)}%`;
        values[j].textContent = `${text(q[j])} ${unit}`;
      });
      draw();
      if (tell) document.dispatchEvent(new CustomEvent('clock', { detail: { clock, t: start + time, from: figure } }));
    };
    const tick = now => {
      if (!playing) return;
      const next = time + Math.min(100, now - last) / 1000;
      last = now;
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
    canvas.addEventListener('wheel', event => {
      if (!event.ctrlKey && document.activeElement !== canvas) return; // the page scrolls
      event.preventDefault();
      look(0, 0, Math.exp(-0.001 * event.deltaY));
    }, { passive: false });
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
  };
  for (const figure of document.querySelectorAll('figure.robot')) build(figure);
})();
