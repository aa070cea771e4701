"""Deviations from the scatter between blocks: their mean, degrees of freedom and coverage, against what statistics
say they are."""

from functools import partial

import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.signal import lfilter
from scipy.stats import binom, norm, t

from joint_dynamics.identification.regression.covariance import (
    MOST,
    SPEEDS,
    blocks_of_time,
    covariance,
    samples_per_independent,
    scatter,
)
from joint_dynamics.identification.regression.least_squares import wls
from joint_dynamics.identification.regression.rows import Block
from joint_dynamics.identification.regression.triangles import triangulate

ROWS, COLUMNS = 200, 12


def intervals(A, noise, label):
    """z-scores (columns,) of the error of a fit to `noise` alone."""
    inverse = np.linalg.inv(A.T @ A)
    error = inverse @ (A.T @ noise)
    return error / np.sqrt(np.diag(scatter(A, noise - A @ error, label, inverse)))


def correlated(rng, rows, memory):
    noise = rng.standard_normal(rows)
    for k in range(1, rows):
        noise[k] = memory * noise[k - 1] + np.sqrt(1 - memory**2) * noise[k]
    return noise


@pytest.mark.parametrize('memory', [0.0, 0.8])
def test_intervals_cover_nineteen_in_twenty(memory):
    """White noise or correlated over several rows, regressors smooth: 95 % lie within 1.96 deviations, as nearly as
    so many trials can tell."""
    rng = np.random.default_rng(11)
    label = np.concatenate(blocks_of_time([ROWS]))
    inside = total = 0
    for _ in range(150):
        A = np.column_stack([correlated(rng, ROWS, 0.6) for _ in range(COLUMNS)])
        z = intervals(A, correlated(rng, ROWS, memory), label)
        inside, total = inside + np.count_nonzero(np.abs(z) < 1.96), total + COLUMNS
    # parameters of one trial are not independent: as many as there are trials are
    low, high = binom.interval(0.999, 150, 0.95)
    assert low / 150 <= inside / total <= min(1.0, high / 150)


def test_what_one_block_alone_shows_keeps_the_typical_deviation():
    """A column of one block only leaves no scatter: it gets that of independent rows, grown as the other parameters'
    are."""
    rng = np.random.default_rng(5)
    label = np.concatenate(blocks_of_time([ROWS]))
    A = rng.standard_normal((ROWS, 4))
    A[label != 2, 3] = 0.0
    inverse = np.linalg.inv(A.T @ A)
    noise = 3.0 * rng.standard_normal(ROWS)
    deviation = np.sqrt(np.diag(scatter(A, noise - A @ (inverse @ (A.T @ noise)), label, inverse)))
    assert 0.5 < deviation[3] / (3.0 * np.sqrt(inverse[3, 3])) < 2.0


def test_pieces_of_a_stream_give_the_same():
    """However the samples come in pieces, the covariance is the same; so it is when torque and parameters change
    their units."""
    rng = np.random.default_rng(8)
    rows, tau = rng.standard_normal((2, 5, 300)), rng.standard_normal((2, 300))

    def pieces(size, scale=1.0):
        for observation, first in ((0, 0), (1, 200)):
            last = 200 if observation == 0 else 300
            for start in range(first, last, size):
                part = slice(start, min(start + size, last))
                place = slice(part.start - first, part.stop - first)
                yield Block(rows[:, :, part], scale * tau[:, part], tau[:, part], observation, place)

    found = [
        covariance(partial(pieces, size, scale), wls(triangulate(pieces(size, scale))), [200, 100])
        for size, scale in ((300, 1.0), (17, 1.0), (17, 1e3))
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-9, atol=1e-12 * np.abs(found[0]).max())
    np.testing.assert_allclose(found[2], 1e6 * found[1], rtol=1e-9, atol=1e-6 * np.abs(found[1]).max())


def test_combinations_have_their_own_whatever_the_parameters_are():
    """Of the parameters themselves as combinations the same; of other parameters T χ, and S T⁻¹ of them, as of S."""
    rng = np.random.default_rng(9)
    rows, tau, S, T = (rng.standard_normal(shape) for shape in ((2, 5, 300), (2, 300), (3, 5), (5, 5)))

    def spread(rows, **of):
        block = Block(rows, tau, tau, 0, slice(0, 300))
        return covariance(partial(iter, [block]), wls(triangulate([block])), [300], **of)

    assert np.array_equal(spread(rows, of=np.eye(5)), spread(rows))
    other = spread(np.einsum('cb,jcs->jbs', np.linalg.inv(T), rows), of=S @ np.linalg.inv(T))
    np.testing.assert_allclose(other, spread(rows, of=S), rtol=1e-12 * np.linalg.cond(T) ** 2)


