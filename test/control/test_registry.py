"""Controllers are found by name, those of other packages too, and run behind the gate whatever they are."""

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from joint_dynamics.control import ControlLoop, available, create, interface, load
from joint_dynamics.control.shipped_laws import ComputedTorque
from joint_dynamics.errors import JointDynamicsError

PACKAGE = Path(__file__).parent / 'third_party_package'


def test_the_shipped_laws_are_installed():
    assert {'computed_torque', 'adaptive_friction', 'flexible_joint', 'joint_torque_feedback'} <= set(available())
    assert load('computed_torque') is ComputedTorque
    assert type(create('computed_torque')) is ComputedTorque


def test_an_unknown_name_names_the_known_ones():
    with pytest.raises(JointDynamicsError, match=r"expected one of .*computed_torque.*, found 'computed_talk'"):
        load('computed_talk')


@pytest.mark.parametrize(
    ('values', 'expected'),
    [
        (['no.such.module:Law'], "expected 'law' .* to load, found ModuleNotFoundError"),
        (['math:pi'], 'subclass of joint_dynamics.control.Controller'),
        (['pathlib:Path'], 'subclass of joint_dynamics.control.Controller'),
        (['a:A', 'b:B'], 'one controller .law., found a:A and b:B'),
        (['joint_dynamics.control.interface:Controller'], 'expected .* to be made without arguments'),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_reason(monkeypatch, values, expected):
    points = [EntryPoint('law', value, interface.GROUP) for value in values]
    monkeypatch.setattr(interface, 'entry_points', lambda group: points)
    with pytest.raises(JointDynamicsError, match=expected):
        create('law')


def test_another_installed_package_adds_a_law(tmp_path):
    """It is built and installed as any package, into a folder of its own, and runs in the loop behind the gate."""
    site = tmp_path / 'site'
    source = tmp_path / 'source'
    source.mkdir()
    for path in PACKAGE.iterdir():
        if path.is_file():
            (source / path.name).write_bytes(path.read_bytes())
    pytest.importorskip('setuptools')
    options = ['--quiet', '--no-index', '--no-deps', '--no-build-isolation', '--no-compile', '--target', str(site)]
    subprocess.run([sys.executable, '-m', 'pip', 'install', *options, str(source)], check=True, timeout=600)
    program = """
import numpy as np
from joint_dynamics.arm import Arm
from joint_dynamics.control import ControlLoop, available, create
from joint_dynamics.robot import RobotModel
from joint_dynamics.simulation import ur5e_urdf
assert available()['spring'] == 'third_party_law:Spring', available()
arm = Arm(RobotModel.from_urdf(ur5e_urdf()))
loop = ControlLoop(create('spring'), arm, parameters={'stiffness': 50.0})
loop.activate()
for k in range(300):
    time = 0.002 * k
    loop.state.write('position', np.full(6, 0.1), time)
    loop.reference.write('position', np.zeros(6), time)
    command = loop.step(time, 0.002)
assert loop.fallback_reason == '', loop.fallback_reason
np.testing.assert_allclose(command, -5.0)
print('followed')
"""
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get('PYTHONPATH')])])
    result = subprocess.run(
        [sys.executable, '-c', program],
        env={**os.environ, 'PYTHONPATH': path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert result.stdout.strip() == 'followed', result.stderr


def test_a_law_of_another_package_has_no_remarks_of_its_own(arm, given_law):
    loop = ControlLoop(given_law(), arm)
    assert loop.remarks == arm.remarks and loop.validity_violations == () and loop.fallback_reason == 'not active'
    loop.activate()
    assert loop.fallback_reason == 'just activated'
    loop.step(0.0, 0.0)
    assert loop.fallback_reason == 'time does not go on: 0.0 s since the last step'
    list(loop.deactivate())
    assert loop.fallback_reason == 'not active'


def test_a_law_that_raises_along_a_trajectory_is_named(arm, given_law, path):
    def fail(law):
        raise ValueError('no')

    loop = ControlLoop(given_law(fail), arm)
    with pytest.raises(JointDynamicsError, match=r'^law: expected a command, found ValueError: no$'):
        loop.evaluate_along(path.at(0.5), 0.0, 0.01)
