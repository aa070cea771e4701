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

"""Numbers without sense end in one refusal before anything is computed from them."""

import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import PlanSettings, plan

JOINT = 'elbow_joint'
MOTIONS = [
    ('bang_coast_bang', {'duration': 1e300}),
    ('bang_coast_bang', {'wait': 1e300}),
    ('constant_speed', {'joint': JOINT, 'cycles': 10**9}),
    ('constant_speed', {'joint': JOINT, 'speeds': [1e-300]}),
    ('fourier', {'period': 1e300}),
    ('fourier', {'harmonics': 10**9}),
    ('fourier', {'period': 1e-300}),
    ('fourier', {'ramp': 1e-300}),
    ('fourier', {'samples_per_cycle': 10**6}),
    ('fourier', {'period': 3000.0, 'repeats': 1000}),
    ('load_sweep', {'joint': 'shoulder_lift_joint', 'reversals': 10**9}),
    ('load_sweep', {'joint': 'shoulder_lift_joint', 'speed': 1e-9}),
    ('slow_reversals', {'joint': JOINT, 'cycle': 3600.0}),
    ('slow_reversals', {'joint': JOINT, 'net': 1e-9}),
    ('slow_reversals', {'joint': JOINT, 'span': 1e300, 'start': 0.0}),
    ('trapezoids', {'joint': JOINT, 'plateau': 1e300}),
    ('trapezoids', {'joint': JOINT, 'acceleration': 1e-300}),
    ('trapezoids', {'joint': JOINT, 'start': 1e300}),
    ('waypoints', {'cycles': 10**9}),
    ('waypoints', {'velocity': 1e-12}),
]


@pytest.mark.parametrize(('profile', 'options'), MOTIONS, ids=lambda value: str(value)[:40])
def test_a_motion_without_end_is_refused(ur5e, profile, options):
    posture = [0.0, -1.5, 0.0, -1.5, 0.0, 0.0]
    section = {'posture': posture, 'limits': {'clearance': None}, profile: options}
    with pytest.raises(JointDynamicsError) as caught:
        plan(ur5e, PlanSettings.from_config(section, profile))
    assert len(str(caught.value)) < 300
