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

"""How simulated time is let go on."""

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.simulation import Pace


def drive(pace, walls, work=0.0):
    """Ticks done after a look at every wall time, when a tick takes `work` s; the walls are shifted by that."""
    ticks, late, counts = 0, 0.0, []
    for wall in walls:
        due = pace.due(wall + late, ticks)
        ticks += due
        late += due * work
        counts.append(ticks)
    return np.array(counts), late


def test_real_time_gives_one_tick_per_period():
    walls = 5.0 + np.arange(2000) * 0.001
    counts, _ = drive(Pace(0.002), walls)
    np.testing.assert_array_equal(counts, np.floor((walls - 5.0) / 0.002 + 1e-3) + 1)


@pytest.mark.parametrize('factor', [0.5, 2.0, 7.0])
def test_the_factor_scales_time(factor):
    pace = Pace(0.001, factor=factor)
    counts, _ = drive(pace, np.arange(0, 3, 0.0005))
    assert counts[-1] * 0.001 == pytest.approx(3 * factor, rel=0.01)
    assert pace.achieved == pytest.approx(factor, rel=0.02)


def test_short_delays_are_caught_up_and_long_stalls_are_not():
    pace = Pace(0.001, batch=10)
    drive(pace, [0.0])
    assert pace.due(0.05, 1) == 10
    assert pace.due(0.051, 11) == 10
    long = Pace(0.001, batch=10)
    drive(long, [0.0])
    assert long.due(9.0, 1) == 10
    # Missed ticks are not made up: simulated time ran slower.
    assert long.due(9.001, 11) == 0
    assert long.due(9.02, 11) == 10


def test_a_slow_machine_only_slows_simulated_time():
    pace = Pace(0.001)
    counts, late = drive(pace, np.zeros(3000), work=0.004)
    assert np.diff(counts).min() >= 0
    assert counts[-1] * 0.001 == pytest.approx(late / 4, rel=0.05)
    assert pace.achieved == pytest.approx(0.25, rel=0.1)


def test_slowest_follower_sets_the_pace():
    pace = Pace(0.001, factor=0.0, batch=100, max_lead=0.02)
    pace.followed('fast', 1.0)
    pace.followed('slow', 0.05)
    counts, _ = drive(pace, np.zeros(10))
    assert counts[-1] == 70
    assert pace.waiting_for == 'slow'
    pace.followed('slow', 0.04)
    assert pace.due(0.0, 70) == 0
    pace.forget('slow')
    assert pace.due(0.0, 70) == 100
    assert pace.waiting_for == ''


def test_a_new_factor_starts_from_here():
    pace = Pace(0.001)
    drive(pace, [0.0, 1.0])
    pace.factor = 2.0
    assert pace.due(1.5, 11) == 1
    with pytest.raises(JointDynamicsError, match='real time factor'):
        pace.factor = -1.0