def slides(rng, law, samples=600):
    """One joint, ten periods of a random series; columns sgn ω and ω, white noise."""
    phase = np.outer(np.arange(1, 4), np.linspace(0, 20 * np.pi, samples, endpoint=False))
    speed = rng.standard_normal(3) @ np.sin(phase + rng.uniform(0, 2 * np.pi, (3, 1)))
    rows = np.array([[np.sign(speed), speed]])
    tau = (law(speed) + 0.05 * rng.standard_normal(samples))[None]
    return Block(rows, tau, speed[None], 0, slice(0, samples))


def agreement(law, both):
    """Share of parameters of pairs of recordings within 1.96 deviations of their difference."""
    rng, inside = np.random.default_rng(12), []
    for _ in range(150):
        pair = []
        for block in (slides(rng, law), slides(rng, law)):
            solution = wls(triangulate([block]))
            if both:
                spread = covariance(partial(iter, [block]), solution, [600])
            else:
                factor = 1.0 / solution.sigma[0]
                A, y = block.rows[0].T * factor, block.tau[0] * factor
                spread = scatter(A, y - A @ solution.chi, blocks_of_time([600])[0], solution.inverse)
            pair.append((solution.chi, np.diag(spread)))
        (first, one), (second, other) = pair
        inside.append(np.abs(first - second) < 1.96 * np.sqrt(one + other))
    return np.mean(inside)


def test_a_wrong_law_of_friction_shows_between_speeds_and_not_between_blocks_of_time():
    """√ω that the columns do not know: all blocks hold the same speeds and the same error, other recordings others."""

    def root(speed):
        return np.sign(speed) * (1.0 + np.sqrt(np.abs(speed)))

    def known(speed):
        return np.sign(speed) + speed

    # of three harmonics ten ranges of speed tell a part; blocks of time tell next to nothing
    assert agreement(root, both=False) < 0.3
    assert agreement(root, both=True) > 0.65
    # and where the law is right, 95 % as nearly as 150 pairs tell
    assert binom.ppf(0.001, 150, 0.95) / 150 <= agreement(known, both=True) <= 1.0


def test_blocks_of_time_never_cross_recordings():
    labels = blocks_of_time([700, 5, 295])
    assert [len(np.unique(label)) for label in labels] == [7, 1, 3]
    assert len(np.unique(np.concatenate(labels))) == 11
    assert np.concatenate(blocks_of_time([10] * 200)).max() == MOST - 1


@pytest.mark.parametrize('memory', [0.0, 0.5, 0.9])
def test_a_mean_of_correlated_noise_is_as_uncertain_as_of_its_independent_samples(memory):
    """Noise e_k = φ e_{k−1} + w_k, whose mean has the variance σ²/N (1 + φ)/(1 − φ); 95 % as nearly as 400 tell."""
    noise = lfilter([1.0], [1.0, -memory], np.random.default_rng(0).normal(size=(400, 4500)))[:, 500:]
    worth = np.array([samples_per_independent(row) for row in noise])
    assert np.mean(worth) == pytest.approx((1 + memory) / (1 - memory), rel=0.1)
    within = np.abs(noise.mean(axis=1)) < norm.ppf(0.975) * np.sqrt(noise.var(axis=1) * worth / noise.shape[1])
    assert binom.ppf(0.001, 400, 0.95) / 400 <= np.mean(within) <= binom.ppf(0.999, 400, 0.95) / 400


