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

"""Laws that nature might have: each bounded, continuous and passive."""

import importlib.util
import itertools
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from joint_dynamics.joint import MaxwellSlip
from joint_dynamics.simulation import ModelErrors
from joint_dynamics.simulation.drives import JointState, pack
from joint_dynamics.simulation.dynamics import (
    deformation,
    friction,
    lost_motion_share,
    spring_torque,
    temperature_effect,
    travel,
)
from joint_dynamics.simulation.transmission import (
    bristle,
    drag,
    evaluate,
    four_operators,
    fourier_tables,
    hysteresis,
    locate,
    lookup,
    smooth_operators,
    travel_tables,
)

_spec = importlib.util.spec_from_file_location('drawn_laws', Path(__file__).with_name('drawn_laws.py'))
drawn_laws = sys.modules['drawn_laws'] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(drawn_laws)
FORMS = drawn_laws.FORMS
Laws = drawn_laws.Laws
EFFORT = np.array([150.0, 150.0, 150.0, 28.0, 28.0, 28.0])
OTHERS = [(name, form) for name, forms in FORMS.items() for form in forms[1:]]


def drives_of(laws, seed=5, errors=None):
    return laws.drives(EFFORT, seed, errors)


@pytest.fixture(params=OTHERS, ids=lambda pair: '-'.join(pair))
def laws(request):
    return replace(Laws(), **dict([request.param]))


def test_friction_in_steady_slip_brakes_without_jumps(laws):
    joints = pack(drives_of(laws)).joints
    speeds = np.concatenate([np.linspace(0.0, 0.05, 400), np.linspace(0.05, 3.0, 400)])
    for c in joints:
        for temperature in (5.0, 25.0, 60.0, 95.0):
            for torque in (0.0, -0.6 * c.max_current * c.gain, c.max_current * c.gain):
                warm = temperature_effect(c, temperature)
                forth = np.array([friction(c, 0.5, warm, 0.3, speed, torque, 1.0) for speed in speeds])
                back = np.array([friction(c, 0.5, warm, 0.3, -speed, torque, -1.0) for speed in speeds])
                assert (forth[1:] > 0.0).all()
                assert (back[1:] < 0.0).all()
                # A root of the speed has no bounded slope, but no jump either: between neighbours no more than between
                # 0 and their distance.
                steps = np.abs(np.diff(forth))
                assert steps.max() < 0.1 * forth.max()


@pytest.mark.parametrize('form', FORMS['hysteresis'])
@pytest.mark.parametrize('seed', range(3))
def test_hysteresis_is_bounded_continuous_and_passive(form, seed):
    plant = pack(drives_of(Laws(hysteresis=form), seed))
    c = plant.joints[0]
    rng = np.random.default_rng(seed)
    # Reversals of every size, in small steps of which every sign is kept: the exact solution holds along one direction.
    turns = np.cumsum(rng.normal(0.0, rng.choice([0.05, 0.5, 3.0], 200)))
    path = np.concatenate([np.linspace(a, b, 60, endpoint=False) for a, b in itertools.pairwise(turns)])
    if c.bristle > 0.0:
        H, stiffness = [0.0], c.bristle * (1.0 + c.unloading)
        for step in np.diff(path):
            H.append(bristle(c.bristle, c.unloading, step, H[-1]))
    else:
        play, H, stiffness = np.full(plant.radius.size, path[0]), [], plant.weight.sum()
        for x in path:
            H.append(hysteresis(x, play, plant.radius, plant.weight))
            drag(x, play, plant.radius)
    H, dx = np.array(H), np.diff(path)
    assert np.abs(H).max() <= 1.0 + 1e-12
    assert (np.abs(np.diff(H)) <= stiffness * np.abs(dx) * (1 + 1e-9) + 1e-15).all()
    assert (np.diff(H) * dx >= -1e-15).all()
    # From rest, no path gets anything out: the stored energy is never negative. The error of trapezoids is at most
    # stiffness dx²/12 · the relative change of the slope, far below the dissipation of a path.
    work = np.cumsum(0.5 * (H[1:] + H[:-1]) * dx)
    assert work.min() >= -stiffness * np.sum(dx**2) * 1e-6
    assert work[-1] > 0.1 * np.abs(dx).sum() * np.mean(np.abs(H)) * 0.1


