"""Reasons with their figures and their remedy."""

import math
from dataclasses import replace

import numpy as np
import pytest

from joint_dynamics.identification.reliability.delay import Delay
from joint_dynamics.identification.reliability.differences import Difference
from joint_dynamics.identification.reliability.evidence import ExplanationFit
from joint_dynamics.identification.reliability.explanation import Alternative
from joint_dynamics.identification.reliability.scales import Scales
from joint_dynamics.recording.corrections import Corrections

NAMES = ('a', 'b')
NONE = ExplanationFit(np.zeros(1), np.ones(2), 1)


@pytest.mark.parametrize(
    ('kind', 'mass', 'code', 'parts'),
    [
        ('payload', 2.345, 'payload_mixed', ('payload of about 2.35 kg, ', 'identify them apart', '--loaded')),
        ('payload', None, 'payload_mixed', ('by a payload, ', 'identify them apart', '--loaded')),
        ('friction', None, 'recordings_differ', ('other friction or offsets', 'temperature')),
        ('parameters', None, 'recordings_differ', ('other parameters than the other', 'identify them apart')),
        ('sign of torque', None, 'recordings_differ', ('another sign of torque', 'correct it, or leave it out')),
    ],
)
def test_what_differs_is_told_with_its_share_and_its_remedy(kind, mass, code, parts):
    difference = Difference(kind, 'run 2', 123.4, 0.0567, NONE, mass)
    reason = difference.reason
    assert reason.code == code and reason.text.startswith('run 2 ')
    for part in (*parts, '5.67 % of the torque (log-likelihood +123)'):
        assert part in reason.text
    assert difference.note.startswith(f'run 2 has another {kind}') and '5.7 % of the torque' in difference.note


@pytest.mark.parametrize(('seconds', 'side'), [(-0.01234, 'before'), (0.01234, 'after')])
def test_a_delay_is_told_with_its_deviation_and_its_cost(seconds, side):
    reason = Delay(seconds, 0.00056, 100.0, 0.0321, NONE).reason
    assert reason.code == 'delay'
    for part in ('12.3 ± 0.56 ms', f' ms {side} the motion', '3.21 % of the torque', 'align the time stamps'):
        assert part in reason.text


def test_scales_are_told_joint_by_joint_with_what_mends_them():
    known = np.ones(3, dtype=bool)
    scales = Scales(('a', 'c', 'b'), np.array([1.0, 1.0, 2.0]), np.array([0.1, 0.1, 0.05]), known, 88.8, 9.0, NONE)
    assert scales.reason.code == 'drive_gain' and 'other joints: b 2 ± 0.1 (log-likelihood +89)' in scales.reason.text
    assert scales.reason.mend == {'recording': {'torque_scale': {'b': 0.5}}}
    scales = replace(scales, factor=np.array([0.5, 1.0, 2.5]))
    assert scales.reason.code == 'current' and 'b 2.5 ± 0.1, a 0.5 ± 0.05 (log-likelihood +89)' in scales.reason.text
    assert scales.reason.mend == {}


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
    given = ExplanationFit(np.zeros(1), np.array([0.5, 0.04, 0.25]), 1)
    fitted = ExplanationFit(np.zeros(1), np.array([0.49, 0.01, 0.01]), 1)
    found = Alternative(code, 'this', fitted, 123.4, mend=Corrections(torque_sign={'c': -1.0}))
    reason = found.reason(('a', 'b', 'c'), given)
    assert (reason.mend, reason.joints) == ({'recording': {'torque_sign': {'c': -1.0}}}, ('c',))
    assert reason.code == code and reason.text.startswith('this: ') and reason.text.endswith(f'; correct {remedy}')
    assert '(50 % of the torque of c left over would become 10 %; log-likelihood +123)' in reason.text


def test_scales_that_nothing_confirms_are_told():
    half = 0.5 * math.log(2.0)
    deviation = np.array([0.99 * half, 1.01 * half, 3.0])
    scales = Scales(('a', 'b', 'c'), np.ones(3), deviation, np.zeros(3, dtype=bool), 0.0, 0.0, NONE)
    (note,) = scales.notes
    assert 'within a factor of two what the torque of b, c is' in note
    assert replace(scales, deviation=np.full(3, 0.1)).notes == []
