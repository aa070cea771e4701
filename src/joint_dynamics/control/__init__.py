"""Feedforward laws, their plugin registry, torque feedback, safety limits, compensation check."""
