"""Stiffness online: ordinary least squares as a limit, the thesis's experiment, changes, standstill, broken input."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import StiffnessEstimator
from joint_dynamics.signals.state_estimator import StateEstimator


def virtual_torque(joint, friction_error=1.05, window=0.05):
    """(φ, τ_E) from the measured signals by the motor side [M3 eq 17], friction model 5 % wrong.

    The time they belong to.
    """
    smoother = StateEstimator(3, joint.period, window=window)
    pairs = np.full((joint.time.size, 2), np.nan)
    for k, sample in enumerate(
        np.stack([joint.q, joint.theta, joint.motor_torque - friction_error * joint.friction], axis=1)
    ):
        value, first, second = smoother.update(sample)
        if smoother.ready:
            pairs[k] = value[1] - value[0], value[2] - joint.inertia * second[1] - joint.damping * (first[1] - first[0])
    return pairs


def run(estimator, pairs, report=()):
    """Feed one joint; return its coefficients after the samples `report`."""
    found = {}
    for k, (phi, torque) in enumerate(pairs):
        estimator.update([phi], [torque])
        if k in report:
            found[k] = estimator.coefficients[0].copy()
    return found


@pytest.fixture(scope='module')
def pairs(bang_joint):
    return virtual_torque(bang_joint)


@pytest.mark.parametrize(('order', 'prior'), [(1, 1e9), (2, 1e9), (3, 1e4)])
def test_without_forgetting_it_is_batch_least_squares(order, prior):
    """Plain least squares to 1e-9 where the prior is as good as none.

    With three terms that is beyond double precision, so with its prior.
    """
    rng = np.random.default_rng(order)
    n, samples = 4, 3000
    phi = rng.uniform(-2e-3, 2e-3, (samples, n))
    torque = 2e4 * phi + 3e9 * phi**3 + rng.normal(0, 0.3, phi.shape)
    estimator = StiffnessEstimator.ordinary(n, order, initial_covariance=prior)
    for row in zip(phi, torque, strict=True):
        estimator.update(*row)
    for j in range(n):
        W = np.stack([(phi[:, j] / 1e-3) ** (2 * p + 1) for p in range(order)], axis=1)
        rows, y = (
            (W, torque[:, j])
            if order < 3
            else (np.vstack([W, np.eye(order) / prior**0.5]), np.append(torque[:, j], np.zeros(order)))
        )
        batch = np.linalg.lstsq(rows, y, rcond=None)[0] / 1e-3 ** (2 * np.arange(order) + 1)
        assert estimator.coefficients[j] == pytest.approx(batch, rel=1e-9)
        scaled = np.linalg.inv(rows.T @ rows)
        unit = 1e-3 ** (2 * np.arange(order) + 1)
        assert estimator.covariance[j] == pytest.approx(scaled / np.outer(unit, unit), rel=1e-6)


def test_update_factor_is_the_printed_one_away_from_its_pole():
    """c = 1/(1/β + r) [M3 eq 18], where that can be computed; and finite where it cannot."""
    mu, r = 0.99, 0.5
    estimator = StiffnessEstimator(1, 1, scale=1.0, mu=mu, initial_covariance=r, gate=0.0, novelty=0.0)
    estimator.update([1.0], [0.0])
    beta = mu - (1 - mu) / r
    assert estimator.covariance[0, 0, 0] == pytest.approx(r - r * r / (1 / beta + r), rel=1e-12)
    pole = 1 / mu - 1
    estimator = StiffnessEstimator(1, 1, scale=1.0, mu=mu, initial_covariance=pole, gate=0.0, novelty=0.0)
    estimator.update([1.0], [0.0])
    assert estimator.covariance[0, 0, 0] == pytest.approx(pole, rel=1e-12)


def test_thesis_experiment(bang_joint, pairs, nrmse):
    reach = np.abs(bang_joint.phi).max()
    for estimator in (StiffnessEstimator(1), StiffnessEstimator.thesis()):
        found = run(estimator, pairs, (9999, 34999))
        assert nrmse(found[9999], bang_joint.stiffness, reach) >= 95.2
        assert nrmse(found[34999], bang_joint.stiffness, reach) >= 96.6


@pytest.fixture(scope='module')
def three(joint):
    """Three seeds of the experiment, as three joints of one robot: the joints and their pairs (N, 3, 2)."""
    joints = [joint(seed=seed) for seed in range(3)]
    return joints, np.stack([virtual_torque(one) for one in joints], axis=1)


def test_halved_torque_is_detected_and_learnt(three, nrmse):
    joints, pairs = three
    pairs = pairs.copy()
    pairs[10000:, :, 1] *= 0.5
    estimator = StiffnessEstimator(3)
    # Five seconds in which the joint moves, waits not counted.
    after = [
        10000 + int(np.searchsorted(np.cumsum(np.abs(one.dtheta[10000:]) > 0.01) * one.period, 5.0)) for one in joints
    ]
    found = []
    for pair in pairs:
        estimator.update(pair[:, 0], pair[:, 1])
        found.append(estimator.coefficients)
    for j, one in enumerate(joints):
        reach, half = np.abs(one.phi).max(), tuple(0.5 * k for k in one.stiffness)
        assert nrmse(found[9999][j], one.stiffness, reach) >= 95.2
        assert nrmse(found[after[j]][j], half, reach) >= 90.0
        assert nrmse(found[34999][j], half, reach) >= 94.0
    assert estimator.reopened.tolist() == [1, 1, 1]


def test_a_map_that_has_changed_is_learnt_anew_from_what_it_is(three):
    """Within 30 %, says its deviation; the other joints are left alone."""
    _, pairs = three
    estimator = StiffnessEstimator(3)
    for pair in pairs[:10000]:
        estimator.update(pair[:, 0], pair[:, 1])
    before, deviation = estimator.coefficients, estimator.standard_deviation
    kept = estimator.snapshot()
    estimator.reopen(1, 0.55 * estimator.alpha[1])
    np.testing.assert_allclose(estimator.coefficients, before * [[1.0], [0.55], [1.0]], rtol=1e-12)
    assert (estimator.standard_deviation[1] > deviation[1]).all()
    np.testing.assert_array_equal(estimator.standard_deviation[[0, 2]], deviation[[0, 2]])
    estimator.restore(kept)
    np.testing.assert_array_equal(estimator.coefficients, before)


def test_nothing_is_detected_where_nothing_changes(three):
    _, pairs = three
    estimator = StiffnessEstimator(3)
    for pair in pairs:
        estimator.update(pair[:, 0], pair[:, 1])
    assert estimator.reopened.tolist() == [0, 0, 0]


def test_where_little_is_transmitted_an_error_of_friction_is_no_jump():
    """3 N·m are over half of what a joint carries for a second, and a seventh of the rms that it usually carries."""
    estimator, rng = StiffnessEstimator(1, period=2e-3), np.random.default_rng(5)
    t = np.arange(0.0, 7.0, 2e-3)
    working = t < 6.0
    phi = np.where(working, 1.5e-3 * np.sin(2.0 * t), 2.4e-4 + 3e-5 * np.sin(20.0 * t))
    friction = np.where(working, 0.0, 3.0 * np.sign(np.cos(20.0 * t)))
    for one, torque in zip(phi, 2e4 * phi + friction + rng.normal(0.0, 0.05, t.size), strict=True):
        estimator.update([one], [torque])
    assert estimator.reopened.tolist() == [0]


def test_ten_minutes_of_standstill_change_nothing(bang_joint, pairs, nrmse):
    """600 s at 50 Hz, with a torque that is wrong: unloaded, loaded and hardly wrong, loaded and wrong.

    Encoders flicker by a count.
    """
    estimator = StiffnessEstimator(3, period=2e-2)
    for phi, torque in pairs[:15000:20]:
        estimator.update([phi] * 3, [torque] * 3)
    before = estimator.coefficients
    rest, bias = np.array([0.0, 8e-4, 8e-4]), np.array([1.0, 0.3, 3.0])
    k1, k3 = bang_joint.stiffness
    for noise in np.random.default_rng(1).normal(0, 2e-6, (30000, 3)):
        estimator.update(rest + noise, k1 * rest + k3 * rest**3 + bias)
    reach = np.abs(bang_joint.phi).max()
    for j, kept in enumerate((99.9, 99.0, 95.0)):
        change = nrmse(estimator.coefficients[j], before[j], reach)
        assert change >= kept, f'joint {j}: {change:.2f} % of the map kept'
    P = estimator.covariance * np.outer([1e-3, 1e-9], [1e-3, 1e-9])
    assert np.linalg.eigvalsh(P).min() > 0
    assert np.linalg.eigvalsh(P).max() <= 1e4


def test_gate_is_what_saves_it(bang_joint, pairs, nrmse):
    """The thesis's run without a gate loses the map in a standstill under 1 N·m of bias, as the methods sheet says."""
    estimator = StiffnessEstimator(1, mu=0.9995, gate=0.0, novelty=0.0, change_share=np.inf)
    run(estimator, pairs[:15000])
    rng = np.random.default_rng(1)
    for noise in rng.normal(0, 2e-6, 10000):
        estimator.update([noise + 5e-6], [1.0])
    assert nrmse(estimator.coefficients[0], bang_joint.stiffness, np.abs(bang_joint.phi).max()) < 90.0


