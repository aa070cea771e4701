"""Parameters that a robot can have: bodies with mass, friction that dissipates, and only the parameters that the data show."""
