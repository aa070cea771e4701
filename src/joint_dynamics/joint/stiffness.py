"""Torsional stiffness of a transmission: its elastic polynomial, with the inverse and the document of a description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.joint.elastic_polynomial import ElasticPolynomial
from joint_dynamics.joint.elastic_range import ElasticInverse


class TorsionalStiffness(ElasticPolynomial):
    """Stiffness polynomials of one joint, or of all joints at once: τ_E(φ) = Σ α_p φ^{2p−1} [M3 eq 4-10, M4 eq 12-22].

    Evaluated on φ of any shape (one joint) or (…, n).

    Parameters
    ----------
    coefficients
        (P,) for one joint, or (n, P); α_p in N·m/rad^{2p−1}.
    """

    def deformation(self, torque: ArrayLike) -> FloatArray:
        """Deformation φ with τ_E(φ) = torque (N·m): the one real root, rad, same shape as the torque.

        Needs α_p ≥ 0 with one above zero, so that τ_E is monotone; raises otherwise. See `ElasticInverse` for joints
        that soften.
        """
        torque = self._check(torque)
        alpha = self.coefficients
        if np.any(alpha < 0) or not np.all(np.any(alpha > 0, axis=-1)):
            raise JointDynamicsError(
                'TorsionalStiffness.deformation: expected coefficients >= 0, one of them > 0 per joint (monotone), '
                f'found {alpha.tolist()}'
            )
        return ElasticInverse(self)(torque)

    def to_dict(self, joint: int = 0) -> dict[str, Any]:
        """Plain document of one joint: `{coefficients: [α_1, …]}`, N·m/rad^{2p−1}."""
        return {'coefficients': np.atleast_2d(self.coefficients)[joint].tolist()}

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> TorsionalStiffness:
        """Build one joint's stiffness from its document (fields as in docs/reference/joint_models.md).

        Raises JointDynamicsError without coefficients.
        """
        if 'coefficients' not in document:
            raise JointDynamicsError(
                f'stiffness: expected the field coefficients, found {", ".join(map(str, document)) or "none"}'
            )
        return cls(document['coefficients'])

    @classmethod
    def stack(cls, stiffnesses: Sequence[TorsionalStiffness]) -> TorsionalStiffness:
        """Join one-joint polynomials, of possibly different order, into one of n joints.

        stiffnesses: one per joint.
        """
        order = max(stiffness.order for stiffness in stiffnesses)
        return cls([np.pad(stiffness.coefficients.ravel(), (0, order - stiffness.order)) for stiffness in stiffnesses])
