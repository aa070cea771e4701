"""`python -m joint_dynamics`: the command `joint-dynamics`."""

import sys

from joint_dynamics.cli.main import main

sys.exit(main())
