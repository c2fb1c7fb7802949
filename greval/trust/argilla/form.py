"""The annotation form of a metric: guidelines, fields, and the question on its scale."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, assert_never

from greval.errors import ArgillaArgumentError
from greval.records.metric import JudgedMetric, is_preference
from greval.records.metric_input import hash_json
from greval.records.scale import CategoricalScale, JudgedScale, Value, ValueScale
from greval.trust.annotations.rendering import list_titles
from greval.trust.argilla.sides import join_titles

JUDGEMENT, COMMENT = "judgement", "comment"
JUDGE_FIELD = "judge"
"""The field with the judge's reason, findings and notes, in datasets with suggestions."""
RATING_VALUES = range(11)
"""The values that Argilla allows for a rating. Other values become labels that read as numbers."""
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
MAX_LABELS = 500
MAX_GUIDELINES = 10_000
MAX_DESCRIPTION = 1_000
MAX_TITLE = 500
TERMS = ("run", "method", "metric", "sample_id", "item", "fingerprint", "content", "stratum", "suggested", "tags")
WEIGHT = "weight"
OWN_DATASETS_HINT = "push them to datasets of their own"

Json = dict[str, Any]


class QuestionNames(NamedTuple):
    """The names of a metric's questions: for the judgement, and for a comment.

    In a dataset of one metric they are always the same. If there are several, `name_questions` derives them.
    """

    judgement: str = JUDGEMENT
    comment: str = COMMENT


def name_questions(metric: JudgedMetric) -> QuestionNames:
    """Return the names of a metric's questions in a dataset that may have questions of other metrics.

    Example:
        >>> from greval.metrics.library import predefined
        >>> name_questions(predefined()["correctness"])
        QuestionNames(judgement='correctness', comment='correctness_comment')
    """
    return QuestionNames(metric.name, f"{metric.name}_comment")


def build_question(metric: JudgedMetric, name: str = JUDGEMENT) -> Json:
    """Build the question on the metric's scale: a rating for integers within 0 to 10, otherwise labels.

    Raises:
        ArgillaError: If the scale has more values than Argilla has labels.

    Example:
        >>> from greval.metrics.library import predefined
        >>> build_question(predefined()["correctness"])["settings"]["type"]
        'rating'
    """
    return {
        "name": name,
        "title": metric.name,
        "description": shorten_text(metric.description, MAX_DESCRIPTION),
        "required": True,
        "settings": _build_settings(metric.scale, metric.name),
    }


def format_guidelines(metric: JudgedMetric) -> str:
    """Format the annotation guidelines: the description, the steps and the meaning of each value."""
    steps = "\n".join(f"{n}. {step}" for n, step in enumerate(metric.steps, 1))
    parts = [
        metric.description,
        f"## Steps\n\n{steps}",
        f"## Values\n\n{metric.scale.explain()}",
        f"## Also\n\n{metric.instructions.strip()}" if metric.instructions.strip() else "",
    ]
    return shorten_text("\n\n".join(part for part in parts if part).replace("<", "&lt;"), MAX_GUIDELINES)


def format_all_guidelines(metrics: Sequence[JudgedMetric]) -> str:
    """Format the guidelines of several metrics, each below its name and with an equal share of the allowed length."""
    if len(metrics) == 1:
        return format_guidelines(metrics[0])
    share = MAX_GUIDELINES // len(metrics) - len("\n\n")
    parts = (f"# {metric.name}\n\n{format_guidelines(metric)}" for metric in metrics)
    return "\n\n".join(shorten_text(part, share) for part in parts)


def build_parts(
    metrics: Sequence[JudgedMetric], *, suggested: bool = False, named: bool = False
) -> dict[str, list[Json]]:
    """Build the parts of a dataset by API path, with a field for the judge's verdicts and reasons if `suggested`.

    The questions have the names of the metrics if `named`, otherwise the fixed names of a dataset of one metric. What
    both responses of a pair have is in one field, side by side.

    Raises:
        ArgillaArgumentError: If the metrics cannot be judged in one record, or a scale has too many values.
    """
    titles = merge_titles(metrics)
    fields = [
        {"name": name, "title": shorten_text(title, MAX_TITLE), "required": True, "settings": {"type": "text"}}
        for name, title in join_titles(titles).items()
    ]
    if suggested:
        text = {"type": "text"}
        fields.append({"name": JUDGE_FIELD, "title": "What the judge wrote", "required": False, "settings": text})
    questions = []
    for metric in metrics:
        names = name_questions(metric) if named else QuestionNames()
        title = f"Comment on {metric.name}" if len(metrics) > 1 else "Comment"
        comment = {"name": names.comment, "title": title, "required": False, "settings": {"type": "text"}}
        questions += [build_question(metric, names.judgement), comment]
    hidden = [{"name": name, "settings": {"type": "terms"}} for name in TERMS]
    hidden.append({"name": WEIGHT, "settings": {"type": "float"}})
    metadata = [{**one, "title": one["name"], "visible_for_annotators": False} for one in hidden]
    parts = {"fields": fields, "questions": questions, "metadata-properties": metadata}
    _check_distinct_names(parts)
    return parts


