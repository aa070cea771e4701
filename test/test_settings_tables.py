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

"""The tables of settings in docs/ are those of the declarations, and every class of settings has one."""

import dataclasses
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import joint_dynamics
from joint_dynamics.control import FillSettings
from joint_dynamics.estimation import EstimationSettings
from joint_dynamics.settings import Settings, declarations
from joint_dynamics.settings.documentation import filled, main, named

DOCS = Path(__file__).parents[1] / 'docs'
PAGES = {str(path.relative_to(DOCS)): path.read_text(encoding='utf-8') for path in sorted(DOCS.rglob('*.md'))}
TABLED = {name: named(page) for name, page in PAGES.items() if named(page)}
OF_NODES = [(EstimationSettings, 'estimator'), (FillSettings, 'feedforward')]


@pytest.mark.parametrize('name', TABLED)
def test_tables_are_as_declared(name):
    assert PAGES[name] == filled(PAGES[name]), 'run: make docs'


def settings_classes():
    for module in pkgutil.walk_packages(joint_dynamics.__path__, 'joint_dynamics.'):
        # What imports ROS has no settings of its own; of the demonstration they stand apart for that.
        if not module.name.startswith(('joint_dynamics.nodes', 'joint_dynamics.demo', 'joint_dynamics.__main__')):
            importlib.import_module(module.name)
    importlib.import_module('joint_dynamics.demo')
    found, left = set(), [Settings]
    while left:
        left += (below := [cls for cls in left.pop().__subclasses__() if cls.__module__.startswith('joint_dynamics.')])
        found.update(below)
    return sorted(found, key=lambda cls: cls.__name__)


def test_every_class_of_settings_has_a_table():
    tabled = {name.rpartition('.')[2] for names in TABLED.values() for name in names}
    # a class that others are made from is in their tables
    missing = {cls.__name__ for cls in settings_classes() if not cls.__subclasses__()} - tabled
    assert missing == {cls.__name__ for cls, _ in OF_NODES}


@pytest.mark.parametrize(('cls', 'node'), OF_NODES)
def test_settings_of_a_node_are_its_parameters(cls, node):
    """Their table is that of the node, which is made from the same declarations."""
    _, _, table = PAGES[f'reference/nodes/{node}.md'].partition('<!-- parameters -->')
    rows = re.findall(r'^\| `(?:default_)?(\w+)(?:\.<joint>)?` \|', table.partition('<!-- end -->')[0], re.MULTILINE)
    assert set(declarations(cls)) <= set(rows)


@pytest.mark.parametrize('cls', settings_classes(), ids=lambda cls: cls.__name__)
def test_every_setting_is_declared_whole(cls):
    declared = declarations(cls)
    assert [item.name for item in dataclasses.fields(cls)] == list(declared)
    for name, (_, declaration) in declared.items():
        assert declaration.meaning, name
        assert not declaration.meaning.endswith('.'), name


def test_a_table_is_written_between_its_markers(tmp_path):
    page = 'a\n<!-- settings estimation.HealthThresholds -->\nbygone\n<!-- end -->\nb\n'
    (tmp_path / 'page.md').write_text(page, encoding='utf-8')
    assert main([str(tmp_path)]) == 0
    new = (tmp_path / 'page.md').read_text(encoding='utf-8')
    assert '| `deviations` | `2.0` | ≥ 0 | deviations of the estimate that a change must exceed |' in new
    assert 'bygone' not in new
    assert new.startswith('a\n')
    assert new.endswith('<!-- end -->\nb\n')
    assert filled(new) == new
