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

"""What goes wrong with recordings, as functions of recordings, each with the codes that name it rightly."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from joint_dynamics.robot import INERTIAL, PER_JOINT, RobotModel
from joint_dynamics.signals.filtering import central_difference, second_difference, zero_phase_lowpass

POSITIONS = ('q', 'dq', 'theta', 'dtheta')
EFFORTS = ('tau', 'current')


@dataclass(frozen=True)
class Corruption:
    """name; codes: those that name it rightly, none for any; apply(model, recordings, rng) -> (model, recordings)."""

    name: str
    codes: tuple[str, ...]
    apply: Callable


def _each(recordings, kinds, change):
    found = []
    for recording in recordings:
        values = {
            kind: change(getattr(recording, kind).copy()) for kind in kinds if getattr(recording, kind) is not None
        }
        found.append(replace(recording, **values))
    return found


def _on(kinds, change):
    return lambda model, recordings, rng: (model, _each(recordings, kinds, lambda array: change(array, model.n, rng)))


def _times(factor, *joints):
    def change(array, n, rng):
        for j in joints or range(n):
            array[:, j] *= factor
        return array

    return change


def _permuted(order):
    return lambda array, n, rng: array[:, order(n)]


def _swap(i, k):
    def order(n):
        found = list(range(n))
        found[i], found[k] = found[k], found[i]
        return found

    return order


def _reverse(n):
    return list(range(n))[::-1]


def _noise(*joints):
    def change(array, n, rng):
        for j in joints or range(n):
            white = zero_phase_lowpass(rng.normal(size=(len(array), 1)), 0.02, 1.0)[:, 0]
            array[:, j] = array[:, j].mean() + array[:, j].std() * white / white.std()
        return array

    return change


def _clip(share, *joints):
    def change(array, n, rng):
        for j in joints or range(n):
            middle, half = array[:, j].mean(), np.percentile(np.abs(array[:, j] - array[:, j].mean()), 98)
            array[:, j] = np.clip(array[:, j], middle - share * half, middle + share * half)
        return array

    return change


def _spikes(size, share):
    def change(array, n, rng):
        where = rng.random(array.shape) < share
        return array + where * rng.choice([-1.0, 1.0], array.shape) * size * np.ptp(array, axis=0)

    return change


def _stuck(j):
    def change(array, n, rng):
        half = len(array) // 2
        array[half:, j] = array[half, j]
        return array

    return change


def _stuck_position(j):
    def apply(model, recordings, rng):
        found = []
        for recording in recordings:
            half = recording.samples // 2
            values = {}
            for kind in POSITIONS:
                array = getattr(recording, kind)
                if array is not None:
                    array = array.copy()
                    array[half:, j] = array[half, j] if kind in ('q', 'theta') else 0.0
                    values[kind] = array
            found.append(replace(recording, **values))
        return model, found

    return apply


def delayed(recordings, seconds):
    """Recordings whose effort comes so much after the motion it belongs to."""
    found = []
    for recording in recordings:
        steps = round(seconds * recording.rate)
        late = slice(max(steps, 0), recording.samples + min(steps, 0))
        early = slice(max(-steps, 0), recording.samples + min(-steps, 0))
        values = {kind: getattr(recording, kind)[late] for kind in POSITIONS if getattr(recording, kind) is not None}
        values |= {kind: getattr(recording, kind)[early] for kind in EFFORTS if getattr(recording, kind) is not None}
        time = recording.time[late] - recording.time[late][0]
        found.append(replace(recording, time=time, temperature=None, load_torque=None, **values))
    return found


def _delay(seconds):
    return lambda model, recordings, rng: (model, delayed(recordings, seconds))


def _time(factor):
    return lambda model, recordings, rng: (
        model,
        [replace(recording, time=recording.time * factor) for recording in recordings],
    )


def _backwards(kinds):
    return _on(kinds, lambda array, n, rng: array[::-1])


def _whole_backwards(model, recordings, rng):
    found = []
    for recording in recordings:
        values = {kind: getattr(recording, kind) for kind in (*POSITIONS, *EFFORTS)}
        turned = {'dq': -1, 'dtheta': -1}
        values = {kind: array[::-1] * turned.get(kind, 1) for kind, array in values.items() if array is not None}
        found.append(replace(recording, **values))
    return model, found


def _pieces(recording, rng, share=0.1, piece=0.05):
    """Starts of pieces of 50 ms, a tenth of the recording, and their length."""
    length = max(2, round(piece * recording.rate))
    return rng.choice(recording.samples - length, int(share * recording.samples / length), replace=False), length


def _fifth(recording, rng):
    """Start of a fifth of the recording in one piece, and its length."""
    return [2 * recording.samples // 5], recording.samples // 5


def _without(places):
    """Samples missing, the rest stamped as if nothing were missing."""

    def apply(model, recordings, rng):
        found = []
        for recording in recordings:
            keep = np.ones(recording.samples, dtype=bool)
            starts, length = places(recording, rng)
            for start in starts:
                keep[start : start + length] = False
            values = {kind: getattr(recording, kind)[keep] for kind in recording.quantities}
            found.append(replace(recording, time=np.arange(keep.sum()) * recording.period, **values))
        return model, found

    return apply


def _offset(j, angle):
    def change(array, n, rng):
        array[:, j] += angle
        return array

    return _on(('q', 'theta'), change)


def _mounted(mounting):
    def apply(model, recordings, rng):
        if model.urdf is not None:
            return RobotModel.from_urdf(model.urdf, joints=list(model.joint_names), mounting=mounting), recordings
        return RobotModel.from_mdh(model.mdh.document(), mounting=mounting), recordings

    return apply


def payload_torque(model, recording, mass, centre=(0.05, 0.02, 0.1)):
    """Torque (samples, joints) of a point mass at `centre` in the last joint's frame."""
    smooth = zero_phase_lowpass(recording.q, min(10.0, 0.2 * recording.rate), recording.rate)
    states = smooth, central_difference(smooth, recording.rate), second_difference(smooth, recording.rate)
    values = np.zeros(len(model.parameter_names))
    c = np.array(centre)
    tensor = mass * (c @ c * np.eye(3) - np.outer(c, c))
    first = PER_JOINT * (model.n - 1)
    values[first : first + len(INERTIAL)] = (*tensor[np.triu_indices(3)], *(mass * c), mass)
    return model.inverse_dynamics(*states, values)


