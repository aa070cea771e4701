"""What a control loop and its gate allow."""

from __future__ import annotations

from dataclasses import dataclass

from joint_dynamics.settings import PerJoint, Settings, setting


@dataclass(frozen=True)
class LoopSettings(Settings):
    """What the loop and its gate allow."""

    effort_limit: PerJoint | None = setting(
        None,
        'largest command of each joint',
        'N·m',
        above=0,
        infinite=True,
        none='the effort limit of the URDF, which it cannot exceed',
    )
    effort_rate: PerJoint | None = setting(
        None,
        'largest change of the command of each joint',
        'N·m/s',
        above=0,
        infinite=True,
        none='50 limits per second',
    )
    ramp_time: float = setting(0.5, 'time from a fault to the safe command', 's', lower=0.01, upper=10)
    safe: str = setting(
        'gravity',
        'what is commanded on a fault: gravity, that of the arm where it is (nothing where `gravity` is false); zero',
        choices=('gravity', 'zero'),
    )
    timeout: float = setting(0.05, 'largest age of joint states and set points', 's', lower=0.001, upper=5)
    slow_timeout: float = setting(
        10.0, 'largest age of temperatures and of the parameters of the estimator', 's', lower=0.1, upper=3600
    )
    max_period: float = setting(0.02, 'longest step that counts in full', 's', above=0)
    tracking: float = setting(
        0.5, 'largest distance of the link from the desired position', 'rad', lower=0.001, upper=10
    )
    velocity_margin: float = setting(
        1.2, 'largest speed, measured and desired, as a multiple of the limit in the URDF', lower=0.1, upper=10
    )
    position_margin: float = setting(
        0.05, 'how far beyond the limits in the URDF a desired position may be', 'rad', lower=0, upper=10
    )
    jump_margin: float = setting(
        0.01,
        'what a measured position may jump by between two samples beyond what the largest speed allows: resolution '
        'of the encoder, jitter of the stamps',
        'rad',
        lower=0,
        upper=10,
    )
    holds_gravity: bool = setting(True, "whether the command holds gravity, see the laws' parameter `gravity`")
