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

"""The links of README and CONTRIBUTING, the pages of the commands, and the Python example of README."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINK = re.compile(r'\]\(([^)#\s]+)(?:#[^)]*)?\)')


def links(page):
    return [
        (page.parent / target).resolve()
        for target in LINK.findall(page.read_text(encoding='utf-8'))
        if '://' not in target
    ]


@pytest.mark.parametrize('name', ['README.md', 'CONTRIBUTING.md'])
def test_links_have_targets(name):
    """Links of docs/ are checked by the build of the site."""
    found = links(ROOT / name)
    assert found
    assert [str(target) for target in found if not target.exists()] == []


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
