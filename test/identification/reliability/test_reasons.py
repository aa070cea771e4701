"""Reasons with their figures and their remedy."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.identification.reliability.chow import ChowTest
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

NAMES = ('a', 'b')


@pytest.mark.parametrize(
    ('kind', 'mass', 'code', 'parts'),
    [
        ('payload', 2.345, 'payload_mixed', ('payload of about 2.35 kg, ', 'identify them apart', '--loaded')),
        ('payload', None, 'payload_mixed', ('by a payload, ', 'identify them apart', '--loaded')),
        ('friction', None, 'recordings_differ', ('other friction or offsets', 'temperature')),
        ('sign of torque', None, 'recordings_differ', ('another sign of torque', 'correct it, or leave it out')),
    ],
)
def test_what_differs_is_told_with_its_share_and_its_remedy(kind, mass, code, parts):
    difference = SimpleNamespace(kind=kind, part='run 2', gain=123.4, effect=0.0567, mass=mass)
    reason = difference_reason(difference)
    assert reason.code == code and reason.text.startswith('run 2 ')
    for part in (*parts, '5.67 % of the torque (log-likelihood +123)'):
        assert part in reason.text
    note = difference_note(difference)
    assert (
        note.startswith('run 2 has another ' if kind != 'friction' else 'run 2 has ') and '5.7 % of the torque' in note
    )


@pytest.mark.parametrize(('seconds', 'side'), [(-0.01234, 'before'), (0.01234, 'after')])
def test_a_delay_is_told_with_its_deviation_and_its_cost(seconds, side):
    reason = delay_reason(SimpleNamespace(seconds=seconds, deviation=0.00056, cost=0.0321))
    assert reason.code == 'delay'
    for part in ('12.3 ± 0.56 ms', f' ms {side} the motion', '3.21 % of the torque', 'align the time stamps'):
        assert part in reason.text


def test_scales_are_told_joint_by_joint_with_what_mends_them():
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
    assert reason.code == code and reason.text.startswith('this: ') and reason.text.endswith(f'; correct {remedy}')
    assert '(50 % of the torque of c left over would become 10 %; log-likelihood +123)' in reason.text


def test_parts_with_other_parameters_and_scales_that_nothing_confirms_are_told():
    reason = chow_reason('run 2', ChowTest(3.254, (4.2, 17.0), 1e-5, 0.0789))
    assert reason.code == 'recordings_differ' and reason.text.startswith('run 2 has other parameters')
    for part in ('F = 3.25 with 4.2 and 17 degrees of freedom', '7.89 % of the torque', 'identify them apart'):
        assert part in reason.text
    half = 0.5 * math.log(2.0)
    scales = SimpleNamespace(names=('a', 'b', 'c'), deviation=np.array([0.99 * half, 1.01 * half, 3.0]))
    (note,) = unconfirmed_scales(scales)
    assert 'within a factor of two what the torque of b, c is' in note
    scales.deviation = np.full(3, 0.1)
    assert unconfirmed_scales(scales) == []
