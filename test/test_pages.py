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

"""README and docs: every link leads somewhere, every command and every page is reachable.

The Python examples run.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').rglob('*.md'))]
LINK = re.compile(r'\]\(([^)#\s]+)(?:#[^)]*)?\)')


def links(page):
    return [
        (page.parent / target).resolve()
        for target in LINK.findall(page.read_text(encoding='utf-8'))
        if '://' not in target
    ]


@pytest.mark.parametrize('page', PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert [str(target) for target in links(page) if not target.exists()] == []


def test_pages_named_in_code_and_configuration_are_there():
    folders = ('src', 'launch', 'config', 'test', 'bench', 'tools', 'ros2_control')
    kinds = ('.py', '.yaml', '.yml', '.json', '.md', '.rst', '.cpp', '.hpp', '.txt', '.xml', '.xacro')
    files = [
        path
        for folder in folders
        for path in (ROOT / folder).rglob('*')
        if path.suffix in kinds and not any(part.endswith('.egg-info') for part in path.parts)
    ]
    assert len(files) > 500
    named = {
        (str(path.relative_to(ROOT)), page)
        for path in files
        for page in re.findall(r'docs/[\w/]+\.(?:md|rst)', path.read_text(encoding='utf-8'))
    }
    assert len(named) > 30
    assert sorted(item for item in named if not (ROOT / item[1]).exists()) == []


def test_every_page_can_be_reached_from_the_readme():
    seen, ahead = set(), [ROOT / 'README.md']
    while ahead:
        page = ahead.pop()
        if page in seen or page.suffix != '.md' or not page.exists():
            continue
        seen.add(page)
        ahead += links(page)
    assert [str(page) for page in PAGES if page not in seen] == []


def test_every_command_has_a_page():
    from joint_dynamics.cli.main import COMMANDS

    assert [name for name in COMMANDS if not (ROOT / 'docs' / 'reference' / 'commands' / f'{name}.md').exists()] == []


def test_the_readmes_python_runs(tmp_path, monkeypatch, ur_table, true_arm_csv):
    """The example of README.md, with its file names pointing at a small recording."""
    import yaml

    monkeypatch.chdir(tmp_path)
    (tmp_path / 'robot.urdf').write_text(yaml.safe_dump(ur_table))
    for name in ('run1', 'run2'):
        (tmp_path / f'{name}.csv').write_text(true_arm_csv)
    (example,) = re.findall(r'```python\n(.*?)```', (ROOT / 'README.md').read_text(encoding='utf-8'), flags=re.DOTALL)
    names = {}
    example = example.replace("run1'", "run1.csv'").replace("run2'", "run2.csv'")
    exec(compile(example, 'README.md', 'exec'), names)
    assert (tmp_path / 'dynamics.yaml').exists()
    assert names['result'].summary()['validation_overall_percent'] < 10
