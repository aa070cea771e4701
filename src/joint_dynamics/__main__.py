"""`python -m joint_dynamics`: the command `joint-dynamics`, without the working folder on the path of modules."""

import sys

from joint_dynamics.python_process import leave_working_folder

leave_working_folder()

from joint_dynamics.cli.main import main  # noqa: E402  (nothing but the standard library may be looked for before)

sys.exit(main())
