"""What may be chosen: the limits a motion has to keep, and how an exciting one is searched for."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.excitation.checks import check_choice, check_flag, check_integer, check_number, check_range, from_mapping
from joint_dynamics.robot import INERTIAL, JOINT

KINDS = (*INERTIAL, *JOINT, 'Fs')
"""All kinds of parameters; Fs belongs to the motors of coupled drives."""
CRITERIA = ('condition_number', 'weighted_blocks', 'log_det')


@dataclass(frozen=True)
class PayloadSettings:
    """A body fixed to the end-effector frame.

    `mass` [kg]; `com` [m] (3,) in that frame; `inertia` [kg·m²] about the centre of mass, axes of that frame, as XX XY XZ YY YZ ZZ.
    """

    mass: float
    com: Sequence[float] = (0.0, 0.0, 0.0)
    inertia: Sequence[float] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        check_number(self.mass, 'payload.mass', least=0)
        for name, count in (('com', 3), ('inertia', 6)):
            values = getattr(self, name)
            if isinstance(values, str) or not isinstance(values, Sequence) or len(values) != count:
                raise JointDynamicsError(f'payload.{name}: expected {count} numbers, found {values!r}')
            object.__setattr__(self, name, tuple(check_number(value, f'payload.{name}') for value in values))


@dataclass(frozen=True)
class LimitSettings:
    """The limits of a motion; those of the URDF are multiplied by `safety_factor`, what is given here in place of them is not.

    A value per joint is a number for all joints, a list in joint order or a mapping {joint: number}.

    safety_factor: of the URDF's position range (about its middle), speed and torque.
    velocity [rad/s], torque [N·m]: per joint, in place of the URDF's. acceleration [rad/s²]: per joint; None: the allowed speed
    reached in 0.5 s (a URDF has no acceleration). continuous_range [rad]: a joint without position limits keeps to ± this.
    lower, upper [rad]: per joint, further position limits. torque_limit: false leaves the torque unlimited; it needs inertials.
    viscous_friction [N·m·s/rad], coulomb_friction [N·m]: per joint, added to the torque. payload: also added.
    end_effector: frame that `radius` and `height` bind and the payload is fixed to; None: the last one of the chain.
    radius, height [m]: (lower, upper) of the end-effector's distance from the base's z axis and of its height along it, None for no bound.
    clearance [m]: least distance of links that are no neighbours, where the URDF has collision geometry; None: not checked.
    floor [m]: height of a floor all moving links keep `clearance` from, which needs collision geometry.
    ignored_pairs: pairs of links whose distance is not checked. package_dirs: where `package://` of mesh files is looked up.
    """

    safety_factor: float = 0.9
    velocity: Any = None
    acceleration: Any = None
    torque: Any = None
    continuous_range: float = 3.141592653589793
    lower: Any = None
    upper: Any = None
    torque_limit: bool = True
    viscous_friction: Any = 0.0
    coulomb_friction: Any = 0.0
    payload: PayloadSettings | None = None
    end_effector: str | None = None
    radius: Sequence[float | None] | None = None
    height: Sequence[float | None] | None = None
    clearance: float | None = 0.01
    floor: float | None = None
    ignored_pairs: Sequence[Sequence[str]] = ()
    package_dirs: Sequence[str] = ()

    def __post_init__(self) -> None:
        check_number(self.safety_factor, 'limits.safety_factor', above=0, most=1)
        check_number(self.continuous_range, 'limits.continuous_range', above=0)
        check_flag(self.torque_limit, 'limits.torque_limit')
        if self.clearance is not None:
            check_number(self.clearance, 'limits.clearance', above=0)
        if self.floor is not None:
            check_number(self.floor, 'limits.floor')
            if self.clearance is None:
                raise JointDynamicsError('limits.floor: expected a clearance to keep from it, found clearance: null')
        for name in ('radius', 'height'):
            if getattr(self, name) is not None:
                check_range(getattr(self, name), f'limits.{name}')
        if isinstance(self.payload, Mapping):
            object.__setattr__(self, 'payload', from_mapping(PayloadSettings, self.payload, 'limits.payload'))
        for pair in self.ignored_pairs:
            if isinstance(pair, str) or len(pair) != 2:
                raise JointDynamicsError(f'limits.ignored_pairs: expected pairs of link names, found {pair!r}')


@dataclass(frozen=True)
class ExcitationSettings:
    """An optimised Fourier series [L eq 20-21] and the search for it.

    period [s] and harmonics of the series; repeats: how often the period is played. ramp [s]: from rest to the series and back, at
    each end; None: a fifth of the period. posture [rad]: where the motion starts and ends, a list or {joint: angle}; None: at the
    mean posture of the series, which is then searched for as well.
    criterion: `condition_number` of the scaled base regressor, `weighted_blocks` (Li's `weights`[0] cond Φ1 + `weights`[1] cond Φ2, first
    moments and inertias), or `log_det` (−log det of the information matrix). information_weight: of −log det / b beside the log of the first
    two, which do not tell large signals from small ones; 0: not at all. kinds: the kinds of parameters the regressor has.
    starts: searches at most, each going on with the best of `candidates` random motions; after `patience` of them in a
    row that gained nothing no further begins. So the effort is counted, and the same seed gives the same result however
    fast the machine is and however many processes (None: one per core) there are. time_budget [s]: None for none; one
    that ends the search first is told. samples_per_cycle: of the highest harmonic, while searching; what it is worth is
    evaluated at ten times that, and the limits are proved.
    """

    period: float = 10.0
    harmonics: int = 5
    repeats: int = 1
    ramp: float | None = None
    posture: Any = None
    criterion: str = 'condition_number'
    weights: Sequence[float] = (1.0, 1.0)
    information_weight: float = 0.2
    kinds: Sequence[str] = KINDS
    starts: int = 8
    candidates: int = 4
    patience: int = 3
    seed: int = 0
    time_budget: float | None = None
    processes: int | None = None
    samples_per_cycle: int = 20
    limits: LimitSettings = field(default_factory=LimitSettings)

    def __post_init__(self) -> None:
        if isinstance(self.limits, Mapping):
            object.__setattr__(self, 'limits', from_mapping(LimitSettings, self.limits, 'limits'))
        check_number(self.period, 'period', above=0)
        if self.time_budget is not None:
            check_number(self.time_budget, 'time_budget', above=0)
        if self.ramp is not None:
            check_number(self.ramp, 'ramp', above=0)
        for name, least in (('harmonics', 1), ('repeats', 1), ('starts', 1), ('candidates', 1), ('patience', 1), ('seed', 0),
                            ('samples_per_cycle', 8)):
            check_integer(getattr(self, name), name, least)
        if self.processes is not None:
            check_integer(self.processes, 'processes', 1)
        check_choice(self.criterion, 'criterion', CRITERIA)
        check_number(self.information_weight, 'information_weight', least=0)
        if isinstance(self.weights, str) or len(self.weights) != 2:
            raise JointDynamicsError(f'weights: expected two numbers, found {self.weights!r}')
        for weight in self.weights:
            check_number(weight, 'weights', above=0)
        for kind in self.kinds:
            check_choice(kind, 'kinds', KINDS)

    @property
    def ramp_time(self) -> float:
        """Length of each ramp [s]."""
        return self.period / 5 if self.ramp is None else self.ramp
