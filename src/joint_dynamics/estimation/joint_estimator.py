"""The whole online estimation of one robot: one `update` per sample, all joints at once.

    torques of the sample (`joint_torques`)  →  contact, α, stiffness, payload

After the smoother nothing changes within some milliseconds. What learns or judges therefore takes turns, at most one
part per sample, each at some 125 Hz; the torques are of every sample.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.estimation.contact import ContactDetector, Evidence
from joint_dynamics.estimation.coulomb_viscous import CoulombViscousEstimator
from joint_dynamics.estimation.estimation_settings import EstimationSettings
from joint_dynamics.estimation.estimator_factory import make_payload
from joint_dynamics.estimation.friction import FrictionEstimator
from joint_dynamics.estimation.joint_torques import JointTorques
from joint_dynamics.estimation.remarks import remarks_of

Array = FloatArray
# Share of the lost motion that is not known; share of a deformation that may be lost motion of unknown size for it to
# teach the stiffness.
SLACK, MAX_UNCERTAINTY = 0.1, 0.3


class JointEstimator(JointTorques):
    """Estimates of n joints: the torques of `JointTorques`, and what is learnt from them.

    Parameters
    ----------
    arm, period, settings, motor_side, effort
        as of `JointTorques`.

    Attributes
    ----------
    contact
        (n,) bool. The torques and their parts: see `JointTorques`.
    learning
        whether α, stiffness and payload adapt; settable.
    payload, detector
        PayloadEstimator or None; ContactDetector.
    remarks
        what of the arm is not used, by field and joint.

    Raises
    ------
    JointDynamicsError
        Where settings, arm and effort do not fit each other.
    """

    def __init__(
        self,
        arm: Arm,
        period: float,
        settings: EstimationSettings | None = None,
        *,
        motor_side: bool = True,
        effort: str | None = None,
    ) -> None:
        super().__init__(arm, period, settings, motor_side=motor_side, effort=effort)
        use, turn, limit = self.settings, self.stride * self.period, self.effort_limit
        self._unloaded = (
            arm.carrying(np.zeros_like(arm.payload)).rigid if use.payload and arm.payload.any() else arm.rigid
        )
        self.detector = ContactDetector(
            self.n,
            turn,
            floor=use.contact_share * limit,
            noise=use.torque_noise * limit,
            deviations=use.contact_deviations,
            memory=use.contact_memory,
            omega_min=use.omega_min,
        )
        self.payload = make_payload(self._unloaded, use, limit, turn)
        self._turns: tuple[Callable[[], None], ...] = (
            self._learn_stiffness,
            self._learn_friction,
            self._detect,
            self._weigh,
        )
        if self.payload is not None:
            self._turns += (self._learn_payload,)
        self.remarks = remarks_of(arm, use, self.motor_side)
        self.learning = True
        self.reset()

    def friction_scale(self) -> tuple[Array, Array]:
        """Return α (n, 2) against the described friction and its covariance (n, 2, 2).

        [F_C, F_V] and theirs where none is described.
        """
        friction, described = self.friction, self.arm.friction
        if friction is None:
            return self.arm.friction_scale.copy(), np.zeros((self.n, 2, 2))
        if isinstance(friction, CoulombViscousEstimator) and described is not None:
            return friction.against(described.parameters['F_C0'], described.parameters['F_V1'])
        return friction.parameters, friction.covariance

    def reset_signals(self) -> None:
        """Forget the signals and the hysteresis (after a gap or a jump of time); what was learnt stays."""
        super().reset_signals()
        self.contact = np.zeros(self.n, dtype=bool)
        self.detector.reset_signals()

    def reset(self) -> None:
        """Begin again from the model: signals, α, stiffness, payload, levels of the contact detector."""
        self.reset_signals()
        for part in (self.friction, self.stiffness, self.payload, self.detector):
            if part is not None:
                part.reset()
        self.links = self.arm.constants.links
        self.watch.reset()

    @property
    def finite(self) -> bool:
        """Whether all torques of the sample, and what tells a contact in them, are finite."""
        total = float((self.torque + self.external + self.friction_torque + self.detector.ratio).sum())
        return total - total == 0.0

    def begin_anew(self) -> None:
        """Forget the signals, and of what was learnt the parts that are not finite."""
        friction, stiffness, payload = self.friction, self.stiffness, self.payload
        if friction is not None and not np.isfinite(friction.covariance.sum() + friction.parameters.sum()):
            friction.reset()
        if stiffness is not None and not np.isfinite(stiffness.covariance.sum() + stiffness.coefficients.sum()):
            stiffness.reset()
        if payload is not None and not np.isfinite(payload.parameters.sum()):
            payload.reset()
            self.body = self.arm.rigid
        if not np.isfinite(self.detector.level.sum()):
            self.detector.reset()
        self.reset_signals()

    def update(self, q: Array, effort: Array, theta: Array | None = None) -> bool:
        """Take one sample, as `JointTorques.update`, and give one of the learning parts its turn."""
        if not super().update(q, effort, theta):
            return False
        for k in range(self._count % self.stride, len(self._turns), self.stride):
            self._turns[k]()
        return True

    def _learn_stiffness(self) -> None:
        if self.stiffness is None:
            return
        self.lost_motion.update(self.theta, self.torque_link)
        if not self.learning:
            return
        source = self.settings.stiffness_source
        measure = self.torque_motor if source == 'motor' else self.torque_link if source == 'link' else self.torque
        moving = np.abs(self.omega) >= self.settings.omega_min
        phi = self.theta - self.q - self.lost_motion.motion
        clear = (self.lost_motion.uncertainty <= MAX_UNCERTAINTY * np.abs(phi)) & (
            self.fusion.rotor_inertia_deviation * np.abs(self.rotor_acceleration) <= MAX_UNCERTAINTY * np.abs(measure)
        )
        self.stiffness.update(phi, measure - self.damping_torque, moving & clear & self.undisturbed())

    def _learn_friction(self) -> None:
        if self.friction is None or not self.learning:
            return
        residual = self.rotor_torque - self.torque_link
        if isinstance(self.friction, CoulombViscousEstimator):
            self.friction.update(residual, self.omega, self.undisturbed())
            self.coulomb_level = np.abs(self.friction.parameters[:, 0])
        else:
            self.friction.update(
                residual - self.speed_friction, self.coulomb_friction, self.held_speed, self.undisturbed()
            )

    def undisturbed(self) -> BoolArray:
        """Joints that may learn: no joint has a contact, but one that lasts so long that it is none.

        The payload known, where it is estimated.
        """
        touched = self.contact.any() and bool((self.contact & ~self.detector.lasting).any())
        free = not touched and (self.payload is None or self.payload.known)
        return np.full(self.n, free)

    def _detect(self) -> None:
        self.watch.update(self.omega, self.torque)
        adapted = (
            np.ones(self.n, dtype=bool)
            if not isinstance(self.friction, FrictionEstimator)
            else self.friction.excitation > 15.0
        )
        if self.payload is not None:
            adapted = adapted & self.undisturbed()
        motor, deviation, none = self.torque_motor - self.torque_link, self.fusion.motor_deviation, np.zeros(self.n)
        evidence = Evidence(motor, deviation, motor, none, none, none, np.zeros(self.n, dtype=bool))
        if self.stiffness is not None:
            lost, elastic = self.lost_motion, self.fusion.elastic
            spring = np.where(elastic, self.torque_spring - self.torque_link, motor)
            k = np.where(elastic, self.stiffness.stiffness(self.deformation), 0.0)
            wrong = np.hypot(k * (SLACK * lost.slack + lost.uncertainty), self.settings.link_noise * self.torque_link)
            evidence = Evidence(
                motor, deviation, spring, np.where(elastic, wrong, 0.0), k * lost.motion, k * lost.uncertainty, elastic
            )
        self.contact = self.detector.update(evidence, self.omega, adapted)

    def _weigh(self) -> None:
        self.spring_weight, self.external_deviation = self.fusion.measured(self, self.coulomb_level)
        self.link_weight = self.fusion.link_weight(self, self.external_deviation)

    def _learn_payload(self) -> None:
        assert self.payload is not None
        if not self.learning:
            return
        slipping = np.abs(self.omega) >= 5.0 * self.settings.omega_min
        friction = self.speed_friction + self.coulomb_friction if self._slip is not None else self.friction_torque
        bare = self._unloaded.inverse_dynamics(self.q, self.dq, self.ddq)
        direction = self.coulomb_friction if self._slip is not None else np.sign(self.omega)
        self.payload.update(
            self.q, self.dq, self.ddq, self.rotor_torque - friction - bare, direction, self.omega, slipping
        )
        if self.payload.due:
            self._hold(self.payload.taken())

    def _hold(self, payload: Array) -> None:
        """Take the payload [M, MX, MY, MZ] into the link model."""
        self.links = self.arm.carrying(np.array([0.0] * 6 + [*payload[1:], payload[0]])).constants.links
