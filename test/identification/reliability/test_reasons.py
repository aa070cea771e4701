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

"""Reasons with their figures and their remedy."""

import numpy as np
import pytest

from joint_dynamics.identification.reliability.evidence import ExplanationFit
from joint_dynamics.identification.reliability.explanation import Explanation
from joint_dynamics.recording.conversions import Corrections


@pytest.mark.parametrize(
    ('code', 'remedy'),
    [
        ('mounting', 'correct robot.mounting'), ('degrees', 'of the positions (recording.position_scale)'),
        ('time_scale', 'correct the time stamps (recording.time_scale)'), ('time_reversed', 'correct the time stamps'),
        ('drive_gain', 'correct the unit or the drive gain (recording.torque_scale)'),
        ('current', 'then give drive gains), or whether a unit or a drive gain is wrong'),
        ('torque_sign', 'correct the sign of the effort or of the drive gain (recording.torque_sign)'),
        ('position_offset', 'the zero position (recording.zero_offset)'), ('joint_order', 'the names of the joints'),
        ('torque_order', 'the order of the efforts (recording.torque_order)'),
        ('position_order', 'the order of the positions (recording.position_order)'),
        ('position_sign', 'the sign of the position (recording.position_sign)'),
        ('axis_sign', 'the axis in the robot file, or both signs'), ('stuck', 'the recording or its settings'),
        ('delay', 'align the time stamps of efforts and positions (recording.torque_delay)'),
        ('payload_mixed', 'or give those with the payload as --loaded'),
        ('recordings_differ', 'its signs and its temperature were the same, or identify them apart'),
    ],
)  # fmt: skip
def test_a_better_explanation_is_told_by_the_joint_it_helps_most(code, remedy):
    given = ExplanationFit(np.zeros(1), np.array([0.5, 0.04, 0.25]), 1)
    fitted = ExplanationFit(np.zeros(1), np.array([0.49, 0.01, 0.01]), 1)
    mend = Corrections(torque_sign={'c': -1.0})
    reason = Explanation(code, 'this', ('a', 'b', 'c'), given, fitted, 123.4, mend=mend).reason
    assert (reason.mend, reason.joints) == ({'recording': {'torque_sign': {'c': -1.0}}}, ('c',))
    assert reason.code == code and reason.text.startswith('this: ') and reason.text.endswith(remedy)
    assert '(50 % of the torque of c left over would become 10 %; log-likelihood +123)' in reason.text
