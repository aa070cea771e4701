"""The dynamics description: schema, load, save, validate, export to URDF."""
from joint_dynamics.description.description import DynamicsDescription
from joint_dynamics.description.export_urdf import export_urdf, inconsistent_links, not_exported, pseudo_inertia
from joint_dynamics.description.files import prepare_folder, write_atomically

__all__ = ['DynamicsDescription', 'export_urdf', 'inconsistent_links', 'not_exported', 'prepare_folder', 'pseudo_inertia', 'write_atomically']
