"""Physical parameters: bodies with mass, friction that dissipates, and only the parameters that the data show."""
