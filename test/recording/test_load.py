"""What texts call a recording."""

from joint_dynamics.recording import short_name, with_short_names


def test_the_last_component_with_its_window():
    assert short_name('/data/robot/run@0:3') == 'run@0:3'
    assert short_name('/data/robot/run/') == 'run'
    assert short_name('run.csv') == 'run.csv'


def test_texts_have_short_names():
    names = ['/data/run', '/data/run@0:3', '/data/other.csv']
    text = '/data/run@0:3 and /data/run differ from /data/other.csv'
    assert with_short_names(text, names) == 'run@0:3 and run differ from other.csv'


def test_two_of_one_short_name_keep_their_paths():
    names = ['/monday/run', '/tuesday/run', '/tuesday/walk']
    text = '/monday/run is not /tuesday/run, and /tuesday/walk'
    assert with_short_names(text, names) == '/monday/run is not /tuesday/run, and walk'
