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

"""A running estimation as a table in a terminal: estimates and health of each joint, contacts, and inputs.

It does not depend on the source of the values, which `joint-dynamics watch` fills in from topics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from joint_dynamics.robot.limits import joint_unit

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

#: Columns: heading and the quantity of `joint_dynamics.estimation.QUANTITIES`, shown where somebody gives it.
COLUMNS: tuple[tuple[str, str], ...] = (
    ('α1', 'friction_scale'),
    ('α2, N·m·s/rad', 'viscous_change'),
    ('stiffness, N·m/rad', 'stiffness'),
    ('°C', 'temperature'),
)
LEVELS = (('ok', 'green'), ('warning', 'yellow'), ('error', 'bold red'), ('stale', 'bold red'))
#: Level of a status that is old, as diagnostic_msgs has it.
STALE = 3
DASH = '–'
MAX_TEXT = 300  # characters of a name or message that are shown
MAX_ROWS = 100  # joints and conditions that are kept; a robot has fewer
MAX_PLACES = 9  # decimal places of a number
LARGE = 1e9  # numbers from here on are shown with an exponent


@dataclass
class Watched:
    """The last messages of one node.

    Attributes
    ----------
    values, deviations
        {quantity: {joint: number}}, NaN where there is none yet.
    torques
        {joint: (of the transmission, external)} in N·m.
    statuses
        {condition: (level 0 … 3, message)} of the diagnostics, in order of first arrival.
    joints
        in the robot's order.
    """

    node: str
    joints: list[str] = field(default_factory=list)
    values: dict[str, dict[str, float]] = field(default_factory=dict)
    deviations: dict[str, dict[str, float]] = field(default_factory=dict)
    torques: dict[str, dict[str, float]] = field(default_factory=dict)
    statuses: dict[str, tuple[int, str]] = field(default_factory=dict)

    def take(self, quantity: str, names: Sequence[str], values: Sequence[float], deviations: Sequence[float]) -> None:
        """Take values of one quantity by joint name; deviations may be empty."""
        self._add_joints(names)
        self.values[quantity] = dict(zip(names, values, strict=False))
        self.deviations[quantity] = dict(zip(names, deviations, strict=False))

    def take_torque(self, kind: str, names: Sequence[str], torques: Sequence[float]) -> None:
        """Take torques in N·m by joint name; kind: joint, external or friction."""
        self._add_joints(names)
        self.torques[kind] = dict(zip(names, torques, strict=False))

    def take_status(self, name: str, level: int, message: str) -> None:
        """Take one condition of /diagnostics, with its name as published; those of other nodes are ignored."""
        owner, _, condition = name.partition(': ')
        if owner == self.node and condition and (condition in self.statuses or len(self.statuses) < MAX_ROWS):
            self.statuses[condition] = level, message

    def _add_joints(self, names: Sequence[str]) -> None:
        new = [name for name in dict.fromkeys(names) if name not in self.joints]
        self.joints += new[: MAX_ROWS - len(self.joints)]


def plain(text: str) -> Text:
    """Return text from a topic without markup: control characters replaced, cut to MAX_TEXT."""
    from rich.text import Text

    return Text(''.join(each if each.isprintable() else '\N{REPLACEMENT CHARACTER}' for each in text[:MAX_TEXT]))


def with_deviation(value: float | None, deviation: float | None) -> str:
    """Return `1.234 ± 0.012`: two digits of the deviation, the value to the same decimal place; a dash for no value."""
    if value is None or not np.isfinite(value):
        return DASH
    if deviation is None or not 0 < deviation < LARGE or abs(value) >= LARGE:
        return f'{value:.4g}'.replace('-', '−')
    places = min(1 - int(np.floor(np.log10(deviation))), MAX_PLACES)
    if places < 0:
        value, deviation, places = round(value, places), round(deviation, places), 0
    return f'{value:.{places}f} ± {deviation:.{places}f}'.replace('-', '−')


def live_table(watched: Watched, age: float | None = None) -> RenderableType:
    """Return the table and, below it, the conditions of the node.

    Parameters
    ----------
    age
        s since the last message of the node, None: never.
    """
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    columns = [(head, quantity) for head, quantity in COLUMNS if quantity in watched.values]
    sliding = ', '.join(f'{joint_unit(unit, True)} for {unit}' for unit in ('N·m', 'N·m·s/rad', 'N·m/rad'))
    table = Table(header_style='bold', caption=f'of joints that slide: {sliding}', caption_justify='left')
    table.add_column('joint', no_wrap=True)
    for head in [head for head, _ in columns] + [f'{kind}, N·m' for kind in watched.torques]:
        table.add_column(head, justify='right', no_wrap=True)
    table.add_column('contact')
    table.add_column('health')
    for joint in watched.joints:
        cells: list[str | Text] = [plain(joint)]
        for _, quantity in columns:
            deviation = watched.deviations.get(quantity, {}).get(joint)
            cells.append(with_deviation(watched.values[quantity].get(joint), deviation))
        cells += [with_deviation(torques.get(joint), None) for torques in watched.torques.values()]
        cells += [_contact(watched, joint), _health(watched.values, joint)]
        table.add_row(*cells)
    lines = Table.grid(padding=(0, 2))
    for condition, (level, message) in watched.statuses.items():
        word, style = LEVELS[min(max(level, 0), STALE)]
        lines.add_row(Text(word, style), plain(condition), plain(message))
    title = Text(_title(watched, age), 'bold')
    return Group(title, table, lines) if watched.joints else Group(title, lines)


def _title(watched: Watched, age: float | None) -> str:
    if age is None:
        return f'{watched.node}: nothing received yet'
    # A second without a word is more than any of its topics takes.
    return watched.node if age < 2.0 else f'{watched.node}: silent for {age:.0f} s'


def _contact(watched: Watched, joint: str) -> Text:
    from rich.text import Text

    contact = watched.values.get('contact', {}).get(joint)
    if contact is None or not np.isfinite(contact):
        return Text(DASH)
    return Text('contact', 'bold red') if contact > 0 else Text('none')


def _health(values: Mapping[str, Mapping[str, float]], joint: str) -> Text:
    """Say the level, and by how much stiffness and Coulomb friction have changed."""
    from rich.text import Text

    level = values.get('health', {}).get(joint, np.nan)
    word, style = LEVELS[int(level)] if level in range(len(LEVELS)) else ('not known yet', 'dim')
    changes = []
    for quantity, name in (('stiffness_ratio', 'stiffness'), ('friction_ratio', 'friction')):
        ratio = values.get(quantity, {}).get(joint, np.nan)
        if np.isfinite(ratio):
            changes.append(f'{name} {100 * (ratio - 1):+.3g} %'.replace('-', '−'))
    return Text.assemble((word, style), f' ({", ".join(changes)})' if changes else '')
