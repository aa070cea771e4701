"""Parameters of laws, loop and plugin: as documented, as written into the plugin, and each reaches what it sets."""

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import yaml

from joint_dynamics.arm import Arm
from joint_dynamics.control import LoopSettings, hosted_parameters
from joint_dynamics.control.friction import friction_parameters
from joint_dynamics.control.hosted_parameters import (
    PARAMETERS_FILE,
    TABLE_FILE,
    library_yaml,
    main,
    parameters_of,
    table_rst,
    to_declare,
)
from joint_dynamics.control.interface import ControllerParameter, ControllerSetup
from joint_dynamics.control.loop_parameters import (
    GATE_PARAMETERS,
    LAW_PARAMETERS,
    OWN_DEFAULT,
    GivenValues,
    build_loop,
    foreign_parameters,
    law_values,
    loop_settings,
)
from joint_dynamics.control.shipped_laws import AdaptiveFriction, ComputedTorque, FlexibleJoint, JointTorqueFeedback
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings import Parameter


@pytest.mark.parametrize('law', [ComputedTorque, AdaptiveFriction, FlexibleJoint, JointTorqueFeedback])
def test_the_page_on_feedforward_says_the_same_of_every_parameter(law):
    page = Path(__file__).parents[2] / 'docs' / 'reference' / 'nodes' / 'feedforward.md'
    if not page.is_file():
        pytest.skip('docs/ is not beside the tests')
    table = page.read_text(encoding='utf-8')
    for row in (*law.PARAMETERS, *friction_parameters('static')):
        name = f'{row.name}.<joint>' if row.per_joint else row.name
        assert f'| `{name}` |' in table and f'| {row.description} |' in table, name


@pytest.mark.parametrize(
    ('law', 'friction', 'own'),
    [
        (ComputedTorque, 'none', ()),
        (AdaptiveFriction, 'hysteresis', ()),
        (FlexibleJoint, 'hysteresis', ('feedback_side',)),
        (JointTorqueFeedback, 'hysteresis', ('feedback_side', 'torque_gain', 'torque_source', 'torque_limit')),
    ],
)
def test_what_is_left_out_is_the_default_and_per_joint_is_an_array(arm, law, friction, own):
    setup = ControllerSetup.of(law, arm, kp={name: float(k) for k, name in enumerate(arm.joint_names)})
    assert set(own) <= set(setup.parameters) and setup.arm is arm
    np.testing.assert_array_equal(setup.parameters['kp'], np.arange(6.0))
    for name, value in (('kd', 0.0), ('ki', 0.0), ('integral_limit', 5.0), ('friction_gain', 1.0)):
        np.testing.assert_array_equal(setup.parameters[name], np.full(6, value))
    assert (setup.parameters['friction'], setup.parameters['output']) == (friction, 'effort')
    assert setup.parameters['gravity'] is True and setup.parameters['feedback'] is False


@pytest.mark.parametrize(
    ('values', 'expected'),
    [
        ({'kp': {'elbow_joint': 1.0}}, r'^kp: expected a number for each of shoulder_pan_joint, .*, found '),
        ({'kp': [1.0, 2.0]}, r'^kp: expected 6 numbers, one for each of '),
        ({'friction_smoothing': 1.5}, r'^friction_smoothing: expected .*1.*, found 1\.5'),
        ({'kq': 1.0}, "found 'kq'"),
    ],
)
def test_what_cannot_be_set_is_named(arm, values, expected):
    with pytest.raises(JointDynamicsError, match=expected):
        ControllerSetup.of(ComputedTorque, arm, **values)


PACKAGE = Path(__file__).parents[2] / 'ros2_control'
PRESETS = sorted((PACKAGE / 'config').glob('*.yaml'))


def test_the_written_files_are_up_to_date():
    assert (PACKAGE / PARAMETERS_FILE).read_text(encoding='utf-8') == library_yaml()
    assert (PACKAGE / TABLE_FILE).read_text(encoding='utf-8') == table_rst()


def test_they_are_written_into_a_package_only(tmp_path):
    with pytest.raises(JointDynamicsError, match='expected the folder of a package'):
        main([str(tmp_path)])
    (tmp_path / 'package.xml').touch()
    for folder in ('src', 'doc'):
        (tmp_path / folder).mkdir()
    assert main([str(tmp_path)]) == 0
    assert (tmp_path / PARAMETERS_FILE).read_text(encoding='utf-8') == library_yaml()


@pytest.mark.parametrize('path', PRESETS, ids=lambda path: path.stem)
def test_a_preset_names_what_exists(path):
    document = yaml.safe_load(path.read_text(encoding='utf-8'))['/**']
    manager = document['controller_manager']['ros__parameters']
    values = document['feedforward_controller']['ros__parameters']
    trajectory = document['feedforward_trajectory_controller']['ros__parameters']
    assert manager['feedforward_controller']['type'] == values.pop('type')
    assert trajectory['command_joints'] == [f'feedforward_controller/{joint}' for joint in values['joints']]
    rows = {row.name: row for row in parameters_of(values['law'])}
    for name, value in values.items():
        if name in ('fallback_controllers', 'use_sim_time'):
            continue
        given = value.values() if rows[name].per_joint else (value,)
        if rows[name].per_joint:
            assert list(value) == values['joints']
        for item in given:
            rows[name].value(item)


