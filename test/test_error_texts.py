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

"""An error is one line that no name from outside can break or use to steer a terminal."""

import pickle

import pytest

from joint_dynamics.errors import JointDynamicsError, NotReliableError


@pytest.mark.parametrize('error', [JointDynamicsError, NotReliableError])
@pytest.mark.parametrize(
    ('given', 'shown'),
    [
        ("found 'a\n b'", "found 'a b'"),
        ('found \x1b[2Jgone', r'found \x1b[2Jgone'),
        ('found \ud800', r'found \ud800'),
        ('τ̂ of 3 N·m at 20 °C', 'τ̂ of 3 N·m at 20 °C'),
    ],
)
def test_error_is_one_printable_line(error, given, shown):
    assert str(error(given)) == shown


def test_error_survives_pickling():
    again = pickle.loads(pickle.dumps(JointDynamicsError('a\nb')))
    assert (str(again), again.args) == ('a b', ('a b',))
