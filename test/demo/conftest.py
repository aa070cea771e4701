"""The chain of the demonstration in this process, run once for all tests that look at it."""

import pytest

from joint_dynamics.demo import ChainSettings
from joint_dynamics.demo.chain import run_chain


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Whoever looks at the chain waits a minute for it."""
    for item in items:
        if 'chain' in getattr(item, 'fixturenames', ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope='session')
def chain():
    """Excite, record, identify, estimate, feed forward, push."""
    # Three cycles, 55 s: the contact detector first learns how far off the model usually is.
    return run_chain(ChainSettings(seed=1, repeats=2, cycles=3))
