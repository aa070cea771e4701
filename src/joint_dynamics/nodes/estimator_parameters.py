"""What the estimator node takes and gives: its parameters, and its topics."""

from __future__ import annotations

from typing import Any

from joint_dynamics.estimation import EstimationSettings, HealthThresholds
from joint_dynamics.estimation.settings import FRICTION_METHODS, STIFFNESS_SOURCES
from joint_dynamics.nodes.inputs import INPUT_PARAMETERS, INPUT_TOPICS
from joint_dynamics.nodes.parameters import ParameterRow
from joint_dynamics.nodes.topics import TopicRow

_NO_TEMPERATURE = -273.15
_OURS = EstimationSettings()


def _two(value: list[float]) -> str | None:
    return None if len(value) == 2 else '2 numbers'


def _rising(value: list[float]) -> str | None:
    return None if len(value) == 2 and 0 < value[0] <= value[1] else '2 numbers, warning and error, 0 < warning ≤ error'


# Parameters that are fields of EstimationSettings by the same name; `tuple` fields are lists here.
TUNING = (
    ParameterRow('window', _OURS.window, 'length of the smoother of all signals; the estimates are late by half of it', 's', 0.01, 1),
    ParameterRow('taper', _OURS.taper, 'Hann-weighted smoother; false: the Savitzky-Golay filter of the thesis'),
    ParameterRow(
        'friction',
        _OURS.friction,
        'how friction is followed: adaptive, scale and viscous part of the described friction; '
        'coulomb_viscous, by least squares without a model; none',
        choices=FRICTION_METHODS,
    ),
    ParameterRow(
        'friction_rate',
        list(_OURS.friction_rate),
        'rates of the two parameters of the adaptive law, in 1/s',
        '',
        0,
        1000,
        element=float,
        check=_two,
        applies='at once',
    ),
    ParameterRow(
        'friction_lower', list(_OURS.friction_lower), 'lower bounds of α1 and of α2 in N·m·s/rad', element=float, check=_two, applies='at once'
    ),
    ParameterRow(
        'friction_upper', list(_OURS.friction_upper), 'upper bounds of α1 and of α2 in N·m·s/rad', element=float, check=_two, applies='at once'
    ),
    ParameterRow(
        'viscous_share',
        _OURS.viscous_share,
        'α2 may also be within this share of the viscous friction at 1 rad/s; 0: the bounds alone',
        '',
        0,
        10,
        applies='at once',
    ),
    ParameterRow('friction_memory', _OURS.friction_memory, 'motion over which information is gathered', 's', 0.1, 3600, applies='at once'),
    ParameterRow(
        'information',
        _OURS.information,
        'how different motion must make the two friction terms: smallest eigenvalue of their correlation '
        'matrix; 0: the published condition, speed alone',
        '',
        0,
        1,
        applies='at once',
    ),
    ParameterRow('omega_min', _OURS.omega_min, 'nothing adapts while the speed stays below', 'rad/s', 0, 1, applies='at once'),
    ParameterRow('hold', _OURS.hold, 'for so long', 's', 0.001, 10, applies='at once'),
    ParameterRow(
        'stiffness_source',
        _OURS.stiffness_source,
        'elastic torque is taken from: motor, link (needs a good robot model), or fused by noise',
        choices=STIFFNESS_SOURCES,
        applies='at once',
    ),
    ParameterRow('stiffness_preset', _OURS.stiffness_preset, 'default, or the run of the thesis (for 1 kHz)', choices=('default', 'thesis')),
    ParameterRow('stiffness_order', _OURS.stiffness_order, 'number of odd terms of the elastic torque', '', 1, 5),
    ParameterRow(
        'stiffness_memory', _OURS.stiffness_memory, 'excited motion after which the stiffness has forgotten', 's', 0.1, 1e6, applies='at once'
    ),
    ParameterRow('stiffness_scale', _OURS.stiffness_scale, 'deformation of everyday work', 'rad', 1e-6, 1),
    ParameterRow(
        'stiffness_gate',
        _OURS.stiffness_gate,
        'smallest deformation that teaches; 0: a fifth of stiffness_scale, or twice the backlash',
        'rad',
        0,
        1,
        applies='at once',
    ),
    ParameterRow('deformation_noise', _OURS.deformation_noise, 'deviation of the smoothed deformation', 'rad', 0, 0.1, applies='at once'),
    ParameterRow(
        'friction_noise',
        _OURS.friction_noise,
        'deviation of the friction model in slip, as a share of its Coulomb level',
        '',
        0,
        10,
        applies='at once',
    ),
    ParameterRow('link_noise', _OURS.link_noise, 'deviation of the robot model, as a share of its torque', '', 0, 10, applies='at once'),
    ParameterRow(
        'torque_noise', _OURS.torque_noise, 'smallest deviation of a torque, as a share of the torque limit', '', 1e-6, 1, applies='at once'
    ),
    ParameterRow(
        'backlash_load',
        _OURS.backlash_load,
        'load that halves the lost motion within the backlash, as a share of the torque limit',
        '',
        1e-6,
        10,
        applies='at once',
    ),
    ParameterRow(
        'contact_deviations',
        _OURS.contact_deviations,
        'contact: external torque beyond so many of its usual deviations',
        '',
        1,
        1000,
        applies='at once',
    ),
    ParameterRow('contact_share', _OURS.contact_share, 'and beyond this share of the torque limit', '', 1e-6, 1, applies='at once'),
    ParameterRow('contact_memory', _OURS.contact_memory, 'motion over which the usual deviation is learnt', 's', 1, 36000, applies='at once'),
    ParameterRow('payload', _OURS.payload, 'estimate the payload at the last link, and use it'),
    ParameterRow('payload_memory', _OURS.payload_memory, 'motion after which the payload has forgotten', 's', 1, 1e6, applies='at once'),
)