def test_a_described_map_is_in_force_until_enough_is_learnt(bang_joint, pairs, nrmse):
    """Two joints with the same description and samples; of the second nothing is kept.

    The first sample is one that Gazebo gave where its clock had stood still: the acceleration, hence the torque, has
    the wrong sign. Not excited otherwise, the joint must not lose its map by it, nor by 10 s of a torque that the
    deformation does not explain.
    """
    phi, reach, described = np.full(2, -2.2e-4), np.abs(bang_joint.phi).max(), np.array([4.7e3, 1.5e10])
    estimator = StiffnessEstimator(
        2, keep=[True, False], initial_coefficients=described, initial_covariance=[200.0, 200.0]
    )
    before = estimator.covariance[0], estimator.variance(phi)[0], estimator.noise[0]
    estimator.update(phi, np.full(2, 0.87))
    assert estimator.excited.all() and not estimator.reliable.any()
    assert estimator.coefficients[1, 0] < 0
    rng = np.random.default_rng(0)
    for angle in reach * np.sin(5.0 * bang_joint.period * np.arange(10000)):
        estimator.update(np.full(2, angle), np.full(2, rng.normal(0.0, 5.0)))
        assert not estimator.reliable.any()
    assert (estimator.excitation > 5.0).all()
    np.testing.assert_allclose(estimator.coefficients[0], described, rtol=1e-12)
    np.testing.assert_array_equal(estimator.known, [estimator.coefficients[0], [np.nan, np.nan]])
    np.testing.assert_array_equal(estimator.covariance[0], before[0])
    assert (estimator.variance(phi)[0], estimator.noise[0]) == before[1:]
    assert estimator.torque(phi)[0] == pytest.approx(described @ [phi[0], phi[0] ** 3])
    # What explains the torque is taken.
    for sample in pairs:
        estimator.update(np.full(2, sample[0]), np.full(2, sample[1]))
    assert estimator.reliable.all()
    np.testing.assert_array_equal(estimator.known, estimator.coefficients)
    assert nrmse(estimator.coefficients[0], bang_joint.stiffness, reach) >= 95.0
    np.testing.assert_array_equal(estimator.coefficients[0], estimator.coefficients[1])


