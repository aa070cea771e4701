"""Regressor along a trajectory together with its vector-Jacobian product.

Exact gradients at about three evaluations' cost.

The regressor is the one of `joint_dynamics.robot` (symbols there): for joint j and link i, with z the joint's axis, u
its lever, and w, ẇ, a the motion of link i, all in frame i,

    Σ_p Λ_p row_p = ẇ·S z + w·S (z × w) + a·(z × m) + u·(ẇ × m + w × (w × m)) + μ u·a

where Λ weighs the link's ten columns: S the symmetric matrix of XX … ZZ, m the weights of MX MY MZ, μ that of M. Each
factor's gradient is read off that line; the recursion over the links is then run backwards (reverse accumulation). All
joints of a link are handled at once, samples last, so that the cost is a few hundred array operations whatever the
number of coefficients. `regressor_kernels` does the same one sample after the other, compiled, some ten times faster;
what is below is the form to read, and that it is compared with.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any, NamedTuple

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.robot import INERTIAL, RobotModel
from joint_dynamics.robot.chain import Chain
from joint_dynamics.robot.link_motion import JointPlacements, LinkMotion, cross, dot, turn, turn_back
from joint_dynamics.robot.standard_parameters import column, coupled_columns, drive_columns, link_columns

_TENSOR = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])


@functools.cache
def compiled_kernels() -> Any:
    """Return the module of kernels; numba is not loaded before a regressor is asked for."""
    return importlib.import_module('joint_dynamics.excitation.regressor_kernels')


def compile_kernels(model: RobotModel) -> None:
    """Have the kernels compiled and kept on disk, by one sample, before anything that has a time to keep."""
    still = np.zeros((model.n, 1))
    rows = RegressorGradient(model, still, still, still)
    rows.pull_back(np.zeros_like(rows.rows))
    model.regressor(still.T, still.T, still.T)


def chain_arguments(chain: Chain) -> tuple[Any, ...]:
    """Return what the kernels take of a chain: see `JointPlacements` for the rotations."""
    hat = [np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]) for x, y, z in chain.axis]
    return (
        np.array(chain.parent, dtype=np.int64),
        np.ascontiguousarray(chain.rotation),
        np.array([fixed @ each for fixed, each in zip(chain.rotation, hat, strict=True)]),
        np.array([fixed @ each @ each for fixed, each in zip(chain.rotation, hat, strict=True)]),
        np.ascontiguousarray(chain.translation),
        np.ascontiguousarray(chain.axis),
        np.array([fixed @ axis for fixed, axis in zip(chain.rotation, chain.axis, strict=True)]),
        np.array(chain.prismatic, dtype=np.bool_),
        np.array(chain.gravity, dtype=float),
    )


class _Levers(NamedTuple):
    """Of one link: the joints that move it, their axes z and levers u in its frame, (3, joints, samples) each."""

    path: tuple[int, ...]
    z: FloatArray
    u: FloatArray


class RegressorGradient:
    """The regressor of one batch of samples, kept with what its reverse pass needs.

    Parameters
    ----------
    model: the robot. q, dq, ddq: (joints, samples), rad (m) and their derivatives.
    sign_speed: speed [rad/s] over which the Coulomb column rises, tanh(dq / sign_speed); 0 for the sign itself, whose
    gradient is zero. compiled: whether the columns of the links go through the kernels.

    Attributes
    ----------
    rows: (joints, p, samples), columns in the order of `model.parameter_names`.

    """

    def __init__(
        self,
        model: RobotModel,
        q: FloatArray,
        dq: FloatArray,
        ddq: FloatArray,
        sign_speed: float = 0.0,
        placements: JointPlacements | None = None,
        compiled: bool = True,
    ):
        self._model = model
        self._chain = chain = model.chain
        self._dq = dq
        self._sign_speed = sign_speed
        n, samples = q.shape
        self.rows = np.zeros((n, len(model.parameter_names), samples))
        for i in range(n):
            self._fill_joint(i, dq[i], ddq[i])
        self._fill_coupled(dq, ddq)
        self._compiled = (chain_arguments(chain), *map(np.ascontiguousarray, (q, dq, ddq))) if compiled else None
        if self._compiled is not None:
            compiled_kernels().link_rows(*self._compiled, self.rows)
            return
        self._motion = motion = LinkMotion(chain, q, dq, ddq, placements)
        self._levers: list[_Levers] = []
        zero = np.zeros((3, 1, samples))
        for i, parent in enumerate(chain.parent):
            own = np.broadcast_to(chain.axis[i][:, None, None], (3, 1, samples))
            own_z, own_u = (zero, own) if chain.prismatic[i] else (own, zero)
            if parent < 0:
                levers = _Levers((i,), own_z, own_u)
            else:
                R, (path, z, u) = motion.rotation[i], self._levers[parent]
                z, u = turn_back(R, z), turn_back(R, u + cross(z, motion.position[i][:, None]))
                levers = _Levers((*path, i), np.concatenate([z, own_z], axis=1), np.concatenate([u, own_u], axis=1))
            self._levers.append(levers)
            self._fill(i, levers, motion.w[i], motion.dw[i], motion.a[i])

    def _fill_coupled(self, dq: FloatArray, ddq: FloatArray) -> None:
        coupling, columns = self._model.coupling, coupled_columns(len(dq))
        if coupling is None:
            return
        self.rows[:, columns] = coupling.regressor_rows(dq, ddq)
        if self._sign_speed:
            for index, m in enumerate(coupling.motors):
                c = coupling.matrix[m]
                self.rows[:, columns][:, 3 * index + 2] = c[:, None] * np.tanh(c @ dq / self._sign_speed)

    def _fill(self, i: int, levers: _Levers, w: FloatArray, dw: FloatArray, a: FloatArray) -> None:
        path, z, u = levers
        block = np.empty((len(INERTIAL), z.shape[1], z.shape[2]))
        v = cross(z, w[:, None])
        block[0] = dw[0] * z[0] + w[0] * v[0]
        block[1] = dw[0] * z[1] + dw[1] * z[0] + w[0] * v[1] + w[1] * v[0]
        block[2] = dw[0] * z[2] + dw[2] * z[0] + w[0] * v[2] + w[2] * v[0]
        block[3] = dw[1] * z[1] + w[1] * v[1]
        block[4] = dw[1] * z[2] + dw[2] * z[1] + w[1] * v[2] + w[2] * v[1]
        block[5] = dw[2] * z[2] + w[2] * v[2]
        # Kᵀu with K = [ẇ]× + [w]×², as u × ẇ + (u × w) × w
        block[6:9] = cross(a[:, None], z) + cross(u, dw[:, None]) + cross(cross(u, w[:, None]), w[:, None])
        block[9] = dot(u, a[:, None])
        self.rows[list(path), link_columns(i)] = block.transpose(1, 0, 2)

    def _fill_joint(self, i: int, dq: FloatArray, ddq: FloatArray) -> None:
        sign = np.tanh(dq / self._sign_speed) if self._sign_speed else np.sign(dq)
        self.rows[i, drive_columns(i)] = ddq, dq, sign, np.ones_like(dq)

    def pull_back(self, weight: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the gradients of Σ weight · rows with respect to q, dq and ddq, (joints, samples) each.

        Weight as `rows`.
        """
        n, _, samples = weight.shape
        grad_q, grad_dq, grad_ddq = (np.zeros((n, samples)) for _ in range(3))
        self._joint_gradient(weight, grad_dq, grad_ddq)
        if self._compiled is not None:
            compiled_kernels().pull_back(*self._compiled, np.ascontiguousarray(weight), grad_q, grad_dq, grad_ddq)
            return grad_q, grad_dq, grad_ddq
        chain, motion = self._chain, self._motion
        link_bar = [[np.zeros((3, samples)) for _ in range(3)] for _ in range(n)]
        lever_bar = [[np.zeros((3, len(levers.path), samples)) for _ in range(2)] for levers in self._levers]
        for i in reversed(range(n)):
            (_, z, u), R, p, gyro = self._levers[i], motion.rotation[i], motion.position[i], motion.gyro[i]
            self._link_gradient(i, weight, link_bar[i], lever_bar[i])
            (w_bar, dw_bar, a_bar), (z_bar, u_bar) = link_bar[i], lever_bar[i]
            axis = chain.axis[i][:, None]
            if chain.prismatic[i]:
                grad_ddq[i] += dot(axis, a_bar)
                grad_dq[i] += 2 * dot(gyro, a_bar)
                w1_bar = w_bar + 2 * self._dq[i] * cross(axis, a_bar)
            else:
                grad_ddq[i] += dot(axis, dw_bar)
                grad_dq[i] += dot(axis, w_bar) + dot(gyro, dw_bar)
                w1_bar = w_bar + self._dq[i] * cross(axis, dw_bar)
                # d(Rᵀx)/dq = Rᵀx × axis for everything that was turned into this frame
                w0, dw0, a0 = motion.before[i]
                moment = cross(w1_bar, w0) + cross(dw_bar, dw0) + cross(a_bar, a0)
                moment += (cross(z_bar[:, :-1], z[:, :-1]) + cross(u_bar[:, :-1], u[:, :-1])).sum(axis=1)
                grad_q[i] += dot(axis, moment)
            parent = chain.parent[i]
            if parent < 0:
                continue  # gravity is the same everywhere: the position of a first slide acts on nothing
            w0, dw0, z0 = motion.w[parent], motion.dw[parent], self._levers[parent].z
            acc_bar = turn(R, a_bar)
            arm_bar = turn(R, u_bar[:, :-1])
            link_bar[parent][0] += (
                turn(R, w1_bar) + p * dot(acc_bar, w0) + acc_bar * dot(w0, p) - 2 * w0 * dot(acc_bar, p)
            )
            link_bar[parent][1] += turn(R, dw_bar) + cross(p, acc_bar)
            link_bar[parent][2] += acc_bar
            lever_bar[parent][0] += turn(R, z_bar[:, :-1]) + cross(p[:, None], arm_bar)
            lever_bar[parent][1] += arm_bar
            if chain.prismatic[i]:
                p_bar = (
                    cross(acc_bar, dw0) + w0 * dot(w0, acc_bar) - acc_bar * dot(w0, w0) + cross(arm_bar, z0).sum(axis=1)
                )
                grad_q[i] += dot((chain.rotation[i] @ chain.axis[i])[:, None], p_bar)
        return grad_q, grad_dq, grad_ddq

    def _joint_gradient(self, weight: FloatArray, grad_dq: FloatArray, grad_ddq: FloatArray) -> None:
        n = len(weight)
        for i in range(n):
            rotor, viscous, coulomb, _ = weight[i, drive_columns(i)]
            grad_ddq[i] += rotor
            grad_dq[i] += viscous
            if self._sign_speed:
                grad_dq[i] += coulomb * (1 - self.rows[i, column('Fc', i)] ** 2) / self._sign_speed
        if self._model.coupling is not None:
            # the columns are linear in dq and ddq, one joint each: their slopes are their values at unit motion
            unit, none = np.eye(n), np.zeros((n, n))
            extra = weight[:, coupled_columns(n)]
            by_speed = self._model.coupling.regressor_rows(unit, none)
            by_speed[:, 2::3] = 0.0
            grad_dq += np.einsum('jpk,jps->ks', by_speed, extra)
            if self._sign_speed:
                for index, m in enumerate(self._model.coupling.motors):
                    c = self._model.coupling.matrix[m]
                    slope = (1 - np.tanh(c @ self._dq / self._sign_speed) ** 2) / self._sign_speed
                    grad_dq += c[:, None] * (c @ extra[:, 3 * index + 2]) * slope
            grad_ddq += np.einsum('jpk,jps->ks', self._model.coupling.regressor_rows(none, unit), extra)

    def _link_gradient(
        self, i: int, weight: FloatArray, motion_bar: list[FloatArray], lever_bar: list[FloatArray]
    ) -> None:
        """Add the gradients of the link's ten columns with respect to w, ẇ, a and to z, u of every joint before it."""
        path, z, u = self._levers[i]
        w, dw, a = self._motion.w[i], self._motion.dw[i], self._motion.a[i]
        own = weight[list(path), link_columns(i)].transpose(1, 0, 2)
        S, m, mu = own[_TENSOR], own[6:9], own[9]
        w, dw, a = w[:, None], dw[:, None], a[:, None]
        Sw = turn_plain(S, w)
        v = cross(z, w)
        mw, uw, um = dot(m, w), dot(u, w), dot(u, m)
        motion_bar[0] += (turn_plain(S, v) + cross(Sw, z) + u * mw + m * uw - 2 * um * w).sum(axis=1)
        motion_bar[1] += (turn_plain(S, z) + cross(m, u)).sum(axis=1)
        motion_bar[2] += (cross(z, m) + mu * u).sum(axis=1)
        lever_bar[0] += turn_plain(S, dw) + cross(w, Sw) + cross(m, a)
        lever_bar[1] += cross(dw, m) + w * mw - m * dot(w, w) + mu * a


def turn_plain(S: FloatArray, v: FloatArray) -> FloatArray:
    """S v for S (3, 3, joints, samples) and v (3, joints or 1, samples)."""
    return S[:, 0] * v[0] + S[:, 1] * v[1] + S[:, 2] * v[2]