PARAMETERS = (
    ParameterRow('sample_rate', 0.0, 'samples per second of the inputs; 0: from their stamps', 'Hz', 0, 10000),
    ParameterRow('max_gap', 0.1, 'longest stretch without samples that is bridged; after a longer one the filters begin anew', 's', 0.002, 10),
    ParameterRow('learn', True, 'adapt parameters; false: estimate torques with the present ones', applies='at once'),
    *TUNING,
    ParameterRow(
        'default_temperature',
        _NO_TEMPERATURE,
        'joint temperature where none is measured; -273.15: the one at which the friction is described',
        '°C',
        -273.15,
        200,
        applies='at once',
    ),
    ParameterRow('torque_rate', 100.0, 'how often torques are published, at most; 0: with every sample', 'Hz', 0, 10000, applies='at once'),
    ParameterRow('parameter_rate', 5.0, 'how often parameters are published', 'Hz', 0.1, 100),
    ParameterRow(
        'save_period',
        60.0,
        'how often the adapted dynamics description is published and written, when something was learnt; 0: only on `~/save` and at the end',
        's',
        0,
        86400,
    ),
    ParameterRow(
        'output_folder', '', 'where it is written as dynamics.yaml; empty: `joint_dynamics` and the name of the node, in `$ROS_HOME` or `~/.ros`'
    ),
    ParameterRow('resume', True, 'go on from that file when it is an adapted copy of the same dynamics description'),
    ParameterRow('working_range', 1e-3, 'deformation up to which the stiffness is compared with its reference', 'rad', 1e-6, 1),
    ParameterRow(
        'stiffness_change',
        list(HealthThresholds().stiffness),
        'relative changes of stiffness called worn: warning, error',
        element=float,
        check=_rising,
    ),
    ParameterRow(
        'friction_change',
        list(HealthThresholds().friction),
        'relative changes of Coulomb friction called worn: warning, error',
        element=float,
        check=_rising,
    ),
    *INPUT_PARAMETERS,
)

_TABLE = "rows of joints in the robot's order"
TOPICS = (
    *INPUT_TOPICS,
    TopicRow(
        '~/joint_torques',
        'sensor_msgs/JointState',
        'publishes',
        'effort: transmission torque in N·m, fused; position and velocity: smoothed; all stamped '
        'with the time they belong to, `window`/2 and some ms ago',
    ),
    TopicRow(
        '~/external_torques',
        'sensor_msgs/JointState',
        'publishes',
        'effort: torque that the links give to their surroundings, N·m; a push in the direction of q is negative',
    ),
    TopicRow('~/friction_torques', 'sensor_msgs/JointState', 'publishes', 'effort: friction torque on the motor coordinate, N·m'),
    TopicRow(
        '~/friction_parameters',
        'std_msgs/Float64MultiArray',
        'publishes',
        f'{_TABLE}, columns α1 and α2 in N·m·s/rad; F_C in N·m and F_V in N·m·s/rad where no friction is described',
    ),
    TopicRow('~/friction_covariance', 'std_msgs/Float64MultiArray', 'publishes', 'their covariance, joints × 2 × 2'),
    TopicRow(
        '~/stiffness_parameters', 'std_msgs/Float64MultiArray', 'publishes', f'{_TABLE}, columns the coefficients of φ, φ³, … in N·m/rad, N·m/rad³, …'
    ),
    TopicRow('~/stiffness_covariance', 'std_msgs/Float64MultiArray', 'publishes', 'their covariance, joints × order × order'),
    TopicRow(
        '~/payload',
        'geometry_msgs/InertiaStamped',
        'publishes',
        'mass in kg and centre of mass in m, in the frame of the last joint, its name as frame_id (with `payload`, once it is known)',
    ),
    TopicRow('~/dynamics_description', 'std_msgs/String', 'publishes', 'the adapted dynamics description (YAML), latched'),
    TopicRow('~/reset', 'std_srvs/Trigger', 'service', 'forget all that was learnt and begin from the dynamics description'),
    TopicRow('~/save', 'std_srvs/Trigger', 'service', 'write the adapted dynamics description now; the answer is the path'),
)


def settings_of(values: Any) -> EstimationSettings:
    """Return the settings that the parameters state; raises JointDynamicsError where they contradict each other."""
    fields: dict[str, Any] = {row.name: tuple(values[row.name]) if isinstance(row.default, list) else values[row.name] for row in TUNING}
    warm = values['default_temperature']
    return EstimationSettings(**fields, temperature=None if warm == _NO_TEMPERATURE else warm)