def _at_least_two(recordings):
    """A single recording in two halves."""
    if len(recordings) > 1:
        return recordings
    middle = recordings[0].duration / 2
    return [recordings[0].window(0, middle), recordings[0].window(middle, None)]


def _payload(share):
    """A payload in the later half of the recordings (or of a single one), its torque `share` of all torque."""

    def apply(model, recordings, rng):
        recordings = _at_least_two(recordings)
        half = (len(recordings) + 1) // 2
        unit = [payload_torque(model, recording, 1.0) for recording in recordings]
        size = np.sqrt(sum((recording.tau**2).sum() for recording in recordings) / sum((one**2).sum() for one in unit))
        return model, [
            recording if index < half else replace(recording, tau=recording.tau + share * size * one)
            for index, (recording, one) in enumerate(zip(recordings, unit, strict=True))
        ]

    return apply


def _half_sign(model, recordings, rng):
    """The sign of the second joint's torque differs between recordings."""
    recordings = _at_least_two(recordings)
    sign = np.where(np.arange(model.n) == 1, -1.0, 1.0)
    return model, [*recordings[:-1], replace(recordings[-1], tau=recordings[-1].tau * sign)]


def _other_arm(model, recordings, rng):
    """The kinematics of quite another arm."""
    half = np.pi / 2
    rows = [
        (0, 0, 0.2, 0), (0, 0.4, 0, 0), (half, 0, 0.4, half), (0, 0.3, 0, 0), (half, 0.1, 0, 0), (0, 0.2, 0.1, 0),
        (half, 0, 0.1, 0),
    ][: model.n]  # fmt: skip
    other = RobotModel.from_mdh({'joints': [dict(zip(('alpha', 'a', 'd', 'theta'), row, strict=True)) for row in rows]})
    return other, [replace(recording, joint_names=other.joint_names) for recording in recordings]


def _currents(model, recordings, rng):
    """Currents in the place of torques: another factor for each joint."""
    gains = np.array([13.0, 13.0, 12.0, 9.5, 6.0, 4.0, 3.0])[: model.n]
    return model, [replace(recording, tau=recording.tau / gains) for recording in recordings]


