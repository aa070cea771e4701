"""Load-dependent friction in the quadrants motor and generator from a joint whose load torque is known [H eq 25-30]."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from joint_dynamics.identification.joint_tests.data import JointData
from joint_dynamics.identification.joint_tests.quadrants import DRY, fit_quadrants
from joint_dynamics.identification.joint_tests.result import Plot, Series, TestResult, Value
from joint_dynamics.signals.filtering import zero_phase_lowpass

UNITS = {
    **dict.fromkeys(('a_m', 'b_m', 'a_g', 'b_g'), ''),
    **dict.fromkeys(('c_m', 'd_m', 'c_g', 'd_g', 'tau_off'), 'N·m'),
    'F_V': 'N·m·s/rad',
    'dq_s': 'rad/s',
}
# Rows per cut-off period, and how many rows the zero-phase filter of 4th order smears a jump over.
OVERSAMPLING, GUARD = 5, 8


def identify_quadrants(
    recordings: Sequence[JointData], dq_s: float | None = None, min_speed: float = 5e-3
) -> TestResult:
    """Fit a_m … tau_off of the load-dependent model with the known load torque as the rigid part.

    The usual model beside it.

    dq_s rad/s: None searches it. The last third of every recording is kept out of the fit and judges both models.
    Not reliable: the new model is no better there, by at least 2 %.
    """
    fitted: list[list[np.ndarray]] = [[], [], []]
    held: list[list[np.ndarray]] = [[], [], []]
    for data in recordings:
        data.need('tau', 'tau_J')
        assert data.tau is not None and data.tau_J is not None
        step = max(1, int(data.rate / (OVERSAMPLING * data.cutoff)))
        columns = [zero_phase_lowpass(x, data.cutoff, data.rate)[::step] for x in (data.tau_J, data.omega, data.tau)]
        cut = 2 * columns[0].size // 3
        for store, new, kept in zip(fitted, held, columns, strict=True):
            store.append(kept[:cut])
            new.append(kept[cut:])
    (load, dq, tau), (load_new, dq_new, tau_new) = ([np.concatenate(x) for x in group] for group in (fitted, held))
    fit = fit_quadrants(load[:, None], dq, tau, ('load',), dq_s=dq_s, min_speed=min_speed, guard=GUARD)
    outside = fit.judge(load_new[:, None], dq_new, tau_new, min_speed, GUARD)
    result = TestResult('load', recordings[0].joint)
    values = dict(zip(('a_m', 'b_m', 'a_g', 'b_g', *DRY), zip(fit.new.values, fit.new.std, strict=True), strict=True))
    for name, (value, std) in values.items():
        result.parameters[name] = Value(float(value), float(std), UNITS[name])
    result.parameters['dq_s'] = Value(fit.dq_s, None, UNITS['dq_s'])
    gain = 100 * (1 - outside['new'] / outside['usual'])
    result.quality.update(
        {
            'form': 'quadrants',
            'rows': int(fit.used.sum()),
            'relative_residual_percent': {k: 100 * v for k, v in fit.relative_residual.items()},
            'held_out_residual_percent': {k: 100 * v for k, v in outside.items()},
            'held_out_gain_percent': gain,
            'load_source': recordings[0].load_source,
        }
    )
    if gain < 2.0:
        result.reasons.append(
            f'on data not used for the fit the residual falls by {gain:.1f} % only: no load dependence to be seen in'
            ' the quadrants'
        )
    order = np.argsort(load[fit.used])
    thin = order[:: max(1, order.size // 3000)]
    x, y = load[fit.used][thin], (tau - load)[fit.used][thin]
    result.plots.append(
        Plot(
            f'{recordings[0].joint}: friction in the four quadrants',
            'load torque [N·m]',
            'motor torque minus load [N·m]',
            (
                Series('measured', x, y),
                Series('usual model', x, y - fit.usual.residual[thin]),
                Series('load-dependent model', x, y - fit.new.residual[thin]),
            ),
        )
    )
    result.document = {'friction': {'quadrants': {name: float(item.value) for name, item in result.parameters.items()}}}
    return result
