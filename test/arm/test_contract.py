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

"""One description, one torque: each field of the schema, set to a large value, has the same effect on all readers.

RULES lists these effects. torque: the motor torque changes, everywhere alike. transmission: the motion of the motor
changes, or the estimate from both sides. electric: currents. said: no torque changes, and a remark names the field.
words: nothing changes. refused: by name.
"""

import numpy as np
import pytest

from joint_dynamics.arm import Arm
from joint_dynamics.arm.reading import DOCUMENTATION
from joint_dynamics.control.applied import check_law
from joint_dynamics.description import DynamicsDescription, export_urdf, not_exported
from joint_dynamics.description.schema import schema
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation import EstimationSettings, JointEstimator
from joint_dynamics.joint.constants import QUADRANT_FIELDS
from joint_dynamics.joint.friction_documents import PARAMETERS
from joint_dynamics.robot import RobotModel

#: Fields below one that the schema only describes as a tree.
BELOW = {
    'joints.friction.parameters': tuple(PARAMETERS),
    'joints.friction.quadrants': QUADRANT_FIELDS,
    'joints.friction.maxwell_slip': ('operators', 'r_Delta', 'r_k', 'limits', 'stiffness', 'presliding'),
    'joints.terms.document': ('fourier', 'spring', 'friction', 'stribeck', 'power', 'hysteresis', 'T_0', 'tau_max'),
}


def fields(rule=None, path=''):
    """Every leaf of the schema; names of joints and parameters' names of mappings are left out of the path."""
    rule = schema() if rule is None else rule
    if path == 'joints.friction.directions':
        return [path]
    if path in BELOW:
        return [f'{path}.{name}' for name in BELOW[path]]
    if '$ref' in rule:
        return fields(schema()['$defs'][rule['$ref'].rpartition('/')[2]], path)
    if rule.get('additionalProperties') is False:
        prefix = f'{path}.' if path else ''
        return [leaf for name, item in rule['properties'].items() for leaf in fields(item, prefix + name)]
    for key in ('additionalProperties', 'items'):
        if key in rule and 'items' not in rule[key]:
            return fields(rule[key], path)
    return [path]


def joint(document, k=-1):
    return document['joints'][document['robot']['joint_names'][k]]


def put(*path, value):
    """Set a field of the last joint."""

    def change(document):
        part = joint(document)
        for key in path[:-1]:
            part = part.setdefault(key, {})
        part[path[-1]] = value

    return change


def parameter(name, value):
    return put('friction', 'parameters', name, value=value)


def limited(validity, **parameters):
    """A range of validity of a friction on which it bears."""

    def change(document):
        joint(document)['friction']['parameters'].update(parameters)
        joint(document)['validity'] = validity

    return change


def quadrant(name, value):
    neutral = {
        'a_m': 1.1, 'b_m': 0.05, 'a_g': 0.9, 'b_g': 0.05, 'c_m': 3.0, 'd_m': 1.0, 'c_g': 2.0, 'd_g': 0.5, 'F_V': 4.0,
        'tau_off': 0.0, 'dq_s': 0.05,
    }  # fmt: skip
    return put('friction', 'quadrants', value={**neutral, name: value})


def slip(**changes):
    def change(document):
        given = joint(document)['friction']['maxwell_slip']
        for key, value in changes.items():
            given[key] = value
        if 'limits' in changes or 'stiffness' in changes:
            for key in ('r_Delta', 'r_k'):
                given.pop(key, None)

    return change


def operators(document):
    for k in range(len(document['robot']['joint_names'])):
        joint(document, k)['friction']['maxwell_slip']['operators'] = 7


def term(values, **document):
    return put('terms', value=[{'document': document, 'values': values}])


def top(*path, value):
    def change(document):
        part = document
        for key in path[:-1]:
            part = part.setdefault(key, {})
        part[path[-1]] = value

    return change


def link(name, value):
    def change(document):
        names = document['robot']['joint_names']
        document['inertial']['standard'][names[-1]][name] += value

    return change


def coupled(document):
    n = len(document['robot']['joint_names'])
    matrix = np.eye(n)
    matrix[-1, -2] = 1.0
    document['robot']['coupling'] = matrix.tolist()
    document['inertial']['coupling'] = {f'Ia_m{n}': 0.3, f'Fv_m{n}': 5.0, f'Fs_m{n}': 4.0}


