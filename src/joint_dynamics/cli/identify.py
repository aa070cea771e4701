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

"""`joint-dynamics identify`: from recordings of a robot to a validated dynamics description."""

from __future__ import annotations

import argparse
from typing import Any

from joint_dynamics.cli.common import (
    RECORDING_HELP,
    add_config_argument,
    exit_status,
    load_config,
    load_recordings,
    load_robot,
    mend_of,
    show_verdict,
    show_written,
    write_mend,
)
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.terminal import Terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command and add its arguments."""
    parser.description = (
        'Identifies base parameters, friction and rotor inertia, and writes dynamics.yaml, summary.json and'
        ' report.html (docs/reference/commands/identify.md).'
    )
    parser.add_argument('recordings', nargs='*', metavar='RECORDING', help=RECORDING_HELP)
    parser.add_argument('--robot', required=True, metavar='FILE', help='URDF, or MDH table in YAML')
    add_config_argument(parser)
    parser.add_argument(
        '--method', choices=('ols', 'wls', 'irls', 'i-irls', 'tls'), help='default: wls, or what --config says'
    )
    parser.add_argument(
        '--validate',
        action='extend',
        nargs='+',
        default=[],
        metavar='RECORDING',
        help='recordings to predict, not used in training',
    )
    parser.add_argument(
        '--loaded',
        action='extend',
        nargs='+',
        default=[],
        metavar='RECORDING',
        help='recordings with a payload at the last link',
    )
    parser.add_argument('--payload-mass', type=float, metavar='KG', help='weighed mass of that payload')
    parser.add_argument(
        '--prior',
        metavar='FILE',
        help='URDF or MJCF whose inertials fix the parameters that the recordings leave open (identification.physical)',
    )
    parser.add_argument('--proceed', action='store_true', help='exit with 0 although the result is not reliable')
    parser.add_argument('--no-report', action='store_true', help='write dynamics.yaml and summary.json only')
    parser.add_argument(
        '--out', required=True, metavar='DIR', help='folder for dynamics.yaml, summary.json, report.html'
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Identify, show, write; return 0, or 3 where the result is not reliable."""
    from joint_dynamics.description import next_command, prepare_folder, write_result
    from joint_dynamics.identification import IdentificationSettings, identify
    from joint_dynamics.identification.identification_settings import KnownPayload, PhysicalOptions
    from joint_dynamics.identification.reliability.joints import NOT_POSITIVE

    if not args.recordings:
        raise JointDynamicsError(
            'identify: expected a RECORDING before the options, found none: those after --validate and --loaded are'
            ' not trained on'
        )
    config = load_config(args.config)
    settings = IdentificationSettings.from_config(config.get('identification', {}))
    if args.method:
        settings = settings.replaced(method=args.method)
    if args.payload_mass is not None:
        settings = settings.replaced(payload=(settings.payload or KnownPayload()).replaced(mass=args.payload_mass))
    if args.prior:
        options = PhysicalOptions.from_given(settings.physical or True)
        settings = settings.replaced(physical=options.replaced(prior=args.prior))
    if args.payload_mass is not None and not args.loaded:
        raise JointDynamicsError('--payload-mass: expected --loaded RECORDING beside it, found none')
    model = load_robot(args.robot, config)
    folder = prepare_folder(args.out)
    recordings, validation, loaded = (
        load_recordings(specs, config, model.joint_names, model.limits, pieces=True)
        for specs in (args.recordings, args.validate, args.loaded)
    )
    with terminal.progress('identifying') as progress:
        result = identify(model, recordings, validation, settings, progress=progress, loaded=loaded)
    show_verdict(terminal, result.verdict, result.reasons)
    reliable = not result.reasons or args.proceed or settings.proceed
    report = None
    if not args.no_report:
        from joint_dynamics.report.identification import identification_report

        report = identification_report(result)
    names = write_result(folder, result.description, result.summary(), report, reliable)
    show(terminal, result)
    show_written(terminal, folder, names, reliable)
    if not reliable and mend_of(result.summary()):
        write_mend(terminal, folder / 'mend.yaml', result.summary(), config, model.joint_names)
    if reliable:
        refused = result.summary()['uses']['simulation'] == NOT_POSITIVE
        command = next_command(args.robot, folder, recordings[0].rate, args.config)
        terminal.say(
            'the same with identification: {physical: true} in --config' if refused else command, label='next: '
        )
        return 0
    return exit_status(terminal, result.reasons, ' (--proceed accepts it)')


def show(terminal: Terminal, result: Any) -> None:
    """Show residuals and parameters."""
    from joint_dynamics.identification.regression.diagnostics import (
        band_text,
        fixed_band_text,
        residual_headers,
        residual_rows,
    )

    terminal.say(
        f'{len(result.names)} parameters from {result.samples} samples of each joint, condition number'
        f' {result.solution.condition_number:.4g}, residuals below {result.plan.parallel_cutoff:.3g} Hz and, to compare'
        f' robots, below {fixed_band_text(result.training)}, {result.seconds:.2f} s'
    )
    for note in result.notes:
        terminal.say(note, label='note: ')
    for done, fits in (('Trained on', result.training), ('Validated on', result.validation)):
        if fits:
            terminal.table(f'{done} ({band_text(fits)})', residual_headers(fits), residual_rows(fits))
    if result.drive_gains is not None:
        terminal.table(
            'Drive gains (N·m/A, joint side)',
            ['joint', 'gain', 'std', 'a priori', 'change %', 'by TLS', 'by WLS'],
            [
                [name, *(gain[key] for key in ('value', 'std', 'prior', 'change_percent', 'tls', 'wls'))]
                for name, gain in result.drive_gains.items()
            ],
        )
    if result.payload is not None:
        given = result.settings.payload
        at = 'the last joint' if given is None or given.joint is None else given.joint
        terminal.table(
            f'Payload (SI, frame of {at})',
            ['parameter', 'value', 'std', ''],
            [
                [name, entry['value'], entry['std'], 'known' if entry['known'] else '']
                for name, entry in result.payload.items()
                if isinstance(entry, dict)
            ],
        )
    poorly_determined = set(result.poorly_determined)
    rows = [
        [
            name,
            result.problem.joint_of(name),
            value,
            deviation,
            100 * deviation / abs(value) if value else None,
            'no' if name in poorly_determined else '',
        ]
        for name, value, deviation in zip(result.names, result.solution.chi, result.deviation, strict=True)
    ]
    # what a base parameter is made of, which may be a line of 200 characters, is in the report
    terminal.table('Parameters (SI, joint side)', ['parameter', 'joint', 'value', 'std', 'std %', 'told apart'], rows)
