"""The whole online estimation of one robot: one `update` per sample, all joints at once.

    torques of the sample (`joint_torques`)  →  contact, α, stiffness, payload

After the smoother nothing changes within some milliseconds. What learns or judges therefore takes turns, at most one
part per sample, each at some 125 Hz; the torques are of every sample.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from joint_dynamics.arm import Arm
from joint_dynamics.arrays import BoolArray, FloatArray
from joint_dynamics.estimation.change_test import last_link_rows
from joint_dynamics.estimation.changes import Change, ChangeDetector
from joint_dynamics.estimation.contact import ContactDetector, Evidence
from joint_dynamics.estimation.coulomb_viscous import CoulombViscousEstimator
from joint_dynamics.estimation.estimation_settings import EstimationSettings
from joint_dynamics.estimation.estimator_factory import make_payload
from joint_dynamics.estimation.friction import FrictionEstimator
from joint_dynamics.estimation.joint_torques import JointTorques
from joint_dynamics.estimation.payload import PayloadEstimator
from joint_dynamics.estimation.remarks import remarks_of

Array = FloatArray
# Share of the lost motion that is not known; share of a deformation that may be lost motion of unknown size for it to
# teach the stiffness.
SLACK, MAX_UNCERTAINTY = 0.1, 0.3
# The same for what may have changed, where an error that stays would be taken for a change.
PLAY = 0.3
# s of excited motion over which a stiffness that changed is compared with what it was.
SLOW = 30.0
# Changes that are remembered.
NAMED = 100


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
    payload, detector, changes
        PayloadEstimator, None while the described payload is the one that is carried; ContactDetector; ChangeDetector.
    named
        the last changes that were named, `changes.Change` each.
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
        bare = arm.carrying(np.zeros_like(arm.payload)) if arm.payload.any() else arm
        self._unloaded, self._bare = bare.rigid, bare.constants.links
        self.detector = ContactDetector(
            self.n,
            turn,
            floor=use.contact_share * limit,
            noise=use.torque_noise * limit,
            deviations=use.contact_deviations,
            memory=use.contact_memory,
            omega_min=use.omega_min,
        )
        self.payload: PayloadEstimator | None = None
        order = 1 if self.stiffness is None else self.stiffness.order
        viscous = self.friction.upper[:, 1] if isinstance(self.friction, FrictionEstimator) else 0.05 * limit
        self.changes = ChangeDetector(self.n, order, turn, viscous)
        self.named: list[Change] = []
        self._learners = [part for part in (self.friction, self.stiffness) if part is not None]
        self._kept: dict[int, list[Any]] = {}
        self._rows = np.zeros((self.n, 10))
        self._no_spring, self._no_map = np.zeros((3, self.n)), np.zeros((self.n, 1))
        described = 0.0 if arm.friction is None else arm.friction.parameters['F_C0']
        self._coulomb_unit = np.maximum(described, 0.02 * limit)
        known = np.zeros(2) if self.friction_model is None else np.array([1.0, 0.0])
        self._described_friction = np.tile(known, (self.n, 1))
        self._turns: tuple[Callable[[], None], ...] = (
            self._learn_stiffness,
            self._learn_friction,
            self._detect,
            self._weigh,
            self._watch_changes,
        )
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
        self.changes.begin_anew()

    def reset(self) -> None:
        """Begin again from the model: signals, α, stiffness, payload, levels of the contact detector."""
        self.reset_signals()
        for part in (self.friction, self.stiffness, self.detector, self.changes):
            if part is not None:
                part.reset()
        self.payload = (
            make_payload(self._unloaded, self.settings, self.stride * self.period) if self.settings.payload else None
        )
        self.links, self._carried = self.arm.constants.links, self.arm.payload
        self.watch.reset()
        self._spring_map = self._no_map if self.stiffness is None else self.stiffness.scaled[0].copy()

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
            self.links, self._carried = self.arm.constants.links, self.arm.payload
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
        # a push that not every joint feels would pass for friction
        free = self.undisturbed() & (not self.changes.load_suspected)
        if isinstance(self.friction, CoulombViscousEstimator):
            self.friction.update(residual, self.omega, free)
            self.coulomb_level = np.abs(self.friction.parameters[:, 0])
        else:
            self.friction.update(residual - self.speed_friction, self.coulomb_friction, self.held_speed, free)

    def undisturbed(self) -> BoolArray:
        """Joints that may learn: no joint has a contact, but one that lasts so long that it is none.

        The payload known, where it is estimated.
        """
        touched = self.contact.any() and bool((self.contact & ~self.detector.lasting).any())
        free = not touched and (self.payload is None or self.payload.known)
        return np.full(self.n, free)

    def _adapted(self) -> BoolArray:
        """Joints whose friction has had 15 s of motion to become that of today; all where it is not adapted."""
        return np.ones(self.n, dtype=bool) if self.friction is None else self.friction.excitation > 15.0

    def _detect(self) -> None:
        self.watch.update(self.omega, self.torque)
        adapted = self._adapted()
        if self.payload is not None:
            adapted = adapted & self.undisturbed()
        motor, deviation, none = self.torque_motor - self.torque_link, self.fusion.motor_deviation, np.zeros(self.n)
        never = np.zeros(self.n, dtype=bool)
        evidence = Evidence(motor, deviation, motor, none, none, none, never, never)
        if self.stiffness is not None:
            lost, elastic = self.lost_motion, self.fusion.elastic
            spring = np.where(elastic, self.torque_spring - self.torque_link, motor)
            k = np.where(elastic, self.stiffness.stiffness(self.deformation), 0.0)
            wrong = np.hypot(k * (SLACK * lost.slack + lost.uncertainty), self.settings.link_noise * self.torque_link)
            evidence = Evidence(
                motor, deviation, spring, np.where(elastic, wrong, 0.0), k * lost.motion, k * lost.uncertainty, elastic,
                self.changes.spring_doubted,
            )  # fmt: skip
        self.contact = self.detector.update(evidence, self.omega, adapted)

    def _weigh(self) -> None:
        self.spring_weight, self.external_deviation = self.fusion.measured(self, self.coulomb_level)
        doubted = self.changes.spring_doubted
        if doubted.any():
            self.spring_weight = np.where(doubted, 0.0, self.spring_weight)
            self.external_deviation = np.where(doubted, self.fusion.motor_deviation, self.external_deviation)
        self.link_weight = self.fusion.link_weight(self, self.external_deviation)

    def _watch_changes(self) -> None:
        """Gather what tells a change, and take in what is named; see `changes`."""
        slipping = np.abs(self.omega) >= 5.0 * self.settings.omega_min
        if self.payload is None or self.payload.known:
            # a friction that is still being learnt looks like a change of anything
            slipping &= self._adapted()
        if not self.learning or not slipping.any():
            return
        scale, terms = self._friction_terms()
        lacking = self.torque_motor - self.torque_link
        if not np.isfinite(lacking.sum()):
            return
        link = self.settings.link_noise * self.torque_link
        weight = np.where(slipping, 1.0 / np.hypot(self.fusion.motor_deviation, link), 0.0)
        motor = np.array([lacking + (scale.T * terms).sum(axis=0), *terms, weight])
        spring, spring_map = self._no_spring, self._no_map
        if self.stiffness is not None:
            # what is learnt wanders within its memory
            share = self.stride * self.period / SLOW
            self._spring_map += np.where(self.stiffness.excited, share, 0.0)[:, None] * (
                self.stiffness.scaled[0] - self._spring_map
            )
            spring_map = self._spring_map
            spring = self._spring_rows(slipping, link)
        if self.changes.starting:
            self._kept[self.changes.open] = [part.snapshot() for part in self._learners]
        last_link_rows(self.links, self.q, self._work[0], self._rows)
        disturbed = not self.undisturbed().all()
        if not self.changes.take(self._rows, motor, spring, self._carried, scale, spring_map, disturbed):
            return
        change = self.changes.find()
        if change is not None:
            self._take_in(change)
            return
        if self.payload is not None and not (self.payload.known and self.changes.disturbed[self.changes.newest]):
            self._weigh_payload([self.changes.newest])
        if self.changes.weighed is not None:
            j, factor = self.changes.weighed
            self._scale_spring(j, self._spring_map[j] * factor)

    def _friction_terms(self) -> tuple[Array, Array]:
        """Return α (n, 2) in force and what it multiplies (2, n), N·m and rad/s; F_C is in units of its size."""
        if isinstance(self.friction, CoulombViscousEstimator):
            unit = np.stack([self._coulomb_unit, np.ones(self.n)])
            return self.friction.parameters / unit.T, unit * [np.sign(self.omega), self.omega]
        if isinstance(self.friction, FrictionEstimator):
            return self.friction.parameters, np.array([self.coulomb_friction, self.held_speed])
        return self._described_friction, np.array([self.friction_torque, self.omega])

    def _spring_rows(self, slipping: BoolArray, link: Array) -> Array:
        assert self.stiffness is not None
        lost, x = self.lost_motion, self.deformation * self.stiffness.scaled[1]
        k = self.stiffness.stiffness(self.deformation)
        play = k * (PLAY * lost.slack + lost.uncertainty)
        noise = self.fusion.floor + (k * self.settings.deformation_noise) ** 2
        deviation = np.sqrt(play**2 + link**2 + noise + self.stiffness.variance(self.deformation))
        weight = np.where(slipping & self.fusion.elastic, 1.0 / deviation, 0.0)
        powers = [x ** (2 * p + 1) for p in range(self.stiffness.order)]
        return np.array([self.damping_torque - self.torque_link, weight, *powers])

    def _take_in(self, change: Change) -> None:
        """Go on with what was named; what was learnt since is taken back where the load spoilt it."""
        blocks, since = self.changes.blocks, self.changes.since(change)
        self.named = [*self.named[1 - NAMED :], change]
        if change.kind == 'load':
            for part, kept in zip(self._learners, self._kept[since[0]], strict=True):
                part.restore(kept)
            self._spring_map = blocks.spring_map[since[0]].copy()
            self.payload = make_payload(self._unloaded, self.settings, self.stride * self.period)
            self._weigh_payload(since)
        elif change.kind == 'stiffness':
            assert self.stiffness is not None
            self.stiffness.changes[change.joint] += 1
            self._scale_spring(change.joint, blocks.spring_map[since[0], change.joint] * change.value)
            self.changes.weigh(change)
            self.detector.reset_signals()
            return
        elif self.friction is not None:
            unit = self._coulomb_unit[change.joint] if isinstance(self.friction, CoulombViscousEstimator) else 1.0
            self.friction.set_coulomb(change.joint, change.value * float(unit))
        self.changes.begin_anew()

    def _scale_spring(self, joint: int, scaled: Array) -> None:
        """Take the stiffness of a joint to be `scaled` (P,), as of the map, for all that is judged as well."""
        assert self.stiffness is not None
        self.stiffness.reopen(joint, scaled)
        self._spring_map[joint] = scaled
        self.changes.blocks.spring_map[:, joint] = scaled

    def _weigh_payload(self, blocks: list[int]) -> None:
        """Let the payload learn from these blocks, and take it into the link model, known well or not yet."""
        assert self.payload is not None
        self.payload.add(self.changes.motor_information(blocks), len(blocks) * self.changes.per_block)
        self.payload.judge()
        self._carried = payload = self.payload.inertial
        self.links = self._bare.copy()
        self.links['body'][self.links['number'] == self.n - 1] += payload
        self.changes.blocks.payload[:] = payload
