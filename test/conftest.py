import fcntl
import os
import tempfile
from pathlib import Path

import pytest

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
