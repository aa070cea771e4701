"""Signals: offline zero-phase filtering and decimation, online state estimation, time alignment."""
