"""The configuration file of a node: one section of a YAML document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from joint_dynamics.documents import parse_yaml, read_text
from joint_dynamics.errors import JointDynamicsError


def section_of(path: str, name: str) -> dict[str, Any]:
    """Return the section `name` of the YAML file at `path`, {} where it has none or `path` is empty.

    Raises JointDynamicsError.
    """
    if not path:
        return {}
    document = parse_yaml(read_text(path, f'config_file {path}'), f'config_file {path}') or {}
    section = (document.get(name) or {}) if isinstance(document, Mapping) else None
    if not isinstance(section, Mapping):
        raise JointDynamicsError(f'config_file {path}: expected a YAML file with a section {name}, found none')
    return dict(section)
