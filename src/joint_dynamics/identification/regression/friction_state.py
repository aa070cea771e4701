"""What the columns of friction take from the solution before, and the hysteresis they are driven through."""

from __future__ import annotations

from dataclasses import dataclass

from joint_dynamics.arrays import FloatArray


@dataclass(frozen=True)
class FrictionState:
    """What the columns of friction take from the solution before.

    They are linear only with these fixed, so both are found in turn.

    Attributes
    ----------
    links
        (n, 10) inertial parameters that the load torque is computed from.
    load_limit
        (n,) bound of |τ_J| [N·m], so that a law is not stretched beyond what was seen.
    width, share
        (n,) of the hysteresis, zero where there is none.
    """

    links: FloatArray | None = None
    load_limit: FloatArray | None = None
    width: FloatArray | None = None
    share: FloatArray | None = None