def weighs(**more):
    return top('payload', value={'mass': {'value': 4.0}, 'first_moments': [0.3, -0.2, 0.4], **more})


def deviation(*path):
    return put(*path, value=0.7)


WALL = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]
#: What a value carries beside it, which only documents.
BESIDE = {'std': 0.7, 'prior': 0.7, 'unit': 'x', 'method': 'x'}
LARGE_LINK = {
    'XX': 0.4, 'XY': 0.1, 'XZ': 0.1, 'YY': 0.4, 'YZ': 0.1, 'ZZ': 0.4, 'MX': 0.8, 'MY': 0.8, 'MZ': 0.8, 'M': 6.0,
}  # fmt: skip
LARGE_FRICTION = {
    'F_C0': 9.0, 'F_Cl': 0.4, 'F_C1': 0.02, 'F_S': 12.0, 'F_V1': 20.0, 'F_V2': 5.0, 'F_V3': 5.0, 'F_T0': 3.0,
    'F_T1': 0.8, 'F_T2': 4e4, 'offset': 6.0, 'V_S': 0.9, 'mu': 3.0,
}  # fmt: skip
LARGE_QUADRANT = {
    'a_m': 1.5, 'b_m': 0.8, 'a_g': 0.5, 'b_g': 0.8, 'c_m': 12.0, 'd_m': 9.0, 'c_g': 12.0, 'd_g': 9.0, 'F_V': 30.0,
    'tau_off': 9.0, 'dq_s': 0.9,
}  # fmt: skip
SLIP_LIMITS = {'operators': 4, 'limits': [0.1, 0.3, 0.6, 1.0], 'stiffness': [4.0, 1.0, 0.25, 0.15]}

