"""Uncertainty of the friction of one joint, and its values in each direction, as a description states them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class FrictionDetail:
    """Uncertainty and direction dependence of the friction of one joint.

    Attributes
    ----------
    deviations
        standard deviation of its parameters, by name.
    directions
        `positive` and `negative` with F_C, F_V1 and, where measured, F_S of that direction alone, and their deviations
        `<name>_std`; empty where the directions were not distinguished.

    """

    deviations: Mapping[str, float] = field(default_factory=dict)
    directions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
