"""The judge of the documentation: it says of each answer what is written down for it in `recorded_verdicts.yaml`.

What is not there is judged by plain rules: whether the answer has the expected one, whether an item shares words with
the question. Its weaknesses are those of real judges: it errs now and then, and a helpful item that stands first, or
the first of two like answers, seems better to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from fault_server import Body, sample
from ruamel.yaml import YAML

from greval import Case, read_cases

ITEM = re.compile(r'<item n="(\d+)">\n(.*?)\n</item>', re.DOTALL)
METRIC = re.compile(r"^Metric: ([\w.@-]+)\.", re.MULTILINE)
DENIAL = "The following is false"
BEST, RIGHT_BUT, PARTLY, WORST = 0, 1, 2, 3
"""Levels of answers, as in the file of verdicts."""
LENIENT, EXACT = "gpt-5.4-nano", "gpt-5.4"
"""A small model takes a part of the answer for the whole; a large one agrees with people."""
LIKE = 2
"""Answers are alike if the longer has at most so many times the letters of the shorter."""
TONES = {"Professional": (BEST, "Neutral and courteous."), "Casual": (RIGHT_BUT, "It is worded as in a chat.")}


class RecordedVerdict(NamedTuple):
    """A place on a scale, from 0 (best) to 3 (worst), and the reason."""

    level: float
    reason: str


class JudgedText:
    """What a request shows of a case."""

    def __init__(self, body: Body) -> None:
        texts = [str(message["content"]) for message in body["messages"]]
        self.metric = (METRIC.findall("\n".join(texts)) or [""])[-1]
        self.model = str(body.get("model"))
        self.items = {int(number): text for number, text in ITEM.findall(texts[-1])}
        self._text = texts[-1]

    def read(self, field: str) -> str | None:
        """Return the text of a field, None if it is not shown."""
        match = re.search(rf"<{field}>\s*(.*?)\s*</{field}>", self._text, re.DOTALL)
        return match and match[1]


def give_verdicts(body: Body) -> Any:
    """Return what the schema of a request asks for, with this judge's values and reasons."""
    schema = body["response_format"]["json_schema"]["schema"]
    return _fill(sample(schema, body), schema, JudgedText(body))


def _fill(content: Any, schema: Mapping[str, Any], judged: JudgedText) -> Any:
    """Replace each value by one of its scale, and its reason."""
    if isinstance(content, list):
        return [_fill(entry, schema["items"], judged) for entry in content]
    if not isinstance(content, dict):
        return content
    fields = {name: _fill(field, schema["properties"][name], judged) for name, field in content.items()}
    if "value" not in fields:
        return fields
    scale = schema["properties"]["value"]
    values = scale.get("enum") or [*range(scale["minimum"], scale["maximum"] + 1)]
    if not isinstance(values[0], str):
        values = values[::-1]  # categories are listed best first, numbers in their order
    level, reason = _judge(judged, fields.get("item", 1))
    return {**fields, "value": values[round(level / WORST * (len(values) - 1))], "reason": reason}


def _judge(judged: JudgedText, number: int) -> RecordedVerdict:
    """Judge an item, a pair of answers, or an answer."""
    if judged.items:
        return _judge_item(
            judged.read("question") or "", judged.items.get(number, ""), first=number == 1 < len(judged.items)
        )
    if judged.read("answer_a") is not None:
        return _prefer(judged)
    answer = judged.read("answer")
    if answer is None:
        return RecordedVerdict(BEST, "It is all there.")
    record = _find_record(judged.read("question"), answer)
    if judged.metric == "tone":
        return RecordedVerdict(*TONES[record.get("tone", "Professional")])
    if record:
        return RecordedVerdict(_choose_level(record, judged.model), record["reason"])
    return _compare(answer, judged.read("expected_answer"))


def _judge_item(question: str, item: str, *, first: bool) -> RecordedVerdict:
    """Judge a chunk or a triple by its question; a helpful one that stands first seems relevant."""
    levels = _read_items().get(question)
    if levels is None:
        shared = {*re.findall(r"\w{4,}", question.lower())} & {*re.findall(r"\w{4,}", item.lower())}
        level = float(BEST if shared else WORST)
    else:
        level = levels.get(item, WORST)
    if level == WORST:
        return RecordedVerdict(WORST, "It says nothing that is asked for.")
    if level == BEST or first:
        return RecordedVerdict(BEST, "It states a part of what is asked for.")
    return RecordedVerdict(level, "It leads to the answer without stating it.")


