"""Chow's test by its formulas, with dense matrices."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize
import scipy.stats

from joint_dynamics.identification.reliability.chow import ChowTest, chow
from joint_dynamics.identification.reliability.evidence import NormalEquations


def test_what_a_comparison_states():
    test = ChowTest(3.25, (4.0, np.inf), 0.002, 0.07)
    expected = {'statistic': 3.25, 'freedom': [4.0, None], 'probability': 0.002, 'effect_percent': pytest.approx(7.0)}
    assert test.summary() == expected
    assert str(test) == 'F = 3.25 with 4 and inf degrees of freedom'


def orthonormal(columns):
    """Basis of what columns of norm 1 span."""
    norms = np.linalg.norm(columns, axis=0)
    vectors, values, _ = np.linalg.svd(columns / np.where(norms > 0, norms, 1.0), full_matrices=False)
    return vectors[:, values > 1e-8 * max(1.0, values.max())]


def formulas(A, Z, y, labels):
    """Statistic, degrees of freedom, probability and effect by the formulas of the module."""
    scale = np.linalg.norm(Z, axis=0)
    Q1 = orthonormal(A)
    rest = Z / np.where(scale > 0, scale, 1.0)
    for _ in range(2):
        rest = rest - Q1 @ (Q1.T @ rest)
    vectors, values, _ = np.linalg.svd(rest, full_matrices=False)
    Q2 = vectors[:, values > 1e-8]
    q = Q2.shape[1]
    H = Q1 @ Q1.T + Q2 @ Q2.T
    left, gained = y - H @ y, float(np.sum((Q2.T @ y) ** 2))
    scores, seen = [], 0.0
    for g in np.unique(labels):
        own = labels == g
        leverage, V = np.linalg.eigh(H[np.ix_(own, own)])
        some = 1 - leverage > 1e-6
        B = V @ np.diag(np.where(some, 1 / np.sqrt(np.maximum(1 - leverage, 1e-6)), 0.0)) @ V.T
        scores.append(Q2[own].T @ B @ left[own])
        seen += np.trace(Q2[own].T @ V @ np.diag(some * 1.0) @ V.T @ Q2[own])
    products = np.array(scores) @ np.array(scores).T
    each, G = np.diag(products), len(scores)
    total = each.sum()
    apart = (np.sum(products**2) - np.sum(each**2)) * G / (G - 1)
    upper, lower = min(max(total**2 / apart, 1.0), q), 2 * total**2 / (G * each.var(ddof=1))
    total = total * q / seen
    F = gained / total
    effect = math.sqrt(max(gained - total, 0.0) / (y @ y))
    return ChowTest(F, (upper, lower), scipy.stats.f.sf(F, upper, lower), effect)


def made(seed, blocks=12, length=20, extra=0.0):
    rng = np.random.default_rng(seed)
    samples = blocks * length
    rows, added = rng.normal(size=(2, 4, samples)), rng.normal(size=(2, 2, samples))
    added[:, :, : samples // 2] = 0.0
    weight = np.where(rng.random((2, samples)) < 0.2, 0.3, 1.0)
    noise = np.array([[0.2], [3.0]]) * rng.normal(size=(2, samples))
    tau = np.einsum('jbs,b->js', rows, rng.normal(size=4)) + extra * added.sum(axis=1) + noise
    normal = NormalEquations(rows, weight)
    found = SimpleNamespace(
        samples=SimpleNamespace(tau=tau, weight=weight), given=normal.fit(tau), rows=rows,
        blocks=np.repeat(np.arange(blocks) + 5, length),
    )  # fmt: skip
    left = found.given.unexplained * ((tau * weight) ** 2).sum(axis=1) / (weight**2).sum(axis=1)
    factor = weight / np.sqrt(left)[:, None]

    def stacked(array):
        return np.concatenate([(array[j] * factor[j]).T for j in range(2)])

    y = np.concatenate([tau[j] * factor[j] for j in range(2)])
    return found, added, (stacked(rows), stacked(added), y, np.tile(found.blocks, 2))


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('extra', [0.0, 0.3])
def test_chows_test_by_its_formulas(seed, extra):
    found, added, dense = made(seed, extra=extra)
    expected, test = formulas(*dense), chow(found, added)
    assert test.statistic == pytest.approx(expected.statistic, rel=1e-6)
    assert test.freedom == pytest.approx(expected.freedom, rel=1e-6)
    assert test.probability == pytest.approx(expected.probability, rel=1e-5)
    assert test.effect == pytest.approx(expected.effect, rel=1e-5, abs=1e-7)
    assert (test.probability < 1e-3) == (extra > 0)
    # units and duplicates of the columns change nothing
    other = chow(found, np.concatenate([1e3 * added, added[:, :1] - found.rows[:, :1]], axis=1))
    assert other.statistic == pytest.approx(test.statistic, rel=1e-5)
    assert other.freedom == pytest.approx(test.freedom, rel=1e-5)


def test_what_chows_test_has_nothing_to_say_of():
    none = ChowTest(0.0, (0.0, 0.0), 1.0, 0.0)
    found, added, _ = made(1)
    assert chow(found, np.zeros_like(added)) == none
    assert chow(found, 2.0 * found.rows[:, :2]) == none
    assert chow(SimpleNamespace(**{**vars(found), 'blocks': np.repeat([0, 1], 120)}), added) == none
    # what one block alone decides shows no scatter
    alone = added * (found.blocks == found.blocks[-1]) * (np.arange(240) == 239)
    assert chow(found, alone) == none