KINEMATICS = (
    *(f'robot.{name}' for name in ('urdf', 'mdh', 'locked', 'parallelograms', 'dependent_joints')),
    *(f'robot.identity.{name}' for name in ('version', 'hash', 'mass')),
    *(
        f'robot.identity.joints.{name}'
        for name in ['type', 'parent', 'offset', 'rotation', 'axis', 'coupling', 'follows']
    ),
)
RULES = {
    **dict.fromkeys(('format', 'version', 'robot.joint_names'), ('words', None)),
    'robot.name': ('words', top('robot', 'name', value='another')),
    **dict.fromkeys(KINEMATICS, ('kinematics', None)),
    'robot.coupling': ('torque', coupled),
    'inertial.coupling': ('torque', coupled),
    **{f'inertial.standard.{name}': ('torque', link(name, value)) for name, value in LARGE_LINK.items()},
    **{
        f'inertial.base.{name}': (
            'words',
            top('inertial', 'base', value=[{'name': 'ZZR_1', 'expression': 'ZZ_1', 'value': 9.0, 'std': 3.0}]),
        )
        for name in ('name', 'expression', 'value', 'std')
    },
    'inertial.gravity': ('torque', top('inertial', 'gravity', value='none')),
    'inertial.without_torque': ('said', top('inertial', 'without_torque', value=['j1'])),
    'mounting': ('torque', top('mounting', value=WALL)),
    'payload.mass.value': ('torque', weighs()),
    'payload.first_moments': ('torque', weighs()),
    'payload.inertia': ('torque', weighs(inertia=[0.5, 0.1, 0.0, 0.6, 0.0, 0.7])),
    'payload.attached': ('said', weighs(attached=False)),
    **{
        f'payload.mass.{name}': (
            'words',
            top('payload', value={'mass': {'value': 0.0, name: value}, 'first_moments': [0.0] * 3}),
        )
        for name, value in BESIDE.items()
    },
    'payload.std': (
        'words',
        top('payload', value={'mass': {'value': 0.0}, 'first_moments': [0.0] * 3, 'std': [0.7] * 4}),
    ),
    'provenance': ('words', top('provenance', value={'method': 'wls'})),
    **{
        f'joints.{key}.{name}': ('words', put(key, name, value=value))
        for key in ('drive_gain', 'rotor_inertia', 'damping')
        for name, value in BESIDE.items()
    },
    **{
        f'joints.gear_ratio.{name}': ('words', put('gear_ratio', value={'value': 101.0, name: value}))
        for name, value in {'value': 101.0, **BESIDE}.items()
    },
    # The motions of the tests go to 0.4 rad/s and more, and to loads of some N·m.
    'joints.validity.speed': ('torque', put('validity', value={'speed': 0.1})),
    'joints.validity.load': ('torque', limited({'load': 0.5}, F_Cl=0.6, F_C1=0.02)),
    'joints.validity.temperature': ('torque', limited({'temperature': [30.5, 31.0]}, F_T1=0.8, T_0=30.0)),
    'joints.temperature_range': ('words', put('temperature_range', value=[10.0, 20.0])),
    'joints.drive_gain.value': ('electric', put('drive_gain', 'value', value=90.0)),
    'joints.rotor_inertia.value': ('torque', put('rotor_inertia', 'value', value=5.0)),
    'joints.rotor_inertia.identifiable': ('transmission', put('rotor_inertia', 'identifiable', value=False)),
    'joints.damping.value': ('transmission', put('damping', 'value', value=900.0)),
    'joints.stiffness.coefficients': ('transmission', put('stiffness', 'coefficients', value=[3e3, 1e9])),
    'joints.stiffness.standard_deviations': ('words', put('stiffness', 'standard_deviations', value=[1.0, 1.0])),
    'joints.stiffness.range': ('transmission', put('stiffness', 'range', value=[-1e-5, 1e-5])),
    'joints.stiffness.method': ('words', put('stiffness', 'method', value='x')),
    'joints.kinematic_error': (
        'transmission',
        put('kinematic_error', value={'values': (1e-3 * np.cos(np.arange(24))).tolist()}),
    ),
    'joints.backlash': ('transmission', put('backlash', value={'values': [4e-3]})),
    **{
        f'joints.friction.parameters.{name}': ('torque', parameter(name, value))
        for name, value in LARGE_FRICTION.items()
    },
    'joints.friction.parameters.tau_max': (
        'torque',
        put('friction', 'parameters', value={'F_C0': 3.0, 'F_Cl': 0.6, 'tau_max': 0.5}),
    ),
    **{
        f'joints.friction.parameters.{name}': (
            'torque',
            put('friction', 'parameters', value={'F_C0': 3.0, 'F_T1': 0.8, 'T_0': 30.0, name: value}),
        )
        for name, value in (('T_0', 20.0), ('T_min', 29.9), ('T_max', 30.1))
    },
    'joints.friction.standard_deviations': ('words', put('friction', 'standard_deviations', value={'F_C0': 1.0})),
    'joints.friction.range': ('words', put('friction', 'range', value={'speed': [0.0, 1.0]})),
    'joints.friction.method': ('words', put('friction', 'method', value='x')),
    'joints.friction.directions': (
        'words',
        put('friction', 'directions', value={'positive': {'F_C': 9.0, 'F_S': 9.0, 'F_V1': 9.0}}),
    ),
    'joints.friction.scale': ('torque', put('friction', 'scale', value=[2.0, 1.5])),
    **{
        f'joints.friction.quadrants.{name}': ('torque', quadrant(name, value)) for name, value in LARGE_QUADRANT.items()
    },
    'joints.friction.maxwell_slip.operators': ('torque', operators),
    'joints.friction.maxwell_slip.r_Delta': ('torque', slip(r_Delta=1.0)),
    'joints.friction.maxwell_slip.r_k': ('torque', slip(r_k=0.5)),
    'joints.friction.maxwell_slip.limits': ('torque', slip(**SLIP_LIMITS)),
    'joints.friction.maxwell_slip.stiffness': ('torque', slip(**SLIP_LIMITS)),
    'joints.friction.maxwell_slip.presliding': ('torque', slip(presliding=0.02)),
    'joints.terms.values': ('torque', term([5.0, -4.0], fourier=[1])),
    'joints.terms.std': (
        'words',
        put('terms', value=[{'document': {'fourier': [1]}, 'values': [0.0, 0.0], 'std': [1.0, 1.0]}]),
    ),
    'joints.terms.document.fourier': ('torque', term([5.0, -4.0], fourier=[2])),
    'joints.terms.document.spring': ('torque', term([3.0, -2.0], spring=[1, 3])),
    'joints.terms.document.power': ('torque', term([3.0], power=0.7)),
    'joints.terms.document.friction': ('torque', term([0.3], friction='load_gain')),
    'joints.terms.document.stribeck': ('torque', term([5.0], stribeck={'V_S': 0.4, 'mu': 1.0})),
    'joints.terms.document.hysteresis': ('refused', None),
    'joints.terms.document.T_0': ('torque', term([0.9], friction='F_T1', T_0=20.0)),
    'joints.terms.document.tau_max': ('torque', term([0.9], friction='load_gain', tau_max=0.5)),
}

