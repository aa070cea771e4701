r"""Detection and dating of changes in a series of runs: the change-point model with unknown mean and variance.

Of the runs 1 … n every split k may be a shift of the mean between run k and k + 1 [Hawkins, Qiu and Kang 2003]:

    t_{n,k} = (ȳ_after − ȳ_before)/√(s² (1/W_before + 1/W_after)),    W = Σ w_i,    w_i = 1/(σ_i² + τ²)

with the weighted means, and s² the pooled mean square about them, so that only the runs' relative deviations matter.
Where each run has a temperature, friction's slope over it is fitted together with the shift (one degree of freedom).
The statistic compared is z = Φ⁻¹(F_t(t)), which accounts for small numbers of runs. The first n at which the largest
|z_{n,k}| exceeds the limit h is the run of the alarm; later runs affect it only through the scatter τ² in the weights,
so an alarm persists when runs are added. The change is dated by the split with the largest |z|; the series restarts
after it.

h is set by the false-alarm rate: the probability that any of the |z_{n,k}| of 100 independent normal runs exceeds it.
It follows from simulating such series with a fixed seed. Rates too small to count are extrapolated by the tail of the
normal distribution, P(max |z| > h) = C h φ(h), the asymptote for excursions of a smooth Gaussian field.

σ_i² is the variance from a run's own samples; τ² is that of effects which they do not show (another posture, warm-up, a
gripper): from successive differences, E (y_{i+1} − y_i)² = 2 τ² + σ_i² + σ_{i+1}² [von Neumann 1941], which a slow
change hardly affects; and as their median, which a jump hardly affects.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.stats import chi2, norm, t

from joint_dynamics.arrays import FloatArray

HORIZON = 100
"""Runs for which a false-alarm rate is stated."""
SERIES = 10000
"""Simulated series without a change, whose largest |z| are counted."""
MIN_COUNTED_RATE = 0.02
"""Smallest rate that is counted among them; below it the normal tail goes on from there."""
SLOPE = 3.0
"""°C: temperatures that differ by less show no slope."""
SEED = 20030435


@dataclass(frozen=True)
class ChangeTest:
    """Criteria for a change.

    Attributes
    ----------
    before, after
        smallest number of runs on either side of a change.
    window
        largest number of runs after it.
    limit
        of |z|.
    least
        smallest size of a change, as a share of the level before it.
    """

    before: int
    after: int
    window: int
    limit: float
    least: float = 0.0

    @classmethod
    def at_rate(cls, rate: float, before: int = 5, after: int = 2, window: int = 60, least: float = 0.0) -> ChangeTest:
        """Return the test whose probability of a false alarm in one series within `HORIZON` runs is at most `rate`."""
        return cls(before, after, window, _limit(float(rate), before, after, window), least)


@dataclass(frozen=True)
class ChangePoint:
    """A change of a series.

    Attributes
    ----------
    first
        index of the first run after it.
    alarm
        index of the run at which it was detected.
    z
        of the shift at the alarm, with its sign.
    """

    first: int
    alarm: int
    z: float


def change_points(
    values: ArrayLike, test: ChangeTest, deviations: ArrayLike | None = None, temperatures: ArrayLike | None = None
) -> list[ChangePoint]:
    """Return the changes of a series, each as first detected, in order of time.

    Parameters
    ----------
    values
        (N,) in order of time, finite.
    test
        criteria for a change.
    deviations
        (N,) standard deviation of each from its own samples, NaN where unknown; None: all unknown.
    temperatures
        (N,) °C; used where all are known and differ.
    """
    y = np.asarray(values, dtype=float)
    sigma = np.full(y.shape, np.nan) if deviations is None else np.asarray(deviations, dtype=float)
    warm = None if temperatures is None else np.asarray(temperatures, dtype=float)
    changes: list[ChangePoint] = []
    start = 0

    def matters(part: FloatArray, first: int, n: int) -> bool:
        before, after = part[:first].mean(), part[first : n + 1].mean()
        return bool(abs(after - before) >= test.least * abs(before))

    while start < len(y):
        part = slice(start, None)
        z, splits = running_z(y[part], test, weights_of(y[part], sigma[part]), None if warm is None else warm[part])
        alarm = next(
            (n for n in np.flatnonzero(np.abs(z) > test.limit) if matters(y[part], int(splits[n]), int(n))), None
        )
        if alarm is None:
            break
        changes.append(ChangePoint(start + int(splits[alarm]), start + int(alarm), float(z[alarm])))
        start += int(splits[alarm])
    return changes


def weights_of(values: FloatArray, deviations: FloatArray) -> FloatArray:
    """Return the weights 1/(σ_i² + τ²) (N,), mean 1; a run without a deviation has the median one."""
    known = np.isfinite(deviations)
    if not known.any() or len(values) < 3:
        return np.ones(len(values))
    own = np.where(known, deviations, np.median(deviations[known])) ** 2
    squares = np.diff(values) ** 2
    between = 0.5 * (np.median(squares) / chi2.median(1) - np.median(own[1:] + own[:-1]))
    total = own + max(float(between), 0.0)
    total = np.maximum(total, 1e-6 * total.max(initial=np.finfo(float).tiny))
    weights = 1.0 / total
    return np.asarray(weights / weights.mean())


def running_z(
    values: FloatArray, test: ChangeTest, weights: FloatArray | None = None, temperatures: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return per run n the z of the split that shows most among the runs up to it, and the first run after that split.

    Both (…, N), z 0 where there are too few runs. values (…, N): several series of equal weights at once.
    """
    y = np.atleast_2d(np.asarray(values, dtype=float))
    count = y.shape[-1]
    w = np.ones(count) if weights is None else weights
    x = None
    if temperatures is not None and np.isfinite(temperatures).all() and np.ptp(temperatures) > SLOPE:
        x = temperatures - temperatures.mean()
    # a series of equal values has no scatter but rounding
    floor = (1e-9 * np.abs(y).max(axis=-1, initial=0.0)) ** 2
    y = y - y[:, :1]
    sums = [np.cumsum(np.broadcast_to(term, y.shape), axis=-1) for term in (w + 0 * y, w * y, w * y * y)]
    if x is not None:
        sums += [np.cumsum(np.broadcast_to(term, y.shape), axis=-1) for term in (w * x, w * x * x, w * x * y)]
    z, where = np.zeros(y.shape), np.zeros(y.shape, dtype=int)
    for n in range(test.before + test.after, count + 1):
        freedom = n - 2 - (x is not None)
        if freedom < 1:
            continue
        splits = np.arange(max(test.before, n - test.window), n - test.after + 1)
        whole = [total[:, n - 1 : n] for total in sums]
        left = [total[:, splits - 1] for total in sums]
        right = [all_ - part for all_, part in zip(whole, left, strict=True)]
        rest_two, shift = _two_means(left, right)
        rest_two = np.maximum(rest_two, freedom * floor[:, None])
        ratio = np.maximum(_one_mean(whole) - rest_two, 0.0) / (rest_two / freedom)
        best = np.argmax(ratio, axis=1)
        row = np.arange(len(y))
        size = norm.isf(np.maximum(t.sf(np.sqrt(ratio[row, best]), freedom), np.finfo(float).tiny))
        z[:, n - 1] = np.copysign(size, shift[row, best])
        where[:, n - 1] = splits[best]
    shape = np.shape(values)
    return z.reshape(shape), where.reshape(shape)


