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

import os

import pytest
import yaml

from joint_dynamics.cli.main import main
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.documents import MAX_BYTES, MAX_DEPTH, parse_json, parse_xml, parse_yaml, read_text
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation import load_trajectory
from joint_dynamics.robot import RobotModel

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


ENTITIES = (
    '<!DOCTYPE r ['
    + '<!ENTITY a0 "xxxxxxxxxx">'
    + ''.join(f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, 12))
    + ']><r>&a11;</r>'
)
REFUSED = {
    **{f'yaml, {name}': (parse_yaml, text) for name, text in BOMBS.items()},
    **{
        f'json, {text[:6]}': (parse_json, text)
        for text in ('[' * 50_000, '{"a":' * 20_000, '9' * 6000, '', '{', 'a' * (MAX_BYTES + 1))
    },
    **{
        f'xml, {text[:20]}': (parse_xml, text)
        for text in (
            '<a>' * 50_000, '<a>' * 5000 + '</a>' * 5000, ENTITIES, '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
            '<a>', '', '\ud800', '<a/>' + ' ' * MAX_BYTES,
        )
    },
}  # fmt: skip


@pytest.mark.parametrize(('parse', 'text'), REFUSED.values(), ids=REFUSED)
def test_dangerous_documents_are_one_short_error(parse, text):
    with pytest.raises(JointDynamicsError) as caught:
        parse(text, 'thing')
    assert str(caught.value).startswith('thing: ')
    assert '\n' not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ('parse', 'text', 'named'),
    [
        (parse_yaml, 'a: 1\nb: 2\na: 3', "'a'"),
        (parse_yaml, 'x: [{a: {b: 1}, c: 2, a: 3}]', "'a'"),
        (parse_yaml, 'x: &n mass\n*n : 1\nmass: 2', "'mass'"),
        (parse_yaml, '? &n mass\n: 1\nb: {*n : 1, *n : 2}', "'mass'"),
        (parse_yaml, 'mode: 0777', '511'),
        (parse_yaml, 'time: 1:30:00', '5400'),
        (parse_yaml, 'gain: [1_0.5]', '10.5'),
        (parse_json, '{"a": 1, "b": {"b": 2}, "b": 3}', "'b'"),
    ],
)
def test_repeated_keys_and_surprising_numbers_are_named(parse, text, named):
    with pytest.raises(JointDynamicsError) as caught:
        parse(text, 'thing')
    assert str(caught.value).startswith('thing: ') and named in str(caught.value)


def test_similar_yaml_is_read():
    text = 'a: "0777"\nb: \'1:30:00\'\nc: 0.5\nd: 0\ne: [a, a]\nf: {a: 1}\ng: {a: 2}\nh: 2026-01-02\ni: 1e-3\nj: v_1_0'
    found = parse_yaml(text, 'thing')
    assert [found[key] for key in 'abcdejfg'] == ['0777', '1:30:00', 0.5, 0, ['a', 'a'], 'v_1_0', {'a': 1}, {'a': 2}]
    merged = parse_yaml('a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\nc: &c {<<: *a, y: 5}\nd: {<<: *c}', 'thing')
    assert (merged['b'], merged['d']) == ({'x': 3, 'y': 2}, {'x': 1, 'y': 5})


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
    with pytest.raises(JointDynamicsError):
        parse_yaml(yaml.safe_dump([nested]), 'thing')
    assert parse_yaml('{a: "' + '[' * 5000 + '"}', 'thing') == {'a': '[' * 5000}


@pytest.mark.parametrize(
    ('name', 'found'),
    [('pipe', 'pipe'), ('large', '20000000000'), ('.', 'folder'), ('none', 'such file'), ('binary', 'binary')],
)
def test_path_without_readable_text_is_refused(tmp_path, name, found):
    os.mkfifo(tmp_path / 'pipe')
    with (tmp_path / 'large').open('wb') as file:
        file.truncate(20 * 10**9)
    (tmp_path / 'binary').write_bytes(b'\xff\xfe\x00')
    with pytest.raises(JointDynamicsError) as caught:
        read_text(tmp_path / name, 'thing')
    assert found in str(caught.value)


@pytest.mark.parametrize(
    'text', [text for name, text in BOMBS.items() if name != 'large'], ids=[name for name in BOMBS if name != 'large']
)
def test_every_reader_of_documents_is_bounded(tmp_path, capsys, text):
    path = tmp_path / 'document.yaml'
    path.write_text(text)
    for read in (DynamicsDescription.load, RobotModel.load, load_trajectory):
        with pytest.raises(JointDynamicsError):
            read(path)
    with pytest.raises(JointDynamicsError):
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
