"""Draw the figures of docs/explanation that explain a method: `python tools/figures.py` (part of `make results`).

They show ideas and formulas, nothing measured; the same script gives the same files.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from joint_dynamics.joint import MaxwellSlip

mpl.rcParams.update({'svg.fonttype': 'none', 'font.family': 'sans-serif', 'font.size': 10})
IMAGES = Path(__file__).parents[1] / 'docs' / 'images'
GREEN, ORANGE, GREY, DARK = '#00796b', '#b8621b', '#9aa5ab', '#37474f'
#: Rows of boxes, which follow one another from left to right; `>` before a name: an output.
CHAINS = {
    'identification': [['recording', 'filters', 'regressor W', 'weights', 'friction\nterms', '>description']],
    'estimation': [
        [
            'samples',
            'one grid,\none delay',
            'torque by links,\nspring, motor',
            'what is\nleft over',
            '>torques,\ncontact',
        ],
        ['', '', '', 'stiffness,\nfriction, payload', '>adapted\ndescription'],
    ],
    'arm': [['description', 'Arm', 'one compiled\nsample', '>identify, validate,\nestimator, laws,\ngains']],
    'control': [
        ['desired\nmotion', 'q_d and its\nderivatives', 'law', 'safety gate', '>command'],
        ['', '', 'α, T, states'],
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
    ('demo',),
    ('cli',),
)


def canvas(width: float, height: float):
    """Return figure and axes without a frame on top and right."""
    figure, axes = plt.subplots(figsize=(width, height), layout='constrained')
    axes.spines[['top', 'right']].set_visible(False)
    return figure, axes


def save(figure, name: str) -> None:
    """Write a figure, without the time at which it was made."""
    mpl.rcParams['svg.hashsalt'] = name
    figure.savefig(IMAGES / f'{name}.svg', metadata={'Date': None})
    plt.close(figure)


def chain(name: str, rows: list[list[str]]) -> None:
    """Draw boxes in rows, arrows along the first row and from above to what stands below."""
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


def blocks() -> None:
    """Draw a speed over time, cut into blocks of time and ranges of speed."""
    figure, axes = canvas(7, 2.4)
    t = np.linspace(0, 10, 500)
    speed = np.sin(1.9 * t) + 0.5 * np.sin(4.1 * t)
    for k in range(0, 10, 2):
        axes.axvspan(k, k + 1, color='#e0f2f1')
    for level in np.linspace(-1.5, 1.5, 11):
        axes.axhline(level, color=GREY, lw=0.5)
    axes.plot(t, speed, color=GREEN)
    axes.set(xlim=(0, 10), xlabel='blocks of time', ylabel='ranges of speed', xticks=[], yticks=[])
    save(figure, 'blocks')


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
    """Draw the hysteresis of a joint that creeps, from both ends of its range, until they meet at the first slip."""
    figure, axes = canvas(7, 2.6)
    theta = np.concatenate([np.linspace(0, -0.8, 80), np.linspace(-0.8, 2.2, 300), np.linspace(2.2, 1.2, 100)]) * 1e-3
    curves = []
    for start in (-3e-3, 3e-3):
        slip = MaxwellSlip(1, 1e-3)
        slip.run(np.linspace(start, 0.0, 50))
        curves.append(slip.run(theta).ravel())
    axes.fill_between(np.arange(theta.size), -1, 1, color='#eceff1', label='interval without presliding')
    axes.fill_between(np.arange(theta.size), *curves, color='#b2dfdb', label='what any first state gives')
    axes.plot(np.mean(curves, axis=0), color=GREEN, label='prediction')
    axes.set(xlabel='time', ylabel='friction / level', xticks=[], ylim=(-1.15, 1.75))
    axes.legend(frameon=False, ncols=3, loc='upper left', fontsize=8.5)
    save(figure, 'resting')


def irls() -> None:
    """Draw a line through points of which some are wrong, by least squares and with those left out."""
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


if __name__ == '__main__':
    for chain_name, chain_rows in CHAINS.items():
        chain(chain_name, chain_rows)
    for draw in (structure, blocks, friction_terms, resting, irls):
        draw()
