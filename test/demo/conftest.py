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

"""The chain of the benches (bench/chain.py), run once for all tests that look at it."""

import importlib.util
import sys
from pathlib import Path

import pytest

from joint_dynamics.demo.scenario import INERTIA_ERROR
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ModelErrors, ur5e_urdf

CHAIN = Path(__file__).parents[2] / 'bench' / 'chain.py'


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark tests of the chain as slow: it takes a minute."""
    for item in items:
        if 'chain' in getattr(item, 'fixturenames', ()):
            item.add_marker(pytest.mark.slow)


def module(name, path):
    """Return a module by its file."""
    spec = importlib.util.spec_from_file_location(name, path)
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope='session')
def make_chain():
    """A function that returns a chain before its first stage, on a robot whose laws are not the methods'."""
    if not CHAIN.is_file():
        pytest.skip('bench/ is not beside the tests')
    laws = module('drawn_laws', Path(__file__).parents[1] / 'simulation' / 'drawn_laws.py').Laws
    made = module('bench_chain', CHAIN)

    def make(seed, **options):
        effort = RobotModel.load(ur5e_urdf()).limits.effort
        drawn = laws.drawn(seed)
        chain = made.Chain(seed, drawn.drives(effort, seed, ModelErrors(inertia=INERTIA_ERROR)), **options)
        chain.laws = drawn
        return chain

    return make


@pytest.fixture(scope='session')
def chain(make_chain):
    """Excited, recorded, identified, estimated, fed forward and worn."""
    return make_chain(1, cycles=3).run()
