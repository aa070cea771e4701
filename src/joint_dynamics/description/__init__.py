# Copyright 2026 The joint_dynamics authors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

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