def _one_mean(sums: list[FloatArray]) -> FloatArray:
    """Return the weighted sum of squares about one mean (and the slope over temperature)."""
    within = _within(sums)
    return within[0] if len(within) == 1 else within[0] - _share(within[2], within[1])


def _two_means(left: list[FloatArray], right: list[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Return the same about two means, and the shift between them."""
    within = [one + other for one, other in zip(_within(left), _within(right), strict=True)]
    shift = right[1] / right[0] - left[1] / left[0]
    if len(within) == 1:
        return within[0], shift
    slope = np.divide(within[2], within[1], out=np.zeros_like(within[1]), where=within[1] > 0)
    shift = shift - slope * (right[3] / right[0] - left[3] / left[0])
    return within[0] - _share(within[2], within[1]), shift


def _within(sums: list[FloatArray]) -> list[FloatArray]:
    """Return Σw(y−ȳ)², and with temperatures Σw(x−x̄)², Σw(x−x̄)(y−ȳ)."""
    w, wy, wyy, *more = sums
    squares = [wyy - wy**2 / w]
    return squares if not more else [*squares, more[1] - more[0] ** 2 / w, more[2] - more[0] * wy / w]


def _share(product: FloatArray, square: FloatArray) -> FloatArray:
    return np.divide(product**2, square, out=np.zeros_like(square), where=square > 0)


@lru_cache(maxsize=32)
def _limit(rate: float, before: int, after: int, window: int) -> float:
    test = ChangeTest(before, after, window, np.inf)
    rng = np.random.default_rng(SEED)
    largest = np.concatenate(
        [np.abs(running_z(rng.standard_normal((SERIES // 10, HORIZON)), test)[0]).max(axis=1) for _ in range(10)]
    )
    if rate >= MIN_COUNTED_RATE:
        return float(np.quantile(largest, 1.0 - rate))
    counted = float(np.quantile(largest, 1.0 - MIN_COUNTED_RATE))
    return _tail(counted, MIN_COUNTED_RATE / rate)


def _tail(start: float, times: float) -> float:
    """Return h with start φ(start) = times · h φ(h): where the probability is `times` less than at `start`."""
    goal = np.log(start) - 0.5 * start**2 - np.log(times)
    return float(brentq(lambda h: np.log(h) - 0.5 * h**2 - goal, start, start + 20.0))
