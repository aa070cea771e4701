"""What an identification tells and writes, field by field, from plain numbers: no robot is identified here."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.errors import NotReliableError
from joint_dynamics.identification import transmissions
from joint_dynamics.identification.describe import add_term, payload_part
from joint_dynamics.identification.drive_gains.estimate import DriveGains
from joint_dynamics.identification.physical import semidefinite
from joint_dynamics.identification.regression.irls import WeightedEstimate
from joint_dynamics.identification.regression.resting_entry import resting_summary
from joint_dynamics.identification.regression.stiction import Resting
from joint_dynamics.identification.regression.torque import prior_spread
from joint_dynamics.identification.reliability.chow import ChowTest
from joint_dynamics.identification.reliability.coverage import Training, leaves
from joint_dynamics.identification.reliability.reasons import (
    chow_reason,
    delay_reason,
    difference_note,
    difference_reason,
    explanation_reason,
    scales_reason,
    unconfirmed_scales,
)
from joint_dynamics.recording.corrections import Corrections
from joint_dynamics.robot import INERTIAL, StandardParameters

NAMES = ('a', 'b')


def test_rows_left_out_are_told_in_percent():
    weights = [np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]]), np.ones((2, 2))]
    assert WeightedEstimate(None, None, None, weights).rejected_percent == pytest.approx(30.0)
    assert WeightedEstimate(None, None, None, []).rejected_percent == 100.0


@pytest.mark.parametrize('first_ratio', [1.5, np.inf])
def test_rest_is_told_joint_by_joint(first_ratio):
    rng = np.random.default_rng(3)
    parts = []
    for count in (30, 50):
        shape = (3, count)
        resting, first = rng.random(shape) < 0.6, rng.random(shape) < 0.2
        resting[2] = False
        tau, expected, base, doubt = rng.normal(0, 3, shape), *rng.normal(0, 3, (2, *shape)), rng.uniform(0, 1, shape)
        low, high, level = rng.uniform(-1, 0, shape), rng.uniform(0, 1, shape), rng.uniform(0, 5, shape)
        narrow = ~first & (np.arange(count) % 3 == 0)
        ratios = 1.2, first_ratio
        parts.append(Resting('run', resting, tau, expected, base, level, low, high, doubt, first, narrow, *ratios))
    found = resting_summary(parts, ('a', 'b', 'c'))
    whole, unstated = {'count': 0, 'within': 0, 'error': 0.0, 'size': 0.0}, 0
    for j, name in enumerate('abc'):
        count, within, width, error, size = 0, 0, 0.0, 0.0, 0.0
        for part in parts:
            for k in range(part.tau.shape[1]):
                if not part.resting[j, k]:
                    continue
                if part.first[j, k] and np.isinf(first_ratio):
                    unstated += 1
                    continue
                ratio = 1.0 if part.narrow[j, k] else first_ratio if part.first[j, k] else 1.2
                held = ratio * part.level[j, k]
                lower = part.base[j, k] + held * part.low[j, k] - part.half_width[j, k]
                upper = part.base[j, k] + held * part.high[j, k] + part.half_width[j, k]
                count += 1
                within += lower <= part.tau[j, k] <= upper
                width += (upper - lower) / 2
                error += (part.tau[j, k] - part.expected[j, k]) ** 2
                size += part.tau[j, k] ** 2
        if count:
            assert found['within_percent'][name] == pytest.approx(100 * within / count)
            assert found['half_width'][name] == pytest.approx(width / count)
            assert found['residual_percent'][name] == pytest.approx(100 * math.sqrt(error / size))
        else:
            assert {found[key][name] for key in ('within_percent', 'half_width', 'residual_percent')} == {None}
        for key, value in (('count', count), ('within', within), ('error', error), ('size', size)):
            whole[key] += value
    assert (found['samples'], found['unstated']) == (whole['count'], unstated)
    assert found['within_percent']['overall'] == pytest.approx(100 * whole['within'] / whole['count'])
    assert found['residual_percent']['overall'] == pytest.approx(100 * math.sqrt(whole['error'] / whole['size']))
    assert found['breakaway_ratio'] == 1.2
    assert found['first_breakaway_ratio'] == (first_ratio if np.isfinite(first_ratio) else None)
    assert resting_summary([], NAMES) == {'samples': 0, 'unstated': 0}


def test_drive_gains_are_told_beside_what_was_stated():
    gains, deviation, prior = np.array([12.0, 8.0]), np.array([0.3, np.inf]), np.array([10.0, 0.0])
    ways = {'ls': gains - 1.0, 'tls': gains + 0.5}
    solution = SimpleNamespace(covariance=np.diag([0.09, 4.0, 7.0]))

    def found(prior):
        return DriveGains(NAMES, gains, deviation, prior, None, None, None, solution, ways, 'tls')

    assert found(prior).summary() == {
        'a': {'value': 12.0, 'std': 0.3, 'prior': 10.0, 'change_percent': pytest.approx(20.0), 'ls': 11.0, 'tls': 12.5},
        'b': {'value': 8.0, 'std': None, 'prior': 0.0, 'change_percent': None, 'ls': 7.0, 'tls': 8.5},
    }
    assert [row['prior'] for row in found(None).summary().values()] == [None, None]
    assert [row['change_percent'] for row in found(None).summary().values()] == [None, None]
    assert found(prior).by_joint == {'a': 12.0, 'b': 8.0}
    # Of what no sample shows, the whole is in doubt.
    np.testing.assert_allclose(found(prior).relative_covariance, [[0.09 / 144.0, 0.0], [0.0, 1.0]])


def test_what_leaves_the_training_is_told_from_a_fifth_beyond_it():
    """Of speed and acceleration a fifth more, of the position a fifth of the range to either side."""
    training = Training(
        np.eye(1), 1.0, 2.0, np.array([[-1.0, 1.0], [0.0, 4.0]]), np.array([1.0, 2.0]), np.array([5.0, 6.0])
    )

    def of(q, speed=(1.0, 2.0), acceleration=(5.0, 6.0)):
        run = SimpleNamespace(
            q=np.array([*q, [99.0, 99.0]]), dtheta=np.array([speed, [0.0, 0.0]]) * [-1.0, 1.0],
            ddtheta=np.array([[0.0, 0.0], acceleration]) * [1.0, -1.0], kept=np.array([0, 1]),
        )  # fmt: skip
        return leaves(training, SimpleNamespace(model=SimpleNamespace(joint_names=NAMES), observations=[run]))

    inside = [[-1.0, 0.0], [1.0, 4.0]]
    assert of(inside) == []
    assert of([[-1.39, -0.79], [1.39, 4.79]], (1.19, 2.39), (5.9, 7.1)) == []
    assert of([[0.0, 2.0], [0.1, 2.1]], (0.0, 0.0), (0.0, 0.0)) == []
    assert of([[-1.41, 0.0], [1.0, 4.0]]) == ['position of a -1.41 to 1, in training -1 to 1']
    assert of([[-1.0, 0.0], [1.0, 4.81]]) == ['position of b 0 to 4.81, in training 0 to 4']
    assert of(inside, (1.21, 2.0)) == ['speed of a 1.21 rad/s, in training 1']
    assert of(inside, (1.0, 2.0), (5.0, 7.3)) == ['acceleration of b 7.3 rad/s², in training 6']


def test_what_differs_is_told_with_its_share_and_its_remedy():
    def difference(kind, mass=None):
        return SimpleNamespace(kind=kind, part='run 2', gain=123.4, effect=0.0567, mass=mass)

    share = '5.67 % of the torque (log-likelihood +123)'
    for found, code, text in (
        (
            difference('payload', 2.345), 'payload_mixed',
            f'run 2 differs from the other recordings by a payload of about 2.35 kg, {share}: identify them apart, or '
            'give those with the payload as --loaded',
        ),
        (
            difference('payload'), 'payload_mixed',
            f'run 2 differs from the other recordings by a payload, {share}: identify them apart, or give those with '
            'the payload as --loaded',
        ),
        (
            difference('friction'), 'recordings_differ',
            f'run 2 has other friction or offsets than the other recordings, {share}: record all at the same '
            'temperature, or identify them apart',
        ),
        (
            difference('sign of torque'), 'recordings_differ',
            f'run 2 has another sign of torque than the other recordings, {share}: correct it, or leave it out',
        ),
    ):  # fmt: skip
        reason = difference_reason(found)
        assert (reason.code, reason.text) == (code, text)
    assert (
        difference_note(difference('payload'))
        == 'run 2 has another payload than the rest, which makes 5.7 % of the torque'
    )
    delay = SimpleNamespace(seconds=-0.01234, deviation=0.00056, cost=0.0321)
    assert delay_reason(delay).text == (
        'the torques come 12.3 ± 0.56 ms before the motion they belong to, which leaves 3.21 % of the torque over: '
        'align the time stamps of efforts and positions'
    )
    delay.seconds = 0.01234
    assert delay_reason(delay).code == 'delay' and ' ms after the motion ' in delay_reason(delay).text
    scales = SimpleNamespace(
        names=NAMES, factor=np.array([0.5, 2.0]), deviation=np.array([0.1, 0.05]), off=(1,), gain=88.8,
        mend=Corrections(torque_scale={'b': 0.5}),
    )  # fmt: skip
    reason = scales_reason(scales)
    assert reason.code == 'drive_gain' and 'of the other joints: b 2 ± 0.1 (log-likelihood +89)' in reason.text
    assert reason.mend == {'recording': {'torque_scale': {'b': 0.5}}}
    scales.off, scales.mend = (0, 1), None
    reason = scales_reason(scales)
    assert reason.code == 'current' and 'a 0.5 ± 0.05, b 2 ± 0.1 (log-likelihood +89)' in reason.text


@pytest.mark.parametrize(
    ('code', 'remedy'),
    [
        ('mounting', 'robot.mounting'), ('degrees', 'the unit of the positions (recording.position_scale)'),
        ('time_scale', 'the time stamps (recording.time_scale)'), ('time_reversed', 'the time stamps'),
        ('drive_gain', 'the unit or the drive gain (recording.torque_scale)'),
        ('torque_sign', 'the sign of the effort or of the drive gain (recording.torque_sign)'),
        ('position_offset', 'the zero position (recording.zero_offset)'), ('joint_order', 'the names of the joints'),
        ('torque_order', 'the order of the efforts (recording.torque_order)'),
        ('position_order', 'the order of the positions (recording.position_order)'),
        ('position_sign', 'the sign of the position (recording.position_sign)'),
        ('axis_sign', 'the axis in the robot file, or both signs'), ('stuck', 'the recording or its settings'),
    ],
)  # fmt: skip
def test_a_better_explanation_is_told_by_the_joint_it_helps_most(code, remedy):
    given = SimpleNamespace(unexplained=np.array([0.5, 0.04, 0.25]))
    alternatives = SimpleNamespace(names=('a', 'b', 'c'), given=given)
    fitted = SimpleNamespace(unexplained=np.array([0.49, 0.01, 0.01]))
    mend = Corrections(torque_sign={'c': -1.0})
    found = SimpleNamespace(
        code=code, text='this', fitted=fitted, gain=123.4, mend=mend, config={'recording': mend.stated()}
    )
    reason = explanation_reason(alternatives, found)
    assert (reason.mend, reason.joints) == ({'recording': {'torque_sign': {'c': -1.0}}}, ('c',))
    assert (reason.code, reason.text) == (
        code,
        'this: that explains the torques clearly better (50 % of the torque of c left over would become 10 %; '
        f'log-likelihood +123); correct {remedy}',
    )


def test_parts_with_other_parameters_and_scales_that_nothing_confirms_are_told():
    reason = chow_reason('run 2', ChowTest(3.254, (4.2, 17.0), 1e-5, 0.0789))
    assert (reason.code, reason.text) == (
        'recordings_differ',
        'run 2 has other parameters than the rest, by more than their deviations (F = 3.25 with 4.2 and 17 degrees of '
        'freedom), which make 7.89 % of the torque: look whether robot, payload and temperature were the same, or '
        'identify them apart',
    )
    half = 0.5 * math.log(2.0)
    scales = SimpleNamespace(names=('a', 'b', 'c'), deviation=np.array([0.99 * half, 1.01 * half, 3.0]))
    assert unconfirmed_scales(scales) == [
        'no other joint shows to within a factor of two what the torque of b, c is: its unit and drive gain are taken '
        'as given'
    ]
    scales.deviation = np.full(3, 0.1)
    assert unconfirmed_scales(scales) == []


def test_terms_are_written_where_they_belong():
    state = SimpleNamespace(load_limit=np.array([30.0, 40.0]), share=np.array([0.25, 0.75]))
    values = {'x': 2.0, 'y': -1.0}

    def written(document, *, names=('x',), needs=(), deviation=None, state=state):
        joint = {'friction': {'parameters': {'F_C0': 5.0}, 'standard_deviations': {'F_C0': 0.3}}}
        term = SimpleNamespace(document=document, names=names, needs=needs, joint='b')
        add_term(joint, term, values, deviation or {'x': 0.4, 'y': np.inf}, state, 1)
        return joint

    joint = written({'stribeck': {'V_S': 0.01, 'mu': 1.5}})
    assert joint['friction']['parameters'] == {'F_C0': 5.0, 'F_S': 7.0, 'V_S': 0.01, 'mu': 1.5}
    assert joint['friction']['standard_deviations'] == {'F_C0': 0.3, 'F_S': pytest.approx(0.5)}
    joint = written({'friction': 'F_T1', 'T_0': 25.0})
    assert joint['friction']['parameters'] == {'F_C0': 5.0, 'F_T1': 2.0, 'T_0': 25.0}
    assert joint['friction']['standard_deviations'] == {'F_C0': 0.3, 'F_T1': 0.4}
    joint = written({'friction': 'F_C1'}, names=('y',), needs=('load',))
    assert joint['friction']['parameters'] == {'F_C0': 5.0, 'F_C1': -1.0, 'tau_max': 40.0}
    assert joint['friction']['standard_deviations'] == {'F_C0': 0.3}
    joint = written({'function': 'sin(q)'}, names=('x', 'y'), needs=('load',))
    assert joint['terms'] == [
        {'document': {'function': 'sin(q)', 'tau_max': 40.0}, 'values': [2.0, -1.0], 'std': [0.4, None]}
    ]
    none = SimpleNamespace(load_limit=None, share=None)
    assert written({'function': 'sin(q)'}, needs=('load',), state=none)['terms'][0]['document'] == {
        'function': 'sin(q)'
    }
    # Two operators: one slips at once, the other, with its share, after the width.
    slip = written({'hysteresis': 1e-3})['friction']['maxwell_slip']
    first = slip['limits'][0]
    assert slip == {
        'limits': [first, 1.0], 'stiffness': [0.25 / first, 0.75], 'operators': 2, 'presliding': 1e-3
    }  # fmt: skip
    # Narrower than the first: what the larger share does, all does.
    narrow = written({'hysteresis': 1e-9})['friction']['maxwell_slip']
    assert (narrow['limits'], narrow['stiffness']) == ([0.5, 1.0], [0.0, 1.0])
    assert 'maxwell_slip' not in written({'hysteresis': 1e-9}, state=none)['friction']


def test_a_payload_is_written_as_not_attached():
    order = ('M', 'MX', 'MY', 'MZ', 'XX', 'XY', 'XZ', 'YY', 'YZ', 'ZZ')
    found = {name: {'value': float(k), 'std': 0.1 * k if k else None} for k, name in enumerate(order)}
    document = {
        'attached': False,
        'mass': {'value': 0.0},
        'first_moments': [1.0, 2.0, 3.0],
        'inertia': [4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
        'std': [None, *(0.1 * k for k in range(1, 10))],
    }
    assert payload_part(found) == document
    found['M']['std'] = 0.2
    assert payload_part(found)['mass'] == {'value': 0.0, 'std': 0.2}


@pytest.mark.parametrize('share', [None, 0.05, {'b': 0.05}])
def test_transmissions_are_those_that_the_data_tell_and_the_rest_is_said(monkeypatch, ur, share):
    """Each joint by its own torque limit; a stiffness is as uncertain as the drive gain that its torque came from."""
    recordings = [SimpleNamespace(theta=np.zeros((2, 6))), SimpleNamespace(theta=np.zeros((2, 6)))]
    names, asked = ur.joint_names, []

    def identified(data, limit):
        joint = data[0][1]
        asked.append((joint, data, limit))
        if joint == names[2]:
            raise NotReliableError('transmission: hardly loaded')
        document = {'stiffness': {'coefficients': [2e4, 1e8], 'standard_deviations': [300.0, 4e6]}, 'backlash': joint}
        reasons = ['one', 'two'] if joint == names[3] else []
        return SimpleNamespace(document=document, reasons=reasons)

    tests = 'joint_dynamics.identification.joint_tests'
    monkeypatch.setattr(f'{tests}.data.joint_data', lambda recording, name, arm: (recording, name, arm.parameters[0]))
    monkeypatch.setattr(f'{tests}.transmission.identify_transmission', identified)
    shares = {names[1]: share['b']} if isinstance(share, dict) else share
    parameters = np.arange(84.0) * 1e-3 + 1.0
    found, notes = transmissions.identify_transmissions(ur, recordings, parameters, shares)
    assert [one[0] for one in asked] == list(names)
    for (joint, data, limit), stated in zip(asked, ur.limits.effort, strict=True):
        assert data == [(recording, joint, 1.0) for recording in recordings]
        assert limit == (stated if np.isfinite(stated) else None)
    assert notes == [
        'transmission: hardly loaded',
        *(f'transmission: {names[3]}: not described: {why}' for why in ('one', 'two')),
    ]
    assert list(found) == [name for k, name in enumerate(names) if k not in (2, 3)]
    for name, document in found.items():
        of_gain = 0.0 if share is None else 0.05 if not isinstance(share, dict) or name == names[1] else 0.0
        assert document['backlash'] == name and document['stiffness']['coefficients'] == [2e4, 1e8]
        assert document['stiffness']['standard_deviations'] == pytest.approx(
            [math.hypot(300.0, of_gain * 2e4), math.hypot(4e6, of_gain * 1e8)]
        )
    assert transmissions.identify_transmissions(ur, [*recordings, SimpleNamespace(theta=None)], parameters) == ({}, [])


def test_how_far_links_may_be_off_is_a_share_of_mass_gyration_and_inertia():
    rng = np.random.default_rng(4)
    prior = StandardParameters(np.zeros(28), 2)
    prior.links[:] = rng.normal(size=(2, 10))
    prior.links[1] = 0.0
    names = [f'{kind}_{j}' for j in (1, 2) for kind in (*INERTIAL, 'Ia', 'Fv', 'Fc', 'off')]
    found = StandardParameters(prior_spread(SimpleNamespace(standard_names=names), prior.values), 2)
    largest = []
    for link, off in zip(prior.links, found.links, strict=True):
        mass = max(link[9], 1e-3)
        inertia = max(0.5 * (abs(link[0]) + abs(link[3]) + abs(link[5])), 1e-6)
        largest.append(inertia)
        np.testing.assert_allclose(off, [*[0.3 * inertia] * 6, *[0.3 * math.sqrt(mass * inertia)] * 3, 0.3 * mass])
    np.testing.assert_allclose(found.rotor_inertia, 30.0 * max(largest))


def test_drives_take_power_but_for_offsets_and_what_terms_complement(monkeypatch):
    names = ['M_1', 'Ia_1', 'Fv_1', 'Fc_1', 'off_1', 'Ia_2', 'Fv_2', 'Fc_2', 'off_2']
    problem = SimpleNamespace(base=SimpleNamespace(standard_names=names))
    monkeypatch.setattr(semidefinite, 'dissipation_rows', lambda given: [SimpleNamespace(standard=(6, 7))])
    found = semidefinite.nonnegative_columns(problem, list(range(1, 9)))
    assert [names[1:][k] for k in found] == ['Ia_1', 'Fv_1', 'Fc_1', 'Ia_2', 'Fc_2']
    monkeypatch.setattr(semidefinite, 'dissipation_rows', lambda given: [])
    assert [names[k] for k in (8, 6, 2)][1:] == [
        names[[8, 6, 2][k]] for k in semidefinite.nonnegative_columns(problem, [8, 6, 2])
    ]
