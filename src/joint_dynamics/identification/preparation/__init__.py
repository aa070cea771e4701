"""Recordings made ready for regression: periods averaged, motion filtered, samples at rest found."""
