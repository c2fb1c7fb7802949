"""The questions of a dataset that ask for the value of a metric, also in datasets that greval did not create."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from greval.errors import ArgillaArgumentError
from greval.records.metric import JudgedMetric
from greval.records.scale import CategoricalScale, JudgedScale, OffScaleError, Value
from greval.records.scale_values import parse_on_scale
from greval.trust.argilla.form import Json, build_question, name_comment, name_question

ONE_VALUE_KINDS = ("label_selection", "rating")
"""The kinds of questions whose answer is one value."""
TEXT = "text"
MAX_SHOWN = 12


class MetricQuestion(NamedTuple):
    """The question that asks for the value of a metric, and the question for a comment if there is one.

    `values` has the value of the scale for each of the question's options.
    """

    id: str
    name: str
    comment: str | None
    values: Mapping[int | str, Value]

    def parse_answer(self, answer: object) -> Value | None:
        """Parse an answer as a value of the scale. An answer that is none of the options is kept as given."""
        return self.values.get(answer, answer) if isinstance(answer, int | str) else None

    def format_answer(self, value: Value) -> int | str | None:
        """Format a value of the scale as an answer, None if no option stands for it, as for a mean of repeats."""
        return next((option for option, level in self.values.items() if level == value), None)


def find_questions(
    metrics: Sequence[JudgedMetric], questions: Sequence[Json], chosen: Mapping[str, str] | None = None
) -> dict[str, MetricQuestion]:
    """Find the question of each metric: the one of its name, otherwise the only one with its labels."""
    unknown = sorted({*(chosen or {})} - {metric.name for metric in metrics})
    if unknown:
        reason = f"names {', '.join(unknown)}, which is none of the metrics"
        raise ArgillaArgumentError("questions", reason, known=[metric.name for metric in metrics])
    return {metric.name: _find_question(metric, questions, (chosen or {}).get(metric.name)) for metric in metrics}


def _find_question(metric: JudgedMetric, questions: Sequence[Json], chosen: str | None) -> MetricQuestion:
    ids = {question["name"]: str(question["id"]) for question in questions}
    values = {question["name"]: _match_values(metric.scale, question) for question in questions}
    fitting = {name: options for name, options in values.items() if options is not None}
    name = chosen or name_question(metric.name)
    if chosen is None and name not in ids and len(fitting) == 1:
        (name,) = fitting
    if name not in fitting:
        raise _build_no_question_error(metric, questions, [*fitting], chosen)
    texts = {question["name"] for question in questions if question["settings"]["type"] == TEXT}
    comment = name_comment(metric.name)
    return MetricQuestion(ids[name], name, comment if comment in texts else None, fitting[name])


def _match_values(scale: JudgedScale, question: Json) -> dict[int | str, Value] | None:
    """Return the value of the scale for each option of a question, None if its options are not the scale's values."""
    settings = question["settings"]
    if settings["type"] not in ONE_VALUE_KINDS:
        return None
    try:
        values = {option["value"]: parse_on_scale(scale, option["value"]) for option in settings["options"]}
    except OffScaleError:
        return None
    # Each value needs one option of its own, or an answer and a verdict could not be told from each other.
    expected: Sequence[Value] = scale.names if isinstance(scale, CategoricalScale) else scale.values
    return values if sorted(map(str, values.values())) == sorted(map(str, expected)) else None


def _build_no_question_error(
    metric: JudgedMetric, questions: Iterable[Json], fitting: Sequence[str], chosen: str | None
) -> ArgillaArgumentError:
    """Build the error for a metric without a question, or with several that could be meant."""
    expected_labels = _format_options(build_question(metric))
    if chosen is None and len(fitting) > 1:
        reason = f"the labels of {metric.name} ({expected_labels}) are those of several questions: {', '.join(fitting)}"
        hint = f"name one with questions={{{metric.name!r}: {fitting[0]!r}}}"
    else:
        question_list = (
            "; ".join(f"{question['name']} ({_format_options(question)})" for question in questions) or "none"
        )
        which = "no question" if chosen is None else f"no question {chosen!r}"
        reason = (
            f"{which} with the labels of {metric.name} was found; expected labels: {expected_labels}; "
            f"questions: {question_list}"
        )
        hint = "build the dataset with greval.argilla.settings, or add such a question"
    return ArgillaArgumentError("dataset", f"{reason}; {hint}")


def _format_options(question: Json) -> str:
    """Format the kind of a question with its options."""
    settings = question["settings"]
    options = [str(option["value"]) for option in settings.get("options") or ()]
    labels = [*options[:MAX_SHOWN], *(["..."] if len(options) > MAX_SHOWN else [])]
    return " ".join([settings["type"], ", ".join(labels)]).strip()
