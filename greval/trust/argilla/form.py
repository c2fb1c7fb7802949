"""The annotation form of a dataset: the fields of its records, and a question on the scale of each metric."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

from greval.errors import ArgillaArgumentError
from greval.records.metric import JudgedMetric, is_preference
from greval.records.metric_input import hash_json
from greval.records.scale import CategoricalScale, JudgedScale, ValueScale
from greval.trust.annotations.rendering import SIDES, TITLES, cut_text, list_titles

JUDGE_FIELD = "judge"
"""The field with the judge's reason, findings and notes, in datasets with suggestions."""
RATING_VALUES = range(11)
"""The values that Argilla allows for a rating. Other values become labels that read as numbers."""
MAX_LABELS = 500
MAX_GUIDELINES = 10_000
MAX_DESCRIPTION = 1_000
MAX_TITLE = 500
TERMS = ("run", "method", "metric", "sample_id", "item", "fingerprint", "content", "stratum", "suggested", "tags")
WEIGHT = "weight"
ITEM_FIELD = re.compile(rf"(?:{'|'.join(TITLES)}|tag_\d+)(?:_(?:a|b|ab))?")
"""The names of the fields in which an item is shown."""
OWN_DATASETS_HINT = "push them to datasets of their own"

# What both responses of a pair have of one kind, such as their answers, is one text field with a table. It has no end
# tag: Argilla shows a text with one in a frame of its own, in which it neither marks what people search for nor adjusts
# to the page.
FIRST, SECOND = SIDES
CELL = "width:50%;vertical-align:top;text-align:start;overflow-wrap:anywhere;padding:0.2em"
RIGHT = f"{CELL} 0 0.2em 1em;border-inline-start:1px solid #8888"
LEFT = f"{CELL} 1em 0.2em 0"
START = (
    f'<table style="width:100%;table-layout:fixed;border-collapse:collapse"><tr><th style="{LEFT}">{FIRST.upper()}'
    f'<th style="{RIGHT}">{SECOND.upper()}<tr><td dir="auto" style="{LEFT}">'
)
MIDDLE = f'<td dir="auto" style="{RIGHT}">'
Json = dict[str, Any]


def name_question(metric: str) -> str:
    """Return the name of the question for the judgement by a metric.

    Example:
        >>> name_question("correctness"), name_question("answer")
        ('correctness', 'answer_value')
    """
    # Argilla's SDK refuses a question with the name of a field or of a metadata property
    is_taken = metric in {*TERMS, WEIGHT, JUDGE_FIELD} or ITEM_FIELD.fullmatch(metric)
    return f"{metric}_value" if is_taken else metric


def name_comment(metric: str) -> str:
    """Return the name of the question for a comment on a judgement."""
    return f"{metric}_comment"


def build_question(metric: JudgedMetric) -> Json:
    """Build the question on the metric's scale: a rating for integers within 0 to 10, otherwise labels."""
    return {
        "name": name_question(metric.name),
        "title": metric.name,
        "description": cut_text(metric.description, MAX_DESCRIPTION),
        "required": True,
        "settings": _build_settings(metric.scale, metric.name),
    }


def format_guidelines(metrics: Sequence[JudgedMetric]) -> str:
    """Format the annotation guidelines; those of several metrics share the allowed length evenly."""
    if len(metrics) == 1:
        return _format_metric_guidelines(metrics[0])
    share = MAX_GUIDELINES // len(metrics) - len("\n\n")
    parts = (f"# {metric.name}\n\n{_format_metric_guidelines(metric)}" for metric in metrics)
    return "\n\n".join(cut_text(part, share) for part in parts)


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
    return cut_text("\n\n".join(part for part in parts if part).replace("<", "&lt;"), MAX_GUIDELINES)


def build_parts(metrics: Sequence[JudgedMetric], *, suggested: bool = False) -> dict[str, list[Json]]:
    """Build the parts of a dataset by API path, with a field for the judge's verdicts and reasons if `suggested`."""
    # An item may have been judged by some of the metrics only, so other fields are not required.
    shared = set.intersection(*(set(join_titles(list_titles(metric))) for metric in metrics))
    fields = [
        {
            "name": name,
            "title": cut_text(title, MAX_TITLE),
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
        name = name_comment(metric.name)
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
    """Return the fields of a record in which people judge by all metrics, each with its title."""
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
    return "pairs of answers" if is_preference(metric) else metric.over or "answers"


def hash_form(metric: JudgedMetric) -> str:
    """Return the hash of a metric's part of the form, which differs between definitions."""
    return hash_json(json.dumps([format_guidelines([metric]), build_parts([metric])]))


def hash_shown_texts(texts: Mapping[str, Any]) -> str:
    """Return the hash of the texts of a record that show its item; other fields do not count."""
    return hash_json({name: text for name, text in texts.items() if ITEM_FIELD.fullmatch(name)})


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
        {"value": value, "text": value, **({"description": cut_text(text, MAX_DESCRIPTION)} if text else {})}
        for value, text in means.items()
    ]
    return {"type": "label_selection", "options": options}


def join_titles(titles: Mapping[str, str]) -> dict[str, str]:
    """Return the titles of the fields in which the two fields of a pair are one.

    Example:
        >>> join_titles({"question": "Question", "answer_a": "Answer A", "answer_b": "Answer B"})
        {'question': 'Question', 'answer_ab': 'Answer'}
    """
    return _join_pairs(titles, lambda title, _: title.removesuffix(f" {FIRST.upper()}"))


def join_texts(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the escaped texts of the fields in which the two fields of a pair are one."""
    return _join_pairs(texts, lambda first, second: f"{START}{first}{MIDDLE}{second}")


def split_texts(texts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the texts that `join_texts` joined. Other contents of fields stay as they are.

    Example:
        >>> split_texts(join_texts({"question": "Who?", "answer_a": "Ada.", "answer_b": "Bob."}))
        {'question': 'Who?', 'answer_a': 'Ada.', 'answer_b': 'Bob.'}
    """
    separate: dict[str, Any] = {}
    for name, text in texts.items():
        if isinstance(text, str) and text.startswith(START):
            first, _, second = text.removeprefix(START).partition(MIDDLE)
            base = name.removesuffix(f"{FIRST}{SECOND}")
            separate |= {f"{base}{FIRST}": first, f"{base}{SECOND}": second}
        else:
            separate[name] = text
    return separate


def _join_pairs(texts: Mapping[str, str], join: Callable[[str, str], str]) -> dict[str, str]:
    """Replace each two texts whose names end with the letters of the sides by one."""
    joined = {}
    for name, text in texts.items():
        base = name[: -len(FIRST)]
        first, second = f"{base}{FIRST}", f"{base}{SECOND}"
        if first not in texts or second not in texts or not base.endswith("_"):
            joined[name] = text
        elif name == first:
            joined[f"{base}{FIRST}{SECOND}"] = join(text, texts[second])
    return joined
