"""How sure the friction of one joint is, and what it is in each direction alone, as a description states it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class FrictionDetail:
    """What is known of the friction of one joint beside its torque.

    Attributes
    ----------
    deviations
        standard deviation of its parameters, by name.
    directions
        `positive` and `negative` with F_C, F_V1 and perhaps F_S of that direction alone, and their deviations
        `<name>_std`; empty where they were not told apart.

    """

    deviations: Mapping[str, float] = field(default_factory=dict)
    directions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
