"""Files are written whole, sets all at once, whenever the writer is killed; nothing is left behind."""

import fcntl
import json
import os
import re
import stat

import pytest

from joint_dynamics.description import (
    DynamicsDescription,
    files,
    prepare_folder,
    write_atomically,
    write_result,
    write_set,
)
from joint_dynamics.description.files import current
from joint_dynamics.errors import JointDynamicsError

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
    return {name: current(folder / name).read_text() for name in names if current(folder / name).exists()}


@pytest.mark.parametrize('before', [{}, dict.fromkeys(NAMES, 'old')], ids=['empty', 'old set'])
def test_a_killed_writer_leaves_one_set_and_the_next_run_tidies_up(tmp_path, before):
    new = dict.fromkeys(NAMES, 'new')
    seen, step = set(), 0
    while True:
        folder = tmp_path / str(step)
        folder.mkdir()
        for name, text in before.items():
            (folder / name).write_text(text)
        (folder / '.mine.swp').write_text('of somebody else')
        killed = killed_at(step, lambda folder=folder: write_set(folder, new))
        found = contents(folder)
        assert found in (before, new), f'killed at call {step}: {found}'
        prepare_folder(folder)
        assert {name: (folder / name).read_text() for name in NAMES if (folder / name).exists()} == found
        assert sorted(item.name for item in folder.iterdir()) == sorted(['.mine.swp', *found])
        seen.add(tuple(found.values()))
        if not killed:
            break
        step += 1
    assert step > 10
    assert seen == {tuple(before.values()), tuple(new.values())}


def test_a_killed_writer_of_one_file_leaves_the_old_one(tmp_path):
    path, step = tmp_path / 'file', 0
    path.write_text('old')
    while killed_at(step, lambda: write_atomically(path, 'new')):
        assert path.read_text() in ('old', 'new')
        step += 1
    write_atomically(path, 'newer')
    assert path.read_text() == 'newer'
    assert [item.name for item in tmp_path.iterdir()] == ['file']


def test_what_another_run_is_writing_is_left_alone(tmp_path):
    half = tmp_path / '.file.0123.part'
    half.write_text('')
    waiting = tmp_path / '.result-0123.part'
    waiting.mkdir()
    with half.open() as one:
        fcntl.flock(one, fcntl.LOCK_EX)
        folder = os.open(waiting, os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)
        prepare_folder(tmp_path)
        write_atomically(tmp_path / 'file', 'x')
        write_set(tmp_path, {'a': 'x'})
        assert half.exists()
        assert waiting.exists()
        os.close(folder)
    prepare_folder(tmp_path)
    assert sorted(item.name for item in tmp_path.iterdir()) == ['a', 'file']


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
    with pytest.raises(JointDynamicsError, match='can be written'):
        write_set(tmp_path, {'a.yaml': 'new', 'd': 'new'})
    monkeypatch.setattr(
        files.os, 'fsync', lambda descriptor: (_ for _ in ()).throw(OSError(28, 'No space left on device'))
    )
    with pytest.raises(JointDynamicsError, match='No space left'):
        write_set(tmp_path, dict.fromkeys(NAMES, 'new'))
    assert contents(tmp_path) == dict.fromkeys(NAMES, 'old')
    assert sorted(item.name for item in tmp_path.iterdir()) == [*NAMES, 'd']


class Page:
    def __init__(self):
        self.text = ''

    def add_text(self, text, kind=''):
        self.text += text

    def to_html(self):
        return self.text


def test_what_is_not_reliable_never_takes_the_place_of_what_is(tmp_path):
    def write(value, reliable):
        description = DynamicsDescription(
            {'robot': {'joint_names': ['a']}, 'joints': {'a': {'damping': {'value': value}}}}
        )
        return write_result(tmp_path, description, {'value': value}, Page(), reliable)

    def found(name):
        return DynamicsDescription.load(tmp_path / name).joint('a')['damping']['value']

    assert write(1.0, False) == ['dynamics.not_reliable.yaml', 'summary.not_reliable.json', 'report.not_reliable.html']
    assert sorted(item.name for item in tmp_path.iterdir()) == [
        'dynamics.not_reliable.yaml',
        'report.not_reliable.html',
        'summary.not_reliable.json',
    ]
    assert write(2.0, True) == ['dynamics.yaml', 'summary.json', 'report.html']
    assert sorted(item.name for item in tmp_path.iterdir()) == ['dynamics.yaml', 'report.html', 'summary.json']
    write(3.0, False)
    assert (found('dynamics.yaml'), found('dynamics.not_reliable.yaml')) == (2.0, 3.0)
    assert json.loads((tmp_path / 'summary.json').read_text())['value'] == 2.0
    runs = set()
    for part in ('', '.not_reliable'):
        run = json.loads((tmp_path / f'summary{part}.json').read_text())['run']
        assert DynamicsDescription.load(tmp_path / f'dynamics{part}.yaml').document['provenance']['run'] == run
        assert re.search(run, (tmp_path / f'report{part}.html').read_text())
        runs.add(run)
    assert len(runs) == 2
