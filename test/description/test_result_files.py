"""The files of one identification: a result that is not reliable beside one that is."""

import json
import re

from joint_dynamics.description import DynamicsDescription, write_result


class Page:
    def __init__(self):
        self.text = ''

    def add_text(self, text, kind=''):
        self.text += text

    def to_html(self):
        return self.text


def test_what_is_not_reliable_never_takes_the_place_of_what_is(tmp_path):
    def write(value, reliable):
        description = DynamicsDescription(
            {'robot': {'joint_names': ['a']}, 'joints': {'a': {'damping': {'value': value}}}}
        )
        return write_result(tmp_path, description, {'value': value}, Page(), reliable)

    def found(name):
        return DynamicsDescription.load(tmp_path / name).joint('a')['damping']['value']

    for value, reliable, suffix in ((1.0, False, '.not_reliable'), (2.0, True, '')):
        names = [f'dynamics{suffix}.yaml', f'summary{suffix}.json', f'report{suffix}.html']
        assert write(value, reliable) == names
        assert sorted(item.name for item in tmp_path.iterdir()) == sorted(names)
    write(3.0, False)
    assert (found('dynamics.yaml'), found('dynamics.not_reliable.yaml')) == (2.0, 3.0)
    assert json.loads((tmp_path / 'summary.json').read_text())['value'] == 2.0
    runs = set()
    for part in ('', '.not_reliable'):
        run = json.loads((tmp_path / f'summary{part}.json').read_text())['run']
        assert DynamicsDescription.load(tmp_path / f'dynamics{part}.yaml').document['provenance']['run'] == run
        assert re.search(run, (tmp_path / f'report{part}.html').read_text())
        runs.add(run)
    assert len(runs) == 2
