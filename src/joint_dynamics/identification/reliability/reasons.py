"""What the checks of a training say, one sentence per reason, each with its remedy."""

from __future__ import annotations

import numpy as np

from joint_dynamics.identification.reliability.alternatives import Alternatives
from joint_dynamics.identification.reliability.chow import ChowTest
from joint_dynamics.identification.reliability.delay import Delay
from joint_dynamics.identification.reliability.differences import Difference
from joint_dynamics.identification.reliability.explanation import Alternative
from joint_dynamics.identification.reliability.scales import Scales
from joint_dynamics.identification.reliability.verdict import Reason


def chow_reason(name: str, found: ChowTest) -> Reason:
    """Say that a recording has parameters of its own."""
    return Reason(
        'recordings_differ',
        f'{name} has other parameters than the rest, by more than their deviations ({found}), which make '
        f'{100 * found.effect:.3g} % of the torque: look whether robot, payload and temperature were the same, or '
        'identify them apart',
    )


def _shares(alternatives: Alternatives, found: Alternative) -> str:
    before, after = np.sqrt(alternatives.given.unexplained), np.sqrt(found.fitted.unexplained)
    j = int(np.argmax(alternatives.given.unexplained - found.fitted.unexplained))
    name = alternatives.names[j]
    return f'{100 * before[j]:.3g} % of the torque of {name} left over would become {100 * after[j]:.3g} %'


def explanation_reason(alternatives: Alternatives, found: Alternative) -> Reason:
    """Say that another explanation of the data is clearly better, by how much, and what to correct."""
    return Reason(
        found.code,
        f'{found.text}: that explains the torques clearly better ({_shares(alternatives, found)}; log-likelihood '
        f'+{found.gain:.0f}); correct {_REMEDY.get(found.code, "the recording or its settings")}',
        mend=found.config,
        joints=() if found.mend is None else found.mend.joints,
    )


def explanation_note(found: Alternative) -> str:
    """Say that another explanation is better by no more than what a model that is somewhat wrong gains by chance."""
    return (
        f'{found.text}: that would explain the torques better (log-likelihood +{found.gain:.0f}), but joints that '
        f'share parameters disagree by {np.sqrt(found.dispersion):.2g} times what their noise lets expect, so that it '
        'may be the model; look whether it is so'
    )


_REMEDY = {
    'mounting': 'robot.mounting',
    'degrees': 'the unit of the positions (recording.position_scale)',
    'time_scale': 'the time stamps (recording.time_scale)',
    'time_reversed': 'the time stamps',
    'drive_gain': 'the unit or the drive gain (recording.torque_scale)',
    'torque_sign': 'the sign of the effort or of the drive gain (recording.torque_sign)',
    'position_offset': 'the zero position (recording.zero_offset)',
    'joint_order': 'the names of the joints',
    'torque_order': 'the order of the efforts (recording.torque_order)',
    'position_order': 'the order of the positions (recording.position_order)',
    'position_sign': 'the sign of the position (recording.position_sign)',
    'axis_sign': 'the axis in the robot file, or both signs',
}


def delay_reason(delay: Delay) -> Reason:
    """Say that torque and motion are apart in time."""
    side = 'after' if delay.seconds > 0 else 'before'
    return Reason(
        'delay',
        f'the torques come {abs(1000 * delay.seconds):.3g} ± {1000 * delay.deviation:.2g} ms {side} the motion they '
        'belong to, which leaves '
        f'{100 * delay.cost:.3g} % of the torque over: align the time stamps of efforts and positions',
        mend={'recording': {'torque_delay': delay.seconds}},
    )


def difference_reason(found: Difference) -> Reason:
    """Say that a part of the recordings has a payload, a mounting or parameters of its own."""
    share = f'{100 * found.effect:.3g} % of the torque (log-likelihood +{found.gain:.0f})'
    if found.kind == 'payload':
        mass = '' if found.mass is None else f' of about {found.mass:.3g} kg'
        return Reason(
            'payload_mixed',
            f'{found.part} differs from the other recordings by a payload{mass}, {share}: identify them apart, or '
            'give those with the payload as --loaded',
        )
    if found.kind == 'friction':
        return Reason(
            'recordings_differ',
            f'{found.part} has other friction or offsets than the other recordings, {share}: record all at the same '
            'temperature, or identify them apart',
        )
    return Reason(
        'recordings_differ',
        f'{found.part} has another {found.kind} than the other recordings, {share}: correct it, or leave it out',
    )


def difference_note(found: Difference) -> str:
    """Say the same of a difference that is too small for a reason."""
    return f'{found.part} has another {found.kind} than the rest, which makes {100 * found.effect:.2g} % of the torque'


def scales_reason(scales: Scales) -> Reason:
    """Say that the torques of some joints are off by a factor."""
    listed = ', '.join(
        f'{scales.names[j]} {scales.factor[j]:.2g} ± {scales.factor[j] * scales.deviation[j]:.1g}' for j in scales.off
    )
    return Reason(
        'drive_gain' if len(scales.off) == 1 else 'current',
        f'the torques do not go together: in what several joints feel, they are these many times those of the other '
        f'joints: {listed} (log-likelihood +{scales.gain:.0f}); look whether they are currents (then give drive '
        'gains), or whether a unit or a drive gain is wrong',
        mend={} if scales.mend is None else {'recording': scales.mend.stated()},
    )


def scales_note(scales: Scales) -> list[str]:
    """Return a note of the scales where they are apart by what drive gains of a data sheet may be."""
    if not scales.noted:
        return []
    listed = ', '.join(
        f'{name} {factor:.3g} ± {factor * deviation:.1g}'
        for name, factor, deviation, known in zip(
            scales.names, scales.factor, scales.deviation, scales.known, strict=True
        )
        if known
    )
    return [
        'in what several joints feel, the torques are these many times those of the others (log-likelihood '
        f'+{scales.gain:.0f}): {listed}; drive gains may be off by so much: --loaded and --payload-mass find them'
    ]


def unconfirmed_scales(scales: Scales) -> list[str]:
    """Return a note of the joints whose scale no other joint confirms to within a factor of two."""
    uncertain = [name for name, dark in zip(scales.names, 2 * scales.deviation > np.log(2.0), strict=True) if dark]
    if not uncertain:
        return []
    return [
        f'no other joint shows to within a factor of two what the torque of {", ".join(uncertain)} is: its unit and '
        'drive gain are taken as given'
    ]