def merge_titles(metrics: Sequence[JudgedMetric]) -> dict[str, str]:
    """Return the fields of a record in which people judge by all metrics, each with its title.

    Raises:
        ArgillaArgumentError: If the metrics judge different items, or need different texts in one field.
    """
    first, *others = metrics
    titles = list_titles(first)
    for metric in others:
        if (one := _name_judged(first)) != (other := _name_judged(metric)):
            reason = f"{first.name} judges {one} and {metric.name} {other}"
            raise ArgillaArgumentError("metrics", f"{reason}, which are not in one record; {OWN_DATASETS_HINT}")
        for name, title in list_titles(metric).items():
            if titles.setdefault(name, title) != title:
                reason = f"{metric.name} needs {title!r} in the field {name}, where another has {titles[name]!r}"
                raise ArgillaArgumentError("metrics", f"{reason}; {OWN_DATASETS_HINT}")
    return titles


def _name_judged(metric: JudgedMetric) -> str:
    """Return what a metric judges, in the plural."""
    return "pairs of answers" if is_preference(metric) else metric.over or "answers"


def hash_form(metric: JudgedMetric, *, suggested: bool = False) -> str:
    """Return the hash of the form, which differs between definitions."""
    return hash_json(json.dumps([format_guidelines(metric), build_parts([metric], suggested=suggested)]))


def shorten_text(text: str, max_length: int) -> str:
    """Truncate a text to at most `max_length` characters, with a marker if it was cut.

    Example:
        >>> shorten_text("abcdefghijklmnopqrstuvwxyz", 20)
        'abcdefgh ... (cut)'
    """
    ending = " ... (cut)"
    return text if len(text) <= max_length else text[: max_length - len(ending) - 2] + ending


def parse_answer(scale: JudgedScale, given: object) -> Value | None:
    """Parse an annotator's answer as a value of the scale. An answer that is not on the scale is kept as given.

    Example:
        >>> parse_answer(ValueScale(range=(-5, 5), levels={-5: "Bad.", 5: "Good."}), "-2")
        -2
    """
    if isinstance(scale, ValueScale) and isinstance(given, str) and NUMBER.fullmatch(given):
        return float(given) if "." in given else int(given)
    return given if isinstance(given, int | str) else None


def format_answer(scale: JudgedScale, value: object) -> int | str | None:
    """Format a value of the scale as an answer to the question, None if it is between two levels.

    Example:
        >>> scale = ValueScale(range=(0, 1), levels={0: "No.", 1: "Yes."})
        >>> format_answer(scale, 1.0), format_answer(scale, 0.5)
        (1, None)
    """
    if isinstance(scale, CategoricalScale):
        return str(value)
    level = next((one for one in scale.values if one == value), None)  # the mean of repeats may be none
    if level is None:
        return None
    return int(level) if _is_rating(scale) else str(level)


def _build_settings(scale: JudgedScale, name: str) -> Json:
    match scale:
        case CategoricalScale(categories=categories):
            return _build_labels({category.name: category.means for category in categories})
        case ValueScale(size=size, levels=levels):
            if _is_rating(scale):
                return {"type": "rating", "options": [{"value": value} for value in scale.values]}
            if size > MAX_LABELS:
                reason = f"the scale of {name} has {size:,} values, and Argilla takes {MAX_LABELS}"
                raise ArgillaArgumentError("metric", f"{reason}; have it annotated in a CSV or JSONL file")
            return _build_labels({str(value): levels.get(value, "") for value in scale.values})
        case _:
            assert_never(scale)


def _check_distinct_names(parts: dict[str, list[Json]]) -> None:
    """Raise `ArgillaArgumentError` if a name occurs twice: fields, questions and metadata share their names."""
    seen: set[str] = set()
    for name in (one["name"] for some in parts.values() for one in some):
        if name in seen:
            reason = f"the form would have {name!r} twice, because a metric has the name of another part of it"
            raise ArgillaArgumentError("metrics", f"{reason}; rename the metric")
        seen.add(name)


def _is_rating(scale: ValueScale) -> bool:
    return all(end in RATING_VALUES for end in scale.range) and all(isinstance(value, int) for value in scale.values)


def _build_labels(means: dict[str, str]) -> Json:
    options = [
        {"value": value, "text": value, **({"description": shorten_text(text, MAX_DESCRIPTION)} if text else {})}
        for value, text in means.items()
    ]
    return {"type": "label_selection", "options": options}