def test_there_are_presets():
    assert [path.stem for path in PRESETS] == ['gazebo', 'generic', 'ur']


def test_parameters_of_a_foreign_law_are_declared_beside_the_library(monkeypatch):
    class Foreign:
        PARAMETERS = (ControllerParameter('pull', 2.0, 'how hard'),)

    monkeypatch.setattr(hosted_parameters, 'load', lambda law: {'strange': Foreign}[law])
    own = to_declare('')
    assert all(per_joint for *_, per_joint in own)
    assert 'friction_gain' in {name for name, *_ in own}
    assert to_declare('strange') == [*own, ('strange_pull', 2.0, 'how hard', False)]


def test_every_parameter_of_the_gate_reaches_the_loop(robot):
    names = robot.joint_names
    given = {
        'ramp_time': 0.7, 'safe_command': 'zero', 'timeout': 0.11, 'slow_timeout': 12.0, 'tracking_tolerance': 0.33,
        'velocity_margin': 1.7, 'position_margin': 0.07, 'jump_margin': 0.013,
        **{f'effort_limit.{name}': 10.0 + k for k, name in enumerate(names) if k != 2},
        **{f'effort_rate.{name}': 900.0 + k for k, name in enumerate(names) if k not in (1, 2)},
    }  # fmt: skip
    values = GivenValues(parameters_of('computed_torque'), given, names)
    arm = Arm(robot)
    found = loop_settings(values, arm, False)
    own = arm.effort_limit
    assert found == LoopSettings(
        effort_limit=(10.0, 11.0, own[2], 13.0, 14.0, 15.0),
        effort_rate=(900.0, 50.0 * 11.0, 50.0 * own[2], 903.0, 904.0, 905.0),
        ramp_time=0.7, safe='zero', timeout=0.11, slow_timeout=12.0, tracking=0.33, velocity_margin=1.7,
        position_margin=0.07, jump_margin=0.013, holds_gravity=False,
    )  # fmt: skip
    assert loop_settings(values, arm, True).holds_gravity is True
    # a limit beyond the robot's own does not make its rate larger
    high = GivenValues(GATE_PARAMETERS, {f'effort_limit.{names[0]}': 1e4}, names)
    assert loop_settings(high, arm, True).effort_rate[0] == 50.0 * own[0]
    loop = build_loop(values, robot, None)
    assert loop.settings.holds_gravity and loop.settings.ramp_time == 0.7
    off = GivenValues(parameters_of('computed_torque'), {**given, 'gravity': False}, names)
    assert not build_loop(off, robot, None).settings.holds_gravity
    assert {field.name for field in fields(LoopSettings)} - {'max_period', 'holds_gravity'} == {
        {'safe_command': 'safe', 'tracking_tolerance': 'tracking'}.get(row.name, row.name) for row in GATE_PARAMETERS
    }


def test_a_payload_hangs_on_the_arm_of_the_loop(robot):
    given = {'payload_mass': 2.5, 'payload_center': [0.01, 0.02, 0.1]}
    loop = build_loop(GivenValues(parameters_of('computed_torque'), given, robot.joint_names), robot, None)
    expected = Arm(robot).with_payload(2.5, [0.01, 0.02, 0.1])
    np.testing.assert_array_equal(loop.arm.payload, expected.payload)
    bare = build_loop(GivenValues(parameters_of('computed_torque'), {}, robot.joint_names), robot, None)
    assert not bare.arm.payload.any()


def test_values_by_name_and_what_is_misspelt():
    rows = (Parameter('rate', 1.0, 'a rate'), Parameter('gain', 2.0, 'a gain', per_joint=True))
    values = GivenValues(rows, {'rat': 5.0, 'gain.b': 3.0, 'colour': 1, 'gains.a': 4.0}, ('a', 'b'))
    assert values['rate'] == 1.0 and values['gain.a'] == 2.0 and values['gain.b'] == 3.0
    assert values.per_joint('gain') == [2.0, 3.0] and values.per_joint('gain', ['b', 'a']) == [3.0, 2.0]
    assert values.misspelt == {'rat': 'rate', 'gains.a': 'gain.a'}


def test_parameters_of_a_law_of_another_package_have_its_name(robot):
    class Own(ComputedTorque):
        PARAMETERS = (
            Parameter('stiff', 3.0, 'how stiff'),
            Parameter('kind', OWN_DEFAULT, 'which', choices=(OWN_DEFAULT, 'x')),
            Parameter('gain', 2.0, 'a gain', per_joint=True),
        )

    rows = foreign_parameters('own', Own)
    assert [row.name for row in rows] == ['own_stiff', 'own_kind', 'own_gain']
    assert foreign_parameters('computed_torque', ComputedTorque) == []
    given = {'own_stiff': 4.0, 'own_gain.b': 5.0}
    values = GivenValues(rows, given, ('a', 'b'))
    assert law_values(values, 'own', Own, ('a', 'b')) == {'stiff': 4.0, 'gain': [2.0, 5.0]}
    assert law_values(GivenValues(rows, {'own_kind': 'x'}, ()), 'own', Own, ())['kind'] == 'x'
    shipped = GivenValues(LAW_PARAMETERS, {'gravity': False}, ('a',))
    assert law_values(shipped, 'computed_torque', ComputedTorque, ('a',))['gravity'] is False
    assert 'friction' not in law_values(shipped, 'computed_torque', ComputedTorque, ('a',))
