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

"""Joints that the configuration locks and the recordings have."""

from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.recordings import locked_as_recorded
from joint_dynamics.recording import Recording
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf

MOVING = 'elbow_joint'


@pytest.fixture(scope='module')
def model():
    return RobotModel.from_urdf(ur5e_urdf(), joints=[MOVING])


def recorded(names, place, travel=0.0, name='run'):
    """A recording of all joints: the elbow moves, the others stand at `place` [rad] or move by `travel` [rad]."""
    time = np.arange(400) / 100
    q = np.full((len(time), len(names)), place) + travel * np.sin(time)[:, None]
    q[:, names.index(MOVING)] = np.sin(time)
    return Recording(names, time, q, tau=np.cos(q), name=name).select([MOVING])


@pytest.fixture(scope='module')
def names(model):
    return tuple(sorted((MOVING, *model.held)))


def test_locked_joints_stand_where_they_were_recorded(model, names):
    moved = locked_as_recorded(model, [recorded(names, -1.2)])
    assert moved.held == pytest.approx(dict.fromkeys(model.held, -1.2))
    # the weight that the elbow holds is that of the posture
    assert moved.gravity(np.zeros(1), moved.parameters) != pytest.approx(model.gravity(np.zeros(1), model.parameters))
    assert locked_as_recorded(model, [recorded(names, 0.0)]) is model


def test_a_locked_joint_that_moves_is_named(model, names):
    with pytest.raises(JointDynamicsError, match=rf'run: ({"|".join(model.held)}): '):
        locked_as_recorded(model, [recorded(names, 0.3, travel=0.1)])


@pytest.mark.parametrize('locked', [None, 0.5])
def test_other_places_are_refused_by_name(model, names, locked):
    """Those of another recording, or stated."""
    stated = model if locked is None else RobotModel.from_urdf(
        ur5e_urdf(), joints=[MOVING], locked=dict.fromkeys(model.held, locked)
    )  # fmt: skip
    runs = [recorded(names, 0.3), recorded(names, 0.4, name='other')]
    with pytest.raises(JointDynamicsError, match='other' if locked is None else 'run'):
        locked_as_recorded(stated, runs)


def test_windows_and_changes_keep_the_others(names):
    run = recorded(names, 0.3)
    assert replace(run, tau=None).others == run.window(0, 1).others == run.others
