"""What of the plant can be switched: errors no model knows about, and what the sensors do to the truth."""
from __future__ import annotations

from dataclasses import dataclass, fields

from joint_dynamics.errors import JointDynamicsError


@dataclass(frozen=True)
class ModelErrors:
    """What the plant has and the methods' models have not; on by default, each switched off by 0 (or False).

    Attributes
    ----------
    inertia: relative spread of the true masses and inertias about the URDF's; centres of mass move by as much of 0.1 m.
    drive_gain: relative spread of the true drive gain about the one the drive believes in.
    drive_gain_per_kelvin: relative change of the drive gain with the winding's temperature, 1/K (magnets weaken).
    torque_ripple: cogging, 12 cycles per motor turn, as a fraction of the joint's torque limit.
    gear_ripple: kinematic error twice per motor turn, rad on the joint side.
    friction_direction: relative difference of Coulomb friction from its mean, + in one direction, − in the other.
    friction_position: relative change of Coulomb friction over one turn of the joint.
    load_linear: friction in N·m per N·m of load torque, beside the quadratic law.
    smooth_hysteresis: a presliding curve of twelve operators and another shape, instead of the four operators of the law.
    current_lag: time constant of the current loop, s.
    temperature_lag: time constant from the gear to the temperature sensor, s.

    """

    inertia: float = 0.05
    drive_gain: float = 0.03
    drive_gain_per_kelvin: float = -5e-4
    torque_ripple: float = 0.001
    gear_ripple: float = 3e-6
    friction_direction: float = 0.02
    friction_position: float = 0.02
    load_linear: float = 0.003
    smooth_hysteresis: bool = True
    current_lag: float = 5e-4
    temperature_lag: float = 20.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            low, high = (-0.01, 0.01) if field.name == 'drive_gain_per_kelvin' else (0.0, 0.5)
            if field.name not in ('temperature_lag', 'smooth_hysteresis') and not low <= value <= high:
                raise JointDynamicsError(f'model errors: expected {field.name} within [{low:g}, {high:g}], found {value}')
        if not 0.0 <= self.temperature_lag < float('inf'):
            raise JointDynamicsError(f'model errors: expected temperature_lag >= 0 s, found {self.temperature_lag}')

    @classmethod
    def none(cls) -> ModelErrors:
        """Return the plant that is exactly the methods' model."""
        return cls(*(0.0,) * 8, smooth_hysteresis=False, current_lag=0.0, temperature_lag=0.0)

    def scaled(self, factor: float) -> ModelErrors:
        """Return the same errors times `factor`; the shape of the hysteresis stays."""
        amounts = {field.name: getattr(self, field.name) * factor for field in fields(self)}
        return ModelErrors(**{**amounts, 'smooth_hysteresis': self.smooth_hysteresis})


@dataclass(frozen=True)
class Sensors:
    """What the sensors make of the truth.

    Attributes
    ----------
    link_bits: resolution of the link-side encoder, bits per turn of the joint; 0 for a perfect one.
    motor_bits: resolution of the motor-side encoder, bits per turn of the motor; 0 for a perfect one.
    speed_bandwidth: cut-off of the drive's speed measurement (difference of encoder readings, low-passed), Hz.
    current_noise: standard deviation of the measured current, as a fraction of the joint's largest current.
    temperature_noise: standard deviation, °C.
    temperature_step: resolution, °C; 0 for a perfect one.

    """

    link_bits: int = 20
    motor_bits: int = 16
    speed_bandwidth: float = 100.0
    current_noise: float = 0.004
    temperature_noise: float = 0.05
    temperature_step: float = 0.1

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 0.0 <= value < float('inf'):
                raise JointDynamicsError(f'sensors: expected {field.name} >= 0, found {value}')
        if self.speed_bandwidth == 0.0:
            raise JointDynamicsError('sensors: expected speed_bandwidth > 0 Hz, found 0')

    @classmethod
    def ideal(cls) -> Sensors:
        """Return sensors without quantisation and noise; the speed is the drive's, with 1 kHz bandwidth."""
        return cls(0, 0, 1000.0, 0.0, 0.0, 0.0)
