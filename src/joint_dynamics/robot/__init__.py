"""The arm as rigid bodies: model from URDF or MDH, regressor, base parameters, mounting, coupled drives."""
