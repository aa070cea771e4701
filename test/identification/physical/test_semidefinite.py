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

"""Physical consistency: every link a body, all friction dissipates, and the price of it small."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pinocchio
import pytest

from joint_dynamics.arm import friction_term
from joint_dynamics.description import DynamicsDescription, export, export_urdf
from joint_dynamics.description.export import urdf_text
from joint_dynamics.description.export_urdf import inconsistent_links
from joint_dynamics.description.export_urdf import pseudo_inertia as exported_pseudo_inertia
from joint_dynamics.description.import_inertials import import_inertials
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification import IdentificationSettings, identify
from joint_dynamics.identification.physical import semidefinite
from joint_dynamics.identification.physical.dissipation import dissipation_rows
from joint_dynamics.identification.physical.semidefinite import (
    PhysicalOptions,
    information_root,
    physical,
    pseudo_inertias,
)
from joint_dynamics.identification.regression.residuals import overall_residual, predict
from joint_dynamics.recording import Recording
from joint_dynamics.robot import INERTIAL, PER_JOINT, RobotModel, StandardParameters
from joint_dynamics.robot.standard_parameters import body_of, inertia_of

pytest.importorskip('cvxpy', reason='the extra sdp is not installed')
DRIVE = ('Ia', 'Fv', 'Fc')


def is_physical(model, standard):
    names = model.parameter_names
    drive = [value for name, value in zip(names, standard, strict=True) if name.partition('_')[0] in DRIVE]
    return (
        np.linalg.eigvalsh(pseudo_inertias(StandardParameters(standard, model.n).links)).min() > 0 and min(drive) >= 0
    )


@pytest.fixture(scope='module')
def poor(ur, true_robot):
    """A recording short and noisy enough that the estimate is no robot."""
    return identify(
        ur, [true_robot.record(5, duration=8.0, noise=0.3)], settings=IdentificationSettings(selection=False)
    )


@pytest.fixture(scope='module')
def good(ur, true_robot):
    return identify(ur, [true_robot.record(5, duration=20.0)], settings=IdentificationSettings(selection=False))


def test_pseudo_inertias_are_those_of_the_export(ur, true_robot):
    ours = pseudo_inertias(StandardParameters(true_robot.standard.ravel(), ur.n).links)
    for body, link in zip(ours, true_robot.standard, strict=True):
        np.testing.assert_allclose(body, exported_pseudo_inertia(dict(zip(INERTIAL, link, strict=False))), atol=1e-12)


@pytest.mark.parametrize('seed', range(5))
def test_the_result_is_physical_whatever_the_estimate(ur, poor, seed):
    rng = np.random.default_rng(seed)
    chi = poor.solution.chi + rng.normal(size=len(poor.names)) * 3 * poor.deviation
    estimate = physical(poor.problem, replace(poor.solution, chi=chi))
    assert is_physical(ur, estimate.standard)
    np.testing.assert_allclose(estimate.solution.chi, ur.base_parameters().regroup(estimate.standard), atol=1e-9)


def test_impossible_estimate_becomes_a_robot_at_a_small_price(poor):
    assert inconsistent_links(poor.description)
    estimate = physical(poor.problem, poor.solution)
    free, bound = (
        sum(np.sum((block.tau - predict(block, chi)) ** 2) for block in poor.problem.blocks()) ** 0.5
        for chi in (poor.solution.chi, estimate.solution.chi)
    )
    assert bound <= 1.05 * free
    assert estimate.price > 0


def test_good_estimate_comes_nearer_to_the_truth(good, poor, true_robot):
    estimate = physical(good.problem, good.solution)
    assert np.abs((estimate.solution.chi - good.solution.chi) / good.deviation).max() < 3
    # constraints that the truth meets can only help in the metric of the information
    A = information_root(poor.solution)
    bound = physical(poor.problem, poor.solution).solution.chi
    assert np.linalg.norm(A @ (bound - true_robot.base)) < np.linalg.norm(A @ (poor.solution.chi - true_robot.base))


@pytest.mark.parametrize('mass', [(10.0, 12.0), (25.0, 26.0)])
def test_bounds_of_the_total_mass(ur, good, mass):
    standard = physical(good.problem, good.solution, PhysicalOptions(mass=mass)).standard
    total = standard[: PER_JOINT * ur.n].reshape(ur.n, PER_JOINT)[:, 9].sum()
    assert mass[0] - 1e-4 <= total <= mass[1] + 1e-4
    assert is_physical(ur, standard)


def test_the_pull_leads_to_the_prior(ur, good, true_robot):
    prior = true_robot.standard.copy()
    prior[:, :10] *= 1.3
    divergence, price, bodies = [], [], pseudo_inertias(StandardParameters(prior.ravel(), ur.n).links)
    for pull in (1e-2, 1e2, 1e6):
        estimate = physical(good.problem, good.solution, PhysicalOptions(pull=pull), prior.ravel())
        relative = np.linalg.solve(bodies, pseudo_inertias(StandardParameters(estimate.standard, ur.n).links))
        price.append(estimate.price)
        divergence.append(np.sum(np.trace(relative, axis1=1, axis2=2) - np.linalg.slogdet(relative)[1] - 4))
    assert divergence[0] > divergence[1] > divergence[2]
    assert price[0] < price[1] < price[2]


def test_friction_with_further_terms_dissipates(ur, poor):
    problem = poor.problem.with_terms([friction_term(joint, 'F_T0') for joint in ur.joint_names])
    inverse = np.zeros((problem.columns, problem.columns))
    inverse[: poor.problem.columns, : poor.problem.columns] = poor.solution.inverse
    inverse[poor.problem.columns :, poor.problem.columns :] = 0.01 * np.eye(ur.n)
    # against motion at low speed, with it at high speed: impossible friction
    solution = replace(poor.solution, chi=np.concatenate([poor.solution.chi, np.full(ur.n, -40.0)]), inverse=inverse)
    estimate = physical(problem, solution)
    extra = estimate.solution.chi[problem.base.count :]
    for part in dissipation_rows(problem):
        torque = part.rows_standard @ estimate.standard[list(part.standard)] + part.rows_extra @ extra
        assert torque.min() > -1e-4 * np.abs(torque).max()
    assert np.all(extra > -40.0)


def test_identify_physical_writes_a_description_of_bodies(ur, true_robot):
    settings = IdentificationSettings.from_config({'physical': True, 'selection': False})
    result = identify(ur, [true_robot.record(5, duration=8.0, noise=0.3)], settings=settings)
    assert inconsistent_links(result.description) == []
    assert result.details.physical['price'] >= 0


@pytest.mark.parametrize(('config', 'message'), [
    ({'pull': 0}, r'identification.physical.pull: expected a number, > 0, found 0'),
    ({'mass': [3, 2]}, r'identification.physical.mass: expected \[smallest, largest\]'),
    ({'mass': 5}, r'identification.physical.mass: expected a list of 2 \(null: not known\), found 5'),
    ({'weight': 1}, 'identification.physical: expected the keys pull, prior, mass, found .weight.'),
    (2, 'identification.physical: expected true or false or a mapping, found 2'),
])  # fmt: skip
def test_settings_that_make_no_sense(config, message):
    with pytest.raises(JointDynamicsError, match=message):
        IdentificationSettings.from_config({'physical': config})


def test_without_cvxpy_one_clear_error(good, monkeypatch):
    monkeypatch.setitem(sys.modules, 'cvxpy', None)
    with pytest.raises(JointDynamicsError, match=r'install joint_dynamics\[sdp\]'):
        physical(good.problem, good.solution)


def real(data, name):
    if name == 'tx40':
        return data / 'tx40' / 'mdh.yaml', [data / 'tx40' / 'exciting_traj']
    if name == 'kr300':
        return data / 'kr300' / 'kr300.urdf', [data / 'kr300' / run for run in ('FF_A', 'FF_B')]
    return data / 'gen3' / 'gen3.urdf', sorted(
        path for path in (data / 'gen3').iterdir() if path.is_dir() and path.name != 'opti_traj_testing1'
    )


@pytest.mark.parametrize('name', ['tx40', 'kr300', 'gen3'])
def test_real_recordings_at_most_a_twentieth_worse(data, tmp_path, name):
    source, runs = real(data, name)
    model = RobotModel.load(source)
    recordings = [Recording.load(run) for run in runs]
    free, bound = (
        identify(model, recordings, settings=IdentificationSettings(selection=False, physical=physical))
        for physical in (False, True)
    )
    assert overall_residual(bound.training)[1] <= 1.05 * overall_residual(free.training)[1]
    assert is_physical(model, bound.standard_parameters)
    assert inconsistent_links(bound.description) == []
    urdf = source if source.suffix == '.urdf' else urdf_text(model)
    assert export_urdf(bound.description, urdf, tmp_path / 'out.urdf') == []


@pytest.fixture(scope='module')
def prior_file(ur, true_robot, tmp_path_factory):
    """A URDF wrong in two links: the second weighs half as much again, the last has three times the inertia."""
    standard = true_robot.standard.copy()
    standard[1, :10] *= 1.5
    last = inertia_of(standard[5, :10])
    standard[5, :10] = body_of(pinocchio.Inertia(last.mass, last.lever, 3.0 * last.inertia))
    links = {name: dict(zip(INERTIAL, standard[k], strict=False)) for k, name in enumerate(ur.joint_names)}
    links = {name: {key: float(value) for key, value in link.items()} for name, link in links.items()}
    robot = {'joint_names': list(ur.joint_names), **ur.kinematics()}
    joints = {name: {} for name in ur.joint_names}
    description = DynamicsDescription({'robot': robot, 'joints': joints, 'inertial': {'standard': links}})
    path = tmp_path_factory.mktemp('prior') / 'prior.urdf'
    export(description, path)
    return path


def with_last_joint_nearly_still(robot):
    """Recording of a motion in which the last joint moves by ± 2 mrad."""
    run = robot.record(5, duration=20.0)
    q = run.q.copy()
    q[:, 5] = 0.2 + 0.002 * np.sin(2 * np.pi * 0.3 * run.time)
    speed = np.gradient(q, run.period, axis=0)
    tau = robot.torque(q, speed, np.gradient(speed, run.period, axis=0))
    noise = np.random.default_rng(1).normal(size=tau.shape) * 0.02 * np.sqrt((tau**2).mean(axis=0))
    return Recording(run.joint_names, run.time, q, tau=tau + noise)


def test_only_poorly_excited_parameters_go_to_the_prior(ur, true_robot, prior_file):
    """The last joint hardly moves: its own parameters are the prior's, those of gravity stay.

    Half of a squared relative change of a body weighs as much as `pull` squared deviations: as a prior whose own
    deviation is √(2/pull) of its value, 0.45 here. Against it, deviations of more than three times the value leave the
    data 2 %, and such of less than a hundredth leave the prior 0.05 %. Parameters hang together, so more is allowed.
    """
    recording = with_last_joint_nearly_still(true_robot)
    settings = IdentificationSettings(selection=False, physical={'prior': str(prior_file), 'pull': 10.0})
    free = identify(ur, [recording], settings=settings.replaced(physical=False))
    bound = identify(ur, [recording], settings=settings)
    prior = ur.base_parameters().regroup(import_inertials(prior_file, ur))
    deviation = dict(zip(free.names, np.sqrt(np.diag(free.solution.inverse)), strict=True))
    found, stated, data = (
        dict(zip(free.names, chi, strict=False)) for chi in (bound.solution.chi, prior, free.solution.chi)
    )
    assert deviation['ZZ_6'] > 3.0 * stated['ZZ_6']
    assert abs(found['ZZ_6'] / stated['ZZ_6'] - 1) < 0.2
    for name in ('MXR_2', 'ZZR_2'):
        assert deviation[name] < 0.01 * abs(stated[name])
        # less than the data themselves leave open, and next to nothing of the way
        assert abs(found[name] - data[name]) < deviation[name]
        assert abs(found[name] - data[name]) < 0.02 * abs(stated[name] - data[name])
    assert bound.summary()['physical']['prior'] == str(prior_file)


def test_a_prior_of_another_robot_or_of_no_robot_is_refused(ur, pa10_table, tmp_path):
    (tmp_path / 'pa10.urdf').write_text(urdf_text(RobotModel.from_mdh(pa10_table)))
    (tmp_path / 'page.xml').write_text('<html/>')
    (tmp_path / 'light.urdf').write_text(urdf_text(ur))
    for name, message in (
        ('pa10.urdf', 'to move as in the robot file'),
        ('page.xml', 'page.xml'),
        ('light.urdf', 'found no link with a mass'),
        ('none.urdf', 'none.urdf'),
    ):
        with pytest.raises(JointDynamicsError, match=message):
            import_inertials(tmp_path / name, ur)


def test_drives_take_power_without_offsets(monkeypatch):
    names = ['M_1', 'Ia_1', 'Fv_1', 'Fc_1', 'off_1', 'Ia_2', 'Fv_2', 'Fc_2', 'off_2']
    problem = SimpleNamespace(base=SimpleNamespace(standard_names=names))
    monkeypatch.setattr(semidefinite, 'dissipation_rows', lambda given: [SimpleNamespace(standard=(6, 7))])
    found = semidefinite.nonnegative_columns(problem, list(range(1, 9)))
    assert [names[1:][k] for k in found] == ['Ia_1', 'Fv_1', 'Fc_1', 'Ia_2', 'Fc_2']
    monkeypatch.setattr(semidefinite, 'dissipation_rows', lambda given: [])
    assert [names[k] for k in (8, 6, 2)][1:] == [
        names[[8, 6, 2][k]] for k in semidefinite.nonnegative_columns(problem, [8, 6, 2])
    ]
