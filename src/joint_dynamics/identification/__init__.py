"""Batch identification: the robot (IDIM), one joint's tests, payload, drive gains, statistics."""
