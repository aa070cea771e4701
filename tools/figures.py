# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""Draw the figures of docs/explanation that explain a method: `python tools/figures.py` (part of `make results`).

They show ideas and formulas, nothing measured; the same script gives the same files.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

mpl.rcParams.update({'svg.fonttype': 'none', 'font.family': 'sans-serif', 'font.size': 10})
IMAGES = Path(__file__).parents[1] / 'docs' / 'images'
GREEN = '#00796b'
ORANGE = '#b8621b'
GREY = '#9aa5ab'
DARK = '#37474f'
#: Rows of boxes from left to right; `>` before a name: an output.
CHAINS = {
    'identification': [['recording', 'filters', 'regressor W', 'weights', 'friction\nterms', '>description']],
    'estimation': [
        ['samples', 'one grid,\none delay', 'torque by links,\nspring, motor', 'residual', '>torques,\ncontact'],
        ['', '', '', 'stiffness,\nfriction, payload', '>adapted\ndescription'],
    ],
    'arm': [['description', 'Arm', 'one compiled\nsample', '>identify, validate,\nestimator, laws,\ngains']],
    'control': [
        ['trajectory', 'q_d and its\nderivatives', 'law', 'limits', '>trajectory\nwith effort'],
        ['', '', 'α, T'],
    ],
    'verdict': [
        ['recording', 'fit', 'other\nexplanations', 'one likely, steady,\nbeyond errors?', '>no: reliable'],
        ['', '', '', '>yes: not reliable,\nreasons'],
    ],
    'excitation': [['robot,\nlimits', 'random\nmotions', 'search', 'check of\nall limits', '>motion']],
    'plant': [
        ['command', 'drive:\nlag, ripple', 'rotor,\nfriction, heat', 'spring, play,\nkin. error', 'links'],
        ['', '', '', '', '>sensors'],
    ],
}
#: Folders of src/joint_dynamics from the ground up.
FLOORS = (
    ('errors, documents, output_files, settings, compilation …',),
    ('robot', 'joint', 'signals'),
    ('recording', 'excitation', 'description'),
    ('arm',),
    ('identification', 'estimation', 'control', 'simulation'),
    ('trend',),
    ('report',),
    ('nodes',),
    ('calibration',),
    ('demo',),
    ('cli',),
)


def canvas(width: float, height: float):
    """Return figure and axes without a frame on top and right."""
    figure, axes = plt.subplots(figsize=(width, height), layout='constrained')
    axes.spines[['top', 'right']].set_visible(False)
    return figure, axes


def save(figure, name: str) -> None:
    """Write a figure without its date."""
    mpl.rcParams['svg.hashsalt'] = name
    figure.savefig(IMAGES / f'{name}.svg', metadata={'Date': None})
    plt.close(figure)


def chain(name: str, rows: list[list[str]]) -> None:
    """Draw boxes in rows, with arrows along the first row and downwards."""
    columns = max(map(len, rows))
    figure, axes = plt.subplots(figsize=(1.55 * columns, 0.95 * len(rows)), layout='constrained')
    axes.set_axis_off()
    axes.set(xlim=(-0.5, columns - 0.5), ylim=(-len(rows) + 0.5, 0.5))
    arrow = {'arrowstyle': '-|>', 'color': DARK, 'shrinkA': 0, 'shrinkB': 0}
    for i, row in enumerate(rows):
        for j, label in enumerate(row):
            if not label:
                continue
            result = label.startswith('>')
            face = '#e0f2f1' if result else 'white'
            axes.add_patch(mpl.patches.FancyBboxPatch(
                (j - 0.36, -i - 0.26), 0.72, 0.52, boxstyle='round,pad=0.02', fc=face, ec=GREEN if result else DARK
            ))  # fmt: skip
            axes.text(j, -i, label.removeprefix('>'), ha='center', va='center', fontsize=8.5)
            if j and row[j - 1]:
                axes.annotate('', (j - 0.38, -i), (j - 0.62, -i), arrowprops=arrow)
            elif i:
                above = rows[i - 1][j] if j < len(rows[i - 1]) else ''
                up = name == 'control'
                axes.annotate('', (j, -i + (0.7 if up else 0.28)), (j, -i + (0.28 if up else 0.72)), arrowprops=arrow)
                assert above
    save(figure, f'chain_{name}')


