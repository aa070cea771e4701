"""Maxwell-slip in position form for all joints at once.

With the polynomial laws and the backlash map of the extended model [M6 eq 12-18].

    δ_i ← clip(δ_i + θ(k+1) − θ(k), ±𝓑(θ(k+1)) Δ_i),    H = 𝓑(θ)⁻¹ Σ k_i δ_i,    Σ k_i Δ_i = 1,  −1 ≤ H ≤ 1

Kept here is the position of each slider, s_i = θ − δ_i, for which the same rule reads s ← clip(s, θ − 𝓑Δ, θ + 𝓑Δ):
minima and maxima of numbers given from outside. Clips compose without any rounding, (l₁,u₁) then (l₂,u₂) is the clip to
(clip(l₁), clip(u₁)) by the second; so a whole recording is evaluated block by block in parallel and gives, bit for bit,
what single steps give.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.clip_scan import clip_scan
from joint_dynamics.joint.maps import PeriodicMap, compiled_kernels
from joint_dynamics.joint.slip_operators import operators_of, polynomial_limits, polynomial_stiffness

CHUNK = 65536
MOST_OPERATORS = 7
"""Numbers that numpy adds up one after the other, as the kernel does; more it adds in pairs."""


class MaxwellSlip:
    """M Maxwell-slip operators per joint; input the motor angle, output the normalised hysteresis H in [−1, 1].

    `step(theta)` takes one sample, (n,) rad, and returns H, (n,); `run(theta)` takes (N, n), from the present state on,
    and returns (N, n). For n = 1 a scalar and (N,) are taken too. The first sample after `reset` sets the angle from
    which deformation counts.

    Parameters
    ----------
    joints
        n.
    presliding
        𝓑(θ) > 0 [rad], the deformation at which the last operator slips: a number, (n,), or a PeriodicMap (stacked for
        n joints). [M6] takes half the backlash of the joint for it; it is a length of the friction, and need not be
        that of the play.
    operators
        M ≥ 1; r_Delta, r_k: exponents of the polynomial laws [M6 eq 17-18], defaults of the paper.
    limits
        Δ, (M,) or (n, M), 0 < Δ_1 < … < Δ_M: given instead of the law for Δ.
    stiffness
        k, (M,) or (n, M), k_i ≥ 0 and Σ k_i Δ_i = 1: given instead of the law for k.
    kinematic_error
        θ̃(θ) [rad]: taken off the input first; None: none.

    Raises
    ------
    JointDynamicsError
        For shapes that do not fit and values outside these bounds.
    """

    def __init__(
        self,
        joints: int = 1,
        presliding: float | ArrayLike | PeriodicMap = 1e-3,
        *,
        operators: int = 4,
        r_Delta: float = 4.0,
        r_k: float = 2.0,
        limits: ArrayLike | None = None,
        stiffness: ArrayLike | None = None,
        kinematic_error: PeriodicMap | None = None,
    ) -> None:
        if joints < 1 or operators < 1:
            raise JointDynamicsError(
                f'MaxwellSlip: expected joints >= 1 and operators >= 1, found {joints} and {operators}'
            )
        self.joints = int(joints)
        self._laws = {'r_Delta': float(r_Delta)} if limits is None else {}
        if stiffness is None:
            self._laws['r_k'] = float(r_k)
        given = (
            polynomial_limits(operators, r_Delta) if limits is None else np.atleast_1d(np.array(limits, dtype=float))
        )
        self.limits = np.broadcast_to(given, (self.joints, given.shape[-1])).copy()
        self._check_limits()
        if stiffness is None:
            self.stiffness = np.stack([polynomial_stiffness(row, r_k) for row in self.limits])
        else:
            self.stiffness = np.broadcast_to(np.array(stiffness, dtype=float), self.limits.shape).copy()
        self._normalise_stiffness()
        self.presliding = self._as_map(presliding)
        self.kinematic_error = None if kinematic_error is None else self._as_map(kinematic_error)
        if not self.presliding.minimum > 0:
            raise JointDynamicsError(
                f'MaxwellSlip: expected a presliding length > 0 everywhere, found {self.presliding.minimum}'
            )
        self._slider: FloatArray | None = None
        self._output = np.zeros(self.joints)
        # What does not change from sample to sample.
        self._share = self.stiffness * self.limits
        self._operators = np.array([self.limits, self._share])
        self._presliding = self.presliding.packed(self.joints)
        self._error = None if self.kinematic_error is None else self.kinematic_error.packed(self.joints)
        constant = self.presliding.constant_value
        self._width = None if constant is None else np.asarray(constant)[..., None] * self.limits

    def _check_limits(self) -> None:
        steps = np.diff(self.limits, axis=1, prepend=0.0)
        if not np.all(np.isfinite(self.limits)) or np.any(steps <= 0):
            raise JointDynamicsError(
                f'MaxwellSlip: expected limits 0 < Delta_1 < … < Delta_M, found {self.limits.tolist()}'
            )

    def _normalise_stiffness(self) -> None:
        total = np.sum(self.stiffness * self.limits, axis=1)
        if np.any(self.stiffness < 0) or not np.allclose(total, 1.0, rtol=0, atol=1e-6):
            raise JointDynamicsError(
                f'MaxwellSlip: expected stiffness k >= 0 with sum k_i Delta_i = 1, found sums {total.tolist()}'
            )
        self.stiffness = self.stiffness / total[:, None]

    def _as_map(self, value: float | ArrayLike | PeriodicMap) -> PeriodicMap:
        if isinstance(value, PeriodicMap):
            if value.joints not in (None, self.joints):
                raise JointDynamicsError(f'MaxwellSlip: expected a map of {self.joints} joints, found {value.joints}')
            return value
        levels = np.broadcast_to(np.asarray(value, dtype=float), (self.joints,))
        return PeriodicMap.stack([PeriodicMap.constant(level) for level in levels])

    @property
    def operators(self) -> int:
        """Number of operators M per joint."""
        return int(self.limits.shape[1])

    @property
    def output(self) -> FloatArray:
        """Present H, (n,), −1 ≤ H ≤ 1, without unit; zeros before the first sample."""
        return self._output.copy()

    @property
    def state(self) -> FloatArray | None:
        """Slider positions s_i = θ − δ_i, (n, M) rad, or None before the first sample; may be set."""
        return None if self._slider is None else self._slider.copy()

    @state.setter
    def state(self, slider: ArrayLike | None) -> None:
        self._slider = (
            None if slider is None else np.broadcast_to(np.asarray(slider, dtype=float), self.limits.shape).copy()
        )

    def reset(self, theta: ArrayLike | None = None, direction: ArrayLike = 0.0) -> None:
        """Forget the past: no deformation at θ (n,) rad, or full slip in `direction` (±1 per joint).

        θ None waits for the first sample.
        """
        self._slider, self._output = None, np.zeros(self.joints)
        if theta is not None:
            angle, width = self._input(np.broadcast_to(np.asarray(theta, dtype=float), (self.joints,)))
            delta = np.broadcast_to(np.asarray(direction, dtype=float), (self.joints,))[:, None] * width
            self._slider = angle[:, None] - delta
            self._output = self._hysteresis(delta / width)

    def copy(self) -> MaxwellSlip:
        """Return an independent twin: the same parameters, its own state."""
        twin = object.__new__(MaxwellSlip)
        twin.__dict__.update(self.__dict__)
        twin._slider, twin._output = self.state, self._output.copy()
        return twin

    def _input(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Corrected angle θ − θ̃(θ), (…, n), and the limits 𝓑(θ)Δ_i, (…, n, M)."""
        angle = theta if self.kinematic_error is None else theta - self.kinematic_error(theta)
        if self._width is not None:
            return angle, self._width
        return angle, self.presliding(theta)[..., None] * self.limits

    def _hysteresis(self, relative: FloatArray) -> FloatArray:
        """H = 𝓑⁻¹ Σ k_i δ_i = Σ (k_i Δ_i) δ_i / (𝓑 Δ_i): exactly ±1 in slip, whatever 𝓑 [M6 proposition 1]."""
        H: FloatArray = np.add.reduce(relative * self._share, axis=-1)
        return np.minimum(np.maximum(H, -1.0, out=H), 1.0, out=H)

    def advancing(self) -> tuple[Any, ...] | None:
        """Return what `kernels.slip_step` takes: error, presliding length, operators, sliders and H, (n,).

        Whoever calls it with them advances this hysteresis. None before the first sample, and where `step` goes by
        arrays.
        """
        if self._slider is None or self.operators > MOST_OPERATORS:
            return None
        error = None if self.kinematic_error is None else self._error
        return error, self._presliding, self._operators, self._slider, self._output

    def step(self, theta: ArrayLike) -> FloatArray:
        """Take one sample of the motor angle θ (n,) rad, return H (n,)."""
        given = np.array(theta, dtype=float)
        row = given.reshape(self.joints)
        advancing = self.advancing()
        if advancing is None:
            return self._step_arrays(row).reshape(given.shape)
        compiled_kernels().slip_step(row, *advancing)
        return self._output.reshape(given.shape).copy()

    def _step_arrays(self, theta: FloatArray) -> FloatArray:
        """The same by arrays: the form that the kernel is compared with, and the first sample."""
        angle, width = self._input(theta)
        if self._slider is None:
            self._slider = np.repeat(angle[:, None], self.operators, axis=1)
        column = angle[:, None]
        slider = np.maximum(self._slider, column - width)
        self._slider = np.minimum(slider, column + width, out=slider)
        self._output = self._hysteresis(self._relative(angle, self._slider, width))
        return self._output.copy()

    @staticmethod
    def _relative(angle: FloatArray, slider: FloatArray, width: FloatArray) -> FloatArray:
        # θ − s rounds; in slip the clip at 𝓑Δ takes the rounding off again, so that H is ±1 and not ±1 ∓ 1e-13.
        delta = angle[..., None] - slider
        slack = 4e-16 * (1.0 + np.abs(angle))[..., None]
        return np.where(np.abs(delta) >= width - slack, np.sign(delta), delta / width)

    def run(self, theta: ArrayLike) -> FloatArray:
        """Take a recording θ (N, n) rad, return H (N, n).

        The state goes on from where it was, and on from here afterwards.
        """
        given = np.asarray(theta, dtype=float)
        H = np.empty((given.size // self.joints, self.joints))
        for rows, relative in self._advance(given):
            H[rows] = self._hysteresis(relative)
        return H.reshape(given.shape)

    def relative_deformation(self, theta: ArrayLike) -> FloatArray:
        """Take a recording θ (N, n) rad like `run`, return δ_i/(𝓑 Δ_i), (N, n, M) in [−1, 1].

        What the stiffness is regressed on.
        """
        given = np.asarray(theta, dtype=float)
        out = np.empty((given.size // self.joints, self.joints, self.operators))
        for rows, relative in self._advance(given):
            out[rows] = relative
        return out

    def _advance(self, given: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Move the sliders along the recording, chunk by chunk: (rows, δ_i/(𝓑 Δ_i)); the output follows at the end."""
        rows = given.reshape(-1, self.joints) if given.ndim <= 1 and self.joints == 1 else given
        if rows.ndim != 2 or rows.shape[1] != self.joints:
            raise JointDynamicsError(
                f'MaxwellSlip: expected a recording theta of shape (N, {self.joints}), found {given.shape}'
            )
        for start in range(0, len(rows), CHUNK):
            angle, width = self._input(rows[start : start + CHUNK])
            if self._slider is None:
                self._slider = np.repeat(angle[0][:, None], self.operators, axis=1)
            sliders = clip_scan(self._slider, angle[..., None] - width, angle[..., None] + width)
            self._slider = sliders[-1].copy()
            relative = self._relative(angle, sliders, width)
            self._output = self._hysteresis(relative[-1])
            yield slice(start, start + len(angle)), relative

    def to_dict(self, joint: int = 0) -> dict[str, Any]:
        """Plain document of one joint.

        Operators and exponents of the laws, or the limits and stiffness themselves, and the presliding length.
        """
        document: dict[str, Any] = {'operators': self.operators, **self._laws}
        if 'r_Delta' not in self._laws:
            document['limits'] = self.limits[joint].tolist()
        if 'r_k' not in self._laws:
            document['stiffness'] = self.stiffness[joint].tolist()
        return document | {'presliding': self.presliding.to_dict(joint)}

    @classmethod
    def from_dicts(
        cls, documents: Sequence[Mapping[str, Any]], kinematic_error: Sequence[PeriodicMap] | None = None
    ) -> MaxwellSlip:
        """Build all joints from their documents, each with a presliding length or map, all of as many operators.

        Parameters
        ----------
        documents
            one per joint, fields as in docs/reference/joint_models.md.
        kinematic_error
            maps θ̃(θ) [rad] of the joints; None: none.

        Raises
        ------
        JointDynamicsError
            For a field that is not known or not there, and where the numbers of operators differ.
        """
        limits, stiffness, presliding, laws = operators_of(documents)
        slip = cls(
            len(documents),
            presliding,
            limits=limits,
            stiffness=stiffness,
            kinematic_error=None if kinematic_error is None else PeriodicMap.stack(list(kinematic_error)),
        )
        if laws is not None:
            slip._laws = laws
        return slip
