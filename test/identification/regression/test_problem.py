"""What a problem cannot be made of."""

import pytest

from joint_dynamics.arm import terms_from_config
from joint_dynamics.errors import JointDynamicsError
from joint_dynamics.identification.regression.base_rows import spans
from joint_dynamics.identification.regression.problem import Problem


def test_terms_of_no_joint_and_spans_without_a_filter_are_refused(two_links, observed):
    terms = terms_from_config({'elbow': [{'fourier': 1}]})
    with pytest.raises(JointDynamicsError, match="expected a joint of joint_1, joint_2, found 'elbow'"):
        Problem(two_links, [observed(1, 20)], terms)
    with pytest.raises(ValueError, match='without a parallel filter has no spans'):
        next(spans(observed(1, 20)))
