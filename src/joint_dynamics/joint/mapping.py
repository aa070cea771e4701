"""The laws of `laws` over arrays, joints in the last axis, samples before: thin loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from joint_dynamics.arrays import FloatArray
from joint_dynamics.compilation import compiled
from joint_dynamics.joint import laws


def mapped(loop: Callable[..., None], constants: tuple[Any, ...], joints: int | None, *given: ArrayLike) -> FloatArray:
    """Return what a loop of this module makes of arrays (…, n); of any shape where `joints` is None (one joint).

    constants: what the loop takes before them.
    """
    shape = np.broadcast_shapes(*(np.shape(each) for each in given), () if joints is None else (joints,))
    rows, out = (-1, 1 if joints is None else joints), np.empty(shape)
    # copies, so that a loop is compiled for one kind of array
    copies = np.empty((len(given), *shape))
    for k, each in enumerate(given):
        copies[k] = each
    loop(*constants, *copies.reshape(-1, *out.reshape(rows).shape), out.reshape(rows))
    return out


@compiled
def map_values(maps, tables, theta, out):  # type: ignore[no-untyped-def]
    """`laws.map_value` of maps (n,) at theta (N, n)."""
    for j in range(theta.shape[1]):
        for s in range(len(theta)):
            out[s, j] = laws.map_value(maps[j], tables, theta[s, j])


@compiled
def map_slopes(maps, tables, theta, out):  # type: ignore[no-untyped-def]
    """`laws.map_slope` of maps (n,) at theta (N, n)."""
    for j in range(theta.shape[1]):
        for s in range(len(theta)):
            out[s, j] = laws.map_slope(maps[j], tables, theta[s, j])


@compiled
def root_speeds(omega, out):  # type: ignore[no-untyped-def]
    """`laws.root_speed` of omega (N, n)."""
    for j in range(omega.shape[1]):
        for s in range(len(omega)):
            out[s, j] = laws.root_speed(omega[s, j])


@compiled
def stribecks(joints, omega, out):  # type: ignore[no-untyped-def]
    """`laws.stribeck` of joints (n,) at omega (N, n)."""
    for j in range(omega.shape[1]):
        for s in range(len(omega)):
            out[s, j] = laws.stribeck(joints[j], omega[s, j])


@compiled
def viscous_torques(joints, omega, out):  # type: ignore[no-untyped-def]
    """`laws.viscous` of joints (n,) at omega (N, n)."""
    for j in range(omega.shape[1]):
        for s in range(len(omega)):
            out[s, j] = laws.viscous(joints[j], omega[s, j])


@compiled
def coulomb_levels(joints, load, out):  # type: ignore[no-untyped-def]
    """`laws.coulomb_level` of joints (n,) at load (N, n)."""
    for j in range(load.shape[1]):
        for s in range(len(load)):
            out[s, j] = laws.coulomb_level(joints[j], load[s, j])


@compiled
def dry_frictions(joints, H, omega, load, out):  # type: ignore[no-untyped-def]
    """`laws.dry_friction` of joints (n,) at H, omega, load (N, n)."""
    for j in range(omega.shape[1]):
        for s in range(len(omega)):
            out[s, j] = laws.dry_friction(joints[j], H[s, j], omega[s, j], load[s, j])


@compiled
def speed_frictions(joints, H, omega, warm, out):  # type: ignore[no-untyped-def]
    """`laws.speed_friction` of joints (n,) at H, omega and factors of temperature `warm` (N, n)."""
    for j in range(omega.shape[1]):
        for s in range(len(omega)):
            out[s, j] = laws.speed_friction(joints[j], H[s, j], omega[s, j], warm[s, j])


@compiled
def warmths(joints, temperature, out):  # type: ignore[no-untyped-def]
    """`laws.warmth` of joints (n,) at temperatures (N, n)."""
    for j in range(temperature.shape[1]):
        for s in range(len(temperature)):
            out[s, j] = laws.warmth(joints[j], temperature[s, j])


@compiled
def elastic_torques(joints, tables, phi, out):  # type: ignore[no-untyped-def]
    """`laws.elastic_torque` of joints (n,) at phi (N, n)."""
    for j in range(phi.shape[1]):
        for s in range(len(phi)):
            out[s, j] = laws.elastic_torque(joints[j], tables, phi[s, j])


@compiled
def stiffnesses(joints, tables, phi, out):  # type: ignore[no-untyped-def]
    """`laws.stiffness` of joints (n,) at phi (N, n)."""
    for j in range(phi.shape[1]):
        for s in range(len(phi)):
            out[s, j] = laws.stiffness(joints[j], tables, phi[s, j])


@compiled
def stiffness_slopes(joints, tables, phi, out):  # type: ignore[no-untyped-def]
    """`laws.stiffness_slope` of joints (n,) at phi (N, n)."""
    for j in range(phi.shape[1]):
        for s in range(len(phi)):
            out[s, j] = laws.stiffness_slope(joints[j], tables, phi[s, j])


@compiled
def deformations(joints, tables, load, out):  # type: ignore[no-untyped-def]
    """`laws.deformation` of joints (n,) at load (N, n)."""
    for j in range(load.shape[1]):
        for s in range(len(load)):
            out[s, j] = laws.deformation(joints[j], tables, load[s, j])


@compiled
def slips(joints, tables, theta, sliders, out):  # type: ignore[no-untyped-def]
    """`laws.slip` of joints (n,) along theta (N, n), one sample after the other, from `sliders` (n, M) on."""
    for s in range(len(theta)):
        for j in range(theta.shape[1]):
            out[s, j] = laws.slip(joints[j], tables, theta[s, j], sliders[j])


@compiled
def relative_deformations(joints, tables, theta, sliders, out):  # type: ignore[no-untyped-def]
    """δ_i/(𝓑 Δ_i) of joints (n,) along theta (N, n), into out (N, n, M), from `sliders` (n, M) on."""
    for s in range(len(theta)):
        for j in range(theta.shape[1]):
            c = joints[j]
            angle, length = laws.presliding(c, tables, theta[s, j], sliders[j])
            for i in range(c.operators):
                sliders[j, i], out[s, j, i] = laws.slide(sliders[j, i], angle, length * tables[c.slip + i])
