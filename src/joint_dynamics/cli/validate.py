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

"""`joint-dynamics validate`: predict the torque of recordings from a dynamics description."""

from __future__ import annotations

import argparse

from joint_dynamics.cli.common import (
    RECORDING_HELP,
    add_config_argument,
    exit_status,
    load_config,
    load_recordings,
    show_verdict,
    show_written,
    write_report,
)
from joint_dynamics.terminal import Terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and add its arguments."""
    parser.description = (
        'Predicts the torque of recordings and shows the residuals; the description carries the robot it belongs to.'
    )
    parser.add_argument('description', metavar='DESCRIPTION', help='dynamics.yaml of an identification')
    parser.add_argument('recordings', nargs='+', metavar='RECORDING', help=RECORDING_HELP)
    add_config_argument(parser)
    parser.add_argument('--out', metavar='DIR', help='folder for summary.json and report.html')


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Predict, show and, with --out, write; return 0, or 3 where the prediction cannot be relied on."""
    from joint_dynamics.description import DynamicsDescription, prepare_folder
    from joint_dynamics.identification import IdentificationSettings
    from joint_dynamics.identification.regression.diagnostics import band_text, residual_headers, residual_rows
    from joint_dynamics.identification.regression.residuals import overall_in_fixed_band, overall_residual
    from joint_dynamics.identification.reliability.verdict import headline, summary_of
    from joint_dynamics.identification.validate import judge_description
    from joint_dynamics.report.identification import validation_report

    config = load_config(args.config)
    settings = IdentificationSettings.from_config(config.get('identification', {}))
    description = DynamicsDescription.load(args.description)
    folder = prepare_folder(args.out) if args.out else None
    recordings = load_recordings(args.recordings, config, description.joint_names, pieces=True)
    judged = judge_description(description, recordings, settings)
    fits, reasons, notes = judged.fits, judged.reasons, judged.notes
    line = headline(reasons, fits, validated=True)
    show_verdict(terminal, line, reasons)
    terminal.table(f'Predicted ({band_text(fits)})', residual_headers(fits), residual_rows(fits))
    at_rest = judged.summary.get('resting', {})
    if at_rest.get('samples'):
        share, count = at_rest['within_percent']['overall'], at_rest['samples']
        terminal.say(f'{share:.3g} % of {count} samples within the band of the Coulomb level', label='at rest: ')
    for note in notes:
        terminal.say(note, label='note: ')
    if folder:
        summary = {
            **summary_of(reasons, line),
            'description': str(args.description),
            'overall_percent': overall_residual(fits)[1],
            'moving_overall_percent': overall_residual(fits, moving=True)[1],
            'fixed_band': overall_in_fixed_band(fits),
            'notes': list(notes),
            **judged.summary,
            'validation': [fit.summary() for fit in fits],
        }
        write_report(folder, summary, validation_report(fits, args.description, reasons))
        show_written(terminal, folder, ('summary.json', 'report.html'))
    return exit_status(terminal, reasons)