def _prefer(judged: JudgedText) -> RecordedVerdict:
    """Prefer the better answer; of two that are equally good the longer one; of two that are alike the first."""
    question, *answers = (judged.read(field) or "" for field in ("question", "answer_a", "answer_b"))
    right = [_find_record(question, text).get("level", BEST if text else WORST) <= RIGHT_BUT for text in answers]
    lengths = [len(text) for text in answers]
    if right[0] != right[1]:
        better, reason = right[0], "gives more of what is asked for"
    elif not any(right):
        return RecordedVerdict(WORST / 2, "Neither gives what is asked for.")
    elif max(lengths) > LIKE * min(lengths):
        better, reason = lengths[0] > lengths[1], "gives more detail"
    else:
        better, reason = True, "is easier to follow"
    return RecordedVerdict(BEST if better else WORST, f"Response {'A' if better else 'B'} {reason}.")


def _choose_level(record: Mapping[str, Any], model: str) -> float:
    """Return the level that a model gives to an answer."""
    if model == LENIENT and record["level"] == PARTLY:
        return RIGHT_BUT
    if model == EXACT and "people" in record:
        return {"yes": BEST, "partly": PARTLY, "no": WORST}[record["people"]]
    return record["level"]


def _compare(answer: str, expected: str | None) -> RecordedVerdict:
    """Compare an answer of which nothing is written down with the expected one."""
    if not answer:
        return RecordedVerdict(WORST, "The answer is empty.")
    if expected is None:
        return RecordedVerdict(BEST, "It answers what is asked.")
    accepted = [line.rstrip(".").lower() for line in expected.splitlines()]
    if any(line in answer.lower() for line in accepted) and DENIAL not in answer:
        return RecordedVerdict(BEST, "It gives the expected answer.")
    return RecordedVerdict(WORST, "It does not give the expected answer.")


def _find_record(question: str | None, answer: str) -> Mapping[str, Any]:
    """Return what is written down for an answer, also if something was put around it; empty if nothing is."""
    records = _read_answers()
    for (asked, text), record in records.items():
        if asked in {question, None} and (text == answer or (text and text in answer and DENIAL not in answer)):
            return record
    return {}


@cache
def _read_file() -> dict[str, Any]:
    return YAML(typ="safe").load(Path(__file__).with_name("recorded_verdicts.yaml"))


@cache
def _read_shipped_cases() -> list[Case]:
    return [*read_cases(str(files("greval") / "demo" / "cases.jsonl"))]


@cache
def _read_answers() -> dict[tuple[str | None, str], Mapping[str, Any]]:
    """Return the records by question and answer; those of other pages count for any question."""
    found: dict[tuple[str | None, str], Mapping[str, Any]] = {}
    for case in _read_shipped_cases():
        record = _read_file()["questions"][case.id][case.method]
        found[case.question, case.answer or ""] = {**record, "people": case.tags["human_correct"]}
    return {**found, **{(None, answer): record for answer, record in _read_file()["others"].items()}}


@cache
def _read_items() -> dict[str, dict[str, float]]:
    """Return the levels of chunks and triples by question and text."""
    levels: dict[str, dict[str, float]] = {}
    for case in _read_shipped_cases():
        record = _read_file()["questions"][case.id]
        helpful, relevant = record.get("helpful", ()), record.get("relevant", ())
        named = {**dict.fromkeys(helpful, WORST / 2), **dict.fromkeys(relevant, float(BEST))}
        texts = {chunk.id: chunk.text or "" for chunk in case.chunks or ()}
        for triple in case.triples or ():
            texts[triple.id] = f"subject: {triple.subject}\npredicate: {triple.predicate}\nobject: {triple.object}"
        levels.setdefault(case.question, {}).update({texts[name]: named[name] for name in named.keys() & texts.keys()})
    return levels
