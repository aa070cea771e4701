"""Identification of one joint: one file per test. Docs: docs/identify-joint.md."""
