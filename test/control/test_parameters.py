"""What can be set of a law: names, defaults, units and bounds as documented, and words for what cannot be set."""

from pathlib import Path

import numpy as np
import pytest

from joint_dynamics.control.adaptive_friction import AdaptiveFriction
from joint_dynamics.control.computed_torque import ComputedTorque
from joint_dynamics.control.flexible_joint import FlexibleJoint
from joint_dynamics.control.friction import friction_parameters
from joint_dynamics.control.interface import ControllerSetup
from joint_dynamics.control.joint_torque_feedback import JointTorqueFeedback
from joint_dynamics.errors import JointDynamicsError

FRICTION = {
    'friction_gain': (1.0, '', 0.0, 1.5, True),
    'rest_gain': (1.0, '', 0.0, 1.0, False),
    'friction_smoothing': (0.0, 'rad/s', 0.0, 1.0, False),
    'alpha_lower': ([0.4, -0.05], '', -np.inf, np.inf, False),
    'alpha_upper': ([2.5, 0.05], '', -np.inf, np.inf, False),
    'viscous_share': (0.5, '', 0.0, 10.0, False),
}


def bound(value, none):
    return none if value is None else value


def test_parameters_of_the_friction():
    rows = {row.name: row for row in friction_parameters('static')}
    kind = rows.pop('friction')
    assert (kind.default, kind.choices) == ('static', ('none', 'static', 'hysteresis'))
    assert {
        name: (row.default, row.unit, bound(row.lower, -np.inf), bound(row.upper, np.inf), row.per_joint)
        for name, row in rows.items()
    } == FRICTION
    for row in (kind, *rows.values()):
        # One sentence without a full stop, as the tables of the documentation show it.
        assert row.description and not row.description.endswith('.') and '\n' not in row.description


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
    common = ('gravity', 'output', 'feedback', 'kp', 'kd', 'ki', 'integral_limit', 'friction')
    assert tuple(setup.parameters) == (*common, *FRICTION, *own) and setup.arm is arm
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
