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


def test_of_a_recording_it_tells_what_is_wrong_and_what_can_be_identified(run, arm_file, true_arm_csv, tmp_path):
    robot, recording = str(arm_file), tmp_path / 'run.csv'
    recording.write_text(true_arm_csv)
    good = run('doctor', recording, '--robot', robot)
    assert good.status == 0, good.error
    for words in ('nothing wrong found', 'can be identified: ', 'cannot be: stiffness'):
        assert words in good.out
    for arguments, words in (
        ((recording,), 'expected --robot FILE'),
        (('--robot', robot), 'expected a RECORDING'),
        (('nowhere', '--robot', robot), 'nowhere'),
    ):
        refused = run('doctor', *arguments)
        assert refused.status == 2
        assert words in refused.error
