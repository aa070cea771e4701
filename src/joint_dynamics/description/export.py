"""Export of a description for other tools, by one function: URDF, MJCF, SDF, or a pinocchio model in Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from joint_dynamics.description.description import DynamicsDescription
from joint_dynamics.description.export_mjcf import export_mjcf
from joint_dynamics.description.export_pinocchio import export_pinocchio
from joint_dynamics.description.export_sdf import export_sdf
from joint_dynamics.description.export_urdf import export_urdf, not_exported
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.robot import RobotModel
from joint_dynamics.robot.urdf import read_source
from joint_dynamics.robot.urdf_text import urdf_text


@dataclass(frozen=True)
class Format:
    """A format: its name in a sentence, the extensions of its files, and the fields that it has beyond a URDF.

    new: fields that only a new model has, not an existing one.
    """

    article: str
    endings: tuple[str, ...]
    holds: frozenset[str] = frozenset()
    new: frozenset[str] = frozenset()


FORMATS = {
    'urdf': Format('a URDF', ('.urdf',)),
    'mjcf': Format('an MJCF', ('.xml', '.mjcf'), frozenset({'rotor_inertia'}), frozenset({'mounting'})),
    'sdf': Format('an SDF', ('.sdf', '.world'), frozenset(), frozenset({'mounting'})),
    'python': Format('a pinocchio model', ('.py',), frozenset({'rotor_inertia', 'mounting'})),
}


@dataclass(frozen=True)
class Exported:
    """The result of an export.

    Attributes
    ----------
    to
        the format.
    missing
        parts of the description that it cannot represent, one line per field.
    unphysical
        joints whose link is not physically consistent, which tools may refuse.
    apart
        distance [m, rad] between the link frames of the existing file and those of the robot file.
    """

    to: str
    missing: Sequence[str]
    unphysical: Sequence[str]
    apart: float = 0.0


def format_of(path: str | Path) -> str:
    """Return the format of a file by its extension.

    Raises
    ------
    JointDynamicsError
        For an unknown extension.
    """
    for name, known in FORMATS.items():
        if Path(path).suffix.lower() in known.endings:
            return name
    endings = ', '.join(ending for known in FORMATS.values() for ending in known.endings)
    raise JointDynamicsError(
        f'{path}: expected a file that ends in {endings}, or --to {", ".join(FORMATS)}, found neither'
    )


def export(
    description: DynamicsDescription,
    out: str | Path,
    to: str | None = None,
    payload: str = 'merged',
    into: str | Path | None = None,
) -> Exported:
    """Write a description in a format of other tools.

    Parameters
    ----------
    description
        with the kinematics of its robot.
    out
        the file to write.
    to
        one of `FORMATS`; None: by the extension of the file.
    payload
        `merged` into the last link, `apart` as a body of its own (not in Python), or `without`.
    into
        an existing file of the same format (for a URDF also an MDH table) that provides all else, joints by name; None:
        a new model without shapes. Not in Python.

    Returns
    -------
    Exported

    Raises
    ------
    JointDynamicsError
        Where the format cannot represent the description; see the function of each format.
    """
    to = to or format_of(out)
    if to not in FORMATS:
        raise JointDynamicsError(f'format: expected {", ".join(FORMATS)}, found {to!r}')
    apart = 0.0
    if to == 'urdf':
        unphysical = export_urdf(description, _urdf_source(description, into), out, payload)
    elif to == 'mjcf':
        unphysical, apart = export_mjcf(description, description.robot_model(), out, payload, into)
    elif to == 'sdf':
        unphysical, apart = export_sdf(description, description.robot_model(), out, payload, into)
    elif into is not None:
        raise JointDynamicsError(f'pinocchio model: expected no file to write into, found {into}: leave --into out')
    else:
        unphysical = export_pinocchio(description, description.robot_model(), out, payload)
    known = FORMATS[to]
    held = known.holds if into is not None else known.holds | known.new
    return Exported(to, not_exported(description, payload, held), unphysical, apart)


def _urdf_source(description: DynamicsDescription, into: str | Path | None) -> str | Path:
    """Return the URDF to write into; of an MDH table, and where there is none, joints and links without shapes."""
    if into is None:
        model = description.robot_model()
        return model.urdf or urdf_text(model)
    text, _ = read_source(into)
    return into if text.lstrip().startswith('<') else urdf_text(RobotModel.load(into))
