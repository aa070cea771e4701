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

"""Fixtures of the tests of reliability: a robot with its model, problems of recordings."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from joint_dynamics.arm import terms_from_config
from joint_dynamics.identification import IdentificationSettings
from joint_dynamics.identification.observations import filter_plan, observe
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.checks import check_training
from joint_dynamics.identification.reliability.filtered_samples import samples_of
from joint_dynamics.robot import RobotModel


@pytest.fixture(scope='session')
def problem_of():
    """Return the problem of a model and recordings, by the default settings."""

    def made(model, recordings):
        settings = IdentificationSettings()
        plan = filter_plan(recordings, settings)
        return Problem(model, [observe(run, plan) for run in recordings], rest_speed=settings.rest_speed)

    return made


@pytest.fixture(scope='session')
def alternatives_of(problem_of):
    """Return the alternatives of a model and recordings."""
    return lambda model, recordings: Alternatives(model, samples_of(problem_of(model, recordings)))


@pytest.fixture(scope='session')
def model_and_robot(ur_table, true_robot_of):
    model = RobotModel.from_mdh(ur_table)
    return model, true_robot_of(model)


@pytest.fixture(scope='module')
def resting_problem(two_links, observed):
    """Two recordings with a torque that is none of the motion's, a further term of the second joint, and rest."""
    runs = [observed(1, 500, factor=5), observed(2, 300, factor=5)]
    rng = np.random.default_rng(8)
    runs = [replace(run, tau=rng.normal(size=run.q.shape)) for run in runs]
    terms = terms_from_config({two_links.joint_names[1]: [{'fourier': 1}]})
    return Problem(two_links, runs, terms, rest_speed=0.4)


@pytest.fixture(scope='session')
def checked(problem_of):
    """Return the check of training recordings by the default settings."""
    return lambda model, recordings: check_training(problem_of(model, recordings), recordings)


@pytest.fixture(scope='session')
def corruptions():
    """The module of what goes wrong with recordings, `corruptions.py` beside this file."""
    spec = importlib.util.spec_from_file_location('corruptions', Path(__file__).with_name('corruptions.py'))
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
