"""The linters of ROS, configured to agree with ruff; they run where a ROS installation brings them."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.linter
def test_ament_flake8(monkeypatch):
    flake8 = pytest.importorskip('ament_flake8.main', reason='ament_flake8 comes with ROS')
    monkeypatch.chdir(ROOT)
    code, errors = flake8.main_with_errors(
        argv=['--config', str(ROOT / 'setup.cfg'), 'src', 'launch', 'test', 'examples']
    )
    assert code == 0, '\n'.join(errors)


@pytest.mark.linter
def test_ament_pep257(monkeypatch):
    """As numpydoc lays docstrings out (the code's own layout; ament's asks for the summary on a line of its own)."""
    pep257 = pytest.importorskip('ament_pep257.main', reason='ament_pep257 comes with ROS')
    monkeypatch.chdir(ROOT)
    arguments = [
        '--convention',
        'numpy',
        '--add-ignore',
        'D105',
        'D401',
        'D413',
        'D416',
        '--',
        'src',
        'launch',
        'examples',
    ]
    assert pep257.main(argv=arguments) == 0
