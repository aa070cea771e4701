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

"""The check of a friction compensation: verdicts, its limit cycle against an integrated oscillation, its deviation."""

import numpy as np
import pytest

from joint_dynamics.arm import Arm, SteadyFriction
from joint_dynamics.control import applied as checks
from joint_dynamics.control import compensation as compensations
from joint_dynamics.control.applied import AppliedCompensation
from joint_dynamics.control.compensation import limit_cycles
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError

REAL = {'parameters': {'F_C0': 5.0, 'F_V1': 10.0}, 'standard_deviations': {'F_C0': 0.1, 'F_V1': 0.2}}


def described(friction, **joint):
    """An arm of one joint whose description says nothing of it but its drive."""
    part = joint if friction is None else {'friction': friction, **joint}
    return Arm.of_joints(DynamicsDescription({'robot': {'joint_names': ['j']}, 'joints': {'j': part}}))


def check_direction(name, friction, compensation, limit, **joint):
    identified = SteadyFriction(described(friction, **joint), 0)
    item = AppliedCompensation('j', compensation, identified.most_load)
    return compensations.check_direction(identified, item, name, limit)


def check_compensation(friction, item, limits, **joint):
    return checks.check_compensation(described(friction, **joint), {'j': item}, limits)


def applied(F_C0, F_V1, **more):
    return {'parameters': {'F_C0': F_C0, 'F_V1': F_V1}, **more}


@pytest.mark.parametrize(
    ('compensation', 'verdict', 'v_a', 'runs_away'),
    [
        (applied(4.0, 9.0), 'under', None, False),
        (applied(6.0, 11.0), 'over', None, True),
        (applied(6.0, 9.0), 'attracting', 1.0, False),
        (applied(4.0, 11.0), 'repelling', 1.0, True),
        (applied(5.0, 10.0), 'exact', None, False),
    ],
)
def test_the_situations_of_van_der_aalst(compensation, verdict, v_a, runs_away):
    for name in ('positive', 'negative'):
        check = check_direction(name, REAL, compensation, 2.0)
        assert check.verdict == verdict
        assert check.runs_away is runs_away
        assert [round(item.speed, 6) for item in check.crossings] == ([] if v_a is None else [v_a])


def test_a_crossing_beyond_the_speed_limit_does_not_count():
    assert check_direction('positive', REAL, applied(4.0, 11.0), 0.9).verdict == 'under'
    assert check_direction('positive', REAL, applied(6.0, 9.0), 0.9).runs_away


def test_directions_are_checked_apart():
    real = {**REAL, 'directions': {'positive': {'F_C': 5.5, 'F_V1': 10.0}, 'negative': {'F_C': 4.5, 'F_V1': 10.0}}}
    [check] = check_compensation(real, applied(5.0, 10.0), {'j': 2.0})
    assert check.positive.verdict == 'under'
    assert check.negative.verdict == 'over'
    assert check.runs_away
    offset = {'parameters': {'F_C0': 5.0, 'F_V1': 10.0, 'offset': 0.5}}
    [check] = check_compensation(offset, applied(5.0, 10.0), {'j': 2.0})
    assert (check.positive.verdict, check.negative.verdict) == ('under', 'over')


def test_warm_joint_runs_away_where_the_cold_one_does_not():
    real = {'parameters': {'F_C0': 5.0, 'F_V1': 10.0, 'F_T1': -0.1, 'T_0': 20.0}}
    cold, warm = check_compensation(real, applied(4.8, 10.0, temperatures=[20.0, 45.0]), {'j': 2.0})
    assert cold.positive.verdict == 'under'
    assert warm.runs_away


def test_stribeck_friction_gives_two_crossings():
    real = {'parameters': {'F_C0': 5.0, 'F_S': 7.0, 'V_S': 0.05, 'F_V1': 10.0}}
    check = check_direction('positive', real, applied(5.5, 9.0), 2.0)
    assert check.verdict == 'mixed'
    assert [item.kind for item in check.crossings] == ['repelling', 'attracting']
    assert not check.runs_away


def test_uncertain_within_two_deviations():
    check = check_direction('positive', REAL, applied(4.9, 9.9), 2.0)
    assert check.verdict == 'under'
    assert check.might
    assert not check_direction('positive', REAL, applied(3.0, 9.0), 2.0).might
    # Known exactly and compensated exactly: nothing is left that might run away.
    exact = check_direction('positive', {'parameters': REAL['parameters']}, applied(5.0, 10.0), 2.0)
    assert (exact.verdict, exact.might, exact.runs_away) == ('exact', False, False)
    # Independent parameters add in squares: σ(v)² = σ_C² + (σ_V v)².
    assert np.allclose(check.deviation, np.hypot(0.1, 0.2 * check.speed))


