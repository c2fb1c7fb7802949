"""The form that people fill in, made from a metric: guidelines, fields, and the question on its scale."""

from __future__ import annotations

import json
import re
from typing import Any, assert_never

from greval.errors import ArgillaError
from greval.records.fingerprint import digest
from greval.records.metric import JudgedMetric
from greval.records.scale import CategoricalScale, JudgedScale, Value, ValueScale
from greval.trust.annotations.rendering import titles

JUDGEMENT, COMMENT = "judgement", "comment"
WRITTEN = "judge"
"""The field with what the judge wrote, in datasets that show its verdicts."""
RATED = range(11)
"""What a rating can be; other values are asked for as labels that read as numbers."""
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
MAX_LABELS = 500
MAX_GUIDELINES = 10_000
MAX_DESCRIPTION = 1_000
MAX_TITLE = 500
TERMS = ("run", "method", "metric", "sample_id", "item", "fingerprint", "content", "stratum", "suggested", "tags")
WEIGHT = "weight"

Json = dict[str, Any]


def question(metric: JudgedMetric) -> Json:
    """Give the question on the metric's scale: labels for categories and steps, a rating for integers within 0 to 10.

    Raises:
        ArgillaError: Where the scale has more values than Argilla takes labels.

    Example:
        >>> from greval.metrics.library import predefined
        >>> question(predefined()["correctness"])["settings"]["type"]
        'rating'
    """
    return {
        "name": JUDGEMENT,
        "title": metric.name,
        "description": cut(metric.description, MAX_DESCRIPTION),
        "required": True,
        "settings": _settings(metric.scale, metric.name),
    }


def guidelines(metric: JudgedMetric) -> str:
    """Give what people read before they begin: the description, the steps and what each value means."""
    steps = "\n".join(f"{n}. {step}" for n, step in enumerate(metric.steps, 1))
    parts = [
        metric.description,
        f"## Steps\n\n{steps}",
        f"## Values\n\n{metric.scale.explain()}",
        f"## Also\n\n{metric.instructions.strip()}" if metric.instructions.strip() else "",
    ]
    return cut("\n\n".join(part for part in parts if part).replace("<", "&lt;"), MAX_GUIDELINES)


def parts(metric: JudgedMetric, *, suggested: bool = False) -> dict[str, list[Json]]:
    """Return what a dataset is made of, by the path under which it is added.

    Args:
        metric: The definition.
        suggested: Whether the judge's verdicts are shown, and with them what it wrote.
    """
    shown = [
        {"name": name, "title": cut(title, MAX_TITLE), "required": True, "settings": {"type": "text"}}
        for name, title in titles(metric).items()
    ]
    if suggested:
        text = {"type": "text"}
        shown.append({"name": WRITTEN, "title": "What the judge wrote", "required": False, "settings": text})
    comment = {"name": COMMENT, "title": "Comment", "required": False, "settings": {"type": "text"}}
    hidden = [{"name": name, "settings": {"type": "terms"}} for name in TERMS]
    hidden.append({"name": WEIGHT, "settings": {"type": "float"}})
    told = [{**one, "title": one["name"], "visible_for_annotators": False} for one in hidden]
    return {"fields": shown, "questions": [question(metric), comment], "metadata-properties": told}


def mark(metric: JudgedMetric, *, suggested: bool = False) -> str:
    """Return the hash of the form, by which that of another definition is told apart."""
    return digest(json.dumps([guidelines(metric), parts(metric, suggested=suggested)]))


def cut(text: str, most: int) -> str:
    """Give a text of at most so many characters; one that was cut says so.

    Example:
        >>> cut("abcdefghijklmnopqrstuvwxyz", 20)
        'abcdefgh ... (cut)'
    """
    ending = " ... (cut)"
    return text if len(text) <= most else text[: most - len(ending) - 2] + ending


def answered(scale: JudgedScale, given: object) -> Value | None:
    """Give what a person answered as a value of the scale; what is not on it stays as it was given.

    Example:
        >>> answered(ValueScale(range=(-5, 5), levels={-5: "Bad.", 5: "Good."}), "-2")
        -2
    """
    if isinstance(scale, ValueScale) and isinstance(given, str) and NUMBER.fullmatch(given):
        return float(given) if "." in given else int(given)
    return given if isinstance(given, int | str) else None


def asked(scale: JudgedScale, value: object) -> int | str:
    """Give a value of the scale as the question's answer."""
    return int(str(value)) if isinstance(scale, ValueScale) and _rated(scale) else str(value)


def _settings(scale: JudgedScale, name: str) -> Json:
    match scale:
        case CategoricalScale(categories=categories):
            return _labels({category.name: category.means for category in categories})
        case ValueScale(size=size, levels=levels):
            if _rated(scale):
                return {"type": "rating", "options": [{"value": value} for value in scale.values]}
            if size > MAX_LABELS:
                raise ArgillaError(
                    f"{name}: its scale has {size:,} values and Argilla takes {MAX_LABELS}; "
                    "have it annotated in a CSV or JSONL file"
                )
            return _labels({str(value): levels.get(value, "") for value in scale.values})
        case _:
            assert_never(scale)


def _rated(scale: ValueScale) -> bool:
    return all(end in RATED for end in scale.range) and all(isinstance(value, int) for value in scale.values)


def _labels(means: dict[str, str]) -> Json:
    options = [
        {"value": value, "text": value, **({"description": cut(text, MAX_DESCRIPTION)} if text else {})}
        for value, text in means.items()
    ]
    return {"type": "label_selection", "options": options}
