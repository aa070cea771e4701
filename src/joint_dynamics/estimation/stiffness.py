"""Online torsional stiffness by recursive least squares with directional forgetting and regularisation, RLS-DF*.

    τ_E(φ) = Σ_p α_p φ^{2p−1} = ψᵀα,   P as in `recursive`   [M3 eq 18]

Directional forgetting drives r = ψᵀPψ towards (1 − μ)/μ in the excited directions and leaves the others unchanged, but
"robust in poor excitation" [M3] cannot be reproduced: a standstill under a torque bias destroys the map. Hence the
defaults here differ from the thesis's: directions scaled by φ_ref, faster forgetting, an excitation gate, and a
detector of jumps of the error, which opens the covariance again. Whether the stiffness, the load or the friction
changed is decided in `changes`.

A covariance does not account for a torque that is wrong by more than its noise: where a joint is hardly ever excited,
one such sample could destroy a described map. Such a map therefore stays in force until the evidence is more than a
disturbance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.estimation.jumps import JumpDetector
from joint_dynamics.estimation.learning_kernels import novelty, stiffness_step
from joint_dynamics.estimation.recursive import SMALL_R, RecursiveLeastSquares, per_joint, positive
from joint_dynamics.estimation.stiffness_map import StiffnessMap

Array = FloatArray
# Every so many updates the covariance is brought back between its bounds; between two checks it cannot grow by more
# than (1/μ)^CHECK.
CHECK = 64
# How far the whole of a map, and its shape, may be off once it is known to have changed.
REOPENED = 0.3
# s of excited motion before a stiffness may count as reliable.
MIN_EXCITED_TIME = 2.0
# s of excited motion before what is learnt takes the place of what was described. That it explains the torque is what
# decides; of fewer samples no mean square says whether it does.
MIN_TAKEN_TIME = 0.02
# No transmission deforms by a thousand times its scale; what is beyond is a broken sample and would only overflow.
LARGEST, LARGEST_TORQUE = 1e3, 1e9


class StiffnessEstimator(StiffnessMap):
    """Coefficients α_p of the elastic torque of n joints, updated with one (φ, τ_E) per joint and sample.

    joints               n.
    order                P, number of odd terms.
    period               sample period, s; only the times below refer to it.
    scale                φ_ref, rad, number or (n,): deformation at which the directions φ, φ³, … are of like size. 1:
                         raw units.
    memory               s of excited motion after which a sample has lost 1/e of its weight: μ = 1 − period/memory; inf
                         is μ = 1.
    mu                   μ itself, instead of `memory`.
    delta                δ ≥ 0, added to every scaled direction of P per update.
    initial_coefficients α(0), (P,) or (n, P), N·m/rad^{2p−1}; default 0.
    initial_covariance   diagonal of P(0) in scaled directions, number, (P,) or (n, P); also the bound of P.
    gate                 rad: no update while |φ| is below; None: 0.2 φ_ref; 0: none.
    novelty              rad: no update when φ has moved by less than this for `hold` s; None: 0.02 φ_ref; 0: none.
    change_share         a jump is detected when, over `change_window` s of excited motion, the root mean square of
                         ε/√(1 + r) exceeds this share of that of the torque and three times its own long-term level.
                         P is then opened for a curve scaled as a whole (100 %) and, less, for one of another shape
                         (30 %). inf: no detection.
    noise                N·m, number or (n,): smallest deviation that a torque is taken to have.
    keep                 bool or (n,): joints of which α(0) with P(0) is in force until what is learnt has 0.02 s of
                         excited motion and explains the torque as for `reliable`, in the last `change_window` as
                         well; then the last that did. The others: what is learnt, at once.

    Coefficients, covariance, torque, stiffness and variance are those of the map in force. Its quality, (n,) each:
    `excited` (bool, of the last update), `excitation` (s of excited motion since the reset), `changes` (number of
    changes named), `reopened` (number of jumps of the error), `noise` (N·m, deviation of the prediction error of the
    map in force), `reliable` (bool, whether the learnt map can be relied on: excited for 2 s, explaining 80 % of the
    torque, and increasing with the deformation).
    """

    def __init__(
        self,
        joints: int,
        order: int = 2,
        *,
        period: float = 1e-3,
        scale: ArrayLike = 1e-3,
        memory: float = 5.0,
        mu: float | None = None,
        delta: float = 0.0,
        initial_coefficients: ArrayLike = 0.0,
        initial_covariance: ArrayLike = 1e4,
        gate: ArrayLike | None = None,
        novelty: ArrayLike | None = None,
        hold: float = 0.2,
        change_share: float = 0.3,
        change_window: float = 0.3,
        noise: ArrayLike = 0.1,
        keep: ArrayLike = False,
    ) -> None:
        self.period = positive('period', period)
        mu = max(1.0 - self.period / positive('memory', memory), 0.1) if mu is None else float(mu)
        self._rls = RecursiveLeastSquares(
            joints, order, initial_covariance=initial_covariance, forgetting=mu, delta=delta
        )
        super().__init__(self._rls.joints, self._rls.order, scale)
        self.mu, self.delta = mu, self._rls.delta
        self._alpha0 = (
            np.broadcast_to(np.asarray(initial_coefficients, dtype=float), (self.joints, self.order)) * self._unit
        )
        self._gate = 0.2 * self.scale if gate is None else per_joint('gate', gate, self.joints, zero=True)
        self._novelty = 0.02 * self.scale if novelty is None else per_joint('novelty', novelty, self.joints, zero=True)
        self._hold = max(int(round(hold / self.period)), 1)
        self.change_share = positive('change_share', change_share)
        self._window = max(int(round(positive('change_window', change_window) / self.period)), 1)
        self._floor = per_joint('noise', noise, self.joints) ** 2
        self._top = LARGEST * self.scale
        self._stride = max(int(round(0.005 / self.period)), 1)
        self._fixed = np.array([self._gate, self._top, self._per_scale, self._novelty, self._floor])
        self._step_numbers = (
            LARGEST_TORQUE,
            float(self.mu),
            float(self.delta),
            SMALL_R,
            MIN_EXCITED_TIME,
            MIN_TAKEN_TIME,
        )
        self._all = np.ones(self.joints, dtype=bool)
        self._keep = np.broadcast_to(np.asarray(keep, dtype=bool), (self.joints,)).copy()
        self.reset()

    @classmethod
    def thesis(cls, joints: int = 1, **options: Any) -> StiffnessEstimator:
        """Return the run of thesis chapter 3.

        Raw units, P(0) = diag(1e9, 1e18), δ = 0.1, μ = 0.99995, α(0) = 0, at 1 kHz; no gate. options: parameters of the
        class, which override these.
        """
        return cls(
            joints,
            2,
            period=1e-3,
            scale=1.0,
            mu=0.99995,
            delta=0.1,
            initial_covariance=[1e9, 1e18],
            gate=0.0,
            novelty=0.0,
            change_share=np.inf,
            **options,
        )

    @classmethod
    def ordinary(cls, joints: int = 1, order: int = 2, **options: Any) -> StiffnessEstimator:
        """Return ordinary recursive least squares, that is batch least squares sample by sample.

        μ = 1, δ = 0, no gate. options: parameters of the class, which override these.
        """
        return cls(
            joints, order, **{'mu': 1.0, 'delta': 0.0, 'gate': 0.0, 'novelty': 0.0, 'change_share': np.inf, **options}
        )

    def reset(self, coefficients: ArrayLike | None = None) -> None:
        """Restart with P(0) and α(0), or with the given coefficients (P,) or (n, P), N·m/rad^{2p−1}."""
        self._rls.reset(self._alpha0 if coefficients is None else np.asarray(coefficients, dtype=float) * self._unit)
        self._jumps = JumpDetector(self.joints, self.period, self._window, self.change_share, self._floor)
        self._anchor = np.full(self.joints, np.inf)
        self._still = np.full(self.joints, self._hold)
        self._fresh = np.ones(self.joints, dtype=bool)
        self._updates = 0
        self.excited = np.zeros(self.joints, dtype=bool)
        self.changes, self.reopened = np.zeros((2, self.joints), dtype=int)
        self.reliable = np.zeros(self.joints, dtype=bool)
        self._in_force, self._square = self._rls.state.copy(), self._jumps.long.copy()

    def snapshot(self) -> tuple[Array, Array, Array]:
        """Return copies of the learnt coefficients and of those in force, (n, P) N·m/rad, …, for `restore`."""
        return self._rls.state.copy(), self._in_force.copy(), self._square.copy()

    def restore(self, kept: tuple[Array, Array, Array]) -> None:
        """Go back to `kept` as `snapshot` returned it: coefficients (n, P) N·m/rad, …."""
        self._rls.state[:], self._in_force[:], self._square[:] = kept

    def reopen(self, joint: int, scaled: Array) -> None:
        """Set the map of a joint to `scaled` (P,) [N·m per (φ/φ_ref)^{2p−1}], with 30 % uncertainty."""
        rls = self._rls
        rls.alpha[joint] = scaled
        rls.P[joint] = (np.outer(scaled, scaled) + np.diag(scaled**2)) * (REOPENED**2 / self._floor[joint])
        rls.bound(np.array([joint]))
        self._in_force[joint] = rls.state[joint]
        self._jumps.forget(np.array([joint]))

    @property
    def excitation(self) -> Array:
        """Excited motion since the reset, s, (n,)."""
        return self._jumps.excitation

    @property
    def known(self) -> Array:
        """`coefficients` (n, P), N·m/rad^(2p−1); NaN for a joint whose map is neither described nor reliable yet."""
        return np.where((self._keep | self.reliable)[:, None], self.coefficients, np.nan)

    @property
    def quality(self) -> tuple[Any, ...]:
        """The reliability of the spring, in the form that the kernel `spring_weight` takes."""
        return self.reliable, self._square, self._in_force, self._per_scale

    def update(self, deformation: ArrayLike, torque: ArrayLike, excited: ArrayLike | None = None) -> Array:
        """Take one sample and return the prediction error ε (n,) [N·m], 0 where there was no update.

        Parameters
        ----------
        deformation, torque
            φ (n,) [rad] and the virtual measurement of τ_E (n,) [N·m]. A joint where either is not finite is not
            updated.
        excited
            (n,) bool: joints that may be updated (default all).

        Raises
        ------
        JointDynamicsError
            For other shapes.
        """
        phi, y = np.asarray(deformation, dtype=float), np.asarray(torque, dtype=float)
        if phi.shape != (self.joints,) or y.shape != (self.joints,):
            raise JointDynamicsError(
                f'stiffness: expected deformation and torque of shape ({self.joints},), found {phi.shape} and {y.shape}'
            )
        if self._updates % self._stride == 0:
            self._check(phi)
        self._updates += 1
        active, error = np.empty(self.joints, dtype=bool), np.empty(self.joints)
        allowed = self._all if excited is None else np.array(excited, dtype=bool)
        jumps = self._jumps
        stiffness_step(
            phi, y, allowed, self._fresh, self._fixed, self._step_numbers, self._rls.state, jumps.sums, active,
            error, (jumps.excitation, jumps.short, jumps.long, jumps.usual), self._keep, self.reliable,
            self._in_force, self._square,
        )  # fmt: skip
        self.excited = active
        return error

    def _check(self, phi: Array) -> None:
        """Do what need not be done with every sample: novelty, jumps, the bounds of P."""
        # A standstill tells one torque over and over, with the friction's error in it: φ must have moved within the
        # last `hold` s.
        novelty(phi, (self._hold, self._stride), self._fixed, self._anchor, self._still, self._fresh)
        self._open(np.flatnonzero(self._jumps.jumped()))
        if self._updates % CHECK < self._stride:
            self._rls.bound()

    def _open(self, joints: IntArray) -> None:
        """Let the whole curve of these scale freely and its shape change somewhat; begin to watch for jumps anew."""
        for joint in joints:
            alpha = self._rls.alpha[joint]
            self._rls.P[joint] += (np.outer(alpha, alpha) + np.diag((0.3 * alpha) ** 2)) / self._floor[joint]
        self._rls.bound(joints)
        self._jumps.forget(joints)
        self.reopened[joints] += 1
