"""The annotation form of a dataset: the fields of its records, and a question on the scale of each metric."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, assert_never

from greval.errors import ArgillaArgumentError
from greval.records.metric import JudgedMetric, is_preference
from greval.records.metric_input import hash_json
from greval.records.scale import CategoricalScale, JudgedScale, Value, ValueScale
from greval.trust.annotations.rendering import TITLES, list_titles
from greval.trust.argilla.sides import join_titles

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
ITEM_FIELD = re.compile(rf"(?:{'|'.join(TITLES)}|tag_\d+)(?:_(?:a|b|ab))?")
"""The names of the fields in which an item is shown."""
OWN_DATASETS_HINT = "push them to datasets of their own"

Json = dict[str, Any]


class QuestionNames(NamedTuple):
    """The names of a metric's questions: for the judgement, and for a comment."""

    judgement: str
    comment: str


def name_questions(metric: str) -> QuestionNames:
    """Return the names of a metric's questions.

    Example:
        >>> name_questions("correctness")
        QuestionNames(judgement='correctness', comment='correctness_comment')
        >>> name_questions("answer").judgement
        'answer_value'
    """
    # Argilla's SDK refuses a question with the name of a field or of a metadata property
    is_taken = metric in {*TERMS, WEIGHT, JUDGE_FIELD} or ITEM_FIELD.fullmatch(metric)
    return QuestionNames(f"{metric}_value" if is_taken else metric, f"{metric}_comment")


def build_question(metric: JudgedMetric) -> Json:
    """Build the question on the metric's scale: a rating for integers within 0 to 10, otherwise labels.

    Raises:
        ArgillaError: If the scale has more values than Argilla has labels.

    Example:
        >>> from greval.metrics.library import predefined
        >>> build_question(predefined()["correctness"])["settings"]["type"]
        'rating'
    """
    return {
        "name": name_questions(metric.name).judgement,
        "title": metric.name,
        "description": shorten_text(metric.description, MAX_DESCRIPTION),
        "required": True,
        "settings": _build_settings(metric.scale, metric.name),
    }


def format_guidelines(metrics: Sequence[JudgedMetric]) -> str:
    """Format the annotation guidelines; those of several metrics share the allowed length evenly."""
    if len(metrics) == 1:
        return _format_metric_guidelines(metrics[0])
    share = MAX_GUIDELINES // len(metrics) - len("\n\n")
    parts = (f"# {metric.name}\n\n{_format_metric_guidelines(metric)}" for metric in metrics)
    return "\n\n".join(shorten_text(part, share) for part in parts)


def _format_metric_guidelines(metric: JudgedMetric) -> str:
    """Format the description, the steps and the meaning of each value of a metric."""
    steps = "\n".join(f"{n}. {step}" for n, step in enumerate(metric.steps, 1))
    parts = [
        metric.description,
        f"## Steps\n\n{steps}",
        f"## Values\n\n{metric.scale.explain()}",
        f"## Also\n\n{metric.instructions.strip()}" if metric.instructions.strip() else "",
    ]
    # Argilla renders HTML, in which text between < and > would vanish.
    return shorten_text("\n\n".join(part for part in parts if part).replace("<", "&lt;"), MAX_GUIDELINES)


def build_parts(metrics: Sequence[JudgedMetric], *, suggested: bool = False) -> dict[str, list[Json]]:
    """Build the parts of a dataset by API path, with a field for the judge's verdicts and reasons if `suggested`.

    What both responses of a pair have is in one field, side by side. A field that not all metrics need may be left out
    of a record.

    Raises:
        ArgillaArgumentError: If the metrics cannot be judged in one record, or a scale has too many values.
    """
    # An item may have been judged by some of the metrics only, so other fields are not required.
    shared = set.intersection(*(set(join_titles(list_titles(metric))) for metric in metrics))
    fields = [
        {
            "name": name,
            "title": shorten_text(title, MAX_TITLE),
            "required": name in shared,
            "settings": {"type": "text"},
        }
        for name, title in join_titles(merge_titles(metrics)).items()
    ]
    if suggested:
        text = {"type": "text"}
        fields.append({"name": JUDGE_FIELD, "title": "What the judge wrote", "required": False, "settings": text})
    questions = []
    for metric in metrics:
        title = f"Comment on {metric.name}" if len(metrics) > 1 else "Comment"
        name = name_questions(metric.name).comment
        questions += [
            build_question(metric),
            {"name": name, "title": title, "required": False, "settings": {"type": "text"}},
        ]
    hidden = [{"name": name, "settings": {"type": "terms"}} for name in TERMS]
    hidden.append({"name": WEIGHT, "settings": {"type": "float"}})
    metadata = [{**term, "title": term["name"], "visible_for_annotators": False} for term in hidden]
    parts = {"fields": fields, "questions": questions, "metadata-properties": metadata}
    _check_distinct_names(parts)
    return parts


