"""The pieces that joint tests are made of, on signals without noise whose answer can be written down."""

import re
from dataclasses import replace

import numpy as np
import pinocchio
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.errors import JointDynamicsError, NotReliableError
from joint_dynamics.identification.joint_tests.damping import oscillation_peaks
from joint_dynamics.identification.joint_tests.data import JointData, joint_data
from joint_dynamics.identification.joint_tests.inertia import interpolated
from joint_dynamics.identification.joint_tests.plateaus import (
    PlateauSettings,
    constant_stretches,
    find_plateaus,
    group_speeds,
    mean_deviation,
    steady_rows,
)
from joint_dynamics.identification.joint_tests.regression import least_squares
from joint_dynamics.identification.joint_tests.result import JointTestResult, Value, friction_document, nrmse_percent
from joint_dynamics.identification.joint_tests.transmission_maps import fit_transmission_maps, travel_since_reversal
from joint_dynamics.joint import TorsionalStiffness
from joint_dynamics.recording import Recording

RATE = 200.0


def of_speed(omega, *, rate=RATE, tau=None, tau_J=None, temperature=None, q=None):
    """A joint that turns with ω (N,) rad/s."""
    theta = np.concatenate([[0.0], np.cumsum(omega)[:-1]]) / rate
    time = np.arange(len(omega)) / rate
    alpha = np.gradient(omega, 1 / rate)
    sides = theta if q is None else q(theta, omega)
    return JointData('j', 'run', time, rate, sides, theta, omega, alpha, 10.0, q is not None, tau, tau_J, temperature)


