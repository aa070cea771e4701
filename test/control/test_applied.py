"""A friction compensation as a file states it: its torque in each direction, and what is refused in which words."""

import numpy as np
import pytest

from joint_dynamics.control.applied import AppliedCompensation
from joint_dynamics.errors import JointDynamicsError

PARAMETERS = {'F_C0': 5.0, 'F_S': 7.0, 'V_S': 0.1, 'mu': 1.0, 'F_V1': 2.0}
SPEED = np.array([0.02, 0.1, 1.0])


def dry(coulomb, static, speed):
    return coulomb + (static - coulomb) * np.exp(-speed / 0.1)


def test_its_torque_opposes_friction_in_either_direction():
    made = AppliedCompensation('j', {'parameters': PARAMETERS})
    expected = dry(5.0, 7.0, SPEED) + 2.0 * SPEED
    np.testing.assert_allclose(made.torque(SPEED), expected)
    np.testing.assert_allclose(made.torque(-SPEED), -expected)
    assert (made.speed_limit, made.spring, made.inertia, made.temperatures, made.loads) == (
        None,
        None,
        None,
        (),
        (0.0,),
    )


def test_a_direction_of_its_own_takes_the_place_of_the_common_parameters():
    document = {
        'parameters': {**PARAMETERS, 'offset': 0.5},
        'directions': {'positive': {'F_C': 6.0, 'F_V1': 1.0}, 'negative': {'F_C': 4.0, 'F_S': 9.0, 'F_V1': 3.0}},
    }
    made = AppliedCompensation('j', document)
    # without a static level of its own the Coulomb level is the static one, and the offset is in neither
    np.testing.assert_allclose(made.torque(SPEED), 6.0 + 1.0 * SPEED)
    np.testing.assert_allclose(made.torque(-SPEED), -(dry(4.0, 9.0, SPEED) + 3.0 * SPEED))
    half = AppliedCompensation('j', {**document, 'directions': {'positive': document['directions']['positive']}})
    np.testing.assert_allclose(half.torque(-SPEED), -(dry(5.0, 7.0, SPEED) + 2.0 * SPEED) + 0.5)


def test_a_smooth_sign_is_less_near_rest():
    smooth = AppliedCompensation('j', {'parameters': {'F_C0': 5.0}, 'smoothing': 0.05})
    sharp = AppliedCompensation('j', {'parameters': {'F_C0': 5.0}})
    assert (smooth.torque(SPEED) < sharp.torque(SPEED)).any()
    np.testing.assert_allclose(smooth.torque(np.array([5.0])), 5.0, rtol=1e-3)
    np.testing.assert_array_equal(
        AppliedCompensation('j', {'parameters': {'F_C0': 5.0}, 'smoothing': 0}).torque(SPEED), 5.0
    )


def test_load_and_temperature_count_where_it_depends_on_them():
    parameters = {'F_C0': 5.0, 'F_C1': 0.01, 'F_T1': -0.1, 'T_0': 30.0}
    made = AppliedCompensation('j', {'parameters': parameters, 'temperatures': [20, 40.5]}, 50.0)
    assert made.temperatures == (20, 40.5)
    assert min(made.loads) < 0 < max(made.loads) or max(made.loads) == pytest.approx(50.0)
    assert max(np.abs(made.loads)) == pytest.approx(50.0)
    np.testing.assert_allclose(made.torque(SPEED, 30.0), 5.0 + 0.01 * 900)
    np.testing.assert_allclose(made.torque(SPEED, temperature=np.full(3, 40.0)), 5.0 - 0.1 * 10.0 * np.sqrt(SPEED))
    # one direction that depends on load is enough, none is not
    assert AppliedCompensation('j', {'parameters': {'F_C0': 5.0}}, 50.0).loads == (0.0,)


def test_the_other_fields_are_given_on():
    made = AppliedCompensation('j', {'parameters': PARAMETERS, 'speed_limit': 1.5, 'spring': 200, 'inertia': 0.3})
    assert (made.speed_limit, made.spring, made.inertia) == (1.5, 200, 0.3)


FIELDS = 'parameters, directions, smoothing, speed_limit, spring, inertia, temperatures'


@pytest.mark.parametrize(
    ('document', 'message'),
    [
        ([1], 'applied: joints.j: expected a mapping with parameters, found [1]'),
        ({'spring': 1.0}, "applied: joints.j: expected a mapping with parameters, found {'spring': 1.0}"),
        ({'parameters': PARAMETERS, 'gain': 1}, f"applied: joints.j: expected the keys {FIELDS}, found 'gain'"),
        *(
            (
                {'parameters': PARAMETERS, key: value},
                f'applied: joints.j.{key}: expected a number above 0, found {value!r}',
            )
            for key, value in (
                ('spring', 0), ('inertia', 0.0), ('speed_limit', -1.0), ('smoothing', -1e-9), ('spring', True),
                ('inertia', '1'), ('speed_limit', float('inf')), ('smoothing', float('nan')), ('smoothing', None),
            )
        ),
        *(
            (
                {'parameters': PARAMETERS, 'temperatures': value},
                f'applied: joints.j.temperatures: expected a list of °C, found {value!r}',
            )
            for value in (25.0, [20, 'warm'], [float('nan')], [10**400], [True], {'T': 20})
        ),
        *(
            (
                {'parameters': PARAMETERS, 'directions': {name: own}},
                'applied: joints.j.directions: expected positive and negative with F_C and F_V1, '
                f'found {name}: {own!r}',
            )
            for name, own in (
                ('forward', {'F_C': 1.0, 'F_V1': 1.0}), ('positive', {'F_C': 1.0}), ('negative', {'F_V1': 1.0}),
                ('positive', [1.0, 1.0]),
            )
        ),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_named(document, message):
    with pytest.raises(JointDynamicsError) as found:
        AppliedCompensation('j', document)
    assert str(found.value) == message