CORRUPTIONS = [
    Corruption('torque noise', ('torque_unrelated',), _on(EFFORTS, _noise())),
    Corruption('torque of joint 2 noise', ('torque_unrelated',), _on(EFFORTS, _noise(1))),
    Corruption('torque sign of all', ('torque_sign',), _on(EFFORTS, _times(-1.0))),
    Corruption('torque sign of joint 1', ('torque_sign',), _on(EFFORTS, _times(-1.0, 0))),
    Corruption('torque sign of joint 2', ('torque_sign',), _on(EFFORTS, _times(-1.0, 1))),
    Corruption('torque sign of joint 4', ('torque_sign',), _on(EFFORTS, _times(-1.0, 3))),
    Corruption('torque sign of the last joint', ('torque_sign',), _on(EFFORTS, _times(-1.0, -1))),
    Corruption('torques 1 and 2 swapped', ('torque_order',), _on(EFFORTS, _permuted(_swap(0, 1)))),
    Corruption('torques 2 and 3 swapped', ('torque_order',), _on(EFFORTS, _permuted(_swap(1, 2)))),
    Corruption('last torques swapped', ('torque_order',), _on(EFFORTS, _permuted(_swap(-2, -1)))),
    Corruption('torques in reverse', ('torque_order',), _on(EFFORTS, _permuted(_reverse))),
    Corruption('torques 50 ms late', ('delay',), _delay(0.05)),
    Corruption('torques 200 ms late', ('delay',), _delay(0.2)),
    Corruption('torques 100 ms early', ('delay',), _delay(-0.1)),
    Corruption('torques backwards', ('time_reversed',), _backwards(EFFORTS)),
    Corruption('torques clipped at half', ('saturated',), _on(EFFORTS, _clip(0.5))),
    Corruption('torque of joint 2 clipped', ('saturated',), _on(EFFORTS, _clip(0.4, 1))),
    Corruption('torque spikes', ('spikes',), _on(EFFORTS, _spikes(3.0, 0.002))),
    Corruption('torque of joint 3 stuck for half', ('stuck',), _on(EFFORTS, _stuck(2))),
    Corruption('torque of joint 2 doubled', ('drive_gain',), _on(EFFORTS, _times(2.0, 1))),
    Corruption('torque of joint 3 in thousandths', ('drive_gain',), _on(EFFORTS, _times(1e-3, 2))),
    Corruption('currents for torques', ('drive_gain', 'current'), _currents),
    Corruption('position sign of joint 2', ('position_sign',), _on(POSITIONS, _times(-1.0, 1))),
    Corruption('position sign of joint 3', ('position_sign',), _on(POSITIONS, _times(-1.0, 2))),
    Corruption('axis of joint 3 turned', ('axis_sign',), _on((*POSITIONS, *EFFORTS), _times(-1.0, 2))),
    Corruption('positions 2 and 3 swapped', ('position_order',), _on(POSITIONS, _permuted(_swap(1, 2)))),
    Corruption('positions in reverse', ('position_order',), _on(POSITIONS, _permuted(_reverse))),
    Corruption('joints in reverse', ('joint_order',), _on((*POSITIONS, *EFFORTS), _permuted(_reverse))),
    Corruption('joints 2 and 3 swapped', ('joint_order',), _on((*POSITIONS, *EFFORTS), _permuted(_swap(1, 2)))),
    Corruption('degrees', ('degrees',), _on(POSITIONS, _times(180 / np.pi))),
    Corruption('zero of joint 2 off by 90°', ('position_offset',), _offset(1, np.pi / 2)),
    Corruption('encoder of joint 2 stuck for half', ('stuck',), _stuck_position(1)),
    Corruption('encoder spikes', ('spikes',), _on(('q', 'theta'), _spikes(0.5, 0.002))),
    Corruption('time in thousandths', ('time_scale',), _time(1e3)),
    Corruption('time halved', ('time_scale',), _time(0.5)),
    Corruption('time doubled', ('time_scale',), _time(2.0)),
    Corruption('backwards in time', ('time_reversed',), _whole_backwards),
    Corruption('samples missing', ('missing_samples',), _without(_pieces)),
    Corruption('a piece missing', ('missing_samples',), _without(_fifth)),
    Corruption('mounted on the ceiling', ('mounting',), _mounted([np.pi, 0.0, 0.0])),
    Corruption('mounted on the wall', ('mounting',), _mounted([np.pi / 2, 0.0, 0.0])),
    Corruption('payload in half', ('payload_mixed', 'recordings_differ'), _payload(0.3)),
    Corruption('sign of joint 2 in one recording', ('recordings_differ', 'payload_mixed'), _half_sign),
    Corruption('another arm', (), _other_arm),
]
