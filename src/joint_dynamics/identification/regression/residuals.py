# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

"""How well identified parameters predict the torque of a recording: residuals per joint, relative and absolute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from joint_dynamics.arrays import BoolArray, FloatArray, finite
from joint_dynamics.identification.observations import Observation
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.identification.regression.rows import BLOCK, Block, load_torque
from joint_dynamics.recording.load import short_name
from joint_dynamics.robot.limits import joint_unit
from joint_dynamics.signals.filtering import zero_phase_lowpass

BAND = 10.0
"""The band residuals are compared in [Hz], whatever the motion's own bandwidth: arms are controlled below it, and
most published residuals are too."""
MAX_RATE_SHARE = 0.4
"""Share of the sampling rate above which there is no filter left: a slower recording is compared up to here."""


@dataclass(frozen=True)
class FullRate:
    """Torque before any filter, (samples, joints): tau measured, predicted [N·m], dq [rad/s]; time (samples,) [s].

    band_of_rest: as of a `Fit`; q: (samples, joints) [rad or m], None: not kept.
    """

    time: FloatArray
    tau: FloatArray
    predicted: FloatArray
    dq: FloatArray
    band_of_rest: FloatArray | None = None
    q: FloatArray | None = None

    @property
    def rate(self) -> float:
        """Samples per second."""
        return (len(self.time) - 1) / float(self.time[-1] - self.time[0])

    @property
    def band(self) -> float:
        """Band of `in_band` [Hz]: `BAND`, or less where the sampling rate requires."""
        return min(BAND, MAX_RATE_SHARE * self.rate)

    def in_band(self) -> tuple[FloatArray, FloatArray]:
        """Return residual and measured torque (samples, joints) [N·m], both zero-phase low-passed at `band`."""
        both = zero_phase_lowpass(np.concatenate([self.tau - self.predicted, self.tau], axis=1), self.band, self.rate)
        return both[:, : self.tau.shape[1]], both[:, self.tau.shape[1] :]


@dataclass(frozen=True)
class Fit:
    """Measured and predicted torque of one recording on the filtered, decimated samples.

    time (K,) [s]; tau, predicted (K, joints) [N·m]; dq (K, joints) [rad/s]; raw_residual_percent: the same prediction
    against the unfiltered torque, per joint (joints,) and overall (float). band: of the filtered samples [Hz]; full:
    the same at the recording's rate. sliding: which joints slide, whose torques are forces [N]; empty: none. at_rest
    (K, joints): Coulomb level [N·m] of joints at rest, by which the prediction is uncertain, NaN where they move; None:
    none rests. without_torque: joints whose torque was not recorded; measured and predicted torque are 0.
    """

    name: str
    joint_names: tuple[str, ...]
    time: FloatArray
    tau: FloatArray
    predicted: FloatArray
    dq: FloatArray
    moving_speed: float
    raw: tuple[FloatArray, float]
    full: FullRate
    band: float | None = None
    sliding: tuple[bool, ...] = ()
    at_rest: FloatArray | None = None
    without_torque: tuple[str, ...] = ()

    @property
    def measured(self) -> BoolArray:
        """Which joints' torque was recorded, (joints,)."""
        return ~np.isin(self.joint_names, self.without_torque)

    @property
    def units(self) -> tuple[str, ...]:
        """The unit of each joint's torque: N of those that slide."""
        return tuple(joint_unit('N·m', slides) for slides in self.sliding) or ('N·m',) * len(self.joint_names)

    @property
    def unit(self) -> str | None:
        """The unit of all torques, None where some joints slide and others turn."""
        return self.units[0] if len(set(self.units)) == 1 else None

    @property
    def short_name(self) -> str:
        """What tables show: the last component of the recording's path, with its window."""
        return short_name(self.name)

    @property
    def resting(self) -> BoolArray:
        """Which joints rest, (K, joints)."""
        return np.zeros(self.dq.shape, dtype=bool) if self.at_rest is None else np.isfinite(self.at_rest)

    @property
    def band_of_rest(self) -> FloatArray:
        """Half width of the band of the prediction (K, joints) [N·m]: the Coulomb level at rest, 0 in motion."""
        return np.zeros(self.dq.shape) if self.at_rest is None else np.nan_to_num(self.at_rest)

    @property
    def residual(self) -> FloatArray:
        """τ − τ̂, (K, joints) [N·m]."""
        return self.tau - self.predicted

    @property
    def moving(self) -> BoolArray:
        """Which samples count as moving, (K, joints)."""
        return np.asarray(np.abs(self.dq) > self.moving_speed)

    def residual_percent(self, moving: bool = False) -> tuple[FloatArray, float]:
        """Return 100 ‖τ − τ̂‖/‖τ‖ per joint (joints,) and overall.

        A joint without such samples, or without torque, is NaN.

        Parameters
        ----------
        moving
            of the samples with |q̇_j| above the moving speed only.
        """
        return overall_residual([self], moving)

    @property
    def rmse(self) -> FloatArray:
        """Root mean square of the residual per joint, (joints,) [N·m]."""
        return np.sqrt(np.mean(self.residual**2, axis=0))

    @cached_property
    def in_fixed_band(self) -> Fit:
        """The fit of all samples in the band that is the same for every robot."""
        residual, tau = self.full.in_band()
        return replace(self, time=self.full.time, tau=tau, predicted=tau - residual, dq=self.full.dq, at_rest=None)

    def summary(self) -> dict[str, Any]:
        """Return the entry of summary.json for this recording (design.md's keys; NaN as None)."""
        return {
            'band_hz': self.band,
            'fixed_band': {'band_hz': self.full.band, **self.in_fixed_band.figures()},
            'recording': self.name,
            'raw_residual_percent': self._by_joint(*self.raw),
            **self.figures(),
        }

    def figures(self) -> dict[str, Any]:
        """Return residuals by joint and overall: of all samples and of the moving ones [%], and rms [N·m]."""
        return {
            'residual_percent': self._by_joint(*self.residual_percent()),
            'moving_residual_percent': self._by_joint(*self.residual_percent(moving=True)),
            'rmse': {name: float(value) for name, value in zip(self.joint_names, self.rmse, strict=True)},
        }

    def _by_joint(self, joints: FloatArray, overall: float) -> dict[str, float | None]:
        named = dict(zip(self.joint_names, joints, strict=True)) | {'overall': overall}
        return {name: finite(value) for name, value in named.items()}


