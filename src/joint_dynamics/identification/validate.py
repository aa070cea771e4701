"""Predict the torque of recordings from a dynamics description: rigid bodies, rotors, friction, further terms."""
from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.drive_gains.estimate import with_torque
from joint_dynamics.identification.preparation.observations import FilterPlan, Observation, filter_plan, observe
from joint_dynamics.identification.regression.full_rate import FullRate
from joint_dynamics.identification.regression.residuals import Fit, band_of, relative
from joint_dynamics.identification.regression.terms import terms_from_config
from joint_dynamics.identification.regression.torque import inertial_only, load_torque
from joint_dynamics.identification.settings import IdentificationSettings
from joint_dynamics.recording import Recording
from joint_dynamics.robot import INERTIAL, PER_JOINT, RobotModel


def predicted_torque(model: RobotModel, description: DynamicsDescription, observation: Observation) -> NDArray:
    """Return the motor torque on the joint side, (samples, n) [N·m], at the full rate of the observation.

    Friction is the description's model, its load the torque of the rigid bodies [M6 eq 12-18]; without a Maxwell-slip part in steady slip
    (H = sgn ω), with one from an undeformed state at the first sample on.
    """
    standard = description.standard_parameters(model, friction=False)
    rotor = np.array([PER_JOINT * k + len(INERTIAL) for k in range(model.n)])
    load = load_torque(model, observation, inertial_only(model, standard)).T
    tau = load + observation.ddtheta * standard[rotor]
    if model.coupling is not None:
        extra = model.coupling.regressor_rows(observation.dtheta.T, observation.ddtheta.T)
        coupled = description.document['inertial'].get('coupling', {})
        values = np.array([coupled.get(name, 0.0) for name in model.coupling.parameter_names])
        tau += np.einsum('jps,p->sj', extra, values)
    if description.has('friction', model.joint_names):
        friction = description.friction(model.joint_names)
        if friction.maxwell_slip is None:
            tau += friction.static(observation.dtheta, load, observation.temperature)
        else:
            tau += friction.run(observation.theta, observation.dtheta, load, observation.temperature)
    for j, name in enumerate(model.joint_names):
        for entry in description.joint(name).get('terms', ()):
            for term in terms_from_config({name: [entry['document']]}):
                tau[:, j] += np.array(entry['values']) @ term.values(
                    observation.q[:, j], observation.dtheta[:, j], load=load[:, j],
                    temperature=None if observation.temperature is None else observation.temperature[:, j])
    return tau


def validation_fit(model: RobotModel, description: DynamicsDescription, observation: Observation, moving_speed: float = 0.02) -> Fit:
    """Return measured and predicted torque of one observation on the filtered, decimated samples."""
    predicted = predicted_torque(model, description, observation)
    raw = relative(observation.tau - predicted, observation.tau)
    kept = observation.kept
    tau, smooth = (observation.tau, predicted) if observation.decimator is None else (
        observation.decimator.apply(observation.tau), observation.decimator.apply(predicted))
    return Fit(observation.name, model.joint_names, observation.time[kept], tau, smooth, observation.dq[kept], moving_speed, raw,
               FullRate(observation.time, observation.tau, predicted, observation.dq), band_of(observation))


def validate_description(description: DynamicsDescription, recordings: Sequence[Recording], settings: IdentificationSettings | None = None,
                         drive_gains: Mapping[str, float] | None = None) -> list[Fit]:
    """Predict the torque of every recording and return one Fit each.

    Cut-offs are the settings' own, else those the description was identified with, else from the recordings. Drive gains: given, the settings', or
    the description's. Raises JointDynamicsError where robot, description and recordings do not fit together.
    """
    if not recordings:
        raise JointDynamicsError('validate: expected at least one recording, found none')
    settings = settings or IdentificationSettings()
    model = description.robot_model()
    recordings = [recording.select(model.joint_names) for recording in recordings]
    gains = drive_gains or settings.drive_gains
    if gains is None and description.has('drive_gain', model.joint_names):
        gains = dict(zip(model.joint_names, description.values('drive_gain', model.joint_names), strict=True))
    if model.coupling is not None and gains is not None:
        recordings = [recording if recording.current is None else with_torque(model, recording, gains) for recording in recordings]
    plan = _plan(description, recordings, settings)
    return [validation_fit(model, description, observe(recording, plan, gains), settings.moving_speed) for recording in recordings]


def _plan(description: DynamicsDescription, recordings: Sequence[Recording], settings: IdentificationSettings) -> FilterPlan:
    used = description.document.get('provenance', {}).get('filters', {})
    if settings.f_dyn is not None or 'f_dyn' not in used:
        return filter_plan(recordings, settings)
    position = settings.position_cutoff or used['position_cutoff']
    return FilterPlan(used['f_dyn'], position, settings.parallel_cutoff or used['parallel_cutoff'], settings.decimation,
                      1.0 / position if settings.trim is None else settings.trim)