def test_constant_speed_is_found_where_it_is():
    """Three plateaus: one too short, one whose start is spent on the settling, one long; and none in a ramp."""
    pieces = [(0.5, 200), (0.0, 100), (-1.0, 40), (0.0, 100), (0.02, 300)]
    omega = np.concatenate([np.full(samples, speed) for speed, samples in pieces])
    settings = PlateauSettings(min_duration=0.4, min_speed=0.01, tolerance=0.05, settle=0.00605)
    found = constant_stretches(of_speed(omega), settings)
    assert [(part.start < 200, part.start >= 440) for part in found] == [(True, False), (False, True)]
    # half a window of 40 samples is taken off at the ends, 6.05 mrad at 0.5 rad/s are 3 samples and at 0.02 are 61
    half = 40
    assert found[0].start == half - half // 2 + 3
    # of the window after it, 5 % may be of another speed: 2 samples
    assert 0 <= found[0].stop - (200 - half // 2) <= 2
    assert abs(found[1].start - (440 + half // 2 + 61)) <= 1
    assert found[1].stop == 740 - half + half // 2
    for changed, count in (
        ({'min_speed': 0.03}, 1), ({'min_speed': 0.6}, 0), ({'min_duration': 0.1}, 3), ({'settle': 0.06}, 1),
    ):  # fmt: skip
        assert len(constant_stretches(of_speed(omega), replace(settings, **changed))) == count
    t = np.arange(400) / RATE
    assert constant_stretches(of_speed(1.0 + t), settings) == []
    assert len(constant_stretches(of_speed(1.0 + t), replace(settings, tolerance=0.5))) == 1
    assert constant_stretches(of_speed(omega[:80]), settings) == []


def test_plateaus_have_means_of_their_rows():
    rng = np.random.default_rng(0)
    omega = np.repeat([0.5, -0.25], 300)
    noise = rng.normal(size=(4, 600))
    slope = np.tile(np.linspace(0.0, 3.0, 300), 2)
    data = of_speed(omega, tau=10 * omega + slope + noise[0], tau_J=2.0 + noise[1], temperature=30 + noise[2])
    settings = PlateauSettings()
    found = find_plateaus([data], settings)
    assert [part.recording for part in found] == ['run', 'run']
    for one, speed in zip(found, (0.5, -0.25), strict=True):
        friction = (data.tau - data.tau_J)[one.part]
        assert one.speed == pytest.approx(speed, rel=1e-9)
        assert (one.torque, one.temperature, one.load) == pytest.approx(
            (friction.mean(), data.temperature[one.part].mean(), data.tau_J[one.part].mean()), rel=1e-12
        )
        x = np.linspace(-0.5, 0.5, friction.size)
        assert one.trend == pytest.approx(x @ (friction - friction.mean()) / (x @ x), rel=1e-9)
        assert one.std == mean_deviation(friction)
    bare = find_plateaus([replace(data, tau_J=None, temperature=None)], settings)[0]
    assert bare.load is None and bare.temperature is None
    assert bare.torque == pytest.approx(data.tau[bare.part].mean())
    message = (
        'run, run: j has no stretch of constant speed of at least 0.3 s above 0.002 rad/s: no plateau to read friction '
        'from; take all of the motion instead (joint.friction.method: motion)'
    )
    with pytest.raises(NotReliableError, match=f'^{re.escape(message)}$'):
        find_plateaus([of_speed(0 * omega, tau=omega)] * 2)
    rows = steady_rows([data], settings, block=0.1)
    parts = constant_stretches(data, settings)
    cuts = [slice(k, k + 20) for part in parts for k in range(part.start, part.stop - 19, 20)]
    for name, signal in (('speed', data.omega), ('friction', data.tau - data.tau_J), ('load', data.tau_J),
                         ('temperature', data.temperature), ('theta', data.theta)):  # fmt: skip
        np.testing.assert_allclose(getattr(rows, name), [signal[cut].mean() for cut in cuts], rtol=1e-12)
    assert rows.both_directions
    assert not steady_rows([of_speed(omega[:300], tau=omega[:300])], settings).both_directions
    alone = steady_rows([replace(data, tau_J=None, temperature=None)], settings)
    assert np.isnan(alone.load).all() and np.isnan(alone.temperature).all()
    with pytest.raises(
        NotReliableError, match=r'^run: j has no stretch of constant speed of at least 0.3 s above 0.002'
    ):
        steady_rows([of_speed(0 * omega, tau=omega)], settings)


def test_the_deviation_of_a_mean_is_the_largest_over_batches():
    rng = np.random.default_rng(1)
    for size in (31, 32, 64, 127, 128, 1000):
        x = np.convolve(rng.normal(size=size + 20), np.ones(21), 'valid')
        expected = [x.std(ddof=1) / np.sqrt(size)]
        for batches in (8, 16, 32):
            if size >= 4 * batches:
                means = [part.mean() for part in np.array_split(x, batches)]
                expected.append(np.std(means, ddof=1) / np.sqrt(batches))
        assert len(expected) == 1 + (size >= 32) + (size >= 64) + (size >= 128)
        assert mean_deviation(x) == pytest.approx(max(expected), rel=1e-12)


def test_like_speeds_have_one_label():
    speeds = np.array([1.0, -1.0, 1.04, 0.5, -0.96, 1.06, 0.51])
    assert group_speeds(speeds).tolist() == [2, 0, 2, 1, 0, 3, 1]
    assert group_speeds(speeds, 0.2).tolist() == [2, 0, 2, 1, 0, 2, 1]


def test_what_was_not_measured_is_named():
    data = of_speed(np.ones(10))
    for name, wanted in (
        ('tau', 'a motor torque (tau, or current with a drive gain), found none'),
        ('temperature', 'a joint temperature, found none'),
        ('tau_J', 'a load torque (column load, or --robot with inertial parameters), found none'),
        ('theta', 'a motor-side angle (theta), found only q'),
    ):
        with pytest.raises(JointDynamicsError, match=f'^{re.escape(f"run: j: expected {wanted}")}$'):
            data.need(name)
    whole = of_speed(np.ones(10), tau=np.full(10, 3.0), q=lambda theta, omega: theta)
    whole.need('tau', 'theta')
    np.testing.assert_array_equal(whole.friction(), 3.0)
    loaded = whole.with_load(np.full(10, 1.0), 'weighed')
    np.testing.assert_array_equal(loaded.friction(), 2.0)
    assert (loaded.load_source, whole.load_source, whole.samples) == ('weighed', 'none', 10)


def test_a_joint_taken_out_of_a_recording(ur):
    """Torque of its own gain, load as recorded or from the rigid bodies, which pinocchio knows as well."""
    t = np.arange(800) / RATE
    q = np.sin(np.outer(t, np.arange(1, 7)) / 2)
    current = np.cos(np.outer(t, np.arange(1, 7)))
    names = ur.joint_names
    recording = Recording(names, t, q, current=current, theta=q + 1e-3, temperature=30 + q, name='run')
    j, inside = 2, slice(100, -100)
    data = joint_data(recording, names[j], drive_gains={names[j]: 7.0, names[0]: 1.0}, cutoff=15.0)
    np.testing.assert_allclose(data.tau, 7.0 * current[:, j])
    np.testing.assert_array_equal(data.theta, q[:, j] + 1e-3)
    np.testing.assert_array_equal(data.q, q[:, j])
    np.testing.assert_array_equal(data.temperature, 30 + q[:, j])
    np.testing.assert_allclose(data.omega[inside], 1.5 * np.cos(1.5 * t)[inside], atol=1e-3)
    np.testing.assert_allclose(data.alpha[inside], -2.25 * np.sin(1.5 * t)[inside], atol=1e-2)
    assert (data.joint, data.name, data.rate, data.cutoff, data.two_sided) == (names[j], 'run', RATE, 15.0, True)
    assert data.tau_J is None and data.load_source == 'none'
    bare = joint_data(Recording(names, t, q, name='run'), names[j])
    assert bare.tau is None and bare.temperature is None and not bare.two_sided
    np.testing.assert_array_equal(bare.theta, q[:, j])
    with pytest.raises(JointDynamicsError, match=f'^run: expected a joint of {", ".join(names)}, found hand$'):
        joint_data(recording, 'hand')
    load = np.full_like(q, 4.0)
    loaded = joint_data(
        Recording(names, t, q, load_torque=load, name='run'), names[j], arm=Arm(ur, parameters=np.zeros(14 * 6))
    )
    assert loaded.load_source == 'recorded load'
    np.testing.assert_array_equal(loaded.tau_J, 4.0)
    rng = np.random.default_rng(0)
    standard = np.zeros((6, 14))
    standard[:, 9], standard[:, 6:9] = rng.uniform(1, 5, 6), rng.normal(0, 0.2, (6, 3))
    standard[:, [0, 3, 5]] = rng.uniform(0.1, 0.5, (6, 3))
    standard[:, 10:] = 100.0  # rotors and friction do not count
    found = joint_data(recording, names[j], arm=Arm(ur, parameters=standard.ravel()), cutoff=15.0)
    assert found.load_source == 'robot model'
    model = ur.pinocchio.copy()
    for k, (xx, xy, xz, yy, yz, zz, mx, my, mz, mass) in enumerate(standard[:, :10]):
        model.inertias[k + 1] = pinocchio.Inertia.FromDynamicParameters(
            np.array([mass, mx, my, mz, xx, xy, yy, xz, yz, zz])
        )
    w = np.arange(1, 7) / 2
    for k in range(100, 700, 60):
        exact = pinocchio.rnea(model, model.createData(), q[k], w * np.cos(w * t[k]), -(w**2) * np.sin(w * t[k]))
        assert found.tau_J[k] == pytest.approx(exact[j], abs=2e-3 * np.abs(exact).max())


@pytest.mark.parametrize('weighted', [False, True])
def test_least_squares_with_classical_deviations(weighted):
    rng = np.random.default_rng(2)
    W = rng.normal(size=(60, 3)) * [1.0, 1e3, 1e-3]
    y, weights = W @ [1.0, 2e-3, 3e3] + rng.normal(size=60), rng.uniform(0.5, 2.0, 60)
    A, b = (W * weights[:, None], y * weights) if weighted else (W, y)
    fit = least_squares(W, y, ('a', 'b', 'c'), weights=weights if weighted else None, in_time=False)
    expected = np.linalg.lstsq(A / np.linalg.norm(A, axis=0), b, rcond=None)[0] / np.linalg.norm(A, axis=0)
    np.testing.assert_allclose(fit.values, expected, rtol=1e-9)
    np.testing.assert_allclose(fit.residual, y - W @ expected, rtol=1e-9, atol=1e-9)
    variance = np.sum((b - A @ expected) ** 2) / 57
    np.testing.assert_allclose(fit.covariance, variance * np.linalg.inv(A.T @ A), rtol=1e-7)
    assert fit.condition == pytest.approx(np.linalg.cond(A / np.linalg.norm(A, axis=0)), rel=1e-9)
    assert fit['b'] == fit.values[1] and fit.deviation('c') == fit.std[2]
    in_time = least_squares(W, y, ('a', 'b', 'c'), weights=weights if weighted else None)
    growth = in_time.std / fit.std
    assert np.all(growth >= 1.0) and growth.max() > 1.0
    np.testing.assert_allclose(in_time.covariance, fit.covariance * np.outer(growth, growth), rtol=1e-9)
    message = 'least squares: expected more than 3 rows for 3 parameters (a, b, c), found 3'
    with pytest.raises(JointDynamicsError, match=f'^{re.escape(message)}$'):
        least_squares(W[:3], y[:3], ('a', 'b', 'c'))


def test_extrema_of_a_decay_and_between_samples():
    t = np.arange(0.0, 3.0, 0.005)
    x = 2.0 * np.exp(-1.5 * t) * np.cos(2 * np.pi * 4.0 * t + 0.3) + 0.7
    time, size = oscillation_peaks(t, x, 0.05)
    exact = (np.arange(1, 40) * np.pi - 0.3 - np.arctan(1.5 / (8 * np.pi))) / (8 * np.pi)
    envelope = np.abs(2.0 * np.exp(-1.5 * exact) * np.cos(8 * np.pi * exact + 0.3))
    kept = envelope >= 0.05 * np.abs(x - 0.7).max()
    # what is left of the decay moves the rest by a little; extrema within half a sample
    assert abs(len(time) - kept.sum()) <= 1
    np.testing.assert_allclose(time, exact[: len(time)], atol=0.0026)
    np.testing.assert_allclose(size, envelope[: len(size)], atol=0.02)
    risen = np.where(t < 1.0, x, x + 1.0 * np.cos(2 * np.pi * 4.0 * t + 0.3))
    assert oscillation_peaks(t[: len(t) // 2], risen[: len(t) // 2], 0.05)[0].max() < 1.1
    assert [part.size for part in oscillation_peaks(t, np.zeros_like(t), 0.05)] == [0, 0]
    parabola = 1.0 - (t - 1.2345) ** 2
    assert interpolated(t, parabola, np.array([np.argmax(parabola)])) == pytest.approx([1.2345], abs=1e-9)


def test_maps_of_kinematic_error_and_backlash_come_back_exactly():
    """Both are tables of the same points, so that their fit is exact; a known load's deformation is taken off."""
    rng, points = np.random.default_rng(3), 12
    grid = np.arange(points) * 2 * np.pi / points
    error, width = 1e-3 * np.sin(grid + 0.4), 1e-4 * (2.0 + np.cos(grid))
    stiffness = TorsionalStiffness([1e4])

    def table(values, theta):
        return np.interp(np.mod(theta, 2 * np.pi), np.append(grid, 2 * np.pi), np.append(values, values[0]))

    load = rng.normal(size=1600)
    omega = np.repeat([1.7, -1.7], 800)
    data = of_speed(
        omega, q=lambda theta, w: theta - table(error, theta) - np.sign(w) * table(width, theta) - load / 1e4,
        tau_J=load,
    )  # fmt: skip
    direction, travel = travel_since_reversal(data)
    np.testing.assert_array_equal(direction, np.sign(omega))
    np.testing.assert_allclose(travel, np.abs(data.theta - np.where(omega > 0, 0.0, data.theta[800])))
    maps = fit_transmission_maps([data], points, settle=1e-3, stiffness=stiffness)
    np.testing.assert_allclose(maps.kinematic_error.tables[0], error, atol=2e-6)
    np.testing.assert_allclose(maps.backlash.tables[0], width, atol=2e-6)
    assert maps.covered.all() and maps.residual_rms < 1e-6
    np.testing.assert_array_equal(maps.engaged[0], travel > 1e-3)
    assert fit_transmission_maps([data], points, settle=1e-3).residual_rms > 5e-5
    # engaged later than asked for where the backlash found is wider than that
    wide = fit_transmission_maps([data], points, settle=1e-5, stiffness=stiffness)
    assert travel[wide.engaged[0]].min() > 2.0 * width.max()
    with pytest.raises(NotReliableError, match=r'^j: the motion never settles in both directions \(0.004 rad past a'):
        fit_transmission_maps([of_speed(omega[:800], q=lambda theta, w: theta)])


def test_results_in_plain_numbers():
    y = np.array([1.0, 2.0, 4.0])
    assert nrmse_percent(y, y) == 100.0
    assert nrmse_percent(y, np.full(3, y.mean())) == pytest.approx(0.0)
    assert nrmse_percent(y, y + np.array([0.1, -0.2, 0.2])) == pytest.approx(
        100 * (1 - 0.3 / np.linalg.norm(y - y.mean()))
    )
    assert nrmse_percent(np.ones(3), np.zeros(3)) == float('-inf')
    values = {'a': Value(-2.0, 0.5, 'N·m'), 'b': Value(0.0, 1.0, 's'), 'c': Value(1.0, None, '')}
    assert [item.relative_std_percent for item in values.values()] == [25.0, None, None]
    result = JointTestResult('friction', 'j', values, {'rows': 7})
    assert result.reliable
    result.flag_insignificant(['a', 'b', 'c'], 'too short')
    result.flag_insignificant(('a',), 'no reversal', deviations=5.0)
    assert result.reasons == [
        'b = 0 ± 1 s cannot be told from zero: too short',
        'a = -2 ± 0.5 N·m cannot be told from zero: no reversal',
    ]
    result.warnings.append('w')
    assert not result.reliable
    row = {'name': 'a', 'value': -2.0, 'std': 0.5, 'relative_std_percent': 25.0, 'unit': 'N·m'}
    summary = result.summary()
    assert summary['parameters'][0] == row and len(summary.pop('parameters')) == 3
    assert summary == {
        'test': 'friction', 'joint': 'j', 'verdict': 'not reliable', 'believable': False, 'warnings': ['w'],
        'reasons': result.reasons, 'rows': 7,
    }  # fmt: skip
    assert JointTestResult('x', 'j').summary()['verdict'] == 'reliable'
    assert friction_document(values, method='motion') == {
        'friction': {
            'parameters': {'a': -2.0, 'b': 0.0, 'c': 1.0},
            'standard_deviations': {'a': 0.5, 'b': 1.0},
            'method': 'motion',
        }
    }
