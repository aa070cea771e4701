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

"""Documents from outside (YAML, JSON, XML).

Read with bounds on size, depth and expansion, before anything is built from them.

The parsers behind (libyaml's composer, CPython's json, recursive walks of a tree) recurse once per level and end the
process when the stack does; an alias may stand for a million nodes. So the depth, the number of nodes and what aliases
expand to are counted first, on the stream of events, which needs neither recursion nor memory.
"""

from __future__ import annotations

import json
import re
import stat
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from joint_dynamics.errors import JointDynamicsError

#: Greatest size of a document in bytes. A URDF with all its pictures or a description has a few hundred thousand.
MAX_BYTES = 4 * 1024**2
#: Greatest nesting of mappings, lists and elements; what this package writes has less than ten levels.
MAX_DEPTH = 60
#: Greatest number of values, each alias counted as often as what it stands for.
MAX_NODES = 300_000
_LOADER: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
# What the constructors of PyYAML let through beside their own error, for text such as `!!int ''`, `2026-13-40` or 5,000
# digits.
_CONSTRUCTION = (yaml.YAMLError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
#: Greatest length of a name; ROS has 255 for a whole topic.
MAX_NAME = 100
# What YAML 1.1 reads as a number that nobody means: 0777 as 511, 1:30:00 as 5400, 1_0.5 as 10.5.
_STRANGE_NUMBER = re.compile(r'[-+]?(0[0-7_]+|[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?|[0-9][0-9.]*_[0-9_.e+-]*)')
_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)


def read_bytes(path: str | Path, what: str, max_bytes: int = MAX_BYTES) -> bytes:
    """Return the content of a regular file of at most `max_bytes`.

    `what` begins the message where it is something else.

    Raises
    ------
    JointDynamicsError
        For what cannot be read, is too large, or is no file (a pipe or a device may never end).
    """
    path = Path(path).expanduser()
    try:
        check_file(path, what, max_bytes)
        with path.open('rb') as file:
            # A file may grow, and those of /proc have size 0.
            data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, JointDynamicsError):
            raise
        raise JointDynamicsError(
            f'{what}: expected a readable file, found: {getattr(error, "strerror", None) or error}'
        ) from None
    if len(data) > max_bytes:
        raise _too_large(what, f'more than {len(data) - 1}', max_bytes)
    return data


def check_file(path: Path, what: str, max_bytes: int) -> None:
    """Raise JointDynamicsError unless `path` is a regular file of at most `max_bytes`; OSError where there is none."""
    check_regular(path, what)
    size = path.stat().st_size
    if size > max_bytes:
        raise _too_large(what, str(size), max_bytes)


def check_regular(path: Path, what: str) -> None:
    """Raise JointDynamicsError unless `path` is a regular file: reading a pipe or a device may never end."""
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFDIR: 'a folder', stat.S_IFIFO: 'a named pipe', stat.S_IFSOCK: 'a socket'}
        kind = kinds.get(stat.S_IFMT(mode), 'a device')
        raise JointDynamicsError(f'{what}: expected a file that can be read to its end, found {kind}')


def read_text(path: str | Path, what: str, max_bytes: int = MAX_BYTES) -> str:
    """Return the text (UTF-8) of a file, bounded as by `read_bytes`; raise JointDynamicsError for what is none."""
    try:
        return read_bytes(path, what, max_bytes).decode('utf-8-sig')
    except UnicodeDecodeError:
        raise JointDynamicsError(f'{what}: expected text, found a binary file') from None


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
        return yaml.load(text, Loader=_LOADER)
    except JointDynamicsError:
        raise
    except _CONSTRUCTION as error:
        found, mark = _one_line(error), getattr(error, 'problem_mark', None)
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

    Then no two differ by what nobody sees: Cyrillic letters, spaces without width, line breaks.
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
    """Return the data of a JSON text, bounded in size and depth; raises JointDynamicsError, beginning with `what`."""
    _check_size(text, what, max_bytes)
    depth = 0
    for character in re.findall(r'[\[\]{}]', _STRINGS.sub('', text)):
        depth += 1 if character in '[{' else -1
        if depth > MAX_DEPTH:
            raise _too_deep(what)
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _each_once(pairs, what))
    except JointDynamicsError:
        raise
    except ValueError as error:
        raise JointDynamicsError(f'{what}: expected JSON, found: {_one_line(error)}') from None


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
        raise JointDynamicsError(f'{what}: expected XML, found text that does not parse: {_one_line(error)}') from None


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


@dataclass
class _Node:
    """A value of a YAML document, with aliases counted as the value they stand for."""

    text: str | None = None  # of a scalar
    size: int = 1  # values in it, itself included
    levels: int = 0  # of collections in it, itself included
    anchor: str | None = None
    keys: set[str | None] | None = None  # of a mapping, as far as it was read
    awaits_key: bool = True  # of a mapping: whether the next value is a key

    def add(self, value: _Node, what: str) -> None:
        """Add a complete value of this collection; refuse a key that is there already."""
        self.size += value.size
        self.levels = max(self.levels, 1 + value.levels)
        if self.keys is not None:
            if self.awaits_key and value.text is not None:
                if value.text in self.keys:
                    raise _twice(what, value.text)
                self.keys.add(value.text)
            self.awaits_key = not self.awaits_key


def _check_yaml(text: str, what: str, max_nodes: int) -> None:
    """Refuse a document that is too deep, expands to too much, repeats a key, or has an ambiguous number.

    Events come one by one, without recursion.
    """
    anchors: dict[str | None, _Node] = {}
    open_: list[_Node] = []
    count = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, (yaml.SequenceStartEvent, yaml.MappingStartEvent)):
            keys: set[str | None] | None = set() if isinstance(event, yaml.MappingStartEvent) else None
            node = _Node(levels=1, anchor=event.anchor, keys=keys)
            anchors.pop(event.anchor, None)  # an alias within the collection would be recursive
            open_.append(node)
        elif isinstance(event, (yaml.SequenceEndEvent, yaml.MappingEndEvent)):
            node = open_.pop()
            count -= node.size
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise JointDynamicsError(
                    f'{what}: expected an alias of a value that is complete, found *{event.anchor}'
                )
            node = anchors[event.anchor]
        elif isinstance(event, yaml.ScalarEvent):
            if event.implicit[0] and _STRANGE_NUMBER.fullmatch(event.value):
                raise JointDynamicsError(
                    f'{what}: expected decimal numbers, found {event.value[:40]}, which YAML reads as '
                    f'{yaml.safe_load(event.value[:40])!r}: write that, or quote it where it is text'
                )
            node = _Node(event.value, anchor=event.anchor)
        else:
            continue
        begins = bool(open_) and node is open_[-1]
        if not begins:
            if node.anchor is not None:
                anchors[node.anchor] = node
            if open_:
                open_[-1].add(node, what)
        if len(open_) + (0 if begins else node.levels) > MAX_DEPTH:
            raise _too_deep(what)
        count += node.size
        if count > max_nodes:
            raise JointDynamicsError(
                f'{what}: expected at most {max_nodes} values, found more (each alias counts as what it stands for)'
            )


def _check_size(text: str, what: str, max_bytes: int) -> None:
    if len(text) > max_bytes:
        raise _too_large(what, str(len(text)), max_bytes)


def _too_large(what: str, found: str, max_bytes: int) -> JointDynamicsError:
    return JointDynamicsError(f'{what}: expected at most {max_bytes} bytes, found {found}')


def _too_deep(what: str) -> JointDynamicsError:
    return JointDynamicsError(f'{what}: expected at most {MAX_DEPTH} levels of nesting, found more')


def _one_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


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