KINDS = ('noise', 'constant', 'zero', 'nan', 'huge', 'steps', 'sine', 'alternating', 'tiny', 'mixed')


def ugly(kind, rng, samples):
    """Pairs (samples, 2) of one kind that no robot should give."""
    noise = rng.normal(size=(samples, 2)) * [1e-3, 20.0]
    if kind == 'constant':
        return np.tile(noise[:1], (samples, 1))
    if kind == 'zero':
        return np.zeros((samples, 2))
    if kind == 'nan':
        noise[rng.random((samples, 2)) < 0.5] = np.nan
        return noise
    if kind == 'huge':
        return noise * 10.0 ** rng.uniform(-12, 300, (samples, 1))
    if kind == 'steps':
        return np.repeat(noise[: samples // 500 + 1], 500, axis=0)[:samples]
    if kind == 'sine':
        return np.sin(np.arange(samples) * 1e-2)[:, None] * [1e-3, -20.0]
    if kind == 'alternating':
        return np.where(np.arange(samples) % 2 == 0, 1.0, -1.0)[:, None] * [1.0, 1e8]
    if kind == 'tiny':
        return noise * 1e-200
    noise[rng.random((samples, 2)) < 0.01] = np.inf
    noise[samples // 2 :] *= 1e-6
    return noise


@pytest.mark.parametrize(
    'make',
    [
        StiffnessEstimator,
        StiffnessEstimator.thesis,
        lambda n: StiffnessEstimator(n, 3, mu=0.9, delta=1e-3, gate=0.0, novelty=0.0),
    ],
)
def test_a_million_ugly_samples_leave_it_finite(make):
    """Ten kinds of input at once on 50 joints, a million joint samples in all.

    Finite, symmetric, positive definite, bounded.
    """
    rng = np.random.default_rng(2)
    samples, copies = 20000 // 3, 5
    data = np.stack([ugly(kind, rng, samples) for kind in KINDS for _ in range(copies)], axis=1)
    estimator = make(len(KINDS) * copies)
    with np.errstate(all='raise', under='ignore'):
        for row in data:
            estimator.update(row[:, 0], row[:, 1])
    assert np.isfinite(estimator.coefficients).all()
    P = estimator.covariance
    assert np.isfinite(P).all()
    assert pytest.approx(P.transpose(0, 2, 1), rel=1e-12) == P
    root = np.sqrt(np.diagonal(P, axis1=1, axis2=2))
    assert (root > 0).all()
    assert np.linalg.eigvalsh(P / (root[:, :, None] * root[:, None, :])).min() > -1e-9


@pytest.mark.parametrize('rate', [100, 500])
def test_other_rates(joint, nrmse, rate):
    """The same settings at 100 and 500 Hz: everything is in seconds."""
    simulated = joint(seed=1, period=1.0 / rate)
    pairs = virtual_torque(simulated, window=0.1 if rate == 100 else 0.05)
    estimator = StiffnessEstimator(1, period=1.0 / rate)
    run(estimator, pairs)
    assert nrmse(estimator.coefficients[0], simulated.stiffness, np.abs(simulated.phi).max()) >= 94.0


def test_deviation_and_curves(bang_joint, pairs):
    estimator = StiffnessEstimator(1)
    run(estimator, pairs)
    phi = np.linspace(-1e-3, 1e-3, 11)[:, None]
    k1, k3 = bang_joint.stiffness
    assert estimator.torque(phi)[:, 0] == pytest.approx(k1 * phi[:, 0] + k3 * phi[:, 0] ** 3, abs=1.0)
    step = 1e-7
    assert estimator.stiffness(phi) == pytest.approx(
        (estimator.torque(phi + step) - estimator.torque(phi - step)) / (2 * step), rel=1e-4
    )
    psi = np.array([phi[0, 0], phi[0, 0] ** 3])
    assert estimator.variance(phi[0]) == pytest.approx(
        psi @ estimator.covariance[0] @ psi * estimator.noise[0] ** 2, rel=1e-9
    )
    assert (estimator.standard_deviation > 0).all()
    estimator.reset([1e4, 0.0])
    assert estimator.torque([1e-3]) == pytest.approx([10.0])


@pytest.mark.parametrize(
    'bad',
    [
        {'joints': 0},
        {'joints': 1, 'order': 0},
        {'joints': 1, 'mu': 0.0},
        {'joints': 1, 'mu': 1.1},
        {'joints': 1, 'delta': -1.0},
        {'joints': 2, 'scale': [1.0, 1.0, 1.0]},
        {'joints': 1, 'memory': 0.0},
        {'joints': 1, 'initial_covariance': 0.0},
    ],
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(JointDynamicsError):
        StiffnessEstimator(**bad)


def test_wrong_shapes_are_refused():
    with pytest.raises(JointDynamicsError, match='shape'):
        StiffnessEstimator(2).update([1e-3], [1.0, 1.0])


def test_a_joint_in_company_is_learnt_as_alone():
    """To the last bit, also where the stiffness of others jumps while what is known of it is at its bounds."""
    rng = np.random.default_rng(5)
    joints, samples = 6, 4000
    phi = 1e-3 * np.sin(0.01 * np.arange(samples))
    torque = 2e4 * phi[:, None] * rng.choice([-1.0, 1.0, 2.0], (samples // 250, joints)).repeat(250, axis=0)
    torque += rng.normal(0.0, 0.02, torque.shape)
    together = StiffnessEstimator(joints, initial_covariance=[200.0, 200.0])
    alone = [StiffnessEstimator(1, initial_covariance=[200.0, 200.0]) for _ in range(joints)]
    for angle, sample in zip(phi, torque, strict=True):
        together.update(np.full(joints, angle), sample)
        for estimator, value in zip(alone, sample, strict=True):
            estimator.update([angle], [value])
    assert (together.reopened > 0).all()
    for joint, estimator in enumerate(alone):
        np.testing.assert_array_equal(together.coefficients[joint], estimator.coefficients[0])
        np.testing.assert_array_equal(together.covariance[joint], estimator.covariance[0])


def test_without_gate_and_novelty_a_standstill_teaches_too():
    """`ordinary` is the batch solution, whatever the order of the samples: none is left out, however often it comes."""
    rng = np.random.default_rng(10)
    phi = np.repeat([0.3e-3, -1e-6, 0.0, 1e-3], [400, 5, 5, 400])
    tau = 2e4 * phi + 1e9 * phi**3 + rng.normal(0, 0.1, phi.size)
    estimator = StiffnessEstimator.ordinary(1, scale=1e-3, hold=0.01, initial_covariance=1e6)
    assert (estimator.mu, estimator.delta) == (1.0, 0.0)
    for one, torque in zip(phi, tau, strict=True):
        estimator.update([one], [torque])
        assert estimator.excited[0]
    x = phi / 1e-3
    W = np.stack([x, x**3], axis=1)
    batch = np.linalg.solve(W.T @ W + 1e-6 * np.eye(2), W.T @ tau)
    np.testing.assert_allclose(estimator.coefficients[0], batch / [1e-3, 1e-9], rtol=1e-6)
    assert not estimator.changes.any()
    # said otherwise, it is otherwise
    gated = StiffnessEstimator.ordinary(1, scale=1e-3, gate=0.5e-3, mu=0.9)
    gated.update([0.3e-3], [6.0])
    assert not gated.excited[0] and gated.mu == 0.9
