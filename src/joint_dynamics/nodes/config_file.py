"""The configuration file of a node: one section of a YAML document."""
from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from joint_dynamics.errors import JointDynamicsError


def section_of(path: str, name: str) -> dict[str, Any]:
    """Return the section `name` of the YAML file at `path`, {} where it has none or `path` is empty. Raises JointDynamicsError."""
    if not path:
        return {}
    try:
        document = yaml.safe_load(Path(path).expanduser().read_text(encoding='utf-8')) or {}
        return dict(document.get(name) or {})
    except (OSError, UnicodeDecodeError, yaml.YAMLError, AttributeError, TypeError, ValueError) as error:
        raise JointDynamicsError(f'config_file: expected a YAML file with a section {name}, cannot read {path}: {error}') from None
