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

"""Files are written whole, sets all at once, whenever the writer is killed."""

import os
import stat

import pytest

from joint_dynamics import output_files
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.output_files import STAGING, prepare_folder, write_atomically, write_set

NAMES = ('a.yaml', 'b.json', 'c.html')
CALLS = ('open', 'replace', 'fsync', 'mkdir', 'rmdir', 'unlink', 'close', 'dup')


def killed_at(step, work):
    """Do `work` in a process that is killed at its `step`th call of the system; return whether it was."""
    pid = os.fork()
    if pid == 0:
        count = 0

        def counting(call):
            def counted(*arguments, **keys):
                nonlocal count
                count += 1
                if count > step:
                    os.kill(os.getpid(), 9)
                return call(*arguments, **keys)

            return counted

        for name in CALLS:
            setattr(os, name, counting(getattr(os, name)))
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -9


def contents(folder, names=NAMES):
    return {name: (folder / name).read_text() for name in names if (folder / name).exists()}


@pytest.mark.parametrize('before', [{}, dict.fromkeys(NAMES, 'old')], ids=['empty', 'old set'])
def test_killed_writer_leaves_files_of_one_run(tmp_path, before):
    new = dict.fromkeys(NAMES, 'new')
    seen, step = set(), 0
    while True:
        folder = tmp_path / str(step)
        folder.mkdir()
        for name, text in before.items():
            (folder / name).write_text(text)
        killed = killed_at(step, lambda folder=folder: write_set(folder, new))
        found = contents(folder)
        assert len(set(found.values())) <= 1, f'killed at call {step}: {found}'
        assert (NAMES[0] in found) == bool(before or found)
        others = {item.name for item in folder.iterdir()} - set(found)
        assert all(name.startswith(STAGING) for name in others)
        write_set(folder, dict.fromkeys(NAMES, 'next'))
        assert contents(folder) == dict.fromkeys(NAMES, 'next')
        seen.add(tuple(found.values()))
        if not killed:
            assert not others
            break
        step += 1
    assert step > 10
    assert {tuple(before.values()), tuple(new.values())} <= seen


def test_killed_writer_of_one_file_leaves_the_old_one(tmp_path):
    path, step = tmp_path / 'file', 0
    path.write_text('old')
    while killed_at(step, lambda: write_atomically(path, 'new')):
        assert path.read_text() in ('old', 'new')
        step += 1
    assert step > 5
    write_atomically(path, 'newer')
    assert path.read_text() == 'newer'


@pytest.mark.parametrize('name', [f'{STAGING}x', '.result-x', '.result-x.part', '.file.x.part', '.x.part'])
@pytest.mark.parametrize('kind', ['link', 'folder', 'link to a file', 'pipe'])
def test_nothing_planted_is_trusted_moved_or_read(tmp_path, name, kind):
    foreign, out = tmp_path / 'foreign', tmp_path / 'out'
    foreign.mkdir()
    (foreign / 'file').write_text('kept')
    out.mkdir()
    planted = out / name
    if kind == 'link':
        planted.symlink_to(foreign)
    elif kind == 'folder':
        (planted / 'below').mkdir(parents=True)
        (planted / 'below' / 'file').write_text('planted')
    elif kind == 'link to a file':
        planted.symlink_to(foreign / 'file')
    else:
        os.mkfifo(planted)
    prepare_folder(out)
    write_set(out, {'a': 'new'})
    write_atomically(out / 'file', 'new')
    assert [(item.name, item.read_text()) for item in foreign.iterdir()] == [('file', 'kept')]
    assert sorted(item.name for item in out.iterdir()) == sorted([name, 'a', 'file'])


@pytest.mark.parametrize('umask', [0o022, 0o077, 0o002])
def test_modes_follow_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        write_atomically(tmp_path / 'one', 'x')
        write_set(tmp_path, {'two': 'x', 'three': b'y'})
    finally:
        os.umask(before)
    for name in ('one', 'two', 'three'):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o666 & ~umask


def test_a_set_that_cannot_be_written_changes_nothing(tmp_path, monkeypatch):
    write_set(tmp_path, dict.fromkeys(NAMES, 'old'))
    (tmp_path / 'd').mkdir()
    with pytest.raises(JointDynamicsError, match='is a folder'):
        write_set(tmp_path, {'a.yaml': 'new', 'd': 'new'})
    monkeypatch.setattr(
        output_files.os, 'fsync', lambda descriptor: (_ for _ in ()).throw(OSError(28, 'No space left on device'))
    )
    with pytest.raises(JointDynamicsError, match='No space left'):
        write_set(tmp_path, dict.fromkeys(NAMES, 'new'))
    assert contents(tmp_path) == dict.fromkeys(NAMES, 'old')
    assert sorted(item.name for item in tmp_path.iterdir()) == [*NAMES, 'd']
