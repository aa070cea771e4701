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

`python -m joint_dynamics.nodes.framework.documentation docs` writes them anew. Rows that several nodes share stand
once, on the page of all nodes.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import joint_dynamics.nodes
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.nodes.framework.lifecycle import DynamicsNode
from joint_dynamics.nodes.framework.tables import ParameterRow, TopicRow, documentation_table, topic_table

SHARING = 3  # nodes with the same row, from which it stands on the page of all nodes


@cache
def node_classes() -> dict[str, type[DynamicsNode]]:
    """Return every node of this package by name, in the order of the names."""
    classes = {}
    for folder in sorted(Path(joint_dynamics.nodes.__path__[0]).glob('*/node.py')):
        module = importlib.import_module(f'joint_dynamics.nodes.{folder.parent.name}.node')
        for _, member in inspect.getmembers(module, inspect.isclass):
            if member.__module__ == module.__name__ and issubclass(member, DynamicsNode):
                classes[member.NAME] = member
    return dict(sorted(classes.items()))


def shared_rows() -> tuple[Sequence[ParameterRow], Sequence[TopicRow]]:
    """Return the parameters and the topics that at least `SHARING` nodes have, in the order of their first node."""
    classes = node_classes().values()
    parameters = [row for node_class in classes for row in node_class.parameter_rows()]
    topics = [row for node_class in classes for row in node_class.topic_rows()]
    shared_parameters: list[ParameterRow] = []
    for row in parameters:
        if parameters.count(row) >= SHARING and row not in shared_parameters:
            shared_parameters.append(row)
    return shared_parameters, [row for row in dict.fromkeys(topics) if topics.count(row) >= SHARING]


def filled(page: str, node_class: type[DynamicsNode] | None = None) -> str:
    """Return the page of a node, or that of all nodes, with both tables as they must be.

    Between `<!-- parameters -->` or `<!-- topics -->` and `<!-- end -->`.

    Raises
    ------
    JointDynamicsError
        When a marker is missing.
    """
    parameters, topics = shared_rows()
    if node_class is not None:
        parameters = [row for row in node_class.parameter_rows() if row not in parameters]
        topics = [row for row in node_class.topic_rows() if row not in topics]
    for name, table in {'parameters': documentation_table(parameters), 'topics': topic_table(topics)}.items():
        pattern = re.compile(rf'(<!-- {name} -->\n).*?(<!-- end -->)', re.DOTALL)
        match = pattern.search(page)
        if not match:
            where = 'all nodes' if node_class is None else node_class.NAME
            raise JointDynamicsError(
                f'docs of {where}: expected the lines <!-- {name} --> and <!-- end -->, found none'
            )
        page = page[: match.end(1)] + f'\n{table}\n\n' + page[match.start(2) :]
    return page


def main(arguments: list[str] | None = None) -> int:
    """Write the tables of all nodes; return the exit status."""
    (folder,) = sys.argv[1:] if arguments is None else arguments
    reference = Path(folder) / 'reference'
    pages: dict[Path, type[DynamicsNode] | None] = {reference / 'nodes.md': None}
    pages |= {reference / 'nodes' / f'{name}.md': node_class for name, node_class in node_classes().items()}
    for path, page_of in pages.items():
        path.write_text(filled(path.read_text(encoding='utf-8'), page_of), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main())