def structure() -> None:
    """Draw the folders of the package as floors; each may import from those below it."""
    figure, axes = plt.subplots(figsize=(7.5, 4.2), layout='constrained')
    axes.set_axis_off()
    axes.set(xlim=(0, 12), ylim=(0, len(FLOORS)))
    for level, floor in enumerate(FLOORS):
        width = 12 / len(floor)
        for k, name in enumerate(floor):
            axes.add_patch(mpl.patches.FancyBboxPatch(
                (k * width + 0.12, level + 0.14), width - 0.24, 0.72, boxstyle='round,pad=0.02', fc='white', ec=DARK
            ))  # fmt: skip
            axes.text((k + 0.5) * width, level + 0.5, name, ha='center', va='center', fontsize=9)
    save(figure, 'structure')


def friction_terms() -> None:
    """Draw friction over speed for some terms."""
    figure, axes = canvas(7, 2.8)
    w = np.linspace(0, 2, 200)
    plain = 3 + 2 * w
    for label, friction, color in (
        ('Coulomb and viscous', plain, GREY),
        ('+ Stribeck', plain + 1.5 * np.exp(-w / 0.4), ORANGE),
        ('square root of speed', 3 + 3 * np.sqrt(w), GREEN),
        ('+ load', 1.25 * 3 + 2 * w, DARK),
    ):
        axes.plot(w, friction, color=color, label=label)
    axes.set(xlabel='speed ω', ylabel='friction torque', ylim=(0, None), xticks=[], yticks=[])
    axes.legend(frameon=False, loc='lower right')
    save(figure, 'friction_terms')


def resting() -> None:
    """Draw a joint that moves, rests and moves back: friction jumps, at rest it is anywhere within its level."""
    figure, axes = canvas(7, 2.4)
    time = np.linspace(0, 9, 271)
    rests = (time > 3) & (time < 6)
    friction = np.where(time <= 3, 1.0, -1.0) + 0.12 * np.sin(2 * time)
    friction[rests] = 0.0
    measured = friction.copy()
    measured[rests] = 0.45 - 0.1 * (time[rests] - 3)
    axes.fill_between(time, -1, 1, where=rests, color='#b2dfdb', label='band of the Coulomb level')
    axes.plot(time, measured, color=DARK, label='measured')
    axes.plot(time, friction, color=GREEN, ls='--', label='predicted')
    axes.set(xlabel='time', ylabel='friction / level', xticks=[], ylim=(-1.3, 1.9))
    axes.legend(frameon=False, ncols=3, loc='upper left', fontsize=8.5)
    save(figure, 'resting')


def irls() -> None:
    """Draw a line through points with outliers, by least squares and by IRLS."""
    figure, axes = canvas(7, 2.6)
    rng = np.random.default_rng(0)
    x = np.linspace(0, 1, 40)
    y = 1 + 2 * x + rng.normal(scale=0.12, size=x.size)
    y[[30, 33, 35, 37]] -= 2.2
    kept = np.ones(x.size, dtype=bool)
    plain = np.polyfit(x, y, 1)
    for _ in range(10):
        fit = np.polyfit(x[kept], y[kept], 1)
        error = y - np.polyval(fit, x)
        kept = np.abs(error) < 4 * np.median(np.abs(error)) / 0.6745
    axes.plot(x[kept], y[kept], '.', color=DARK)
    axes.plot(x[~kept], y[~kept], 'x', color=ORANGE, label='left out')
    axes.plot(x, np.polyval(plain, x), '--', color=GREY, label='least squares')
    axes.plot(x, np.polyval(fit, x), color=GREEN, label='IRLS')
    axes.set(xlabel='a column of the regressor', ylabel='torque', xticks=[], yticks=[])
    axes.legend(frameon=False)
    save(figure, 'irls')


def effective_samples() -> None:
    """Draw a white and a correlated residual of equal size, and their autocorrelation."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.4), layout='constrained', width_ratios=(2, 1))
    white = np.random.default_rng(0).normal(size=2000)
    slow = np.zeros_like(white)
    for k in range(1, len(slow)):
        slow[k] = 0.95 * slow[k - 1] + white[k]
    for residual, color, label, place in ((white, GREY, 'independent', 3), (slow, GREEN, 'correlated', -3)):
        residual = (residual - residual.mean()) / residual.std()
        left.plot(residual[:300] + place, color=color, label=label)
        right.plot([np.mean(residual[: 2000 - lag] * residual[lag:]) for lag in range(60)], color=color, label=label)
    left.set(xlabel='sample', ylabel='residual', xticks=[], yticks=[])
    right.axhline(0, color=DARK, lw=0.6)
    right.set(xlabel='lag l', ylabel='autocorrelation ρ', xticks=[])
    right.legend(frameon=False)
    save(figure, 'effective_samples')


if __name__ == '__main__':
    for chain_name, chain_rows in CHAINS.items():
        chain(chain_name, chain_rows)
    for draw in (structure, friction_terms, resting, irls, effective_samples):
        draw()
