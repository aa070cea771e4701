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

"""The tables in docs/ that come from the nodes' own tables.

`python -m joint_dynamics.nodes.framework.documentation docs` writes them anew.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from pathlib import Path

import joint_dynamics.nodes
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.lifecycle import DynamicsNode
from joint_dynamics.nodes.framework.tables import documentation_table, topic_table


def node_classes() -> dict[str, type[DynamicsNode]]:
    """Return every node of this package by name, in the order of the names."""
    classes = {}
    for folder in sorted(Path(joint_dynamics.nodes.__path__[0]).glob('*/node.py')):
        module = importlib.import_module(f'joint_dynamics.nodes.{folder.parent.name}.node')
        for _, member in inspect.getmembers(module, inspect.isclass):
            if member.__module__ == module.__name__ and issubclass(member, DynamicsNode):
                classes[member.NAME] = member
    return dict(sorted(classes.items()))


def filled(page: str, node_class: type[DynamicsNode]) -> str:
    """Return the page with both tables as they must be.

    Between `<!-- parameters -->` or `<!-- topics -->` and `<!-- end -->`.

    Raises
    ------
    JointDynamicsError
        When a marker is missing.
    """
    tables = {
        'parameters': documentation_table(node_class.parameter_rows()),
        'topics': topic_table(node_class.topic_rows()),
    }
    for name, table in tables.items():
        pattern = re.compile(rf'(<!-- {name} -->\n).*?(<!-- end -->)', re.DOTALL)
        match = pattern.search(page)
        if not match:
            raise JointDynamicsError(
                f'docs of {node_class.NAME}: expected the lines <!-- {name} --> and <!-- end -->, found none'
            )
        page = page[: match.end(1)] + f'\n{table}\n\n' + page[match.start(2) :]
    return page


def main(arguments: list[str] | None = None) -> int:
    """Write the tables of all nodes, or of those named after the folder; return the exit status."""
    folder, *names = sys.argv[1:] if arguments is None else arguments
    for name, node_class in node_classes().items():
        if not names or name in names:
            path = Path(folder) / 'reference' / 'nodes' / f'{name}.md'
            path.write_text(filled(path.read_text(encoding='utf-8'), node_class), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
