"""The dynamics description: schema, load, save, validate, export to URDF."""

from joint_dynamics.description.description import DynamicsDescription
from joint_dynamics.description.export import export
from joint_dynamics.description.export_urdf import export_urdf, inconsistent_links, not_exported, pseudo_inertia
from joint_dynamics.description.identity import check_identity, identity_of
from joint_dynamics.description.result_files import next_command, summary_text, write_result
from joint_dynamics.output_files import prepare_folder, write_atomically, write_set

__all__ = [
    'DynamicsDescription',
    'check_identity',
    'export',
    'export_urdf',
    'identity_of',
    'inconsistent_links',
    'next_command',
    'not_exported',
    'prepare_folder',
    'pseudo_inertia',
    'summary_text',
    'write_atomically',
    'write_result',
    'write_set',
]
