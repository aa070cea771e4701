"""What a problem cannot be made of."""

import numpy as np
import pytest

from joint_dynamics.arm import terms_from_config
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.regression.columns import spans
from joint_dynamics.identification.regression.problem import Problem
from joint_dynamics.robot import RobotModel


def test_terms_of_no_joint_and_spans_without_a_filter_are_refused(two_links, observed):
    terms = terms_from_config({'elbow': [{'fourier': 1}]})
    with pytest.raises(JointDynamicsError, match="expected a joint of joint_1, joint_2, found 'elbow'"):
        Problem(two_links, [observed(1, 20)], terms)
    with pytest.raises(ValueError, match='without a parallel filter has no spans'):
        next(spans(observed(1, 20)))


@pytest.mark.parametrize('mounting', [None, (0.4, 0.0, 0.0)])
def test_the_weight_on_a_sliding_first_joint_is_an_offset(mounting, observed):
    """It is the same in every posture, however the joint leans; a joint that slides behind a turning one is none."""
    turn = {'alpha': np.pi / 2, 'a': 0.0, 'd': 0.0, 'theta': 0.0}
    slide = {**turn, 'type': 'prismatic'}
    lift = RobotModel.from_mdh({'joints': [{**slide, 'alpha': 0.0}, turn]}, mounting=mounting)
    assert Problem(lift, [observed(1, 300)]).lifts == ['joint_1']
    assert Problem(RobotModel.from_mdh({'joints': [turn, slide]}), [observed(1, 300)]).lifts == []
