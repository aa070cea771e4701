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

"""Nothing that was started outlives the one who started it, however that one ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from joint_dynamics.calibration.processes import Processes
from joint_dynamics.errors import JointDynamicsError

CHILD = """
import os, signal, subprocess, sys, time
mode, ready = sys.argv[1:3]
if mode == 'stubborn':
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if mode == 'family':
    code = 'import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(600)'
    child = subprocess.Popen([sys.executable, '-c', code])
if mode == 'fails':
    print('first words')
    sys.exit('last words')
open(ready + '.part', 'w').write(str(child.pid if mode == 'family' else os.getpid()))
os.rename(ready + '.part', ready)
time.sleep(600)
"""
# Stands for the command: starts two, says so, and waits for its end.
PARENT = """
import sys, time
from pathlib import Path
from joint_dynamics.calibration.processes import Processes
from joint_dynamics.python_process import terminated_like_interrupted
folder = Path(sys.argv[1])
with terminated_like_interrupted(), Processes(folder) as processes:
    for mode in ('quiet', 'family'):
        processes.start(mode, 'a_child', [mode, str(folder / mode)])
    (folder / 'started').write_text(' '.join(map(str, processes.pids.values())))
    time.sleep(600)
"""


def wait_for(condition, what, timeout=300.0):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def gone(pid):
    """Whether no process has this number, or only its status is left."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] == 'Z'
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.fixture(autouse=True)
def child(tmp_path, monkeypatch):
    (tmp_path / 'a_child.py').write_text(CHILD)
    monkeypatch.setenv('PYTHONPATH', os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get('PYTHONPATH')])]))


@pytest.mark.parametrize('mode', ['quiet', 'stubborn', 'family'])
def test_leaving_ends_every_process_and_what_it_started(tmp_path, mode, monkeypatch):
    monkeypatch.setattr('joint_dynamics.calibration.processes.STOP_TIMEOUT', 0.5)
    with Processes(tmp_path) as processes:
        processes.start('one', 'a_child', [mode, str(tmp_path / 'ready')])
        wait_for((tmp_path / 'ready').exists, 'start')
        pids = [processes.pids['one'], int((tmp_path / 'ready').read_text())]
        assert not any(gone(pid) for pid in pids)
        processes.check()
    assert gone(pids[0])
    wait_for(lambda: gone(pids[1]), 'its own child is still there')


def test_an_error_inside_ends_them_too(tmp_path):
    pids = {}

    def fail():
        with Processes(tmp_path) as processes:
            processes.start('one', 'a_child', ['quiet', str(tmp_path / 'ready')])
            wait_for((tmp_path / 'ready').exists, 'start')
            pids.update(processes.pids)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert gone(pids['one'])


def test_one_that_ends_by_itself_is_reported_with_its_last_words(tmp_path):
    with Processes(tmp_path) as processes:
        processes.start('one', 'a_child', ['fails', str(tmp_path / 'ready')])
        wait_for(lambda: gone(processes.pids['one']), 'end')
        expected = r'one: expected it to keep running, found that it ended \(status 1\): last words; see .*one\.log'
        with pytest.raises(JointDynamicsError, match=expected):
            processes.check()
    assert 'first words' in (tmp_path / 'one.log').read_text()


def test_a_module_that_is_not_there_is_reported(tmp_path):
    with Processes(tmp_path) as processes:
        processes.start('one', 'no_such_module_at_all')
        wait_for(lambda: gone(processes.pids['one']), 'end')
        with pytest.raises(JointDynamicsError, match='No module named no_such_module_at_all'):
            processes.check()


def test_stopping_one_leaves_the_others(tmp_path):
    with Processes(tmp_path) as processes:
        for name in ('one', 'two'):
            processes.start(name, 'a_child', ['quiet', str(tmp_path / name)])
        wait_for(lambda: (tmp_path / 'one').exists() and (tmp_path / 'two').exists(), 'start')
        pids = processes.pids
        assert processes.stop('one') != 0
        assert gone(pids['one'])
        assert not gone(pids['two'])
        assert set(processes.pids) == {'two'}


@pytest.mark.parametrize(
    'number', [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda number: number.name
)
def test_whatever_ends_the_command_ends_what_it_started(tmp_path, number):
    parent = subprocess.Popen(
        [sys.executable, '-c', PARENT, str(tmp_path)], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        wait_for(lambda: all((tmp_path / name).exists() for name in ('started', 'family', 'quiet')), 'start')
        pids = [int(pid) for pid in (tmp_path / 'started').read_text().split()]
        grandchild = int((tmp_path / 'family').read_text())
        parent.send_signal(number)
        parent.wait(300)
    finally:
        parent.kill()
        parent.communicate()
    wait_for(lambda: all(gone(pid) for pid in pids), f'{pids} still there')
    if number != signal.SIGKILL:
        wait_for(lambda: gone(grandchild), f'{grandchild} still there')
    else:
        # Nobody was left to end what a child had started and did not care for itself.
        os.kill(grandchild, signal.SIGKILL)
