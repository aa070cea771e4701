"""The further terms of a description with their values.

Springs, counterbalances, friction that the friction model has no name for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from joint_dynamics.arm.term_columns import Motion
from joint_dynamics.arm.terms import Term
from joint_dynamics.arm.validity import Validity
from joint_dynamics.arrays import FloatArray


@dataclass(frozen=True)
class DescribedTerms:
    """Terms with their values: `entries` (joint index, term, values (c,)). Empty is false.

    validity: range in which those that belong to the friction change; None: everywhere. deviations: standard deviations
    (c,) of the values, entry by entry; empty: not known.
    """

    entries: tuple[tuple[int, Term, FloatArray], ...] = ()
    validity: Validity | None = None
    deviations: tuple[FloatArray, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entries)

    @property
    def friction(self) -> DescribedTerms:
        """Those that belong to the friction."""
        return DescribedTerms(tuple(entry for entry in self.entries if entry[1].is_friction), self.validity)

    @property
    def position(self) -> DescribedTerms:
        """Those that depend on the position alone."""
        return DescribedTerms(tuple(entry for entry in self.entries if not entry[1].is_friction))

    def names(self, joint_names: Sequence[str]) -> list[str]:
        """Return what they are, for a reader."""
        return [f'joints.{joint_names[j]}.terms: {term.kind} {term.document[term.kind]}' for j, term, _ in self.entries]

    def torque(
        self,
        q: FloatArray,
        speed: FloatArray,
        load: FloatArray,
        H: FloatArray | None = None,
        temperature: FloatArray | None = None,
    ) -> FloatArray:
        """Return their torque, arrays (…, n).

        Link angle rad, motor speed rad/s, τ_J N·m, H (None: sgn of the speed), °C (None, or NaN of a joint: T0); N·m.
        """
        total = np.zeros_like(q)
        held_speed, held_load, held_temperature = speed, load, temperature
        if self.validity is not None and self.entries:
            held_speed, held_load = self.validity.held_speed(speed), self.validity.held_load(load)
            held_temperature = None if temperature is None else self.validity.held_temperature(temperature)
        for j, term, values in self.entries:
            if temperature is None and 'temperature' in term.needs:
                continue
            motion = Motion(
                q[..., j],
                held_speed[..., j],
                None if H is None else H[..., j],
                held_load[..., j],
                None if held_temperature is None else held_temperature[..., j],
            )
            found = values @ term.of(motion)
            if 'temperature' in term.needs:
                found = np.where(np.isnan(motion.need('temperature')), 0.0, found)
            total[..., j] += found
        return total
