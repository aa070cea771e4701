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

"""A recording with gaps that are too long to be bridged is used in pieces between them, as long as enough is left."""

import re

import numpy as np
import pytest

from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording import Recording, RecordingBuilder, load_pieces, load_recording

NAMES = ('shoulder', 'elbow', 'wrist')
RATE = 200.0  # Hz
SECONDS = 20.0


@pytest.fixture
def built(feed, motion, messages):
    """Return a function: pieces of 20 s of positions, speeds and efforts without the samples of `cuts`.

    From sample `rests_from` on (counted without the cuts) nothing moves.
    """

    def build(*cuts, config=None, window=(None, None), jitter=0.0, rests_from=None):
        stamps = motion.stamps(RATE, SECONDS)
        stamps = stamps + np.rint(np.random.default_rng(0).uniform(-jitter, jitter, stamps.size) * 1e9).astype(int)
        kept = np.ones(stamps.size, dtype=bool)
        for first, last in cuts:
            kept[first:last] = False
        stamps = stamps[kept]
        q, dq, tau = motion.q(stamps), motion.dq(stamps), motion.tau(stamps)
        if rests_from is not None:
            # as of an arm that is held: within microradians
            q[rests_from:] = q[rests_from] + 1e-9 * np.arange(len(q) - rests_from)[:, None]
            dq[rests_from:] = 0.0
        values = zip(q, dq, tau, strict=True)
        rows = messages.rows('/joint_states', stamps, lambda t: messages.joint_state(t, NAMES, *next(values)))
        return feed(RecordingBuilder(NAMES, config), rows).build_pieces('run', window)

    return build


def test_without_a_gap_it_is_the_recording_itself(built):
    (whole,) = built((1000, 1003))
    assert whole.name == 'run' and whole.duration == pytest.approx(20.0)
    assert not any('pieces' in note for note in whole.notes)


@pytest.mark.parametrize('jitter', [0.0, 1e-3])
def test_nothing_in_a_piece_is_interpolated_over_a_gap(built, motion, jitter):
    """Stamps may jitter: every value is within a period's interpolation of the motion, in every piece."""
    pieces = built((1000, 1006), (2000, 2100), jitter=jitter)
    if jitter == 0.0:
        assert [piece.name for piece in pieces] == ['run@0:4.995', 'run@5.035:9.995', 'run@10.505:20.005']
    first = motion.start + (np.random.default_rng(0).uniform(-jitter, jitter) * 1e9 if jitter else 0.0)
    edges = [tuple(map(float, piece.name.partition('@')[2].split(':'))) for piece in pieces]
    for piece, (t0, t1) in zip(pieces, edges, strict=True):
        assert piece.duration == pytest.approx(t1 - t0, abs=2.5 / RATE)
        time = first + (np.ceil(t0 * RATE - 1e-3) / RATE + piece.time) * 1e9
        # linear interpolation between samples T apart is wrong by max|q''| T²/8, T at most a period and the jitter
        wrong = 14.4 * (1 / RATE + 2 * jitter) ** 2 / 8 + 3.1 * jitter
        np.testing.assert_allclose(piece.q, motion.q(time), atol=wrong + 1e-9)
    # of the samples before and behind the gaps, each within the jitter, and as much that of time 0
    assert 5.03 - 2 * jitter <= edges[1][0] and edges[1][1] <= 9.995 + 2 * jitter and 10.5 - 2 * jitter <= edges[2][0]
    (note,) = (note for note in pieces[0].notes if 'pieces' in note)
    assert re.search(r'3 pieces.* 0.50\d* s in q on /joint_states at 9.99\d* s; 0.5\d* s \(2.[78] %\)', note), note
    assert not any('pieces' in note for piece in pieces[1:] for note in piece.notes)


def test_pieces_too_short_are_left_out_and_said(built):
    """Between two gaps 2 s apart nothing is used: the filters would leave little of it."""
    pieces = built((1000, 1010), (1400, 1410))
    assert len(pieces) == 2
    assert '2.06 s (10 %) left out' in pieces[0].notes[0], pieces[0].notes[0]


@pytest.mark.parametrize(
    ('cuts', 'config', 'share'),
    [
        ([(1000, 2100)], None, '72.5'),
        ([(k, k + 10) for k in range(100, 4000, 400)], None, '0'),
        ([(1000, 1010)], {'max_left_out': 0.0}, '99.7'),
        ([(1000, 1010), (1400, 1410)], {'max_left_out': 0.1}, '89.7'),
    ],
)
def test_refused_where_too_much_would_be_left_out(built, cuts, config, share):
    with pytest.raises(JointDynamicsError, match=rf'25 ms .*max_left_out.* {share} %'):
        built(*cuts, config=config)


def test_a_piece_in_which_nothing_moves_is_left_out(built):
    """As where a recording goes on when the motion has ended; the others are used, and the first one's notes say it."""
    (piece,) = built((2000, 2010), rests_from=1900)
    assert piece.name == 'run@0:9.995'
    assert piece.notes[1] == 'left out, nothing moves: 10.055 to 20.005 s'


def test_only_gaps_inside_the_window_count(built):
    (piece,) = built((1000, 1010), window=(6.0, None))
    assert piece.duration == pytest.approx(14.0)
    first, second = built((1000, 1010), window=(1.0, 12.0))
    assert (first.name, second.name) == ('run@1:4.995', 'run@5.055:12')


def test_files_are_read_in_pieces_and_a_piece_by_its_name(motion, tmp_path):
    """The name of a piece is what `load_recording` takes for it; the notes of the file are said once."""
    stamps = motion.stamps(RATE, SECONDS)
    time = (stamps - stamps[0]) * 1e-9
    path = tmp_path / 'run.csv'
    Recording(NAMES, time, motion.q(stamps), tau=motion.tau(stamps)).save_csv(path)
    head, *lines = path.read_text().splitlines()
    path.write_text('\n'.join([head, *lines[:1000], *lines[1010:]]) + '\n')
    with pytest.raises(JointDynamicsError, match=r'gap of 0.055 s'):
        load_recording(path)
    pieces = load_pieces(path)
    assert len(pieces) == 2
    for piece in pieces:
        again = load_recording(piece.name)
        np.testing.assert_array_equal(again.q, piece.q)
        np.testing.assert_array_equal(again.tau, piece.tau)


def test_where_no_piece_is_long_enough_nothing_is_left_to_use(built):
    with pytest.raises(JointDynamicsError, match=r'pieces of at least 2\.5 s .*, found 0 %'):
        built(*((first, first + 20) for first in range(300, 4000, 320)), config={'max_left_out': 1.0})


def test_one_gap_limit_cuts_and_judges(feed, motion, messages):
    """Half at 60 Hz, half at 40 Hz, with a gap between five periods of either."""
    start = motion.start
    fast = start + np.arange(0, 8, 1 / 60) * 1e9
    slow = start + np.arange(8, 22, 1 / 40) * 1e9
    stamps = np.rint(np.concatenate([fast, slow])).astype(int)
    at = (stamps - start) * 1e-9
    stamps = stamps[~((at > 4.0) & (at < 4.1)) & ~((at > 14.0) & (at < 14.4))]
    rows = messages.rows(
        '/joint_states',
        stamps,
        lambda t: messages.joint_state(t, NAMES, *(f(np.array([t]))[0] for f in (motion.q, motion.dq, motion.tau))),
    )
    pieces = feed(RecordingBuilder(NAMES), rows).build_pieces('run')
    assert len(pieces) == 2
    assert [piece.duration for piece in pieces] == pytest.approx([14.0, 7.5], abs=0.1)
