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

"""Results of the benchmark of the controller manager, and its refusals."""

import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from sensor_msgs.msg import JointState

from joint_dynamics.errors import JointDynamicsError

NAMES = ('a', 'b', 'c', 'd', 'e', 'f')


@pytest.fixture(scope='module')
def bench():
    folder = str(Path(__file__).parents[2] / 'bench')
    sys.path.insert(0, folder)
    import bench_controller_manager

    sys.path.remove(folder)
    return bench_controller_manager


@pytest.fixture
def path(bench):
    return bench.rest_to_rest([bench.HOME, bench.HOME + 0.3, bench.HOME], [1.0, 1.0])


def states(path, error, begin=5.0):
    """Joint states of an arm on the path with deviations `error(s)` (6,) rad."""
    found = []
    for s in np.arange(-0.5, path.end + 3.0, 0.01):
        message = JointState(name=list(NAMES), position=(path.at(s)[0] + error(s)).tolist())
        seconds, nanoseconds = divmod(round((begin + s) * 1e9), 10**9)
        message.header.stamp.sec, message.header.stamp.nanosec = seconds, nanoseconds
        found.append(message)
    return found


def test_an_arm_on_its_path_has_a_tracking_error(bench, path, capsys):
    bench.report('pid', states(path, lambda s: 2e-3 * np.ones(6)), NAMES, path, 5.0)
    assert 'pid | 2.0 | 2.0 | 2 |' in capsys.readouterr().out


def test_a_motion_that_begins_late_has_the_same_tracking_error(bench, path, capsys):
    bench.report('trajectory', states(path, lambda s: 2e-3 * np.ones(6), begin=6.0), NAMES, path, 5.0)
    assert 'trajectory | 2.0 | 2.0 | 2 |' in capsys.readouterr().out


@pytest.mark.parametrize(
    'error',
    [
        lambda path: lambda s: -3.0 * max(s, 0.0) * np.eye(6)[2],
        lambda path: lambda s: path.at(0.0)[0] - path.at(s)[0],
        lambda path: lambda s: np.full(6, np.nan),
    ],
    ids=['falls', 'stands', 'is nowhere'],
)
def test_an_arm_that_left_its_path_has_none(bench, path, error, capsys):
    with pytest.raises(JointDynamicsError, match='on its path, found it'):
        bench.report('pid', states(path, error(path)), NAMES, path, 5.0)
    assert capsys.readouterr().out == ''


def test_no_joint_states_are_no_result(bench, path):
    with pytest.raises(JointDynamicsError, match='expected joint states, found none'):
        bench.report('pid', [], NAMES, path, 5.0)


def test_the_runner_of_all_benches_starts_it(bench, monkeypatch):
    """Its command line is not the bench's; without the controllers there is nothing to measure."""

    def missing(name):
        raise bench.PackageNotFoundError(name)

    monkeypatch.setattr(sys, 'argv', ['run.py', 'controller_manager'])
    monkeypatch.setattr(bench, 'get_package_prefix', missing)
    assert bench.main() == 0
