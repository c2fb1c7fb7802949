"""Calibrations of the embedded model: how far cheap numbers of an item move its choice of a value.

A logistic model takes the log-odds that the model gives to a good value, and the numbers of `item_features.py`. It
decides for the worst value exactly if the log-odds are below a limit that the numbers set. So the limit is added to the
log-probability of the worst value before the model chooses, and the reason that it writes then is that of its choice.
"""

from __future__ import annotations

from functools import cache
from math import exp
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, JsonValue, TypeAdapter

from greval.judging.local.models import DEFAULT_MODEL
from greval.judging.model.item_features import FEATURES, FeatureName
from greval.records.metric_input import compute_fingerprint
from greval.records.record import Record
from greval.records.scale import Value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from greval.records.case import Case
    from greval.records.metric import JudgedMetric
    from greval.records.metric_input import Item

CALIBRATIONS_FILE = Path(__file__).with_name("calibrations.json")
SHIFT_DIGITS = 2
"""The digits to which a shift is rounded, so that a request has one key on all machines."""


class Calibration(Record):
    """The calibration of one metric, for the default embedded model and the prompt in its usual form.

    `definition` is the fingerprint of the metric without a judge, `tokens` are the numbers of those that begin the
    worst `value` and no other. `slope` is the weight of the model's log-odds, `weights` are those of the numbers of an
    item. `data`, `command` and `date` say how they were fitted. `equal_rule` names the rule of one line, if there is
    one, that the calibrated judge was not clearly better than on data on which nothing was chosen. Without `weights`
    the model decides alone: nothing that was tried made it better.
    """

    metric: str
    definition: str
    value: Value
    tokens: tuple[int, ...]
    slope: Annotated[float, Field(gt=0)]
    intercept: float
    weights: dict[FeatureName, float]
    data: str
    command: str
    date: str
    equal_rule: str = ""

    @property
    def coefficients(self) -> dict[str, JsonValue]:
        """The coefficients that decide a verdict, as JSON."""
        return self.model_dump(mode="json", include={"value", "slope", "intercept", "weights"})

    def compute_shift(self, case: Case, item: Item | None) -> float:
        """Compute what is added to the log-probability of the worst value for an item, None for the case as a whole."""
        numbers = (weight * FEATURES[name](case, item) for name, weight in self.weights.items())
        return round(-(self.intercept + sum(numbers)) / self.slope, SHIFT_DIGITS)

    def calibrate(self, probabilities: Mapping[Value, float], shift: float) -> dict[Value, float]:
        """Return the probabilities of the values after a shift, which sum up to 1."""
        shifted = {
            value: (share * exp(shift if value == self.value else 0.0)) ** self.slope
            for value, share in probabilities.items()
        }
        total = sum(shifted.values())
        return {value: share / total for value, share in shifted.items()}


@cache
def read_calibrations() -> Mapping[str, Calibration]:
    """Read the shipped calibrations by the names of their metrics."""
    calibrations = TypeAdapter(list[Calibration]).validate_json(CALIBRATIONS_FILE.read_bytes())
    return {calibration.metric: calibration for calibration in calibrations}


def find_calibration(metric: JudgedMetric, label: str) -> Calibration | None:
    """Find the calibration of a metric; None for other models than the default one, and for changed definitions."""
    calibration = read_calibrations().get(metric.name) if label == f"local:{DEFAULT_MODEL}" else None
    is_measured = calibration and calibration.definition == compute_fingerprint(metric, {})
    return calibration if is_measured else None
