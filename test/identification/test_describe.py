"""What an identification writes into a description."""

from types import SimpleNamespace

import numpy as np
import pytest

from joint_dynamics.identification.describe import add_term, payload_part


def test_terms_are_written_where_they_belong():
    state = SimpleNamespace(load_limit=np.array([30.0, 40.0]), share=np.array([0.25, 0.75]))
    values = {'x': 2.0, 'y': -1.0}

    def written(document, *, names=('x',), needs=(), deviation=None, state=state):
        joint = {'friction': {'parameters': {'F_C0': 5.0}, 'standard_deviations': {'F_C0': 0.3}}}
        term = SimpleNamespace(document=document, names=names, needs=needs, joint='b')
        add_term(joint, term, values, deviation or {'x': 0.4, 'y': np.inf}, state, 1)
        return joint

    joint = written({'stribeck': {'V_S': 0.01, 'mu': 1.5}})
    assert joint['friction']['parameters'] == {'F_C0': 5.0, 'F_S': 7.0, 'V_S': 0.01, 'mu': 1.5}
    assert joint['friction']['standard_deviations'] == {'F_C0': 0.3, 'F_S': pytest.approx(0.5)}
    joint = written({'friction': 'F_T1', 'T_0': 25.0})
    assert joint['friction']['parameters'] == {'F_C0': 5.0, 'F_T1': 2.0, 'T_0': 25.0}
    assert joint['friction']['standard_deviations'] == {'F_C0': 0.3, 'F_T1': 0.4}
    joint = written({'friction': 'F_C1'}, names=('y',), needs=('load',))
    assert joint['friction']['parameters'] == {'F_C0': 5.0, 'F_C1': -1.0, 'tau_max': 40.0}
    assert joint['friction']['standard_deviations'] == {'F_C0': 0.3}
    joint = written({'function': 'sin(q)'}, names=('x', 'y'), needs=('load',))
    assert joint['terms'] == [
        {'document': {'function': 'sin(q)', 'tau_max': 40.0}, 'values': [2.0, -1.0], 'std': [0.4, None]}
    ]
    none = SimpleNamespace(load_limit=None, share=None)
    assert written({'function': 'sin(q)'}, needs=('load',), state=none)['terms'][0]['document'] == {
        'function': 'sin(q)'
    }
    # Two operators: one slips at once, the other, with its share, after the width.
    slip = written({'hysteresis': 1e-3})['friction']['maxwell_slip']
    first = slip['limits'][0]
    assert slip == {
        'limits': [first, 1.0], 'stiffness': [0.25 / first, 0.75], 'operators': 2, 'presliding': 1e-3
    }  # fmt: skip
    # Narrower than the first: what the larger share does, all does.
    narrow = written({'hysteresis': 1e-9})['friction']['maxwell_slip']
    assert (narrow['limits'], narrow['stiffness']) == ([0.5, 1.0], [0.0, 1.0])
    assert 'maxwell_slip' not in written({'hysteresis': 1e-9}, state=none)['friction']


def test_a_payload_is_written_as_not_attached():
    order = ('M', 'MX', 'MY', 'MZ', 'XX', 'XY', 'XZ', 'YY', 'YZ', 'ZZ')
    found = {name: {'value': float(k), 'std': 0.1 * k if k else None} for k, name in enumerate(order)}
    document = {
        'attached': False, 'mass': {'value': 0.0}, 'first_moments': [1.0, 2.0, 3.0],
        'inertia': [4.0, 5.0, 6.0, 7.0, 8.0, 9.0], 'std': [None, *(0.1 * k for k in range(1, 10))],
    }  # fmt: skip
    assert payload_part(found) == document
    found['M']['std'] = 0.2
    assert payload_part(found)['mass'] == {'value': 0.0, 'std': 0.2}