EXACT = 1e-9
"""N·m. Torques are below 1e3 N·m and go through some hundred operations.

What rounding leaves is a thousand times less.
"""


def by_kind(*kinds):
    return [name for name, (kind, _) in RULES.items() if kind in kinds]


def changed(tools, robot, name):
    document = tools.described(robot)
    RULES[name][1](document)
    return document


def check_agreement(tools, bench):
    """Recordings and the four laws."""
    rigid = bench.batch()
    links = bench.motion[:, :3].transpose(1, 0, 2)
    transmitted = bench.arm.transmission_torque(rigid, *links, temperature=bench.temperature)
    np.testing.assert_allclose(transmitted, bench.arm.link_torque(*links), rtol=0, atol=EXACT)
    for law in tools.LAWS:
        torque, motor, _ = bench.law(law)
        expected = bench.batch(**motor) if motor else rigid
        np.testing.assert_allclose(torque, expected, rtol=0, atol=EXACT, err_msg=law)


def check_estimator(bench, friction='none'):
    """The estimator's link, rotor, friction and further torques on its own signals are the arm's.

    At constant speed its smoothing changes nothing. friction: its mode; `adaptive` as long as it has not adapted.
    """
    arm, period = bench.arm, 2e-3
    speed = np.resize([0.31, -0.23, 0.17, -0.4], arm.n)
    estimator = JointEstimator(arm, period, EstimationSettings(friction=friction, window=0.02), effort='torque')
    estimator.learning = False
    estimator.set_temperature(bench.temperature[5])
    t = np.arange(120)[:, None] * period
    q = 0.1 + speed * t
    theta = q + 1e-3
    for _ in range(50):
        theta = q + 1e-3 + (0.0 if arm.kinematic_error is None else arm.kinematic_error(theta))
    effort = np.full(arm.n, 7.0)
    for k in range(len(q)):
        load = estimator.torque.copy()
        ready = estimator.update(q[k], effort, theta[k])
    assert ready
    known = effort - estimator.rotor_torque + estimator.friction_torque
    expected = arm.drive_torque(
        estimator.hysteresis, estimator.q, estimator.omega, estimator.rotor_acceleration, load, bench.temperature[5]
    )
    np.testing.assert_allclose(known, expected, rtol=0, atol=EXACT)
    np.testing.assert_allclose(
        estimator.torque_link, arm.link_torque(estimator.q, estimator.dq, estimator.ddq), rtol=0, atol=EXACT
    )
    return estimator


def check_run_away(tools, bench, joint):
    """The friction that a compensation is checked against is that of the arm's motor torque, joint in full slip.

    And a law's compensation of 1.3 times the friction is found to be 0.3 times too much, whatever the friction is of.
    """
    arm, speed = bench.arm, 2.0
    law = bench.made('adaptive_friction', friction_gain=1.3, viscous_share=10.0)
    law.adapt(bench.temperature[5], np.full((bench.arm.n, 2), np.nan))
    for name, sign in (('positive', 1.0), ('negative', -1.0)):
        check = check_law(law, joint, name, speed)
        q, dq, load, still = np.zeros((4, 2, arm.n))
        dq[:, joint], load[:, joint] = sign * speed, check.load
        # Presliding is over within a radian; what depends on the angle alone is no friction.
        theta = q + dq * np.array([[0.0], [1.0]])
        torque = arm.motor_torque(q, dq, still, theta=theta, load=load, temperature=law.friction.temperature)
        springs = arm.terms.torque(q, dq, load) - arm.terms.friction.torque(q, dq, load)
        friction = torque - arm.link_torque(q, dq, still) - springs
        apart = arm.friction_details[joint].get('directions', {}).get(name)
        if apart is None:
            assert sign * friction[-1, joint] == pytest.approx(check.friction[-1], rel=0, abs=EXACT)
            assert check.excess[-1] == pytest.approx(0.3 * check.friction[-1], rel=0, abs=EXACT)
        else:
            # The law plays the parameters of both directions together.
            assert check.excess[-1] == pytest.approx(1.3 * sign * friction[-1, joint] - check.friction[-1], abs=EXACT)
    return check


