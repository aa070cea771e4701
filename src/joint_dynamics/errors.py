"""The errors this package raises, one class per exit status of the command line."""


class JointDynamicsError(ValueError):
    """Bad input or usage: one line that names what was expected and what was found (exit status 2)."""


class NotBelievableError(JointDynamicsError):
    """The work was done, but its result cannot be believed, with the reason (exit status 3)."""
