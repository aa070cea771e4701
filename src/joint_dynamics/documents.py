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

"""Documents from outside (YAML, JSON, XML), read with bounds on size, depth and expansion.

The parsers (libyaml's composer, CPython's json, recursive walks of a tree) recurse once per level and end the process
when the stack does; an alias may stand for a million nodes. The stream of events is therefore counted first, without
recursion and memory: depth, nodes, and the expansion of aliases.
"""

from __future__ import annotations

import json
import re
import stat
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from joint_dynamics.errors import JointDynamicsError, one_line

MAX_BYTES = 4 * 1024**2  # bytes of a document; a URDF or a description has a few hundred thousand
MAX_DEPTH = 60  # levels of mappings, lists and elements; documents of this package have less than ten
MAX_NODES = 300_000  # values, aliases expanded
MAX_NAME = 100  # characters of a name; ROS has 255 for a whole topic
_LOADER: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
# Errors of PyYAML's constructors beside its own, for text such as `!!int ''`, `2026-13-40` or 5,000 digits.
_CONSTRUCTION = (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
# Text that YAML 1.1 reads as a surprising number: 0777 as 511, 1:30:00 as 5400, 1_0.5 as 10.5.
_STRANGE_NUMBER = re.compile(r'[-+]?(0[0-7_]+|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|[0-9][0-9.]*_[0-9_.e+-]*)')


def check_file(path: Path, what: str, max_bytes: int | None = None) -> None:
    """Raise JointDynamicsError unless `path` is a regular file of at most `max_bytes`; OSError where there is none.

    Reading a pipe or a device may never end.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        kinds = {stat.S_IFDIR: 'a folder', stat.S_IFIFO: 'a named pipe', stat.S_IFSOCK: 'a socket'}
        kind = kinds.get(stat.S_IFMT(status.st_mode), 'a device')
        raise JointDynamicsError(f'{what}: expected a file that can be read to its end, found {kind}')
    if max_bytes is not None and status.st_size > max_bytes:
        raise _too_large(what, status.st_size, max_bytes)


def read_text(path: str | Path, what: str, max_bytes: int = MAX_BYTES) -> str:
    """Return the text (UTF-8) of a regular file of at most `max_bytes`.

    Raises
    ------
    JointDynamicsError
        Beginning with `what`, for an unreadable, too large, binary or irregular file (a pipe or a device may never
        end).
    """
    path = Path(path).expanduser()
    try:
        check_file(path, what, max_bytes)
        with path.open('rb') as file:
            # A file may grow, and those of /proc have size 0: `parse_…` checks the size again.
            return file.read(max_bytes + 1).decode('utf-8-sig')
    except JointDynamicsError:
        raise
    except UnicodeDecodeError:
        raise JointDynamicsError(f'{what}: expected text, found a binary file') from None
    except (OSError, ValueError) as error:
        raise JointDynamicsError(
            f'{what}: expected a readable file, found: {getattr(error, "strerror", None) or error}'
        ) from None


def parse_yaml(text: str, what: str, max_bytes: int = MAX_BYTES, max_nodes: int = MAX_NODES) -> Any:
    """Return the plain data of one YAML document (safe tags only).

    Bounded in size, depth, number of values and expansion of aliases.

    Raises
    ------
    JointDynamicsError
        Beginning with `what`, for text that is too large, too deep, recursive or no YAML.
    """
    _check_size(text, what, max_bytes)
    try:
        _check_yaml(text, what, max_nodes)
        loader = _EachKeyOnce(text)
        loader.what = what
        try:
            return loader.get_single_data()
        finally:
            loader.dispose()
    except JointDynamicsError:
        raise
    except _CONSTRUCTION as error:
        found, mark = one_line(error), getattr(error, 'problem_mark', None)
        if mark is not None:
            found = f'{getattr(error, "problem", found)} (line {mark.line + 1}, column {mark.column + 1})'
        raise JointDynamicsError(f'{what}: expected YAML, found: {found}') from None


def number(text: str) -> float:
    """Return a decimal number, `inf` or `nan`; raise ValueError for other text.

    Python's `float` takes digits of other scripts and `1_0.5`, which is 1 to other readers of the same file.
    """
    if '_' in text or not text.isascii():
        raise ValueError(f'{text[:40]!r}')
    return float(text)


def check_name(name: object, where: str) -> None:
    """Raise JointDynamicsError unless this is a name of printable ASCII, without spaces around it, of at most MAX_NAME.

    No two names then differ invisibly: by Cyrillic letters, spaces without width, line breaks.
    """
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME or name != name.strip():
        found = f'one of {len(name)} characters' if isinstance(name, str) and len(name) > MAX_NAME else repr(name)
        raise JointDynamicsError(
            f'{where}: expected a name of 1 to {MAX_NAME} characters without spaces around it, found {found}'
        )
    if not (name.isascii() and name.isprintable()):
        raise JointDynamicsError(
            f'{where}: expected a name of printable ASCII characters, so that no two look alike, found {name!a}'
        )


def parse_json(text: str, what: str, max_bytes: int = MAX_BYTES) -> Any:
    """Return the data of a JSON text, bounded in size, and in depth by Python's recursion.

    Raises JointDynamicsError, beginning with `what`.
    """
    _check_size(text, what, max_bytes)
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _each_once(pairs, what))
    except RecursionError:
        raise JointDynamicsError(f'{what}: expected JSON of a few levels of nesting, found too many') from None
    except JointDynamicsError:
        raise
    except ValueError as error:
        raise JointDynamicsError(f'{what}: expected JSON, found: {one_line(error)}') from None


def parse_xml(text: str, what: str) -> ET.Element:
    """Return the root of an XML text, bounded in size and depth and without a document type.

    A document type may define entities that expand.

    Raises
    ------
    JointDynamicsError
        Beginning with `what`.
    """
    _check_size(text, what, MAX_BYTES)
    try:
        return ET.XML(text, ET.XMLParser(target=_BoundedTree(what)))
    except JointDynamicsError:
        raise
    except (ET.ParseError, ValueError, LookupError) as error:
        raise JointDynamicsError(f'{what}: expected XML, found text that does not parse: {one_line(error)}') from None


class _BoundedTree(ET.TreeBuilder):
    def __init__(self, what: str) -> None:
        super().__init__()
        self._what, self._depth = what, 0

    def start(self, tag: str, attributes: dict[str, str], /) -> ET.Element:
        self._depth += 1
        if not self._depth <= MAX_DEPTH:
            raise _too_deep(self._what)
        return super().start(tag, attributes)

    def end(self, tag: str, /) -> ET.Element:
        self._depth -= 1
        return super().end(tag)

    def doctype(self, *_: object) -> None:
        raise JointDynamicsError(
            f'{self._what}: expected XML without a document type (<!DOCTYPE …>), found one; entities are not expanded'
        )


def _each_once(pairs: list[tuple[str, Any]], what: str) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    for name, value in pairs:
        if name in mapping:
            raise _twice(what, name)
        mapping[name] = value
    return mapping


def _twice(what: str, key: str) -> JointDynamicsError:
    return JointDynamicsError(f'{what}: expected each key once, found {key[:MAX_NAME]!r} twice')


class _EachKeyOnce(_LOADER):  # type: ignore[misc]
    """Safe loader that refuses a repeated key; `what` begins its message."""

    what = 'YAML'

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> Any:
        """Return the mapping of a node. Raises JointDynamicsError for a repeated key."""
        keys = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in keys:
                    raise _twice(self.what, key.value)
                keys.add(key.value)
        return super().construct_mapping(node, deep)


def _check_yaml(text: str, what: str, max_nodes: int) -> None:
    """Refuse a document that is too deep, expands to too much, or has an ambiguous number; without recursion."""
    anchors: dict[str | None, tuple[int, int]] = {}  # values and levels of a complete value
    open_: list[tuple[str | None, int]] = []  # anchor of each open collection, and the values before it
    levels: list[int] = []  # of each open collection, as far as it was read
    count = 0
    for event in yaml.parse(text, Loader=_LOADER):
        anchor, depth = getattr(event, 'anchor', None), 0
        if isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            anchors.pop(anchor, None)  # an alias within the collection would be recursive
            open_.append((anchor, count))
            levels.append(1)
            count += 1
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            (anchor, before), depth = open_.pop(), levels.pop()
            anchors[anchor] = count - before, depth
        elif isinstance(event, yaml.AliasEvent):
            if anchor not in anchors:
                raise JointDynamicsError(f'{what}: expected an alias of a value that is complete, found *{anchor}')
            size, depth = anchors[anchor]
            count += size
        elif isinstance(event, yaml.ScalarEvent):
            if event.implicit[0] and _STRANGE_NUMBER.fullmatch(event.value):
                raise JointDynamicsError(
                    f'{what}: expected decimal numbers, found {event.value[:40]}, which YAML reads as '
                    f'{yaml.safe_load(event.value[:40])!r}: write that, or quote it where it is text'
                )
            anchors[anchor] = 1, 0
            count += 1
        if levels:
            levels[-1] = max(levels[-1], 1 + depth)
        if len(levels) + depth > MAX_DEPTH:
            raise _too_deep(what)
        if count > max_nodes:
            raise JointDynamicsError(f'{what}: expected at most {max_nodes} values, found more (aliases expanded)')


def _check_size(text: str, what: str, max_bytes: int) -> None:
    if len(text) > max_bytes:
        raise _too_large(what, len(text), max_bytes)


def _too_large(what: str, found: int, most: int) -> JointDynamicsError:
    return JointDynamicsError(f'{what}: expected at most {most} bytes, found {found}')


def _too_deep(what: str) -> JointDynamicsError:
    return JointDynamicsError(f'{what}: expected at most {MAX_DEPTH} levels of nesting, found more')


def section_of(path: str, name: str) -> dict[str, Any]:
    """Return the section `name` of the YAML file at `path`, {} where it has none or `path` is empty.

    Raises JointDynamicsError where the file cannot be read.
    """
    if not path:
        return {}
    document = parse_yaml(read_text(path, f'config_file {path}'), f'config_file {path}') or {}
    section = (document.get(name) or {}) if isinstance(document, Mapping) else None
    if not isinstance(section, Mapping):
        raise JointDynamicsError(f'config_file {path}: expected a YAML file with a section {name}, found none')
    return dict(section)
