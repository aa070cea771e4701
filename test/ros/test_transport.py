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

"""Processes do not share memory: one that is killed while it holds a lock there would stop the others."""

import os
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

from joint_dynamics.nodes.framework.run import LOCALHOST, PROFILES, RANGE, TRANSPORTS, without_shared_memory

LOCAL = {RANGE: 'LOCALHOST'}


def test_udp_alone():
    assert without_shared_memory({}) == {TRANSPORTS: 'UDPv4'}
    assert without_shared_memory({RANGE: 'SUBNET'}) == {TRANSPORTS: 'UDPv4'}
    for local in (LOCAL, {'ROS_LOCALHOST_ONLY': '1'}):
        changes = without_shared_memory(local)
        assert changes[RANGE] == 'SYSTEM_DEFAULT' and not changes.get('ROS_LOCALHOST_ONLY')
        assert [changes[name] for name in PROFILES] == [str(LOCALHOST)] * 2 and LOCALHOST.is_file()


@pytest.mark.parametrize(
    'chosen',
    [
        {TRANSPORTS: 'DEFAULT'},
        {PROFILES[0]: 'own.xml'},
        {PROFILES[1]: 'own.xml'},
        {'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'},
        {**LOCAL, 'ROS_STATIC_PEERS': '192.0.2.1'},
    ],
)
def test_what_the_user_chose_stays(chosen):
    assert without_shared_memory(chosen) == {}


def shared(process):
    """Files of Fast DDS in shared memory that a process has opened."""
    maps = Path(f'/proc/{process.pid}/maps').read_text()
    return {line.split()[-1] for line in maps.splitlines() if '/dev/shm/fast' in line}


@pytest.mark.parametrize(('chosen', 'shares'), [({}, False), ({TRANSPORTS: 'DEFAULT'}, True)])
def test_a_node_opens_no_shared_memory(ros, monkeypatch, chosen, shares):
    """It chooses by itself, as it would on a user's machine, and hears the test all the same."""
    for name in PROFILES:
        monkeypatch.delenv(name)
    for name, value in {**LOCAL, **chosen}.items():
        monkeypatch.setenv(name, value)
    process = ros.process('joint_dynamics.nodes.estimator.node')
    ros.until_state('/estimator', 'unconfigured')
    assert bool(shared(process)) == shares
    assert not shared(type('Own', (), {'pid': os.getpid()}))
