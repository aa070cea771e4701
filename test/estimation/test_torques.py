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


def backlash(theta):
    """Backlash of two joints, rad."""
    return np.array([1e-3, 2e-3]) * (1.5 + np.sin(theta))


def left(shares, limit, tau):
    """Share of the backlash left under a load: Σ b/(1 + (τ/(part τ_max))²)."""
    return sum(b / (1.0 + (tau / (part * limit)) ** 2) for b, part in zip(shares, (0.01, 0.04), strict=True))


class WrittenPlay:
    """Lost motion of one joint, written out: slack · place of θ in the play, slack by the lagged load."""

    def __init__(self, shares, limit, lag, deviation):
        self.shares, self.limit, self.lag, self.deviation = shares, limit, lag, deviation
        self.theta, self.loads, self.known = None, None, False
        self.place = self.spread = self.step = self.motion = 0.0

    def update(self, theta, load, width):
        """Take θ, load and backlash; return lost motion, slack and the uncertainty of the lost motion."""
        if self.theta is not None:
            self.place = min(max(self.place + (theta - self.theta) / width, -1.0), 1.0)
        self.theta, self.known, self.loads = theta, self.known or abs(self.place) >= 1.0, self.loads or [load] * 2
        lags = (self.lag, 3.0 * self.lag)
        self.loads = [x + PERIOD / T * (load - x) for x, T in zip(self.loads, lags, strict=True)]
        shares = [left(self.shares, self.limit, x) for x in (load, *self.loads)]
        self.spread = max(max(shares) - min(shares), (1 - PERIOD / 0.2) * self.spread)
        slack = shares[1] * width
        self.step = max(abs(slack * self.place - self.motion), (1 - PERIOD / 0.05) * self.step)
        self.motion = slack * self.place
        spread = self.spread if self.known else 1.0
        return self.motion, slack, spread * width + self.step + 2.0 * max(shares) * self.deviation


LIMITS = np.array([150.0, 250.0])  # N·m
DEVIATION = np.array([0.0, 3e-4])  # rad


@pytest.fixture
def motion():
    """θ and load (600, 2) of two joints, random walks."""
    rng = np.random.default_rng(6)
    return np.cumsum(rng.normal(0, 4e-4, (600, 2)), axis=0), np.cumsum(rng.normal(0, 0.6, (600, 2)), axis=0)


@pytest.mark.parametrize(('shares', 'lag'), [((0.5, 0.5), 0.1), ((0.9, 0.1), 0.04), ((0.0, 1.0), 0.3)])
def test_lost_motion_by_the_formulas(motion, shares, lag):
    parts = {'load_shares': shares, 'load_lag': np.full(2, lag)}
    lost = Lost(2, backlash, LIMITS, PERIOD, backlash_deviation=DEVIATION, **parts)
    joints = [WrittenPlay(shares, *part) for part in zip(LIMITS, (lag, lag), DEVIATION, strict=True)]
    for theta, load in zip(*motion, strict=True):
        lost.update(theta, load)
        each = zip(joints, theta, load, backlash(theta), strict=True)
        expected = [joint.update(*given) for joint, *given in each]
        found = np.stack([lost.motion, lost.slack, lost.uncertainty], axis=1)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-18)
    assert all(joint.known for joint in joints)


def test_a_period_beyond_the_memory_takes_the_load_itself(motion):
    lost = Lost(2, backlash, LIMITS, 1.0)
    for theta, load in zip(*(part[::200] for part in motion), strict=True):
        lost.update(theta, load)
    expected = backlash(motion[0][400]) * left((0.5, 0.5), LIMITS, motion[1][400])
    np.testing.assert_allclose(lost.slack, expected, rtol=1e-12)


def test_before_the_first_sample_it_may_be_anywhere_in_any_play(motion):
    lost = Lost(2, backlash, LIMITS, PERIOD, backlash_deviation=DEVIATION)
    assert np.all(lost.uncertainty > 0.1) and not Lost(2, None, LIMITS, PERIOD).uncertainty.any()
    theta, load = motion[0][0], motion[1][0]
    lost.update(theta, load)
    np.testing.assert_array_equal(lost.motion, 0.0)
    unknown = 2.0 * DEVIATION * left((0.5, 0.5), LIMITS, load)
    np.testing.assert_allclose(lost.uncertainty, backlash(theta) + unknown, rtol=1e-12)


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
