"""One other explanation of motion and torque, and what it has to reach to be named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from joint_dynamics.arrays import FloatArray, IntArray
from joint_dynamics.identification.reliability.evidence import ExplanationFit
from joint_dynamics.identification.reliability.filtered_samples import FilteredSamples
from joint_dynamics.identification.reliability.tried import LOG_LIKELIHOOD_THRESHOLD, MIN_EVIDENCE, MIN_STEADINESS


@dataclass(frozen=True)
class Alternative:
    """One other explanation: code, what it says, its fit, and the log-likelihood it gains over the given one [nats].

    steadiness: see `evidence.steadiness`; infinite where the gain is too small to ask; dispersion: see
    `overdispersion`, one where the gain is too small to ask; least: what the gain has to be worth [nats].
    """

    code: str
    text: str
    fitted: ExplanationFit
    gain: float
    steadiness: float = np.inf
    dispersion: float = 1.0
    least: float = MIN_EVIDENCE

    @property
    def evidence(self) -> float:
        """What the gain is worth where the model is somewhat wrong [nats]."""
        return self.gain / self.dispersion

    @property
    def ahead(self) -> bool:
        """Whether it gains enough: twice as much where the gain is that of a few blocks of time."""
        return self.gain > (
            LOG_LIKELIHOOD_THRESHOLD if self.steadiness > MIN_STEADINESS else 2 * LOG_LIKELIHOOD_THRESHOLD
        )

    @property
    def clear(self) -> bool:
        """Whether it is named: it gains enough, and more than a model that is somewhat wrong gains by any freedom."""
        return self.ahead and self.evidence > self.least


class Explanation(NamedTuple):
    """What an alternative says, the torque it explains, and the recording's column of each row of that torque."""

    code: str
    text: str
    target: FloatArray
    order: IntArray | None = None


class Case(NamedTuple):
    """One motion, None for the one given, and what may be said with it."""

    samples: FilteredSamples | None
    explanations: tuple[Explanation, ...]
