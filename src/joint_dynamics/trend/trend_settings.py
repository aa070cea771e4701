"""Settings of a trend, and the quantities that it follows."""

from __future__ import annotations

from dataclasses import dataclass

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.settings import Settings, setting

QUANTITIES = {'coulomb': 'N·m', 'viscous': 'N·m·s/rad', 'stiffness': 'N·m/rad', 'backlash': 'rad', 'residual': '%'}
"""What is followed over time, with its unit."""


@dataclass(frozen=True)
class TrendSettings(Settings):
    """How runs are compared over time, and when a change is an alarm."""

    SECTION = 'trend'

    reference_runs: int = setting(
        3, 'recordings that a robot without a reference is identified from, its earliest ones', lower=1, upper=100
    )
    before: int = setting(5, 'fewest runs before a change', lower=3, upper=1000)
    after: int = setting(2, 'fewest runs after a change: one run that is odd is none', lower=1, upper=1000)
    window: int = setting(60, 'most runs after a change at which it is looked for', lower=1, upper=1000)
    false_alarm_rate: float = setting(
        0.01,
        'probability that a robot that does not change raises an alarm within 100 runs, all its joints and quantities'
        ' together',
        lower=1e-6,
        upper=0.5,
    )
    least_change: float = setting(
        0.01,
        'changes by less than this share of the value before are no alarm: a neighbour that wears moves others, too',
        lower=0,
    )
    quantities: tuple[str, ...] = setting(tuple(QUANTITIES), 'what is followed', choices=tuple(QUANTITIES))
    processes: int | None = setting(
        None, 'recordings at the same time', lower=1, upper=1024, none='one per core; of a Dask cluster, two per thread'
    )

    def check(self) -> None:
        """Refuse a window in which no change could be confirmed."""
        if not self.window >= self.after:
            raise JointDynamicsError(f'trend.window: expected at least trend.after = {self.after}, found {self.window}')
