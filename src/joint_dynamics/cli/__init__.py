"""The joint-dynamics command."""
