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

"""The errors this package raises, one class per exit status of the command line."""

MAX_MESSAGE = 2000
"""Most characters of a message: enough for the joints of a large arm, too few for an expanded document."""


class JointDynamicsError(ValueError):
    """Bad input or usage: one line with the expectation, the finding and the remedy (exit status 2).

    Names and values come from outside. A message stays one line, and control characters are shown as escapes, so they
    cannot steer a terminal. A message longer than MAX_MESSAGE is cut in its middle.
    """

    def __init__(self, message: str = ''):
        if len(message) > MAX_MESSAGE:
            message = f'{message[: MAX_MESSAGE // 2]} … {message[-MAX_MESSAGE // 4 :]}'
        super().__init__(printable(message))


class NotReliableError(JointDynamicsError):
    """The work was done, but its result is not reliable, with the reason (exit status 3)."""


def printable(text: str) -> str:
    """Return the text with a space in the place of line breaks, and escapes for what else cannot be printed."""
    if text.isprintable():
        return text
    text = ' '.join(line.strip() for line in text.splitlines())
    return ''.join(one if one.isprintable() else one.encode('unicode_escape').decode() for one in text)


def one_line(error: BaseException) -> str:
    """Return the message of an error on one line; of one without a message the name of its class."""
    return ' '.join(str(error).split()) or type(error).__name__
