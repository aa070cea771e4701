"""Held-out loss written out: every fold left out, the rest solved with all its columns, the fold's rows predicted."""

import numpy as np
import pytest

from joint_dynamics.identification.selection.held_out import HeldOut, HeldOutLoss, Rows, ranges_of
from joint_dynamics.identification.selection.stepwise import Candidate, best_ridge, gain_of

N, B, C, K, BLOCKS = 2, 3, 3, 160, 8


def rows_of(seed=0, **more):
    """Two joints, base columns and candidates; the second candidate does not exist in the first joint."""
    rng = np.random.default_rng(seed)
    base, candidates = rng.normal(size=(N, B, K)), rng.normal(size=(N, C, K))
    candidates[0, 1] = 0.0
    tau = np.einsum('jbk,b->jk', base, [1.0, -2.0, 0.5]) + 0.8 * candidates[:, 0] + rng.normal(size=(N, K))
    tau[0, 7] += 30.0
    return Rows(base, candidates, tau, np.repeat(np.arange(BLOCKS), K // BLOCKS), **more)


def huber(residual):
    return np.array([r * r if abs(r) < 2.0 else 4.0 * abs(r) - 4.0 for r in residual.ravel()]).reshape(residual.shape)


def predicted(rows, fold, ridges):
    """Residuals (N, K) of the rows in fold f = 0, 1, … from a fit to all others; NaN where fold is −1."""
    residual, chosen = np.full(rows.tau.shape, np.nan), sorted(ridges)
    columns = np.concatenate([rows.base, rows.candidates[:, chosen]], axis=1)
    for f in range(fold.max() + 1):
        rest = [(columns[j][:, fold[j] != f], rows.tau[j, fold[j] != f]) for j in range(N)]
        gram = sum(W @ W.T for W, _ in rest)
        right = sum(W @ y for W, y in rest)
        # a candidate's ridge is a share of its norm in the rows that are left
        share = np.array([0.0] * B + [ridges[column] for column in chosen])
        solution = np.linalg.solve(gram + np.diag(share**2 * np.diag(gram)), right)
        for j in range(N):
            here = fold[j] == f
            residual[j, here] = rows.tau[j, here] - solution @ columns[j][:, here]
    return residual


@pytest.mark.parametrize('ridges', [{}, {0: 0.1}, {2: 0.3, 1: 0.05}])
def test_blocks_of_time_are_dealt_and_predicted_from_the_others(ridges):
    rows = rows_of()
    found = HeldOut(rows, folds=4, deals=3, seed=5).loss(ridges)
    rng = np.random.default_rng(5)
    assert found.time.shape == (3, N, BLOCKS) and found.ranges.shape == (0, N)
    for deal in found.time:
        fold_of_block = np.concatenate([rng.permutation(4) for _ in range(2)])
        fold = np.tile(fold_of_block[rows.blocks], (N, 1))
        loss = huber(predicted(rows, fold, ridges)).reshape(N, BLOCKS, -1).sum(axis=2)
        np.testing.assert_allclose(deal, loss, rtol=1e-6)
    assert found.mean == pytest.approx(found.time.sum() / 3, rel=1e-12)
    # no more folds than blocks
    few = HeldOut(rows, folds=50, deals=1)
    each = np.tile(rows.blocks, (N, 1))
    np.testing.assert_allclose(few.loss(ridges).time.sum(), huber(predicted(rows, each, ridges)).sum(), rtol=1e-6)


def test_ranges_are_the_slowest_and_fastest_thirds_and_the_recordings():
    rng = np.random.default_rng(1)
    speeds = np.where(rng.random((N, K)) < 0.2, 0.0, rng.uniform(0.1, 2.0, (N, K)))
    recordings = np.repeat([0, 1], K // 2)
    rows = rows_of(speeds=speeds, recordings=recordings)
    found = ranges_of(rows)
    assert list(found) == ['low speed', 'high speed', 'recording 1', 'recording 2']
    for j in range(N):
        moving = np.sort(speeds[j][speeds[j] > 0])
        low, high = np.quantile(moving, [1 / 3, 2 / 3])
        np.testing.assert_array_equal(found['low speed'][j] == 0, (speeds[j] > 0) & (speeds[j] <= low))
        np.testing.assert_array_equal(found['high speed'][j] == 0, speeds[j] >= high)
        np.testing.assert_array_equal(found['recording 2'][j], np.where(recordings == 1, 0, -1))
    for fold in found.values():
        assert set(np.unique(fold)) == {-1, 0}
    held_out = HeldOut(rows, deals=1)
    assert held_out.ranges == list(found)
    losses = held_out.loss({0: 0.1}).ranges
    for name, loss in zip(held_out.ranges, losses, strict=True):
        residual = predicted(rows, np.array(found[name]), {0: 0.1})
        np.testing.assert_allclose(loss, np.where(np.isnan(residual), 0.0, huber(residual)).sum(axis=1), rtol=1e-6)
    still = np.zeros((N, K))
    assert ranges_of(rows_of(speeds=still, recordings=np.zeros(K, dtype=int))) == {}
    assert ranges_of(rows_of()) == {}


def test_a_range_that_the_rest_says_nothing_of_is_not_asked():
    """A base column that only one recording excites: that one cannot be predicted from the others."""
    recordings = np.repeat([0, 1], K // 2)
    rows = rows_of(recordings=recordings)
    rows.base[:, 2] *= np.where(recordings == 1, 1.0, 1e-9)
    rows.tau[:, recordings == 1] += 30.0 * rows.base[:, 2, recordings == 1]
    assert HeldOut(rows, deals=1).ranges == ['recording 1']


def test_gain_in_all_as_a_fraction_and_in_standard_errors():
    rng = np.random.default_rng(2)
    before, after = (HeldOutLoss(rng.uniform(1, 2, (3, N, BLOCKS)), np.zeros((0, N))) for _ in range(2))
    total, fraction, errors = gain_of(before, after)
    gain = before.time.sum(axis=1) - after.time.sum(axis=1)
    assert total == pytest.approx(gain.sum() / 3)
    assert fraction == pytest.approx(total / (before.time.sum() / 3))
    error = np.mean([np.std(one, ddof=1) * BLOCKS**0.5 for one in gain])
    assert errors == pytest.approx(total / error)
    assert gain_of(before, before) == (0.0, 0.0, 0.0)


def test_of_ridges_alike_the_largest_is_taken():
    """Not worse than the best by a standard error; here the losses are made up."""
    wave = np.cos(np.arange(BLOCKS) * np.pi)

    class Made:
        def losses(self, chosen, columns, ridges):
            assert (chosen, columns) == ({9: 0.5}, (4,))
            one = np.std(wave, ddof=1) / BLOCKS**0.5
            return [
                HeldOutLoss((9.0 + (errors > 0) * (errors * one + wave))[None, None], np.zeros((0, 1)))
                for errors in ({0.03: 0.0, 0.1: 0.9, 0.3: 1.1}[ridge] for ridge in ridges)
            ]

    ridge, loss = best_ridge(Made(), {9: 0.5}, Candidate('x', (4,)), (0.03, 0.3, 0.1))
    assert ridge == 0.1 and loss.mean > 9.0 * BLOCKS


def test_losses_of_several_ridges_are_those_of_each_alone():
    rng = np.random.default_rng(6)
    base, candidates, tau = (rng.normal(size=shape) for shape in ((2, 3, 300), (2, 5, 300), (2, 300)))
    held_out = HeldOut(Rows(base, candidates, tau, np.arange(300) // 6, np.abs(rng.normal(size=(2, 300)))))
    chosen = {4: 0.1, 1: 0.3}
    for columns in ((0, 2), (3,), (1, 2)):
        found = held_out.losses(chosen, columns, (0.03, 0.3))
        for ridge, loss in zip((0.03, 0.3), found, strict=True):
            alone = held_out.loss({**chosen, **dict.fromkeys(columns, ridge)})
            np.testing.assert_allclose(loss.time, alone.time, rtol=1e-12)
            np.testing.assert_allclose(loss.ranges_by_block, alone.ranges_by_block, rtol=1e-12)
            assert len(loss.ranges) == 2


def test_columns_that_one_recording_alone_shows_are_held_out_with_it():
    """Joints that move in one recording only: without it nothing is left of their columns but rounding."""
    rng = np.random.default_rng(4)
    recordings = np.repeat([0, 1, 2], 200)
    base = rng.normal(size=(3, 30, 600))
    base[:, 3:] *= np.where(recordings == 0, 1e6, 1e-3)
    candidates = rng.normal(size=(3, 2, 600))
    tau = base[:, :3].sum(axis=1) + candidates[:, 0] + 0.1 * rng.normal(size=(3, 600))
    rows = Rows(base, candidates, tau, np.arange(600) // 10, np.abs(rng.normal(size=(3, 600))) + 0.1, recordings)
    held_out = HeldOut(rows)
    assert np.isfinite(held_out.loss({}).mean)
    assert held_out.loss({0: 0.03}).mean < 0.1 * held_out.loss({}).mean
