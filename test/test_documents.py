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

"""Documents from outside are bounded before anything is built from them."""

import json
import os
import re
from pathlib import Path

import pytest
import yaml

from joint_dynamics.cli.main import main
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.documents import MAX_BYTES, MAX_DEPTH, parse_json, parse_xml, parse_yaml, read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import load_trajectory
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.mdh import load_mdh

ALIASES = '\n'.join(
    ['a0: &a0 [x, x, x, x, x, x, x, x, x]'] + [f'a{k}: &a{k} [{", ".join([f"*a{k - 1}"] * 9)}]' for k in range(1, 12)]
)
BOMBS = {
    'brackets': '[' * 50_000 + ']' * 50_000,
    'open mappings': '{a: ' * 20_000,
    'alias bomb': ALIASES,
    'merge bomb': ALIASES.replace('[', '{<<: [').replace(']', ']}'),
    'blocks': '\n'.join(' ' * k + 'a:' for k in range(5000)),
    'block sequences': '- ' * 5000,
    'alias of itself': '&a [*a]',
    'deep by aliases': '\n'.join(['a0: &a0 [x]'] + [f'a{k}: &a{k} {"[" * 20}*a{k - 1}{"]" * 20}' for k in range(1, 9)]),
    'digits': 'a: ' + '9' * 6000,
    'no date': '2026-13-40: 1',
    'tags': 'a: !!int ""',
    'code': '!!python/object/apply:os.system [ls]',
    'large': 'a' * (MAX_BYTES + 1),
}


@pytest.mark.parametrize('text', BOMBS.values(), ids=BOMBS)
def test_yaml_that_would_break_a_parser_is_one_error(text):
    with pytest.raises(JointDynamicsError, match=r'^thing: expected') as caught:
        parse_yaml(text, 'thing')
    assert '\n' not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('a: 1\nb: 2\na: 3', "expected each key once, found 'a' twice"),
        ('x: [{a: {b: 1}, c: 2, a: 3}]', "expected each key once, found 'a' twice"),
        ('x: &n mass\n*n : 1\nmass: 2', "'mass' twice"),
        ('x: &n mass\nmass: 1\n*n : 2', "'mass' twice"),
        ('? &n mass\n: 1\nb: {*n : 1, *n : 2}', "'mass' twice"),
        ('mode: 0777', 'found 0777, which YAML reads as 511: write that, or quote it'),
        ('time: 1:30:00', 'found 1:30:00, which YAML reads as 5400'),
        ('gain: [1_0.5]', 'found 1_0.5, which YAML reads as 10.5'),
    ],
)
def test_yaml_that_is_read_as_nobody_means_it_is_refused(text, message):
    with pytest.raises(JointDynamicsError, match=f'^thing: .*{re.escape(message)}'):
        parse_yaml(text, 'thing')


def test_yaml_that_looks_alike_is_read():
    text = 'a: "0777"\nb: \'1:30:00\'\nc: 0.5\nd: 0\ne: [a, a]\nf: {a: 1}\ng: {a: 2}\nh: 2026-01-02\ni: 1e-3\nj: v_1_0'
    found = parse_yaml(text, 'thing')
    assert [found[key] for key in 'abcdejfg'] == ['0777', '1:30:00', 0.5, 0, ['a', 'a'], 'v_1_0', {'a': 1}, {'a': 2}]
    merged = parse_yaml('a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: &c {<<: *a, y: 5}\nd: {<<: *c}', 'thing')
    assert (merged['b'], merged['d']) == ({'x': 3, 'y': 2}, {'x': 1, 'y': 5})


MANY_KEYS = '{' + ''.join(f'"{k}": 1, ' for k in range(250_000)) + '"b": 1, "b": 2}'


@pytest.mark.parametrize('text', ['{"a": 1, "b": {"b": 2}, "b": 3}', MANY_KEYS], ids=['few', 'many'])
def test_a_key_that_comes_twice_in_json_is_refused(text):
    with pytest.raises(JointDynamicsError, match="'b'"):
        parse_json(text, 'thing')


def test_a_message_is_no_longer_than_a_screen_shows():
    """Aliases: a row of a table that stands for a hundred thousand numbers."""
    text = 'x: &x [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\ny: &y [' + '*x, ' * 900 + ']\n'
    row = 'joints: [{alpha: *y, a: 0, d: 0, theta: 0}]'
    with pytest.raises(JointDynamicsError, match=r'^robot MDH table: joints\[1\]: expected numbers') as caught:
        load_mdh(parse_yaml(text + row, 'thing'))
    assert len(str(caught.value)) < 300
    assert len(str(JointDynamicsError('x' * 100_000))) < 2000


