"""The state of the friction columns, taken from the preceding solution, and their hysteresis."""

from __future__ import annotations

from dataclasses import dataclass

from joint_dynamics.arrays import FloatArray


@dataclass(frozen=True)
class FrictionState:
    """The state of the friction columns, taken from the preceding solution.

    The columns are linear only for a given state, so state and solution are iterated.

    Attributes
    ----------
    links
        (n, 10) inertial parameters for computing the load torque.
    load_limit
        (n,) bound of |τ_J| [N·m], so that no law is extrapolated.
    width, share
        (n,) of the hysteresis, zero where there is none.
    """

    links: FloatArray | None = None
    load_limit: FloatArray | None = None
    width: FloatArray | None = None
    share: FloatArray | None = None
