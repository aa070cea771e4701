"""The programme of physical bodies: what it holds above zero."""

from types import SimpleNamespace

from joint_dynamics.identification.physical import semidefinite


def test_drives_take_power_but_for_offsets_and_what_terms_complement(monkeypatch):
    names = ['M_1', 'Ia_1', 'Fv_1', 'Fc_1', 'off_1', 'Ia_2', 'Fv_2', 'Fc_2', 'off_2']
    problem = SimpleNamespace(base=SimpleNamespace(standard_names=names))
    monkeypatch.setattr(semidefinite, 'dissipation_rows', lambda given: [SimpleNamespace(standard=(6, 7))])
    found = semidefinite.nonnegative_columns(problem, list(range(1, 9)))
    assert [names[1:][k] for k in found] == ['Ia_1', 'Fv_1', 'Fc_1', 'Ia_2', 'Fc_2']
    monkeypatch.setattr(semidefinite, 'dissipation_rows', lambda given: [])
    assert [names[k] for k in (8, 6, 2)][1:] == [
        names[[8, 6, 2][k]] for k in semidefinite.nonnegative_columns(problem, [8, 6, 2])
    ]