def test_aliases_as_dumpers_write_them_are_read():
    shared = {'x': [1.0, 2.0]}
    text = yaml.safe_dump({'a': shared, 'b': shared, 'c': [shared] * 50})
    assert '*id' in text
    assert parse_yaml(text, 'thing') == {'a': shared, 'b': shared, 'c': [shared] * 50}


def test_depth_counts_levels_and_not_brackets():
    nested = 'x'
    for _ in range(MAX_DEPTH):
        nested = [nested]
    assert parse_yaml(yaml.safe_dump(nested), 'thing') == nested
    assert parse_json(json.dumps(nested), 'thing') == nested
    for parse, dump in ((parse_yaml, yaml.safe_dump), (parse_json, json.dumps)):
        with pytest.raises(JointDynamicsError, match=f'at most {MAX_DEPTH} levels'):
            parse(dump([nested]), 'thing')
    assert parse_yaml('{a: "' + '[' * 5000 + '"}', 'thing') == {'a': '[' * 5000}
    assert parse_json('{"a": "\\"' + '[' * 5000 + '"}', 'thing') == {'a': '"' + '[' * 5000}


@pytest.mark.parametrize(
    'text', ['[' * 50_000, '{"a":' * 20_000, '9' * 6000, '', '{', 'a' * (MAX_BYTES + 1)], ids=lambda text: text[:8]
)
def test_json_that_would_break_a_parser_is_one_error(text):
    with pytest.raises(JointDynamicsError, match=r'^thing: expected') as caught:
        parse_json(text, 'thing')
    assert '\n' not in str(caught.value)


ENTITIES = (
    '<!DOCTYPE r ['
    + '<!ENTITY a0 "xxxxxxxxxx">'
    + ''.join(f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, 12))
    + ']><r>&a11;</r>'
)


@pytest.mark.parametrize(
    'text',
    [
        '<a>' * 50_000,
        '<a>' * 5000 + '</a>' * 5000,
        ENTITIES,
        '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        '<a>',
        '',
        '\ud800',
        '<a/>' + ' ' * MAX_BYTES,
    ],
    ids=lambda text: text[:12],
)
def test_xml_that_would_break_a_parser_is_one_error(text):
    with pytest.raises(JointDynamicsError, match=r'^thing: expected') as caught:
        parse_xml(text, 'thing')
    assert '\n' not in str(caught.value)


def test_what_is_no_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / 'pipe')
    large = tmp_path / 'large'
    with large.open('wb') as file:
        file.truncate(20 * 10**9)
    (tmp_path / 'binary').write_bytes(b'\xff\xfe\x00')
    for path, found in (
        (tmp_path / 'pipe', 'a named pipe'),
        (large, 'at most .* bytes, found 20000000000'),
        ('/dev/zero', 'a device'),
        (tmp_path, 'a folder'),
        (tmp_path / 'none', 'No such file'),
        (tmp_path / 'binary', 'a binary file'),
        ('a\0b', 'null'),
    ):
        with pytest.raises(JointDynamicsError, match=rf'^thing: expected .*{found}'):
            read_text(path, 'thing')


@pytest.mark.parametrize(
    'text', [text for name, text in BOMBS.items() if name != 'large'], ids=[name for name in BOMBS if name != 'large']
)
def test_every_reader_of_documents_is_bounded(tmp_path, capsys, text):
    path = tmp_path / 'document.yaml'
    path.write_text(text)
    for read in (DynamicsDescription.load, RobotModel.load, load_trajectory):
        with pytest.raises(JointDynamicsError, match='expected'):
            read(path)
    with pytest.raises(JointDynamicsError, match='expected'):
        DynamicsDescription.from_yaml(text)
    for arguments in (
        ['excite', '--robot', path, '--out', tmp_path / 'out'],
        ['validate', path, 'x.csv'],
        ['excite', '--robot', 'x', '--config', path, '--out', tmp_path / 'out'],
        ['check-compensation', path, '--applied', path],
    ):
        capsys.readouterr()
        assert main([str(argument) for argument in arguments]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_there_is_one_reader_and_one_way_to_start_python():
    """Else the next document is read without bounds, and the next process takes code from the working folder."""
    root = Path(__file__).parents[1] / 'src' / 'joint_dynamics'
    text = {str(path.relative_to(root)): path.read_text(encoding='utf-8') for path in root.rglob('*.py')}
    assert [name for name in text if re.search(r'yaml\.(safe_|full_|unsafe_)?load', text[name])] == ['documents.py']
    assert sorted(name for name in text if 'sys.executable' in text[name]) == ['cli/doctor.py', 'python_process.py']
    assert 'environment()' in text['cli/doctor.py']
