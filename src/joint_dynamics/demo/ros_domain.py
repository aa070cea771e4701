"""A ROS domain of one's own, so that a demonstration neither hears nor moves a robot on the same network."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.transport import RANGE, without_shared_memory

# Above 101 the ports of a domain reach into the range from which the system picks ports for itself; 0 is where robots
# are.
DOMAINS = range(1, 102)


@contextlib.contextmanager
def own_domain() -> Iterator[int]:
    """Put a free ROS_DOMAIN_ID, kept to this machine, into the environment for this process and those it starts.

    Free means: no other demonstration or test of this package on this machine has it (they lock the same files).

    Raises
    ------
    JointDynamicsError
        Where all are taken.
    """
    import fcntl

    for domain in DOMAINS:
        try:
            lock = (Path(tempfile.gettempdir()) / f'joint_dynamics_test_domain_{domain}.lock').open('w')
        except OSError:  # another user's
            continue
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            own = {'ROS_DOMAIN_ID': str(domain), RANGE: 'LOCALHOST'}
            own |= without_shared_memory({**os.environ, **own})
            with _environment(**own):
                yield domain
            return
    raise JointDynamicsError(
        'demo: expected a free ROS_DOMAIN_ID, found all of them locked by other demonstrations and tests'
    )


@contextlib.contextmanager
def _environment(**variables: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
