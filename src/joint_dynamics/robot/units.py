"""Units of what a joint moves by and is driven with: rad and N·m where it turns, m and N where it slides."""

from __future__ import annotations

from collections.abc import Iterable

#: Unit of a quantity of a sliding joint, by that of a turning one.
SLIDING = {
    'mrad': 'mm',
    'rad': 'm',
    'rad/s': 'm/s',
    'rad/s²': 'm/s²',
    'N·m': 'N',
    'N·m/rad': 'N/m',
    'N·m·s/rad': 'N·s/m',
    'kg·m²': 'kg',
}


def joint_unit(turning: str, slides: bool) -> str:
    """Return the unit of a joint's quantity; turning: its unit where the joint turns, a key of `SLIDING`."""
    return SLIDING[turning] if slides else turning


def column_unit(turning: str, sliding: Iterable[bool]) -> str:
    """Return the unit that heads a column with a row per joint: both units where some joints slide and others turn."""
    units = {joint_unit(turning, bool(slides)) for slides in sliding}
    return ' or '.join(sorted(units, key=lambda unit: unit != turning))
