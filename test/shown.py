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

"""The commands on README and docs/, for the tests that check or run them."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / 'README.md', ROOT / 'CONTRIBUTING.md', *sorted((ROOT / 'docs').rglob('*.md'))]
NODES = sorted(path.parent.name for path in (ROOT / 'src/joint_dynamics/nodes').glob('*/node.py'))
#: Commands of other packages, not checked here.
OTHERS = re.compile(
    r'(sudo apt|cd |git clone|export |colcon|rosdep|pip install|\. |ros2 (bag|control|doctor|security|pkg|lifecycle) '
    r'|ros2 run (controller_manager|my_package) |ros2 launch ur_robot_driver '
    r'|ros2 service call /friction_model_controller/)'
)
OURS = re.compile(r'(joint-dynamics|ros2|make|python3?|pytest)\s')
#: Marks of a command's form, as in `[--out DIR]`.
FORM = re.compile(r'\[|…|\.\.\.|\|')


def blocks(text):
    """Blocks of commands: fenced without a language of its own, or indented after an empty line."""
    fenced = re.compile(r'^( *)```(\w*)\n(.*?)^ *```', re.MULTILINE | re.DOTALL)
    yield from (body for _, language, body in fenced.findall(text) if language in ('', 'bash', 'sh'))
    yield from re.findall(r'(?:^ {4,}\S.*\n)+', fenced.sub('', text), re.MULTILINE)


def commands(page):
    """Commands of a page, one line each, without comments and environment variables."""
    text = page.read_text(encoding='utf-8') + '\n'
    # within a line a launch stands whole, and another command may be cut short: its options count
    yield from re.findall(r'`(ros2 launch joint_dynamics \w[^`]*)`', text)
    yield from (f'{command} …' for command in re.findall(r'`(joint-dynamics \w[^`]* -[^`]*)`', text))
    for block in blocks(text):
        # a form may go on without a backslash
        for line in re.sub(r'\\\n\s*|\n\s+(?=\[)', ' ', block).splitlines():
            for part in re.split(r' && |; |\|(?= grep)', re.sub(r'\s+#\s.*', '', line)):
                command = re.sub(r'^(?:[A-Z_]+=\S+ )+', '', part.strip()).replace(
                    'ros2 run joint_dynamics joint-dynamics', 'joint-dynamics'
                )
                if OURS.match(command) and not OTHERS.match(command):
                    yield command


#: (page, command) of all.
SHOWN = [(str(page.relative_to(ROOT)), command) for page in PAGES for command in commands(page)]


def starts(command, words):
    return command.split()[: len(words)] == list(words)
