def test_doctor_lists_what_is_there_and_what_works(run):
    done = run('doctor')
    assert done.status == 0
    for word in ('numpy', 'pinocchio', 'rclpy', 'launch_pytest', 'regressor · parameters'):
        assert word in done.out


def test_something_needed_that_is_missing_is_named(run, monkeypatch):
    from joint_dynamics.cli import doctor

    monkeypatch.setattr(doctor, 'MODULES', (('a_module_nobody_has', 'none', 'everything', True),))
    done = run('doctor')
    assert done.status == 2
    assert 'a_module_nobody_has' in done.error