def test_the_covariance_is_bell_and_mccaffreys(dense, blocks, system):
    """B_g by the matrix root of I − A_g M A_gᵀ over all rows of a cluster; degrees of freedom from the whole operator;
    clusters by time, by speed, and by both [Cameron, Gelbach and Miller]."""
    rows, tau, _, _ = system
    N, B, SAMPLES = rows.shape
    found = wls(triangulate(blocks(rows, tau)))
    factor = np.broadcast_to(1.0 / found.sigma[:, None], tau.shape)
    A, y = dense(rows, tau, factor)
    M = np.linalg.inv(A.T @ A)
    residual, H = y - A @ found.chi, np.eye(len(y)) - A @ M @ A.T

    def one_way(label):
        """Variance under clusters, and its stretch."""
        variance, shown, freedom = np.zeros(B), np.zeros(B), np.zeros(B)
        operators = []
        for g in np.unique(label):
            here = label == g
            root = np.linalg.inv(np.real(sqrtm(np.eye(here.sum()) - A[here] @ M @ A[here].T)))
            weights = root @ A[here] @ M
            variance += (weights.T @ residual[here]) ** 2
            operators.append(H[here].T @ weights)
        for c in range(B):
            G = np.stack([operator[:, c] for operator in operators], axis=1)
            Q = G.T @ G
            shown[c], freedom[c] = np.trace(Q), np.trace(Q) ** 2 / np.sum(Q**2)
        share = np.clip(shown / np.diag(M), 0.0, 1.0)
        typical = np.median((variance / shown)[share > 0.5])
        stretch = t.ppf(0.975, np.maximum(freedom, 1.0)) / norm.ppf(0.975)
        return variance, (1.0 - share) * np.diag(M) * typical, stretch**2

    time = np.tile(blocks_of_time([SAMPLES])[0], N)
    speed = np.empty((N, SAMPLES), dtype=int)
    for j, values in enumerate(tau):
        # the blocks of this test have the torque for speed
        ends = np.quantile(values, np.arange(1, SPEEDS) / SPEEDS)
        speed[j] = j * SPEEDS + np.sum(values[:, None] > ends, axis=1)
    by_time, by_speed, by_both = (one_way(label) for label in (time, speed.ravel(), 1000 * time + speed.ravel()))
    expected = by_time[0] * by_time[2] + by_time[1]
    both = by_both[0] + by_both[1]
    expected += np.maximum(by_speed[0] + by_speed[1] / by_speed[2] - both, 0.0) * by_speed[2]
    V = covariance(lambda: blocks(rows, tau), found, [SAMPLES])
    np.testing.assert_array_equal(V, V.T)
    np.testing.assert_allclose(np.diag(V), expected, rtol=1e-6)
    assert np.any(by_speed[0] > both)
    correlation = M / np.sqrt(np.outer(np.diag(M), np.diag(M)))
    np.testing.assert_allclose(V / np.sqrt(np.outer(np.diag(V), np.diag(V))), correlation, rtol=1e-6, atol=1e-9)
    none = np.empty((0, 2)), np.empty(0), np.empty(0, dtype=int)
    assert scatter(*none, np.eye(2)).tolist() == np.eye(2).tolist()


def test_an_offset_that_only_stays_tell_is_off_by_what_friction_may_hold():
    """A joint that turns one way: sums of offset and Coulomb friction in motion, offset and what holds it at rest.

    That, h, is the same in every stay, uniform in ± F_C: no scatter between the stays shows it. F_C comes out as F − h,
    so ± 1.96 (F − h)/√3 holds where h < 0.531 F.
    """
    rng = np.random.default_rng(5)
    samples, F, offset = 400, 2.0, 0.5
    resting = np.arange(samples) % 50 < 10
    dq = np.where(resting, 0.0, 1.0 + 0.5 * np.sin(np.arange(samples) / 9.0))[None]
    scale = np.where(resting, 1.0 / np.sqrt(10.0), 1.0)[None]
    rows = np.stack([np.sign(dq), np.ones_like(dq), dq], axis=1)
    inside = scatter_alone = 0
    for _ in range(200):
        holds = rng.uniform(-F, F)
        tau = offset + np.where(resting, holds, F + 3.0 * dq) + 0.1 * rng.standard_normal(dq.shape)
        block = Block(rows, tau, dq, 0, resting=resting[None], scale=scale)
        solution = wls(triangulate([block]))
        error = np.abs(solution.chi - [F, offset, 3.0])
        V = covariance(lambda block=block: [block], solution, [samples], np.abs(solution.chi[:1]))
        inside += error[1] < 1.96 * np.sqrt(V[1, 1])
        plain = covariance(lambda block=block: [block], solution, [samples])
        scatter_alone += error[1] < 1.96 * np.sqrt(plain[1, 1])
        # the joint in motion says as little of that as before
        assert V[2, 2] == pytest.approx(plain[2, 2], rel=1e-3)
    assert scatter_alone < 20
    assert binom.ppf(0.001, 200, 0.765) <= inside <= binom.ppf(0.999, 200, 0.765)
