"""The errors this package raises, one class per exit status of the command line."""


class JointDynamicsError(ValueError):
    """Bad input or usage: one line that names what was expected and what was found (exit status 2)."""


class NotReliableError(JointDynamicsError):
    """The work was done, but its result is not reliable, with the reason (exit status 3)."""


def one_line(error: BaseException) -> str:
    """Return the message of an error on one line; of one without a message the name of its class."""
    return ' '.join(str(error).split()) or type(error).__name__
