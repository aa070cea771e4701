"""An identified robot as a pinocchio model, in this process and as a file that runs alone."""

import runpy
import subprocess
import sys

import numpy as np
import pinocchio
import pytest

from joint_dynamics import export, pinocchio_model
from joint_dynamics.arm import Arm
from joint_dynamics.description import DynamicsDescription
from joint_dynamics.errors import JointDynamicsError

ARMATURE = hasattr(pinocchio.Model(), 'armature')
with_armature = pytest.mark.skipif(not ARMATURE, reason='models of pinocchio 2 have no armature')


@pytest.fixture
def description(robot, described_of):
    return described_of(robot, np.random.default_rng(2))


def states(robot):
    return zip(*robot.random_states(20, np.random.default_rng(1)), strict=True)


@with_armature
def test_the_model_has_the_descriptions_torque(robot, description):
    arm, model = Arm.from_description(robot, description), pinocchio_model(description)
    data = model.createData()
    for q, dq, ddq in states(robot):
        wanted = arm.rigid.inverse_dynamics(q, dq, ddq) + arm.rotor_inertia * ddq
        np.testing.assert_allclose(
            pinocchio.rnea(model, data, q, dq, ddq), wanted, rtol=0, atol=1e-9 * max(1.0, np.abs(wanted).max())
        )
    assert list(model.names[1:]) == list(robot.joint_names)
    np.testing.assert_array_equal(model.effortLimit, robot.limits.effort)


@with_armature
def test_the_file_builds_the_same_model_without_this_package(robot, description, tmp_path):
    done = export(description, tmp_path / 'arm.py')
    assert done.to == 'python'
    assert not done.unphysical
    text = (tmp_path / 'arm.py').read_text()
    assert 'import joint_dynamics' not in text
    file = runpy.run_path(str(tmp_path / 'arm.py'))
    ours, theirs = pinocchio_model(description), file['build']()
    data, other = ours.createData(), theirs.createData()
    parts = [description.joint(name)['friction']['parameters'] for name in robot.joint_names]
    coulomb, viscous = (np.array([part[key] for part in parts]) for key in ('F_C0', 'F_V1'))
    for q, dq, ddq in states(robot):
        wanted = pinocchio.rnea(ours, data, q, dq, ddq)
        scale = 1e-9 * max(1.0, np.abs(wanted).max())
        np.testing.assert_allclose(pinocchio.rnea(theirs, other, q, dq, ddq), wanted, rtol=0, atol=scale)
        whole = file['inverse_dynamics'](theirs, other, q, dq, ddq)
        np.testing.assert_allclose(whole, wanted + viscous * dq + coulomb * np.sign(dq), rtol=0, atol=scale)
    pinocchio.framesForwardKinematics(ours, data, q)
    pinocchio.framesForwardKinematics(theirs, other, q)
    bodies = [frame.name for frame in ours.frames if frame.type == pinocchio.FrameType.BODY]
    assert bodies
    for name in bodies:
        one, two = data.oMf[ours.getFrameId(name)], other.oMf[theirs.getFrameId(name)]
        np.testing.assert_allclose(one.homogeneous, two.homogeneous, rtol=0, atol=1e-12)


@with_armature
def test_what_the_document_says_is_no_code(robot, description, tmp_path):
    document = dict(description.document)
    document['provenance'] = {'date': '"""\nraise SystemExit("run")\n"""', 'software': '{gravity}'}
    export(DynamicsDescription(document), tmp_path / 'arm.py')
    done = subprocess.run([sys.executable, tmp_path / 'arm.py'], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_there_is_nothing_to_write_a_program_into(description, tmp_path):
    with pytest.raises(JointDynamicsError, match='leave --into out'):
        export(description, tmp_path / 'arm.py', into=tmp_path / 'other.py')
    with pytest.raises(JointDynamicsError, match=r'--to urdf, mjcf, sdf, python'):
        export(description, tmp_path / 'arm.json')


@pytest.mark.skipif(ARMATURE, reason='models of this pinocchio have an armature')
def test_a_pinocchio_without_rotors_is_refused(description, tmp_path):
    with pytest.raises(JointDynamicsError, match=r'expected pinocchio 3 or newer, found 2\.'):
        pinocchio_model(description)
    with pytest.raises(JointDynamicsError, match='expected pinocchio 3 or newer'):
        export(description, tmp_path / 'arm.py')
    assert not list(tmp_path.iterdir())


def test_a_pinocchio_that_pretends_to_be_old_is_refused(description, monkeypatch):
    class Old:
        pass

    monkeypatch.setattr(pinocchio, 'Model', Old)
    with pytest.raises(JointDynamicsError, match='whose models have no armature'):
        pinocchio_model(description)
