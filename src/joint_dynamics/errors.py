"""The errors this package raises, one class per exit status of the command line."""


class JointDynamicsError(ValueError):
    """Bad input or usage: one line that names what was expected and what was found (exit status 2)."""


class NotReliableError(JointDynamicsError):
    """The work was done, but its result is not reliable, with the reason (exit status 3)."""