def check_export(bench, tmp_path, payload):
    """Torque of the exported URDF's rigid bodies, mounted as described, is the arm's, with gravity where it has any."""
    out = tmp_path / 'out.urdf'
    export_urdf(bench.description, bench.robot.urdf, out, payload)
    stands = {'mounting': bench.description.document.get('mounting'), 'parallelograms': bench.robot.parallelograms}
    exported = RobotModel.from_urdf(out, joints=bench.robot.joint_names, **stands)
    exported = exported.standing(weightless=bench.description.weightless)
    states = [np.ascontiguousarray(bench.motion[::12, k]) for k in range(3)]
    np.testing.assert_allclose(exported.inverse_dynamics(*states), bench.arm.link_torque(*states), rtol=0, atol=EXACT)
    return exported


def test_every_field_has_a_rule():
    def whole(names):
        return {'inertial.standard' if name.startswith('inertial.standard') else name for name in names}

    assert whole(fields()) == whole(RULES)


def check_difference(bench, plain, name, kind):
    """A field of the torque changes it; any other does not, is documentation, or is remarked upon."""
    difference = np.abs(bench.batch() - plain.batch()).max()
    if kind == 'torque':
        assert difference > 1e-2
    elif kind in ('words', 'said', 'electric'):
        assert difference == 0.0
    if kind == 'words':
        assert any(name.startswith(entry) for entry in DOCUMENTATION) or name.rpartition('.')[2] in BESIDE
        assert bench.arm.remarks == plain.arm.remarks
    if kind == 'said':
        assert any(leaf_of(name) in remark for remark in bench.arm.remarks)


@pytest.mark.parametrize('name', by_kind('torque', 'transmission', 'said', 'words', 'electric'))
def test_all_consumers_read_a_field_alike(tools, arm3, tmp_path, name):
    kind, change = RULES[name]
    plain = tools.Bench(arm3, tools.described(arm3))
    if change is None:
        return
    bench = tools.Bench(arm3, changed(tools, arm3, name))
    check_difference(bench, plain, name, kind)
    check_agreement(tools, bench)
    check_run_away(tools, bench, arm3.n - 1)
    for friction in ('none', 'adaptive'):
        check_estimator(bench, friction)
    for payload in ('merged', 'apart'):
        if payload == 'merged' or (bench.description.payload_attached and bench.description.payload()[-1] > 0):
            check_export(bench, tmp_path, payload)
    if kind in ('torque', 'transmission', 'electric') and not name.startswith(
        ('inertial.standard', 'payload', 'mounting', 'joints.friction.scale')
    ):
        leaf = name.removeprefix('joints.').split('.')
        assert leaf[-1] in ('F_C0', 'F_V1') or any(
            leaf[1 if leaf[0] == 'friction' else 0] in line for line in not_exported(bench.description)
        )


def test_another_robots_frames_are_refused(tools, arm3):
    document = tools.described(arm3)
    moved = RobotModel.from_urdf(tools.chain_urdf(3, (1,)).replace('xyz="0', 'xyz="1', 1))
    with pytest.raises(JointDynamicsError, match='axis of j1'):
        Arm.from_description(moved, DynamicsDescription(document))


@pytest.mark.parametrize('n', range(1, 15))
def test_one_to_fourteen_joints_with_all_fields(tools, tmp_path, n):
    check_all_at_once(tools, RobotModel.from_urdf(tools.chain_urdf(n, tuple(range(1, n, 3)))), tmp_path)


@pytest.mark.parametrize(
    ('mimics', 'parallelograms'),
    [((1,), None), ((2, 4), None), ((1, 3, 4), None), ((2,), {'j4': {'j1': -1.0, 'j2': 0.5, 'offset': 0.1}})],
)
def test_joints_that_follow_move_for_all(tools, tmp_path, mimics, parallelograms):
    """The second joint and the last one slide, whichever of them follow."""
    robot = RobotModel.from_urdf(tools.chain_urdf(6, (1, 4), mimics), parallelograms=parallelograms)
    assert len(robot.link_names) == 6 and robot.n == 6 - len(mimics) - len(parallelograms or ())
    check_all_at_once(tools, robot, tmp_path)


