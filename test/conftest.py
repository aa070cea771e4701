"""Fixtures that every folder of tests may use."""
import fcntl
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from joint_dynamics.robot import RobotModel

HALF = np.pi / 2


def _table(rows, **options):
    names = ('alpha', 'a', 'd', 'theta', 'type')
    return {'joints': [dict(zip(names, row, strict=False)) for row in rows], **options}


@pytest.fixture(scope='session')
def ur_table():
    """MDH table of a UR5e, by Universal Robots' published lengths."""
    return _table([(0, 0, 0.1625, 0), (HALF, 0, 0, 0), (0, -0.425, 0, 0), (0, -0.3922, 0.1333, 0), (HALF, 0, 0.0997, 0), (-HALF, 0, 0.0996, 0)])


@pytest.fixture(scope='session')
def pa10_table():
    """MDH table of a Mitsubishi PA-10, 7R."""
    return _table([(0, 0, 0.317, 0), (-HALF, 0, 0, 0), (HALF, 0, 0.45, 0), (-HALF, 0, 0, 0), (HALF, 0, 0.48, 0), (-HALF, 0, 0, 0), (HALF, 0, 0.07, 0)])


@pytest.fixture(scope='session')
def scara_table():
    """MDH table of a SCARA: two parallel revolute joints, one that slides, one that turns."""
    return _table([(0, 0, 0.3, 0), (0, 0.35, 0, 0), (np.pi, 0.25, 0, 0, 'prismatic'), (0, 0, 0.1, 0)])


@pytest.fixture(scope='session')
def ur(ur_table):
    return RobotModel.from_mdh(ur_table)


@pytest.fixture(scope='session')
def data():
    """The folder of real recordings; tests that ask for it are skipped where it is not there."""
    path = Path(os.environ.get('JOINT_DYNAMICS_DATA') or Path(__file__).parents[2] / 'shared' / 'data')
    if not path.is_dir():
        pytest.skip(f'real recordings are not at {path}; set JOINT_DYNAMICS_DATA')
    return path


# Above 101 the ports of a domain reach into the range from which the system picks ports for itself.
DOMAINS = range(1, 102)


@pytest.fixture(scope='session')
def ros_domain():
    """A ROS_DOMAIN_ID that nobody else on this machine tests with, for this worker and everything it starts."""
    for domain in DOMAINS:
        lock = (Path(tempfile.gettempdir()) / f'joint_dynamics_test_domain_{domain}.lock').open('w')
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        before = {name: os.environ.get(name) for name in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE')}
        os.environ.update(ROS_DOMAIN_ID=str(domain), ROS_AUTOMATIC_DISCOVERY_RANGE='LOCALHOST')
        yield domain
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        lock.close()
        return
    pytest.fail('all ROS domains are taken')
