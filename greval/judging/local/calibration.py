"""Corrections of the default embedded model, which prefers some categories of a metric whatever it judges.

A correction is a number that is added to the log-probability of each token that begins a category, before the model
chooses. It holds for one definition of a metric, and was chosen on development data (`benchmarks/calibrate_local.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from greval.judging.local.models import DEFAULT_MODEL
from greval.records.metric_input import compute_fingerprint
from greval.records.record import Record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from greval.records.metric import JudgedMetric


class Calibration(Record):
    """A correction of the default model for one definition of a metric.

    - `definition` is the fingerprint of the metric without a judge.
    - `shifts` are added to the log-probabilities of categories; the others stay as they are.
    - `tokens` are the numbers of the tokens that begin each of these categories and no other.
    - `origin` says on which data the shifts were chosen.
    """

    definition: str
    shifts: Annotated[dict[str, float], Field(min_length=1)]
    tokens: dict[str, tuple[int, ...]]
    origin: str

    @property
    def logit_bias(self) -> Mapping[int, float]:
        """The shift of each token, as OpenAI-compatible servers take it."""
        return {token: shift for name, shift in self.shifts.items() for token in self.tokens[name]}


_FIRST_TOKENS = {"Irrelevant": (48113,)}

CALIBRATIONS: dict[str, Calibration] = {
    "chunk_evaluation": Calibration(
        definition="d7f46aa36940dfd3",
        shifts={"Irrelevant": 2.25},
        tokens=_FIRST_TOKENS,
        origin="172 passages of 22 questions (HotpotQA and MuSiQue, development parts), 44 relevant, 25 November 2026: "
        "F1 0.59 instead of 0.41; 0.52 if it is chosen on other questions",
    ),
    "triple_evaluation": Calibration(
        definition="9f7a88ef3f991058",
        shifts={"Irrelevant": 1.55},
        tokens=_FIRST_TOKENS,
        origin="128 triples of 24 questions on a novel (GraphRAG-Bench, Novel-47558), 32 relevant, 25 November 2026: "
        "F1 0.79 instead of 0.40; 0.70 if it is chosen on other questions",
    ),
}
"""The corrections by the name of the metric."""


def find_calibration(metric: JudgedMetric, label: str) -> Calibration | None:
    """Return the correction of a judge for a metric, or None.

    None is returned for other models than the default one, and for a metric whose definition was changed.

    Args:
        metric: The metric.
        label: The name of the judge in results, such as `local:qwen2.5-coder-1.5b`.
    """
    calibration = CALIBRATIONS.get(metric.name) if label == f"local:{DEFAULT_MODEL}" else None
    return calibration if calibration and calibration.definition == compute_fingerprint(metric, {}) else None