def oscillate(spring, inertia, e, q0, seconds, step=2e-4):
    """Speed amplitude at the end of I q̈ = −K q + sgn(q̇) e(|q̇|), by Runge and Kutta's fourth-order steps."""

    def rate(x):
        return np.array([x[1], (-spring * x[0] + np.tanh(x[1] / 1e-3) * e(abs(x[1]))) / inertia])

    x, largest, count = np.array([q0, 0.0]), 0.0, int(seconds / step)
    for k in range(count):
        k1 = rate(x)
        k2 = rate(x + step / 2 * k1)
        k3 = rate(x + step / 2 * k2)
        x = x + step / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + step * k3))
        if k > 0.8 * count:
            largest = max(largest, abs(x[1]))
    return largest


@pytest.mark.parametrize('q0', [0.02, 0.12])
def test_predicted_limit_cycle_is_the_one_that_is_reached(q0):
    real, compensation = {'parameters': {'F_C0': 2.0, 'F_V1': 4.0}}, applied(2.4, 3.0, spring=80.0, inertia=1.5)
    [check] = check_compensation(real, compensation, {'j': 2.0})
    [cycle] = check.cycles
    assert cycle.stable
    assert np.isclose(cycle.speed, 4 / np.pi * 0.4, rtol=1e-3)
    assert np.isclose(cycle.amplitude, cycle.speed * np.sqrt(1.5 / 80))
    assert np.isclose(cycle.period, 2 * np.pi * np.sqrt(1.5 / 80))
    reached = oscillate(80.0, 1.5, lambda v: (2.4 + 3.0 * v) - (2.0 + 4.0 * v), q0, 12.0)
    assert np.isclose(reached, cycle.speed, rtol=0.03)


def test_repelling_crossing_gives_an_unstable_cycle():
    sides = [check_direction(name, REAL, applied(4.0, 11.0), 2.0) for name in ('positive', 'negative')]
    [cycle] = limit_cycles(*sides)
    assert not cycle.stable
    assert np.isclose(cycle.speed, 4 / np.pi, rtol=1e-3)
    grown = oscillate(80.0, 1.5, lambda v: -1.0 + 1.0 * v, 1.3 * cycle.speed * np.sqrt(1.5 / 80), 3.0)
    shrunk = oscillate(80.0, 1.5, lambda v: -1.0 + 1.0 * v, 0.8 * cycle.speed * np.sqrt(1.5 / 80), 3.0)
    assert grown > 1.3 * cycle.speed > 0.8 * cycle.speed > shrunk


def test_bad_input_is_refused():
    with pytest.raises(JointDynamicsError, match='speed_limit'):
        check_compensation(REAL, applied(1, 1), {})
    with pytest.raises(JointDynamicsError, match='description'):
        check_compensation(None, applied(1, 1), {'j': 1.0})
    for limit in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(JointDynamicsError, match='j: expected a speed limit > 0'):
            check_direction('positive', REAL, applied(1, 1), limit)


def test_the_load_at_which_it_is_worst_is_found():
    """Too little without load, too much under load: a compensation whose load dependence is too steep."""
    real = {'parameters': {'F_C0': 5.0, 'F_Cl': 0.1, 'F_V1': 10.0}}
    steep = {'parameters': {'F_C0': 4.0, 'F_Cl': 0.3, 'F_V1': 10.0}}
    for name in ('positive', 'negative'):
        check = check_direction(name, real, steep, 2.0, validity={'load': 40.0})
        assert abs(check.load) == 40.0
        assert check.excess[-1] == pytest.approx(-1.0 + 0.2 * 40.0)
        assert check.runs_away
        assert check.unloaded[-1] == pytest.approx(-1.0)
        assert not check_direction(name, real, steep, 2.0, validity={'load': 4.0}).runs_away
    # Without load dependence there is one load to look at, and the least friction is without.
    assert check_direction('positive', REAL, applied(5.5, 10.0), 2.0).load == 0.0
    assert abs(check_direction('positive', real, applied(5.5, 10.0), 2.0, validity={'load': 40.0}).load) < 1e-3


def test_the_quadrant_in_which_friction_is_least_is_found():
    quadrants = {'dq_s': 0.05, 'c_m': 6.0, 'c_g': 3.0, 'F_V': 10.0, 'a_m': 1.0, 'a_g': 1.0}
    real = {'parameters': {'F_C0': 99.0}, 'quadrants': quadrants}
    for name, side in (('positive', 1.0), ('negative', -1.0)):
        check = check_direction(name, real, applied(4.0, 10.0), 2.0, validity={'load': 20.0})
        # As a generator: load against the motion.
        assert check.load * side < 0
        assert check.excess[-1] == pytest.approx(1.0)
        assert check.friction[-1] == pytest.approx(3.0 + 20.0)
        assert not check_direction(name, real, applied(2.9, 10.0), 2.0, validity={'load': 20.0}).runs_away