def merge_titles(metrics: Sequence[JudgedMetric]) -> dict[str, str]:
    """Return the fields of a record in which people judge by all metrics, each with its title.

    Raises:
        ArgillaArgumentError: If the metrics judge different items, or need different texts in one field.
    """
    first, *remaining = metrics
    titles = list_titles(first)
    for metric in remaining:
        if (items := _name_judged(first)) != (other_items := _name_judged(metric)):
            reason = f"{first.name} judges {items} and {metric.name} {other_items}"
            raise ArgillaArgumentError("metrics", f"{reason}, which are not in one record; {OWN_DATASETS_HINT}")
        for name, title in list_titles(metric).items():
            if titles.setdefault(name, title) != title:
                reason = f"{metric.name} needs {title!r} in the field {name}, where another has {titles[name]!r}"
                raise ArgillaArgumentError("metrics", f"{reason}; {OWN_DATASETS_HINT}")
    return titles


def _name_judged(metric: JudgedMetric) -> str:
    """Return what a metric judges, in the plural."""
    return "pairs of answers" if is_preference(metric) else metric.over or "answers"


def hash_form(metric: JudgedMetric) -> str:
    """Return the hash of a metric's part of the form, which differs between definitions."""
    return hash_json(json.dumps([format_guidelines([metric]), build_parts([metric])]))


def hash_shown_texts(texts: Mapping[str, Any]) -> str:
    """Return the hash of the texts of a record that show its item; other fields do not count."""
    return hash_json({name: text for name, text in texts.items() if ITEM_FIELD.fullmatch(name)})


def shorten_text(text: str, max_length: int) -> str:
    """Truncate a text to at most `max_length` characters, with a marker if it was cut.

    Example:
        >>> shorten_text("abcdefghijklmnopqrstuvwxyz", 20)
        'abcdefgh ... (cut)'
    """
    ending = " ... (cut)"
    return text if len(text) <= max_length else text[: max_length - len(ending) - 2] + ending


def parse_answer(scale: JudgedScale, answer: object) -> Value | None:
    """Parse an annotator's answer as a value of the scale. An answer that is not on the scale is kept as given.

    Example:
        >>> parse_answer(ValueScale(range=(-5, 5), levels={-5: "Bad.", 5: "Good."}), "-2")
        -2
    """
    if isinstance(scale, ValueScale) and isinstance(answer, str) and NUMBER.fullmatch(answer):
        return float(answer) if "." in answer else int(answer)
    return answer if isinstance(answer, int | str) else None


def format_answer(scale: JudgedScale, value: object) -> int | str | None:
    """Format a value of the scale as an answer to the question, None if it is between two levels.

    Example:
        >>> scale = ValueScale(range=(0, 1), levels={0: "No.", 1: "Yes."})
        >>> format_answer(scale, 1.0), format_answer(scale, 0.5)
        (1, None)
    """
    if isinstance(scale, CategoricalScale):
        return str(value)
    # The mean of repeats may be no level.
    level = next((candidate for candidate in scale.values if candidate == value), None)
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


def _check_distinct_names(parts: Mapping[str, Sequence[Json]]) -> None:
    """Raise `ArgillaArgumentError` if a name occurs twice: fields, questions and metadata share their names."""
    counts = Counter(part["name"] for listed in parts.values() for part in listed)
    if repeated := [name for name, count in counts.items() if count > 1]:
        reason = f"the form would have {repeated[0]!r} twice, because a metric has the name of another part of it"
        raise ArgillaArgumentError("metrics", f"{reason}; rename the metric")


def _is_rating(scale: ValueScale) -> bool:
    return all(end in RATING_VALUES for end in scale.range) and all(isinstance(value, int) for value in scale.values)


def _build_labels(means: dict[str, str]) -> Json:
    options = [
        {"value": value, "text": value, **({"description": shorten_text(text, MAX_DESCRIPTION)} if text else {})}
        for value, text in means.items()
    ]
    return {"type": "label_selection", "options": options}
