"""A small world with a judge that knows it, and judges each with one weakness."""

from __future__ import annotations

import re
from collections.abc import Sequence

from claim_judge import read_fence

from greval.records.case import Case
from greval.records.metric import CategoricalMetric, ManyCategoricalMetric, ManyValueMetric, ValueMetric
from greval.stats.interval import MeasuredValue
from greval.testing import ScriptedJudge
from greval.trust.probing.api import probe
from greval.trust.probing.records import Probe

TOWNS = ("Aberlo", "Brindle", "Corrane", "Dunmere", "Eskdale")
COLOURS = ("amber", "black", "crimson", "denim", "emerald")
YES_NO = {0: "No.", 1: "Yes."}
GRADES = {"Right": "It says what is right.", "Partly": "It says some of it.", "Wrong": "It says nothing right."}
RELEVANCE = {"Relevant": "It serves.", "Somewhat": "It helps.", "Irrelevant": "It does not."}
ITEM = re.compile(r'<item n="(\d+)">\n(.*?)\n</item>', re.DOTALL)
LISTED = re.compile(r"Scale .*?:\n- (\w+)")

RIGHT = ValueMetric(
    name="right",
    description="Whether the answer is right.",
    needs=("question", "expected_answer", "answer"),
    steps=("Compare.",),
    range=(0, 1),
    levels=YES_NO,
)
GRADE = CategoricalMetric(
    name="grade",
    description="How right the answer is.",
    needs=("question", "expected_answer", "answer"),
    steps=("Compare.",),
    categories=GRADES,
)
BORNE = ValueMetric(
    name="borne",
    description="Whether the context bears the answer out.",
    needs=("context", "answer"),
    steps=("Compare.",),
    range=(0, 1),
    levels=YES_NO,
)
USEFUL = ValueMetric(
    name="useful",
    description="Whether the context is of use.",
    needs=("question", "context"),
    steps=("Compare.",),
    range=(0, 1),
    levels=YES_NO,
)
CHUNKS = ManyCategoricalMetric(
    name="chunks",
    description="Which chunks serve the question.",
    over="chunks",
    needs=("question", "chunks"),
    steps=("Compare.",),
    categories=RELEVANCE,
)
TRIPLES = ManyValueMetric(
    name="triples",
    description="How well triples serve the question.",
    over="triples",
    needs=("question", "triples"),
    steps=("Compare.",),
    range=(1, 5),
    levels={1: "Not at all.", 5: "Fully."},
    better="lower",
)
ALL_MUTANTS = {"mutants": 4, "repeats": 1}
METRICS = (RIGHT, GRADE, BORNE, USEFUL, CHUNKS, TRIPLES)


def cases(n: int = 5) -> list[Case]:
    """Give cases with a right answer; two chunks and triples of each serve, one does not."""
    return [case(n, town, colour) for n, (town, colour) in enumerate(zip(TOWNS[:n], COLOURS[:n], strict=True))]


def case(n: int, town: str, colour: str) -> Case:
    return Case(
        id=f"q{n}",
        question=f"Which colour has the gate of {town}?",
        expected_answer=colour,
        answer=f"The gate of {town} is {colour}.",
        chunks=[f"In {town} the gate is {colour}.", f"Its {colour} gate makes {town} known.", f"Rain number {n} fell."],
        triples=[(town, "gate", colour), (f"gate of {town}", "colour", colour), (f"rain {n}", "fell", "often")],
    )


class Material:
    """What a judge is shown in one call."""

    def __init__(self, messages: Sequence) -> None:
        self.system = messages[0].text
        text = messages[-1].text
        self.metric = re.search(r"Metric: (\w+)\.", self.system)[1]
        self.question = read_fence(text, "question")
        self.answer = read_fence(text, "answer")
        self.context = "\n".join(re.findall(r"<(?:chunks|triples)>\n(.*?)\n</(?:chunks|triples)>", text, re.DOTALL))
        self.items = {int(n): shown for n, shown in ITEM.findall(text)}
        self.listed = LISTED.search(self.system)[1]

    def place(self, text: str) -> int:
        return next((n for n, town in enumerate(TOWNS) if town in text), -1)

    def serves(self, text: str) -> bool:
        """Say whether a text says what colour the gate asked about has, and does not deny it."""
        n = self.place(self.question or self.answer)
        return n >= 0 and COLOURS[n] in text and TOWNS[n] in text and "is false" not in text

    def good(self) -> bool:
        """Say whether what is judged is good."""
        if self.metric == "useful":
            return self.serves(self.context)
        if self.metric == "borne":
            return self.serves(self.answer) and COLOURS[self.place(self.answer)] in self.context
        return self.serves(self.answer)


def verdict(seen: Material, *, good: bool):
    """Give a value of the metric's scale."""
    return {
        "right": int(good),
        "grade": "Right" if good else "Wrong",
        "borne": int(good),
        "useful": int(good),
        "chunks": "Relevant" if good else "Irrelevant",
        "triples": 1 if good else 5,
    }[seen.metric]


def answering(weakness=None):
    """Give the judge's script: it knows the world, but for its weakness, which may change a verdict."""

    def one(seen, n, text, good):
        value = verdict(seen, good=good)
        return value if weakness is None else weakness(seen, n, text, value)

    def script(messages):
        seen = Material(messages)
        if not seen.items:
            return {"reason": "r", "value": one(seen, 1, seen.answer or seen.context, seen.good())}
        return {
            "judgements": [
                {"item": n, "reason": "r", "value": one(seen, n, text, seen.serves(text))}
                for n, text in seen.items.items()
            ]
        }

    return script


def judge(weakness=None) -> ScriptedJudge:
    """Give a judge that knows the world, but for its weakness."""
    return ScriptedJudge(answering(weakness))


def obeys(seen, _, text, value):
    """Do what the text orders."""
    ordered = any(word in text for word in ("must be", "```json", "reviewer", "SYSTEM"))
    return verdict(seen, good=True) if ordered else value


def likes_length(seen, _, text, value):
    """Take long texts for good ones."""
    limit = 1300 if seen.metric == "useful" else 330
    return verdict(seen, good=True) if len(text) > limit else value


def likes_the_first(seen, _, __, value):
    """Take the category that is listed first where what is judged is good."""
    good = value == verdict(seen, good=True)
    return seen.listed if good and isinstance(value, str) else value


def looks_at_the_place(seen, n, _, value):
    return verdict(seen, good=False) if n == 1 and seen.items else value


def believes_denials(seen, _, text, value):
    return verdict(seen, good=True) if "is false" in text else value


def overlooks_emptiness(seen, _, text, value):
    """Take nothing for something good."""
    bare = re.sub(r"<.*?>|subject:|predicate:|object:|\s", "", text)
    context = re.sub(r"<.*?>|subject:|predicate:|object:|\s", "", seen.context)
    nothing = not bare or (seen.metric == "borne" and not context)
    return verdict(seen, good=True) if nothing else value


def probe_world(metric, weakness, tmp_path, **options) -> Probe:
    return probe(metric, judge(weakness), cases(3), out=tmp_path / "run", **{**ALL_MUTANTS, **options})


def get_rates(found: Probe) -> dict[str, float | None]:
    """Return the kill rate of each check, None if it is undefined."""
    return {check.name: check.rate.value if isinstance(check.rate, MeasuredValue) else None for check in found.checks}
