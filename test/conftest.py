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

"""Fixtures that every folder of tests may use."""

import faulthandler
import importlib.util
import json
import os
import shutil
import signal
from pathlib import Path

import hypothesis
import numpy as np
import pinocchio
import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.excitation import FourierBasis, FourierTrajectory
from joint_dynamics.excitation.files import coefficients
from joint_dynamics.recording import Recording
from joint_dynamics.robot import INERTIAL, PER_JOINT, RobotModel
from joint_dynamics.simulation import ur5e_urdf

HALF = np.pi / 2
HUNG = 900.0  # s after which a test counts as hung, many times the slowest on a busy machine
# In the background of a shell without job control, tests and their processes would ignore SIGINT.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The same examples on every run, without deadlines: a busy machine passes the same tests.
# HYPOTHESIS_PROFILE=random (make test-nightly) looks for new ones, HYPOTHESIS_PROFILE=nightly (make fuzz) for ten
# thousand of each.
hypothesis.settings.register_profile(
    'repeatable', derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile(
    'random', deadline=None, print_blob=True, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile('nightly', max_examples=10_000, deadline=None)
hypothesis.settings.load_profile(os.environ.get('HYPOTHESIS_PROFILE', 'repeatable'))
if hypothesis.settings.default.max_examples >= 10_000:
    HUNG *= 50.0  # as many examples more than the two hundred of every day


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """End the process of a test that hangs, which fails it, and show where every thread is.

    A thread of the interpreter could not: what hangs may hold its lock.
    """
    faulthandler.dump_traceback_later(HUNG, exit=True, file=item.config.stash[fault_handler_stderr_fd_key])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def _table(rows, **options):
    names = ('alpha', 'a', 'd', 'theta', 'type')
    return {'joints': [dict(zip(names, row, strict=False)) for row in rows], **options}


@pytest.fixture(scope='session')
def ur_table():
    """MDH table of a UR5e, by Universal Robots' published lengths."""
    return _table(
        [
            (0, 0, 0.1625, 0),
            (HALF, 0, 0, 0),
            (0, -0.425, 0, 0),
            (0, -0.3922, 0.1333, 0),
            (HALF, 0, 0.0997, 0),
            (-HALF, 0, 0.0996, 0),
        ]
    )


@pytest.fixture(scope='session')
def pa10_table():
    """MDH table of a Mitsubishi PA-10, 7R."""
    return _table(
        [
            (0, 0, 0.317, 0),
            (-HALF, 0, 0, 0),
            (HALF, 0, 0.45, 0),
            (-HALF, 0, 0, 0),
            (HALF, 0, 0.48, 0),
            (-HALF, 0, 0, 0),
            (HALF, 0, 0.07, 0),
        ]
    )


@pytest.fixture(scope='session')
def scara_table():
    """MDH table of a SCARA: two parallel revolute joints, one that slides, one that turns."""
    return _table([(0, 0, 0.3, 0), (0, 0.35, 0, 0), (np.pi, 0.25, 0, 0, 'prismatic'), (0, 0, 0.1, 0)])


@pytest.fixture(scope='session')
def ur(ur_table):
    return RobotModel.from_mdh(ur_table)


@pytest.fixture(scope='session')
def moving_arm(ur):
    """t, q, tau of a smooth, exciting motion of the UR5e, 8 s at 200 Hz.

    Torques from pinocchio under known masses, friction added here.
    """
    rng = np.random.default_rng(3)
    t = np.arange(0, 8, 1 / 200)
    k = 2 * np.pi * 0.25 * np.arange(1, 5)
    a, b = rng.normal(size=(2, 4, 6)) * 0.5
    sine, cosine = np.sin(np.outer(t, k)), np.cos(np.outer(t, k))
    q = sine @ (a / k[:, None]) + cosine @ (b / k[:, None])
    dq = cosine @ a - sine @ b
    ddq = -sine @ (a * k[:, None]) - cosine @ (b * k[:, None])
    body = ur.pinocchio.copy()
    for j, mass in enumerate((3.7, 8.4, 2.3, 1.2, 1.2, 0.3)):
        body.inertias[j + 1] = pinocchio.Inertia(mass, rng.normal(scale=0.1, size=3), np.diag([0.05, 0.06, 0.04]))
    workspace = body.createData()
    tau = (
        np.array([pinocchio.rnea(body, workspace, *state) for state in zip(q, dq, ddq, strict=True)])
        + 3 * np.sign(dq)
        + 5 * dq
    )
    return t, q, tau + rng.normal(scale=0.2, size=tau.shape)


@pytest.fixture(scope='session')
def true_arm_csv(moving_arm, tmp_path_factory):
    """That motion as the text of a CSV file."""
    t, q, tau = moving_arm
    path = tmp_path_factory.mktemp('recording') / 'run.csv'
    Recording(tuple(f'joint_{k}' for k in range(1, 7)), t, q, tau=tau).save_csv(path)
    return path.read_text()


DATA = Path(os.environ.get('JOINT_DYNAMICS_DATA') or Path(__file__).parents[2] / 'shared' / 'data')


@pytest.fixture(scope='session')
def data(tmp_path_factory):
    """The folder of real recordings, without which a test is skipped; folders are copies, files are links."""
    if not DATA.is_dir():
        pytest.skip(f'real recordings are not at {DATA}; set JOINT_DYNAMICS_DATA')
    view = tmp_path_factory.mktemp('data')
    for path in sorted(DATA.rglob('*')):
        place = view / path.relative_to(DATA)
        if path.is_dir():
            place.mkdir()
        else:
            place.symlink_to(path.resolve())
    return view


@pytest.fixture(scope='session')
def ros_domain():
    """A ROS_DOMAIN_ID of its own for this worker and its processes."""
    pytest.importorskip('rclpy', reason='ROS 2 is not installed', exc_type=ImportError)
    from joint_dynamics.calibration.client import own_domain

    with own_domain() as domain:
        yield domain


@pytest.fixture(scope='session')
def ur5e_file(tmp_path_factory):
    """A dynamics description of the UR5e: its URDF's inertials, plausible friction and stiffness."""
    robot = RobotModel.load(ur5e_urdf())
    standard = {
        name: {kind: float(robot.parameters[PER_JOINT * k + i]) for i, kind in enumerate(INERTIAL)}
        for k, name in enumerate(robot.joint_names)
    }
    joints = {
        name: {
            'drive_gain': {'value': 12.0},
            'rotor_inertia': {'value': 0.5},
            'damping': {'value': 6.0},
            'friction': {'parameters': {'F_C0': 5.0, 'F_V1': 8.0}},
            'stiffness': {'coefficients': [15000.0, 5e6]},
        }
        for name in robot.joint_names
    }
    path = tmp_path_factory.mktemp('described') / 'dynamics.yaml'
    DynamicsDescription(
        {'robot': {'joint_names': list(robot.joint_names)}, 'inertial': {'standard': standard}, 'joints': joints}
    ).save(path)
    return path


@pytest.fixture(scope='session')
def small_motion():
    """A function that saves a motion of 3 s about a posture as `excite` does, and returns it."""

    def save(path, joint_names, posture, size=0.05):
        waves = size * np.random.default_rng(0).standard_normal((len(joint_names), 4))
        series = FourierTrajectory(joint_names, FourierBasis(3.0, 2, 1, 0.8, True), np.column_stack([posture, waves]))
        path.write_text(json.dumps({'trajectory': coefficients(series)}))
        return series

    return save


@pytest.fixture
def dynamics_file(ur5e_file, tmp_path):
    """The same description in a file of the test's own."""
    return Path(shutil.copy(ur5e_file, tmp_path / 'dynamics.yaml'))


@pytest.fixture(scope='session')
def law_document():
    """A description of the UR5e for tests of feedforward laws: rotors, hysteresis that goes with warmth, stiffness."""
    names = RobotModel.load(ur5e_urdf()).joint_names
    joints = {}
    for k, name in enumerate(names):
        size = 1.0 if k < 3 else 0.3
        joints[name] = {
            'rotor_inertia': {'value': 0.9 * size},
            'drive_gain': {'value': 12.0},
            'friction': {
                'parameters': {'F_C0': 7.0 * size, 'F_C1': 1e-3, 'F_V1': 6.0 * size, 'F_T1': -0.05, 'T_0': 30.0},
                'maxwell_slip': {'operators': 4, 'presliding': 5e-4},
            },
            'stiffness': {'coefficients': [2e4 * size, 1e8]},
        }
    return {'robot': {'joint_names': list(names)}, 'joints': joints}


_spec = importlib.util.spec_from_file_location('described', Path(__file__).with_name('described.py'))
_described = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_described)


@pytest.fixture(scope='session')
def true_description():
    return _described.described
