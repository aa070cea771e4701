"""How this package starts Python: a module of it as a process that never takes code from the working folder.

`python -m` puts the working folder first on the path of modules, before the standard library, and so does an empty part
of PYTHONPATH, as `PYTHONPATH=$PYTHONPATH:/some/where` leaves one: a `scipy.py` that lies there would be executed. `-P`
exists from Python 3.11 on, and `-I` hides PYTHONPATH, by which Python finds a ROS installation.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from joint_dynamics.errors import JointDynamicsError

_PACKAGE = Path(__file__).resolve().parent
# sys is built in, so that nothing is looked for before the folder is off the path. The package comes from where the
# caller has it, which need not be on the path of the child (a source folder that the caller was started in).
_BOOTSTRAP = """
import sys
sys.path[:] = [folder for folder in sys.path if folder]
import importlib.util, runpy
package, module = sys.argv[1:3]
del sys.argv[1:3]
if 'joint_dynamics' not in sys.modules:
    spec = importlib.util.spec_from_file_location('joint_dynamics', package + '/__init__.py',
        submodule_search_locations=[package])
    sys.modules['joint_dynamics'] = parent = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(parent)
runpy.run_module(module, run_name='__main__', alter_sys=True)
"""


def module_command(module: str, arguments: Sequence[str] = ()) -> list[str]:
    """Return the command line that runs `module` as `python -m` does, without the working folder on the path.

    To be used with `environment`.
    """
    return [sys.executable, '-c', _BOOTSTRAP, str(_PACKAGE), module, *arguments]


def environment(changes: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this process's environment with `changes`.

    PYTHONPATH without the empty parts that stand for the working folder.
    """
    variables = {**os.environ, **(changes or {})}
    folders = [folder for folder in variables.pop('PYTHONPATH', '').split(os.pathsep) if folder]
    return {**variables, 'PYTHONPATH': os.pathsep.join(folders)} if folders else variables


def start_worker(module: str) -> subprocess.Popen[bytes]:
    """Start `module` as a process of one thread, to be fed by pickles through its input; it answers by its output.

    In a session of its own: an interrupt from the keyboard is for the caller, who then ends it.
    """
    one_thread = {f'{library}_NUM_THREADS': '1' for library in ('OPENBLAS', 'OMP', 'MKL', 'VECLIB_MAXIMUM')}
    return subprocess.Popen(
        module_command(module),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(one_thread),
        start_new_session=True,
    )


def cores() -> int:
    """Return the number of processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1


def need_ros(command: str) -> None:
    """Raise JointDynamicsError for a command that needs ROS 2, where rclpy is not installed."""
    if importlib.util.find_spec('rclpy') is None:
        raise JointDynamicsError(
            f'{command}: expected ROS 2 with rclpy, found none (pip install joint_dynamics[ros], or source a ROS 2'
            ' installation)'
        )
