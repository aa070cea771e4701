"""The dynamics description: schema, load, save, validate, export to URDF."""
