"""The chain of the demonstration in this process, run once for all tests that look at it."""

import importlib.util
import sys
from pathlib import Path

import pytest

from joint_dynamics.demo import ChainSettings
from joint_dynamics.demo.chain import run_chain
from joint_dynamics.demo.scenario import INERTIA_ERROR
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ModelErrors, ur5e_urdf

_spec = importlib.util.spec_from_file_location('drawn_laws', Path(__file__).parents[1] / 'simulation' / 'drawn_laws.py')
drawn_laws = sys.modules['drawn_laws'] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(drawn_laws)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Whoever looks at the chain waits a minute for it."""
    for item in items:
        if 'chain' in getattr(item, 'fixturenames', ()):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope='session')
def chain():
    """Excite, record, identify, estimate, feed forward, push, on a robot whose laws are not the methods'."""
    # Three cycles, 55 s: the contact detector first learns how far off the model usually is.
    effort = RobotModel.load(ur5e_urdf()).limits.effort
    drives = drawn_laws.Laws.drawn(1).drives(effort, 1, ModelErrors(inertia=INERTIA_ERROR))
    return run_chain(ChainSettings(seed=1, repeats=2, cycles=3), drives)
