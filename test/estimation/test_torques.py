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

"""Lost motion: the play of a backlash, taken up by load, with its uncertainty."""

from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.estimation.torques import lost_motion_step, play_of
from joint_dynamics.joint.stiffness import LOADS

PERIOD = 8e-3
LIMIT = 50.0


class Lost:
    """Play of n joints; backlash: function of θ (n,); parts: fields of `Arm`."""

    def __init__(self, joints, backlash, limit, period, **parts):
        use = {'backlash_deviation': 0.0, 'load_shares': (0.5, 0.5), 'load_lag': np.full(joints, 0.1), **parts}
        arm = SimpleNamespace(n=joints, backlash=backlash, **use)
        self.backlash, self.states = backlash, play_of(arm, np.broadcast_to(limit, joints), period)

    def __getattr__(self, name):
        return self.states[name]

    def update(self, theta, load):
        """Take θ and the load of every joint."""
        for joint in zip(self.states, theta, load, self.backlash(theta), strict=True):
            lost_motion_step(*joint)


def move(lost, theta, load=0.0):
    seen = []
    for angle in np.atleast_1d(theta):
        lost.update(np.array([angle]), np.array([load]))
        seen.append((lost.motion[0], lost.slack[0], lost.uncertainty[0]))
    return np.array(seen)


def test_a_joint_without_backlash_beside_one_with_it():
    """A description may have the backlash of one joint alone: the other's play is none, from its first sample on."""
    lost = Lost(2, lambda theta: np.array([0.0, 1e-3]), LIMIT, PERIOD)
    with np.errstate(all='raise'):
        for angle in np.linspace(0.0, 0.1, 100):
            lost.update(np.full(2, angle), np.zeros(2))
            assert lost.motion[0] == lost.slack[0] == lost.uncertainty[0] == 0.0
        # at rest as well, where 0/0 would stand
        lost.update(np.full(2, 0.1), np.zeros(2))
    assert lost.motion == pytest.approx([0.0, 1e-3])


def test_a_load_reduces_the_uncertainty_of_the_backlash():
    lost = Lost(1, lambda theta: np.full_like(theta, 1e-4), LIMIT, PERIOD, backlash_deviation=2e-4)
    assert move(lost, np.linspace(0.0, 0.1, 400))[-1, 2] == pytest.approx(4e-4)
    loaded = move(lost, np.full(400, 0.1), load=LIMIT * np.sqrt(LOADS[0] * LOADS[1]))
    assert loaded[-1, 2] == pytest.approx(2e-4, rel=1e-3)
    # of a joint whose play came out as none, too
    none = Lost(1, np.zeros_like, LIMIT, PERIOD, backlash_deviation=2e-4)
    assert move(none, np.linspace(0.0, 0.1, 400))[-1].tolist() == pytest.approx([0.0, 0.0, 4e-4])


