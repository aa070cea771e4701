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

"""Read recordings from CSV files.

Required columns are `time` [s] and q<k>, for the joints k = 1 … n (or 0 … n − 1) in the robot's order. Optional columns
are dq<k> (joint speed), tau<k> (motor torque), cur<k> (motor current), theta<k> and dtheta<k> (motor position and
speed, reflected to the joint), temp<k> (temperature) and load<k> (load torque).
"""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from joint_dynamics.arrays import FloatArray
from joint_dynamics.documents import check_file, number
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.recording.inputs import NOT_OF_THE_ARM, QUANTITIES, TORQUES
from joint_dynamics.recording.samples import Samples

#: Quantity of a Recording -> prefix of its columns.
COLUMNS = {**{name: name for name in QUANTITIES}, 'current': 'cur', 'temperature': 'temp', 'load_torque': 'load'}
QUANTITY_OF = {column: quantity for quantity, column in COLUMNS.items()}
COLUMN_NAME = re.compile(r'([A-Za-z_]+?)([0-9]{1,6})')
MAX_BYTES = 8 * 1024**3
MAX_COLUMNS = 1000
MAX_LINE = 1_000_000  # characters
MAX_SECONDS = 1e8  # s, from the first to the last sample
EXACT = '%.17g'  # 17 significant digits restore every float exactly


def read_csv(path: Path, samples: Samples) -> None:
    """Add all samples of a CSV file to `samples`, with a note on unused columns.

    The columns follow the joint order of `samples`. Without joint names there, the joints are joint_1 … joint_n.

    Raises
    ------
    JointDynamicsError
        If `time` or q is missing, if the columns do not match the robot's joints, or if a value is not a number.
    """
    try:
        check_file(path, f'{path}', MAX_BYTES)
        _refuse_endless_lines(path)
        with path.open(encoding='utf-8-sig', newline='') as file:
            header = [name.strip() for name in next(csv.reader(file), [])]
        columns, unused = _columns(path, header, samples)
        data = _numbers(path, header)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise JointDynamicsError(f'{path}: expected a CSV file, found: {error}') from None
    if data.shape[0] < 1:
        raise JointDynamicsError(f'{path}: expected samples, found only a header')
    seconds = data[:, header.index('time')]
    if not np.isfinite(seconds).all():
        row = int(np.argmax(~np.isfinite(seconds)))
        raise JointDynamicsError(f'{path}: time: expected numbers, found {seconds[row]} in line {row + 2}')
    if not np.ptp(seconds) <= MAX_SECONDS:
        raise JointDynamicsError(
            f'{path}: time: expected seconds, at most {MAX_SECONDS:g} s, found {seconds.min():g} to {seconds.max():g}'
        )
    stamps = np.rint((seconds - seconds[0]) * 1e9).astype(np.int64)
    joints = samples.joint_names or tuple(f'joint_{k + 1}' for k in range(len(columns['q'])))
    for quantity, places in columns.items():
        names = [joints[j] for j in places]
        samples.add_block(quantity, stamps, names, data[:, list(places.values())], source=path.name)
    if unused:
        samples.notes.append(f'columns not used: {", ".join(unused)}')


def _columns(path: Path, header: list[str], samples: Samples) -> tuple[dict[str, dict[int, int]], tuple[str, ...]]:
    """Return quantity -> {joint: column} in joint order, and the unused columns.

    Torques and currents may be missing for some joints.
    """
    numbered: dict[str, dict[int, int]] = {}
    unused: list[str] = []
    if len(header) > MAX_COLUMNS:
        raise JointDynamicsError(f'{path}: expected at most {MAX_COLUMNS} columns, found {len(header)}')
    for index, name in enumerate(header):
        match = COLUMN_NAME.fullmatch(name)
        if name in header[:index]:
            raise JointDynamicsError(f'{path}: expected column {name} once, found it twice')
        if match and match[1] in QUANTITY_OF:
            numbered.setdefault(QUANTITY_OF[match[1]], {})[int(match[2])] = index
        elif name != 'time':
            unused.append(name)
    if 'time' not in header or 'q' not in numbered:
        raise JointDynamicsError(f'{path}: expected columns time, q1, q2, …, found {", ".join(header) or "none"}')
    n = len(samples.joint_names or numbered['q'])
    first = min(1, *numbered['q'])
    numbers = range(first, first + n)
    for quantity, places in numbered.items():
        if sorted(places) != list(numbers) and not (quantity in TORQUES and set(places) <= set(numbers)):
            column = COLUMNS[quantity]
            joints = f' (joints {", ".join(samples.joint_names)})' if samples.joint_names else ''
            raise JointDynamicsError(
                f'{path}: expected columns {column}{numbers[0]} to {column}{numbers[-1]}{joints}, found '
                f'{", ".join(f"{column}{k}" for k in sorted(places))} ({NOT_OF_THE_ARM})'
            )
    columns = {
        quantity: {j: places[k] for j, k in enumerate(numbers) if k in places} for quantity, places in numbered.items()
    }
    return columns, tuple(unused)


def _refuse_endless_lines(path: Path) -> None:
    """Raise JointDynamicsError for a line of `MAX_LINE` bytes, which would be read into memory, and for zero bytes."""
    with path.open('rb') as file:
        while line := file.read(MAX_LINE):
            if b'\0' in line or (len(line) == MAX_LINE and b'\n' not in line):
                found = 'zero bytes (an incompletely written file?)' if b'\0' in line else 'a longer one'
                raise JointDynamicsError(f'{path}: expected lines of text of less than {MAX_LINE} bytes, found {found}')


def _numbers(path: Path, header: list[str]) -> FloatArray:
    """Return all rows as numbers, an empty field as NaN."""
    try:
        with warnings.catch_warnings():
            # The caller refuses a file without rows; numpy's warning would repeat it.
            warnings.simplefilter('ignore', UserWarning)
            name = str(path.absolute())
            data = np.loadtxt(name, delimiter=',', skiprows=1, ndmin=2, comments=None, encoding='utf-8-sig')
        if data.size == 0 or data.shape[1] == len(header):
            return data
    except ValueError:
        pass
    # Slower than numpy, but accepts empty fields and reports the line of a wrong row.
    return np.array(list(_rows(path, header)), dtype=np.float64).reshape(-1, len(header))


def _rows(path: Path, header: list[str]) -> Iterator[list[float]]:
    """Yield the rows as numbers, an empty field as NaN; raise JointDynamicsError with the line of a wrong row."""
    with path.open(encoding='utf-8-sig', newline='') as file:
        for line, row in enumerate(csv.reader(file), start=1):
            if line == 1 or not row:
                continue
            if len(row) != len(header):
                raise JointDynamicsError(f'{path}: expected {len(header)} fields in line {line}, found {len(row)}')
            try:
                yield [number(field) if field.strip() else np.nan for field in row]
            except ValueError as error:
                raise JointDynamicsError(
                    f'{path}: expected numbers in the columns of the header, found in line {line}: {str(error)[:100]}'
                ) from None
