"""Whole numbers, single precision and lists count as the numbers they are; what comes back is in double precision.

Drivers publish single precision, documents hold whole numbers: a square taken in either would round or overflow.
"""

import numpy as np
import pytest

from joint_dynamics.joint import FrictionModel, MaxwellSlip, PeriodicMap, TorsionalStiffness
from joint_dynamics.joint.friction_documents import polynomial_stiffness
from joint_dynamics.joint.maps import FourierSeries
from joint_dynamics.joint.stiffness import loads_of, lost_motion_share, place_in_play

QUADRANTS = {'a_m': 1.2, 'b_m': 0.1, 'a_g': 0.8, 'c_m': 4.3, 'c_g': 3.1, 'd_g': 0.5, 'F_V': 2.1, 'dq_s': 0.3}
TABLE = PeriodicMap(1e-4 * np.sin(np.arange(24)))
SERIES = FourierSeries(0.1, [0.3, -0.2], [0.05, 0.4])


def friction():
    return FrictionModel(
        {'F_C0': 5.1, 'F_Cl': 0.1, 'F_C1': 2e-3, 'F_V1': 3.7, 'F_V2': 0.4, 'F_V3': 0.21, 'F_T1': -0.05, 'F_T2': 2e3},
        MaxwellSlip(1, 0.7),
        quadrants=QUADRANTS,
    )


def plain():
    return FrictionModel({'F_C0': 5.1, 'F_C1': 2e-3, 'F_S': 7.3, 'V_S': 0.7, 'F_V2': 0.4}, MaxwellSlip(1, 0.7))


def started(x):
    slip = MaxwellSlip(len(x), 0.7)
    slip.reset(x, np.sign(x))
    slip.state = slip.state + np.array(x)[:, None]
    return np.concatenate([slip.output[:, None], slip.state], axis=1)


#: Functions of an array x (N,) of numbers from −40 to 40, none of them zero.
FUNCTIONS = {
    'static': lambda x: friction().static(x, x, x),
    'static and smooth': lambda x: plain().static(x, x, x, 0.3),
    'level': lambda x: friction().level(x),
    'viscous': lambda x: friction().viscous(x),
    'dry': lambda x: plain().dry(np.sign(x), x, x),
    'dry of quadrants': lambda x: friction().dry(np.sign(x), x, x),
    'speed part': lambda x: plain().speed_part(np.sign(x), x),
    'speed part of quadrants': lambda x: friction().speed_part(np.sign(x), x, np.abs(x)),
    'torque': lambda x: plain().torque(np.sign(x), x, x, np.abs(x)),
    'run': lambda x: plain().run(x, x, x, np.abs(x)),
    'steps': lambda x: FrictionModel({'F_C0': np.ones(len(x))}, MaxwellSlip(len(x), 0.7)).step(x, x, x),
    'slip': lambda x: MaxwellSlip(1, 0.7).run(x),
    'slip of one': lambda x: MaxwellSlip(len(x), 0.7).step(x),
    'slip with a map': lambda x: MaxwellSlip(1, PeriodicMap([0.7, 0.9]), kinematic_error=TABLE).run(x),
    'deformations': lambda x: MaxwellSlip(1, 0.7).relative_deformation(x),
    'reset': started,
    'table': TABLE,
    'points of a table': lambda x: PeriodicMap(x)(0.3 * np.arange(9)),
    'series': SERIES,
    'basis of a series': lambda x: SERIES.basis(x, 3, 1.7),
    'fit of a series': lambda x: FourierSeries.fit(np.arange(len(x)), x, 2).cosine,
    'coefficients of a series': lambda x: FourierSeries(0, x[:5], x[3:8])(np.array([0.3])),
    'stiffness': TorsionalStiffness([2e2, 3.1, 0.1]).stiffness,
    'elastic torque': TorsionalStiffness([2e2, 3.1, 0.1]).torque,
    'curvature': TorsionalStiffness([2e2, 3.1, 0.1]).curvature,
    'curvature of a line': TorsionalStiffness([2e2]).curvature,
    'deformation': TorsionalStiffness([2e2, 3.1]).deformation,
    'general deformation': TorsionalStiffness([2e2, 3.1, 0.1]).deformation,
    'inverse': TorsionalStiffness([2e2, -1e-3]).bounded_deformation,
    'elastic basis': lambda x: TorsionalStiffness.basis(x, 3),
    'elastic coefficients': lambda x: TorsionalStiffness(np.abs(x)).torque(np.array([0.3])),
    'loads': loads_of,
    'play': lambda x: place_in_play(x, 0.7),
    'left by load': lambda x: lost_motion_share(np.asarray(x, dtype=float)),
    'operators': lambda x: polynomial_stiffness(np.sort(np.abs(x))),
}


def given(kind):
    rng = np.random.default_rng(12)
    if kind in ('whole', 'list'):
        whole = rng.integers(1, 40, 30) * rng.choice([-1, 1], 30)
        return (whole if kind == 'whole' else whole.tolist()), whole.astype(float)
    single = (rng.uniform(0.1, 40.0, 30) * rng.choice([-1, 1], 30)).astype(np.float32)
    return single, single.astype(float)


@pytest.mark.parametrize('kind', ['whole', 'list', 'single'])
@pytest.mark.parametrize('function', FUNCTIONS.values(), ids=FUNCTIONS)
def test_numbers_of_any_type_are_the_numbers_they_are(function, kind):
    x, double = given(kind)
    found, expected = function(x), function(double)
    assert np.asarray(found).dtype == float
    # Every operation on the same numbers in the same order.
    np.testing.assert_array_equal(found, expected)


def test_parameters_are_kept_in_double_precision():
    for number in (np.float32(3.1), 3, np.int64(3)):
        model = FrictionModel(
            {'F_C0': number}, quadrants={**dict.fromkeys(QUADRANTS, number), 'b_g': 0, 'd_m': 0, 'tau_off': 0}
        )
        kept = [model.parameters['F_C0'], model.quadrants['a_m'], TorsionalStiffness([number]).coefficients]
        kept += [PeriodicMap([number]).tables[0], FourierSeries(number, [number], [number]).sine]
        kept.append(FourierSeries(number, [number], [number]).cosine)
        for value in kept:
            assert value.dtype == float
            assert value.ravel()[0] == float(number)
    slip = MaxwellSlip(1, 1, limits=[1], stiffness=[1])
    assert slip.limits.dtype == slip.stiffness.dtype == float
    assert slip.run([0, 1, 3]).tolist() == [0.0, 1.0, 1.0]
    assert MaxwellSlip.from_dicts([{'limits': [1, 2], 'stiffness': [0, 0.5], 'presliding': 1}]).limits.dtype == float
