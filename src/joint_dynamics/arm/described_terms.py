"""The further terms of a description with their values: springs, counterbalances, friction that the friction model has no name for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.arm.term_columns import Motion
from joint_dynamics.arm.terms import Term
from joint_dynamics.arm.validity import Validity


@dataclass(frozen=True)
class DescribedTerms:
    """Terms with their values: `parts` (joint index, term, values (c,)). Empty is false.

    validity: range in which those that belong to the friction change; None: everywhere.
    """

    parts: tuple[tuple[int, Term, NDArray], ...] = ()
    validity: Validity | None = None

    def __bool__(self) -> bool:
        return bool(self.parts)

    @property
    def friction(self) -> DescribedTerms:
        """Those that belong to the friction."""
        return DescribedTerms(tuple(part for part in self.parts if part[1].is_friction), self.validity)

    @property
    def position(self) -> DescribedTerms:
        """Those that depend on the position alone."""
        return DescribedTerms(tuple(part for part in self.parts if not part[1].is_friction))

    def names(self, joint_names: Sequence[str]) -> list[str]:
        """Return what they are, for a reader."""
        return [f'joints.{joint_names[j]}.terms: {term.kind} {term.document[term.kind]}' for j, term, _ in self.parts]

    def torque(
        self, q: NDArray, speed: NDArray, load: NDArray, H: NDArray | None = None, temperature: NDArray | None = None
    ) -> NDArray:
        """Return their torque, arrays (…, n): link angle rad, motor speed rad/s, τ_J N·m, H (None: sgn of the speed), °C (None: T0); N·m."""
        total = np.zeros_like(q)
        held_speed, held_load, held_temperature = speed, load, temperature
        if self.validity is not None and self.parts:
            held_speed, held_load = self.validity.held_speed(speed), self.validity.held_load(load)
            held_temperature = None if temperature is None else self.validity.held_temperature(temperature)
        for j, term, values in self.parts:
            if temperature is None and 'temperature' in term.needs:
                continue
            motion = Motion(
                q[..., j],
                held_speed[..., j],
                None if H is None else H[..., j],
                held_load[..., j],
                None if held_temperature is None else held_temperature[..., j],
            )
            total[..., j] += values @ term.of(motion)
        return total
