"""The UR5e that ships with the package."""

from __future__ import annotations

import re
from pathlib import Path


def ur5e_urdf() -> Path:
    """Return the path of the UR5e's URDF that ships with the package."""
    return Path(__file__).with_name('ur5e.urdf')


def ur5e_description(prefix: str = '') -> str:
    """Return the UR5e's URDF as text, `prefix` before every name of a link and a joint.

    As `tf_prefix` of robot drivers.
    """
    text = ur5e_urdf().read_text(encoding='utf-8')
    return re.sub(r'<(link|joint) name="|(parent|child) link="', lambda match: match.group(0) + prefix, text)