@pytest.mark.parametrize('form', ['bouc_wen', 'dahl'])
def test_bristles_obey_their_equation_in_any_step(form):
    c = pack(drives_of(Laws(hysteresis=form))).joints[0]
    for start in (-0.9, -0.2, 0.0, 0.7):
        small, way = start, 2.0 / c.bristle
        for _ in range(1000):
            before, small = small, bristle(c.bristle, c.unloading, way / 1000, small)
            mean = 0.5 * (before + small)
            slope = c.bristle * (1.0 - mean if mean >= 0.0 else 1.0 - c.unloading * mean)
            assert (small - before) / (way / 1000) == pytest.approx(slope, rel=2e-3)
        assert small == pytest.approx(bristle(c.bristle, c.unloading, way, start), abs=1e-12)


@pytest.mark.parametrize('law', range(5))
def test_load_reduces_the_lost_motion_steadily(law):
    ratio = np.linspace(0.0, 10.0, 2001)
    left = np.array([lost_motion_share(float(law), r) for r in ratio])
    assert left[0] == 1.0
    assert lost_motion_share(float(law), 1.0) == pytest.approx(0.5)
    assert lost_motion_share(float(law), -0.7) == lost_motion_share(float(law), 0.7)
    assert (np.diff(left) <= 0.0).all()
    assert np.abs(np.diff(left)).max() < 0.01
    assert 0.0 <= left[-1] < 0.02


@pytest.mark.parametrize('form', FORMS['stiffness'])
def test_springs_are_monotonic_odd_and_steeper_than_nothing(form):
    d = drives_of(Laws(stiffness=form))
    for c in pack(d).joints:
        phi = np.linspace(-1.0, 1.0, 401) * c.max_current * c.gain / c.stiffness
        torque = np.array([spring_torque(c, angle, angle) for angle in phi])
        np.testing.assert_allclose(torque, -torque[::-1], atol=1e-9 * torque.max())
        slope = np.diff(torque) / np.diff(phi)
        assert slope.min() > 0.3 * c.stiffness
        assert slope.max() < 6.0 * c.stiffness


def test_the_lever_is_the_slope_of_the_deformation():
    """Otherwise the transmission would generate energy; per direction, as the stop of the play moves along."""
    plant = pack(drives_of(Laws(), errors=ModelErrors()))
    joints = JointState.filled(6, lash_gain=0.7, lash=0.4).view(np.recarray)
    h = 1e-6
    for j, c in enumerate(plant.joints):
        maps, at = plant.maps[j], 0.4 + 0.3 * j
        joints[j].lash = travel(c, maps, at)
        at += 0.4 * h + 0.1 / c.travel_rate
        ahead, behind = (deformation(c, maps, joints[j], 0.0, at + d, 1.0)[0] for d in (h, -h))
        lever = deformation(c, maps, joints[j], 0.0, at, 1.0)[1]
        assert (ahead - behind) / (2 * h) == pytest.approx(lever, abs=1e-6)
        assert abs(lever - 1.0) > 0.1


SHAPES = {'smooth': smooth_operators(), 'four': four_operators()}


def walk(path, shape, start=0.0):
    radius, weight = shape
    play = np.full(radius.size, start)
    H = []
    for x in path:
        H.append(hysteresis(x, play, radius, weight))
        drag(x, play, radius)
    return np.array(H)


@pytest.mark.parametrize('name', SHAPES)
def test_steady_slip_gives_exactly_one(name):
    for sign in (1, -1):
        H = walk(sign * np.linspace(0, 3, 500), SHAPES[name])
        assert H[-1] == pytest.approx(sign, abs=1e-12)
        assert np.abs(H).max() <= 1 + 1e-12