def relative(residual: FloatArray, tau: FloatArray, mixed: bool = False) -> tuple[FloatArray, float]:
    """Return 100 ‖residual‖/‖tau‖ per column (samples, joints) and overall, NaN where tau is zero; mixed: see below."""
    return relative_of_squares((residual**2).sum(axis=0), (tau**2).sum(axis=0), mixed)


def relative_of_squares(error: FloatArray, size: FloatArray, mixed: bool = False) -> tuple[FloatArray, float]:
    """Return 100 √(error/size) per joint and over all joints, NaN where size is zero.

    mixed: N and N·m do not add up, so that of all joints is the root mean square of the joints' own, each joint against
    its own torque.
    """
    with np.errstate(divide='ignore', invalid='ignore'):
        joints = 100 * np.sqrt(np.where(size > 0, error / size, np.nan))
    if not size.sum() > 0:
        return joints, float('nan')
    if mixed:
        return joints, float(np.sqrt(np.mean(joints[size > 0] ** 2)))
    return joints, 100 * float(np.sqrt(error.sum() / size.sum()))


def predict(block: Block, chi: FloatArray) -> FloatArray:
    """Return the torque (joints, samples) that parameters chi (b,) predict for a block."""
    return np.einsum('jbs,b->js', block.rows, chi, optimize=True)


def full_rate_torque(problem: Problem, observation: Observation, chi: FloatArray) -> FloatArray:
    """Return the torque (samples, joints) that chi (b,) predicts for every sample of an observation, unfiltered."""
    model, base = problem.model, problem.base
    standard = model.standard(base.lift(chi[: base.count]))
    Ia, Fv, Fc, offset = (
        values[:, None] for values in (standard.rotor_inertia, standard.viscous, standard.coulomb, standard.offset)
    )
    slips, where, extra = problem.slips(observation), problem.joints_of_extra, chi[base.count :]
    out = np.empty_like(observation.tau)
    for part in _parts(len(out)):
        dtheta, ddtheta = (np.ascontiguousarray(array[part].T) for array in (observation.dtheta, observation.ddtheta))
        tau = load_torque(model, observation, standard.links, part)
        tau += Ia * ddtheta + Fv * dtheta + Fc * np.sign(dtheta) + offset
        if model.coupling is not None:
            tau += np.einsum('jps,p->js', model.coupling.regressor_rows(dtheta, ddtheta), standard.coupled)
        columns = problem.extra_columns(observation, part, slips)
        for joints, torque in zip(where, extra[:, None] * columns, strict=True):
            for j, ratio in joints.items():
                tau[j] += ratio * torque
        out[part] = tau.T
    return out


def _parts(samples: int) -> Iterator[slice]:
    for start in range(0, samples, BLOCK):
        yield slice(start, min(start + BLOCK, samples))


def overall_residual(recordings: Sequence[Fit], moving: bool = False) -> tuple[FloatArray, float]:
    """Return `residual_percent` of several recordings as one."""
    masks = [fit.moving if moving else np.ones_like(fit.dq, dtype=bool) for fit in recordings]
    residual = np.concatenate([np.where(mask, fit.residual, 0.0) for fit, mask in zip(recordings, masks, strict=True)])
    tau = np.concatenate([np.where(mask, fit.tau, 0.0) for fit, mask in zip(recordings, masks, strict=True)])
    return relative(residual, tau, any(fit.unit is None for fit in recordings))


def band_of_all(recordings: Sequence[Fit]) -> str:
    """Return in words the band of the filtered samples of recordings, as `below 10 Hz`, '' where none is filtered."""
    bands = sorted({fit.band for fit in recordings if fit.band is not None})
    return f'below {" or ".join(dict.fromkeys(f"{band:.3g}" for band in bands))} Hz' if bands else ''


def overall_in_fixed_band(recordings: Sequence[Fit]) -> dict[str, float | None]:
    """Return the figures of several recordings as one in the fixed band, of all joints together.

    {band_hz (the lowest), residual_percent, moving_residual_percent, rms [N·m or N]}; a percentage that does not exist
    is None, and rms where some joints slide and others turn.
    """
    fits = [fit.in_fixed_band for fit in recordings]
    residual = np.concatenate([fit.residual for fit in fits])
    return {
        'band_hz': min(fit.full.band for fit in fits),
        'residual_percent': finite(overall_residual(fits)[1]),
        'moving_residual_percent': finite(overall_residual(fits, moving=True)[1]),
        'rms': None if any(fit.unit is None for fit in fits) else float(np.sqrt(np.mean(residual**2))),
    }