def check_all_at_once(tools, robot, tmp_path):
    """Coupling, wall, payload, terms, quadrants, α and hysteresis together."""
    n = robot.n
    document = tools.described(robot)
    for name in robot.link_names[n:]:
        document['joints'][name] = {'terms': [{'document': {'spring': [1, 2]}, 'values': [-3.0, 3.0]}]}
    for name in (
        'mounting',
        'payload.inertia',
        'joints.friction.scale',
        'joints.friction.quadrants.c_m',
        'joints.terms.document.friction',
        'joints.friction.parameters.F_T1',
        'joints.kinematic_error',
        *(('robot.coupling',) if n > 1 else ()),
    ):
        RULES[name][1](document)
    bench = tools.Bench(robot, document)
    check_agreement(tools, bench)
    check_run_away(tools, bench, n - 1)
    for friction in ('none', 'adaptive'):
        check_estimator(bench, friction)
    for payload in ('merged', 'apart'):
        check_export(bench, tmp_path, payload)


#: Fields of the run-away check beside the torque of the friction.
DETAILS = ('joints.friction.directions', 'joints.friction.standard_deviations', 'joints.terms.std')


@pytest.mark.parametrize('name', DETAILS)
def test_friction_details_reach_the_run_away_check(tools, arm3, name):
    document = changed(tools, arm3, name)
    if name == 'joints.terms.std':
        joint(document)['terms'] = [{'document': {'friction': 'F_V2'}, 'values': [0.3], 'std': [0.2]}]
    plain = check_run_away(tools, tools.Bench(arm3, tools.described(arm3)), 2)
    check = check_run_away(tools, tools.Bench(arm3, document), 2)
    positive = check_law(tools.Bench(arm3, document).made('adaptive_friction'), 2, 'positive', 2.0)
    if name.endswith('directions'):
        assert positive.friction[-1] == pytest.approx(9.0 + 9.0 * 2.0)
    else:
        assert np.all(plain.deviation == 0)
        assert check.deviation[-1] > 0.1


#: Fields that change the torque or the motion of the motor.
FELT = by_kind('torque', 'transmission')


def leaf_of(name):
    """What a remark has to name of a field: the part of the joint, or the parameter of its friction."""
    parts = name.removeprefix('joints.').split('.')
    if parts[:2] == ['friction', 'parameters'] or parts[0] == 'validity':
        return parts[-1]
    return parts[1] if parts[0] == 'friction' else parts[0]


@pytest.mark.parametrize('friction', ['none', 'static', 'hysteresis'])
@pytest.mark.parametrize('law', ['computed_torque', 'flexible_joint'])
def test_laws_follow_every_field_or_name_it(tools, arm3, law, friction):
    """Whatever friction it compensates: no field is dropped in silence."""
    before, motor, _ = tools.Bench(arm3, tools.described(arm3)).law(law, friction=friction, gravity=True)
    silent = []
    for name in set(FELT) - {'joints.rotor_inertia.identifiable'}:  # how sure it is, not what it is
        after, moved, made = tools.Bench(arm3, changed(tools, arm3, name)).law(law, friction=friction)
        followed = np.abs(after - before).max() > 1e-9 or any(
            np.abs(moved[side] - motor[side]).max() > 1e-9 for side in motor
        )
        said = [remark for remark in made.remarks if leaf_of(name) in remark]
        if friction == 'none' and name.startswith(('joints.friction', 'joints.validity')):
            said += [remark for remark in made.remarks if 'joints.*.friction' in remark]
        if not followed and not said:
            silent.append(name)
    assert not silent


@pytest.mark.parametrize('motor_side', [True, False])
@pytest.mark.parametrize('friction', ['adaptive', 'none'])
def test_estimators_follow_every_field_or_name_it(tools, arm3, friction, motor_side):
    def estimates(document):
        bench = tools.Bench(arm3, document)
        settings = EstimationSettings(friction=friction, window=0.02)
        estimator = JointEstimator(bench.arm, 2e-3, settings, motor_side=motor_side, effort='torque')
        estimator.set_temperature(bench.temperature[5])
        rows = []
        q = bench.motion[:, 0] * 0.2
        for k in range(len(q)):
            if estimator.update(q[k], np.full(arm3.n, 7.0 + 0.3 * k), q[k] + 1e-3 * np.sin(0.1 * k)):
                parts = (estimator.torque, estimator.external, estimator.friction_torque, estimator.torque_link)
                rows.append(np.concatenate([*parts, estimator.torque_motor, estimator.external_deviation]))
        return np.array(rows), estimator.remarks

    before, _ = estimates(tools.described(arm3))
    silent = []
    for name in FELT:
        after, remarks = estimates(changed(tools, arm3, name))
        named = any(leaf_of(name) in one for one in remarks)
        if not np.abs(after - before).max() > 1e-9 and not named:
            silent.append(name)
    assert not silent