@pytest.mark.parametrize('name', SHAPES)
def test_reversal_branch_is_the_doubled_virgin_curve(name):
    x = np.linspace(0, 2, 801)
    virgin = walk(x / 2, SHAPES[name])
    back = walk(np.concatenate([np.linspace(0, 3, 50), 3 - x]), SHAPES[name])[50:]
    np.testing.assert_allclose(back, 1 - 2 * virgin, atol=1e-12)


@pytest.mark.parametrize('name', SHAPES)
def test_it_depends_on_the_turning_points_alone(name):
    rng = np.random.default_rng(1)
    turns = np.cumsum(rng.normal(scale=0.5, size=40))
    coarse = walk(turns, SHAPES[name])
    fine = walk(np.concatenate([[turns[0]], *[np.linspace(a, b, 37)[1:] for a, b in pairwise(turns)]]), SHAPES[name])
    np.testing.assert_allclose(fine[::36], coarse, atol=1e-12)


def test_four_operators_are_the_papers_with_a_constant_backlash():
    width = 7e-4
    theta = np.cumsum(np.random.default_rng(3).normal(scale=1e-4, size=3000))
    reference = MaxwellSlip(presliding=width)
    expected = [reference.step(angle) for angle in theta]
    rate, table = travel_tables(fourier_tables([width], [[0.0]], [[0.0]]))
    x = rate[0] * theta + evaluate(table[0], theta)
    mine = walk(x, SHAPES['four'], start=x[0])
    # The initial stick positions differ until every element has slipped once.
    slipped = np.argmax(np.maximum.accumulate(theta) - np.minimum.accumulate(theta) > 2 * width)
    assert 0 < slipped < 2500
    np.testing.assert_allclose(mine[slipped:], np.asarray(expected)[slipped:], atol=1e-9)


def test_travel_is_the_integral_of_the_reciprocal_width():
    width = fourier_tables([5e-4], [[1e-4, 5e-5]], [[-1e-4, 0.0]])
    rate, table = travel_tables(width)
    theta = np.linspace(-8, 8, 2001)
    x = rate[0] * theta + evaluate(table[0], theta)
    expected = np.concatenate([[0.0], np.cumsum(np.diff(theta) / evaluate(width[0], (theta[1:] + theta[:-1]) / 2))])
    np.testing.assert_allclose(x - x[0], expected, rtol=1e-4, atol=0.5)
    np.testing.assert_allclose(np.gradient(x, theta)[1:-1] * evaluate(width[0], theta[1:-1]), 1.0, atol=1e-4)


def test_maps_are_periodic_and_their_slope_is_the_derivative():
    table = fourier_tables([0.1], [[0.3, -0.2, 0.05]], [[0.1, 0.0, 0.04]])[0]
    angle = np.random.default_rng(4).uniform(-20, 20, 200)
    exact = 0.1 + sum(
        c * np.cos(k * angle) + s * np.sin(k * angle) for k, c, s in ((1, 0.3, 0.1), (2, -0.2, 0.0), (3, 0.05, 0.04))
    )
    np.testing.assert_allclose(evaluate(table, angle), exact, atol=1e-9)
    np.testing.assert_allclose(evaluate(table, angle + 6 * np.pi), evaluate(table, angle), atol=1e-12)
    h = 1e-6
    for a in angle[:50]:
        slope = lookup(table, 0, *locate(table.shape[0], a))[1]
        ahead, behind = (lookup(table, 0, *locate(table.shape[0], a + d))[0] for d in (h, -h))
        assert slope == pytest.approx((ahead - behind) / (2 * h), abs=1e-7)


@pytest.mark.parametrize('angle', [0.0, 1.0, -1e-300, -1e-18, -1e-9, 2 * np.pi, -2 * np.pi, 1e6, -1e6, np.nan, np.inf])
def test_every_angle_lies_in_the_table(angle):
    for nodes in (1, 360, 720):
        low, high, s = locate(nodes, angle)
        assert 0 <= low < nodes
        assert high == (low + 1) % nodes
        if np.isfinite(angle):
            # Rounding of the angle in turns, and of the difference to the node.
            turn = (low + s) / nodes - angle / (2 * np.pi)
            assert abs(turn - np.rint(turn)) <= 4e-16 * max(1.0, abs(angle))