@pytest.mark.parametrize(('shares', 'lag'), [((0.5, 0.5), 0.1), ((0.9, 0.1), 0.04), ((0.0, 1.0), 0.3)])
def test_lost_motion_by_the_formulas(shares, lag):
    rng = np.random.default_rng(6)
    period, limit = 8e-3, np.array([150.0, 250.0])

    def backlash(theta):
        return np.array([1e-3, 2e-3]) * (1.5 + np.sin(theta))

    def of(j, tau):
        return sum(b / (1.0 + (tau / (part * limit[j])) ** 2) for b, part in zip(shares, (0.01, 0.04), strict=True))

    deviation = np.array([0.0, 3e-4])
    parts = {'load_shares': shares, 'load_lag': np.full(2, lag)}
    lost = Lost(2, backlash, limit, period, backlash_deviation=deviation, **parts)
    theta, load = np.cumsum(rng.normal(0, 4e-4, (600, 2)), axis=0), np.cumsum(rng.normal(0, 0.6, (600, 2)), axis=0)
    state = [SimpleNamespace(place=0.0, spread=0.0, step=0.0, motion=0.0, known=False, loads=None) for _ in range(2)]
    for k in range(len(theta)):
        lost.update(theta[k], load[k])
        for j, one in enumerate(state):
            width = backlash(theta[k])[j]
            if k:
                one.place = min(max(one.place + (theta[k, j] - theta[k - 1, j]) / width, -1.0), 1.0)
            one.known = one.known or abs(one.place) >= 1.0
            one.loads = one.loads or [load[k, j]] * 2
            one.loads = [x + period / T * (load[k, j] - x) for x, T in zip(one.loads, (lag, 3.0 * lag), strict=True)]
            left = [of(j, x) for x in (load[k, j], *one.loads)]
            one.spread = max(max(left) - min(left), (1 - period / 0.2) * one.spread)
            slack = left[1] * width
            one.step = max(abs(slack * one.place - one.motion), (1 - period / 0.05) * one.step)
            one.motion = slack * one.place
            uncertainty = (one.spread if one.known else 1.0) * width + one.step + 2.0 * max(left) * deviation[j]
            assert lost.motion[j] == pytest.approx(one.motion, rel=1e-9, abs=1e-18)
            assert lost.slack[j] == pytest.approx(slack, rel=1e-9)
            assert lost.uncertainty[j] == pytest.approx(uncertainty, rel=1e-9)
    assert all(one.known for one in state)
    # a period longer than the memory: the load itself, and nothing kept
    coarse = Lost(2, backlash, limit, 1.0, **parts)
    for k in range(3):
        coarse.update(theta[200 * k], load[200 * k])
    np.testing.assert_allclose(coarse.slack, backlash(theta[400]) * of(np.arange(2), load[400]), rtol=1e-12)
    # before the first sample it may be anywhere in any play, where there is one
    lost = Lost(2, backlash, limit, period, backlash_deviation=deviation, **parts)
    assert np.all(lost.uncertainty > 0.1) and not Lost(2, None, limit, period).uncertainty.any()
    lost.update(theta[0], load[0])
    np.testing.assert_array_equal(lost.motion, 0.0)
    unknown = 2.0 * deviation * [of(j, load[0, j]) for j in range(2)]
    np.testing.assert_allclose(lost.uncertainty, backlash(theta[0]) + unknown, rtol=1e-12)


def test_where_there_is_no_play_it_stays_where_it_was():
    """Known over a part of the turn only: outside it no motion is lost, and back inside the play is as it was left."""
    load = np.zeros(3)

    def backlash(theta):
        return np.where(theta < 1.0, [1e-3, 2e-3, 4e-3], 0.0)

    lost = Lost(3, backlash, 100.0, 8e-3)
    for theta in (0.0, 5e-4):
        lost.update(np.full(3, theta), load)
    places = [0.5, 0.25, 0.125]
    np.testing.assert_allclose(lost.motion, np.multiply(places, [1e-3, 2e-3, 4e-3]), rtol=1e-12)
    for theta in (1.5, 1.6):
        lost.update(np.full(3, theta), load)
        assert not (lost.motion.any() or lost.slack.any())
    # to get back the joint turns by more than the play is wide, from any place before
    lost.update(np.full(3, 1.6 - 1.0), load)
    np.testing.assert_allclose(lost.motion, [-1e-3, -2e-3, -4e-3], rtol=1e-12)
    # and where the step is within the play, from where it was left
    width = np.zeros(3)
    lost = Lost(3, lambda theta: width, 100.0, 8e-3)
    for theta, wide in ((0.0, 1e-3), (2.5e-4, 1e-3), (0.7, 0.0), (0.7, 0.0), (0.7 + 2.5e-4, 1e-3)):
        width = np.full(3, wide)
        lost.update(np.full(3, theta), load)
    np.testing.assert_allclose(lost.motion, 5e-4, rtol=1e-9)
