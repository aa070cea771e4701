"""Draw the figure of docs/explanation/performance.md: how processor time grows with what there is to do.

`python bench/plot_growth.py [file]`, a minute. Pinocchio's regressor loop over as many samples is that of the same run.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use('Agg')
import bench_speed
import matplotlib.pyplot as plt

OUT = Path(__file__).parents[1] / 'docs' / 'images' / 'growth.png'
PANELS = {
    'samples': 'filtered data to WLS, six joints',
    'joints': '20,000 samples to WLS',
    'Maxwell-slip elements of each joint': '20,000 samples to WLS, six joints',
    'recordings': '20,000 samples in all to WLS, six joints',
    'harmonics': "excitation's objective with gradient, once",
}
LOGARITHMIC = ('samples', 'recordings')


def draw(grown, path):
    """Draw what `bench_speed.GROWN` holds, one panel for each thing that grows."""
    figure, axes = plt.subplots(2, 3, figsize=(11, 6.2), layout='constrained')
    for panel, (what, title) in zip(axes.flat, PANELS.items(), strict=False):
        sizes, ours, loop = zip(*(row[1:] for row in grown if row[0] == what), strict=True)
        panel.plot(sizes, ours, 'o-', color='#0b6e99', label='joint_dynamics')
        panel.plot(sizes, loop, 's--', color='#b8621b', label="pinocchio's regressor loop alone")
        if what in LOGARITHMIC:
            panel.set_xscale('log')
        if what == 'samples':
            panel.set_yscale('log')
        else:
            panel.set_ylim(bottom=0)
        panel.set(title=title, xlabel=what, ylabel='processor time, s')
        panel.title.set_fontsize(10)
        panel.grid(alpha=0.3)
    axes.flat[-1].set_axis_off()
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc='center', bbox_to_anchor=(0.84, 0.27), frameon=False)
    figure.savefig(path, dpi=110)


if __name__ == '__main__':
    for part in (bench_speed.batch, bench_speed.growth, bench_speed.excitation):
        part()
    draw(bench_speed.GROWN, Path(sys.argv[1]) if len(sys.argv) > 1 else OUT)
