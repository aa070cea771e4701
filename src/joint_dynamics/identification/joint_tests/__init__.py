"""Identification of one joint: one file per test. Docs: docs/reference/commands/identify-joint.md."""
