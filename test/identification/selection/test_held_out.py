"""Held-out contributions written out: every fold left out, the rest solved, what laws add to the fold's rows."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.identification import identify
from joint_dynamics.identification.selection.held_out import BLOCKS, DEALS, HeldOut, Rows
from joint_dynamics.identification.selection.weights import Candidate, weigh
from joint_dynamics.recording import Recording

N, B, C, K = 2, 3, 3, 160
LAWS = [(0,), (2, 1)]
SHARE = 0.1


def rows_of(seed=0, parts=None, friction=(), slow=()):
    """Two joints, base columns and candidates; the second candidate does not exist in the first joint."""
    rng = np.random.default_rng(seed)
    base, candidates = rng.normal(size=(N, B, K)), rng.normal(size=(N, C, K))
    candidates[0, 1] = 0.0
    tau = np.einsum('jbk,b->jk', base, [1.0, -2.0, 0.5]) + 0.8 * candidates[:, 0] + rng.normal(size=(N, K))
    tau[0, 7] += 30.0
    return Rows(base, candidates, tau, np.zeros(K, dtype=int) if parts is None else parts, friction, slow)


def contributions(rows, fold):
    """What laws add to the rows of every fold (K,), with the coefficients of all others, and the torque: (3, N, K)."""
    columns = np.concatenate([rows.base, rows.candidates], axis=1)
    found = np.zeros((3, N, K))
    for f in np.unique(fold):
        rest = [(columns[j][:, fold != f], rows.tau[j, fold != f]) for j in range(N)]
        gram, right = sum(W @ W.T for W, _ in rest), sum(W @ y for W, y in rest)
        # a candidate's ridge is a share of its norm in the rows that are left
        share = np.array([0.0] * B + [SHARE] * C)
        solution = np.linalg.solve(gram + np.diag(share**2 * np.diag(gram)), right)
        lifted = np.linalg.solve(gram[:B, :B], np.column_stack([gram[:B, B:], right[:B]]))
        for j in range(N):
            here = columns[j][:, fold == f]
            own = here[B:] - lifted[:, :-1].T @ here[:B]
            for k, law in enumerate(LAWS):
                found[k, j, fold == f] = sum(solution[B + c] * own[c] for c in law)
            found[-1, j, fold == f] = rows.tau[j, fold == f] - lifted[:, -1] @ here[:B]
    return found


def by_block(parts):
    """Sums of products (blocks, 3, 3), rows with a large residual counted less."""
    residual = np.abs(parts[-1] - parts[0] - parts[1])
    counted = np.where(residual < 2.0, 1.0, 2.0 / residual)
    products = np.einsum('ujk,jk,vjk->kuv', parts, counted, parts)
    return products.reshape(BLOCKS, -1, 3, 3).sum(axis=1)


def test_blocks_of_time_are_predicted_from_the_others_cut_at_two_places():
    rows = rows_of()
    place = np.arange(K) // (K // BLOCKS)
    expected = np.mean(
        [by_block(contributions(rows, np.roll(place, -deal * K // BLOCKS // DEALS))) for deal in range(DEALS)], axis=0
    )
    products = HeldOut(rows).products(LAWS, SHARE)
    np.testing.assert_allclose(products.gram, expected[:, :2, :2], rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(products.right, expected[:, :2, 2], rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(products.torque, expected[:, 2, 2], rtol=1e-5)
    weights = np.array([0.7, 0.2])
    left = np.append(-weights, 1.0)
    np.testing.assert_allclose(
        products.gains(weights), expected[:, 2, 2] - (expected @ left) @ left, rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize('slow', [False, True])
def test_friction_of_each_parts_own_is_taken_out(slow):
    """Of each joint alone, in all its samples of the part, with least squares; not of what changes with the parts."""
    parts = np.repeat([4, 7, 4], [50, 70, 40])
    rows = rows_of(parts=parts, friction=((0, 2), ()), slow=(0,) if slow else ())
    place = np.arange(K) // (K // BLOCKS)
    sums = []
    for deal in range(DEALS):
        found = contributions(rows, np.roll(place, -deal * K // BLOCKS // DEALS))
        for part in (4, 7):
            own = rows.base[0][[0, 2]][:, parts == part].T
            for k in (1, 2) if slow else (0, 1, 2):
                column = found[k, 0, parts == part]
                found[k, 0, parts == part] -= own @ np.linalg.lstsq(own, column, rcond=None)[0]
        sums.append(by_block(found))
    products = HeldOut(rows).products(LAWS, SHARE)
    np.testing.assert_allclose(products.gram, np.mean(sums, axis=0)[:, :2, :2], rtol=1e-5, atol=1e-9)


def test_columns_that_one_recording_alone_shows_are_held_out_with_it():
    """Joints that move in one block only: without it nothing is left of their columns but rounding."""
    rng = np.random.default_rng(4)
    place = np.arange(600) // 60
    base = rng.normal(size=(3, 30, 600))
    base[:, 3:] *= np.where(place == 0, 1e6, 1e-3)
    candidates = rng.normal(size=(3, 2, 600))
    tau = base[:, :3].sum(axis=1) + candidates[:, 0] + 0.1 * rng.normal(size=(3, 600))
    products = HeldOut(Rows(base, candidates, tau, place)).products([(0,)], 0.03)
    gain = products.gains(np.ones(1))
    assert np.isfinite(gain).all()
    # nothing tells the block itself
    assert gain[1:].sum() > 0.9 * products.torque[1:].sum()


JOINTS, RECORDINGS, SAMPLES = 3, 3, 240
NOISE = 0.05
FASTEST = np.array([0.8, 1.6, 2.4])
COLD_AND_SLOW = np.array([2.0, 1.4, 1.0])
"""Viscous friction of each recording over that of the warm robot."""
WARM = np.array([-15.0, -6.0, 0.0])
"""Temperature of each recording [K] over that of the warm robot."""
LAW = Candidate('root', tuple(range(JOINTS)), tuple(range(JOINTS)))


def friction_rows(seed, speed, viscous, parts, root=0.0):
    """Coulomb, viscous and √ω friction of every joint, one parameter that all joints share; viscous (K,)."""
    rng = np.random.default_rng(seed)
    samples = speed.shape[1]
    base, candidates = np.zeros((JOINTS, 2 * JOINTS + 1, samples)), np.zeros((JOINTS, JOINTS, samples))
    for j in range(JOINTS):
        base[j, 2 * j], base[j, 2 * j + 1] = speed[j], np.sign(speed[j])
        candidates[j, j] = np.sign(speed[j]) * np.sqrt(np.abs(speed[j]))
    base[:, -1] = rng.normal(size=(JOINTS, samples))
    friction = np.sign(speed) * (1.0 + 0.5 * viscous * np.abs(speed) + root * np.sqrt(np.abs(speed)))
    tau = friction + 0.7 * base[:, -1] + NOISE * rng.normal(size=speed.shape)
    own = tuple((2 * j, 2 * j + 1) for j in range(JOINTS))
    return Rows(base / NOISE, candidates / NOISE, tau / NOISE, parts, own)


def three_recordings(seed, root=0.0, level=COLD_AND_SLOW):
    """A slow, a middle and a fast one; level: of viscous friction by recording."""
    phase = np.random.default_rng(seed + 100).uniform(0, 6, (JOINTS, RECORDINGS))
    t = np.linspace(0, 25, SAMPLES)
    speed = np.concatenate([FASTEST[r] * np.sin(t + phase[:, r, None]) for r in range(RECORDINGS)], axis=1)
    recordings = np.repeat(np.arange(RECORDINGS), SAMPLES)
    return friction_rows(seed, speed, np.asarray(level)[recordings], recordings, root)


PLACE = np.linspace(0, 1, RECORDINGS * SAMPLES)


def faded_in(seed, viscous, root=0.0):
    """One recording of a motion that grows from slow to fast."""
    rng = np.random.default_rng(seed + 100)
    t = 75 * PLACE
    speed = (0.5 + 1.9 * PLACE) * np.sin(t * rng.uniform(0.8, 1.2, (JOINTS, 1)) + rng.uniform(0, 6, (JOINTS, 1)))
    return friction_rows(seed, speed, viscous, (4 * PLACE).astype(int), root)


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('make', [
    lambda seed: three_recordings(seed), lambda seed: faded_in(seed, 1.0 + np.exp(-2 * PLACE)),
])  # fmt: skip
def test_what_a_drift_makes_look_like_a_law_of_speed_is_none(make, seed):
    """A cold and slow recording, or friction that falls as a gear warms in a motion that is slow at the start."""
    rows = make(seed)
    blind = Rows(rows.base, rows.candidates, rows.tau, rows.parts)
    assert len(weigh(HeldOut(blind), [LAW]).ridges) == JOINTS
    assert weigh(HeldOut(rows), [LAW]).ridges == {}


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('make', [
    lambda seed: three_recordings(seed, 0.6, np.ones(3)), lambda seed: faded_in(seed, np.ones(len(PLACE)), 0.6),
])  # fmt: skip
def test_a_law_of_speed_that_is_there_is_taken(make, seed):
    assert set(weigh(HeldOut(make(seed)), [LAW]).ridges) == {0, 1, 2}


def test_what_hardly_changes_within_a_part_may_be_told_by_their_differences():
    """Viscous friction that falls with temperature: differences between recordings are all that tells it."""
    rows = three_recordings(1, level=1.0 - 0.06 * WARM)
    speed = rows.base[np.arange(JOINTS), 2 * np.arange(JOINTS)]
    candidates = np.zeros_like(rows.candidates)
    candidates[np.arange(JOINTS), np.arange(JOINTS)] = speed * WARM[rows.parts]
    rows = Rows(rows.base, candidates, rows.tau, rows.parts, rows.friction)
    assert set(weigh(HeldOut(replace(rows, slow=LAW.columns)), [LAW]).ridges) == {0, 1, 2}
    assert weigh(HeldOut(rows), [LAW]).ridges == {}


@pytest.fixture(scope='module')
def cold_and_warm(true_robot):
    """Coulomb and viscous friction, more of the latter in the cold: a slow, a middle and a fast motion as it warms."""

    def run(seed, frequency, share, duration=20.0):
        rng = np.random.default_rng(seed)
        t, q, dq, ddq = true_robot.motion(rng, duration, 200.0, frequency=frequency)
        scale = np.sqrt(frequency / 0.07)
        q, dq, ddq = q * scale, dq * scale, ddq * scale
        tau = true_robot.torque(q, dq, ddq)
        tau += (share - 1) * true_robot.standard[:, 11] * dq
        tau += 0.01 * np.sqrt((tau**2).mean(axis=0)) * rng.normal(size=tau.shape)
        return Recording(true_robot.model.joint_names, t, q, tau=tau, name=f'{share} {seed}')

    return [run(1, 0.02, 1.6), run(2, 0.05, 1.3), run(3, 0.11, 1.0)]


def test_identify_takes_no_law_for_the_cold(cold_and_warm, true_robot):
    assert identify(true_robot.model, cold_and_warm).summary()['selection']['chosen'] == []
