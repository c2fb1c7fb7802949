"""A world in which a definition can be improved: runs with labels, and judges that follow what they are told."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import sha256

from greval import Annotation, CategoricalMetric, ManyCategoricalMetric, ValueMetric, evaluate
from greval.records.case import Case
from greval.records.result import Judgement
from greval.testing import ScriptedJudge
from greval.trust.alignment.labelled_items import LabelledItem

TONE = CategoricalMetric(
    name="tone",
    description="Whether the answer is polite.",
    needs=["question", "answer"],
    steps=["Read the answer.", "Weigh its tone."],
    categories={"Polite": "Courteous.", "Rude": "Insults."},
)
DEPTH = ValueMetric(
    name="depth",
    description="How deep the answer goes.",
    needs=["question", "answer"],
    steps=["Compare."],
    range=(1, 5),
    levels={1: "Shallow.", 5: "Deep."},
)
USEFUL = ManyCategoricalMetric(
    name="useful",
    description="Whether a chunk helps.",
    over="chunks",
    needs=["question", "chunks"],
    steps=["Read the chunk."],
    categories={"Useful": "It helps.", "Useless": "It does not."},
)
SMALL = {"folds": 2, "choosing": 12}
"""Options of an alignment that takes few calls."""
COUNT = 48
MAGIC = "Weigh it by the known rule."
"""What the writer finds: a judge that reads it, or is shown examples, judges well."""
TEXTS = {
    "tone": [{"value": "Polite", "means": "Thanks or asks."}, {"value": "Rude", "means": "Insults the reader."}],
    "depth": [{"value": "1", "means": "Says little."}, {"value": "5", "means": "Says all."}],
    "useful": [{"value": "Useful", "means": "It answers."}, {"value": "Useless", "means": "It does not answer."}],
}
NUMBER = re.compile(r"thing (\d+)")


def chance(*parts: object) -> float:
    return int(sha256(repr(parts).encode()).hexdigest()[:8], 16) / 2**32


def asked_to_write(messages) -> str:
    """Say what is asked of a writer: texts, the reason of a value, or nothing."""
    if "You improve the wording" in messages[0].text:
        return "texts"
    return "reason" if "agreed on the value" in messages[-1].text else ""


def improved(messages) -> bool:
    return MAGIC in messages[0].text or len(messages) > 2


def follower(metric, truth: Mapping[int, object], verdict: Callable[..., object], *, writes=None, **settings):
    """Give a judge: `verdict(messages, number, right)` decides; what it writes is of use unless `writes` is given."""

    def answer(messages):
        writing = asked_to_write(messages)
        if writing == "texts":
            return writes or {"steps": [MAGIC, "Decide."], "scale": TEXTS[metric.name], "instructions": ""}
        if writing == "reason":
            if writes is not None:
                return writes
            found = re.search(r"agreed on the value (\w+)", messages[-1].text)[1]
            return {"reason": "The rule says so.", "value": int(found) if found.isdecimal() else found}
        numbers = [int(number) for number in NUMBER.findall(messages[-1].text.split("</question>")[-1])]
        if metric.over is None:
            return {"reason": "So it is.", "value": verdict(messages, numbers[0], truth[numbers[0]])}
        values = [verdict(messages, number, truth[number]) for number in numbers]
        return {"judgements": [{"item": n, "reason": "So it is.", "value": value} for n, value in enumerate(values, 1)]}

    return ScriptedJudge(answer, **settings)


def wrong_in(share: float, better: float, values=("Polite", "Rude")):
    """Give verdicts that are wrong in a share of the things, in a smaller one by an improved definition."""

    def verdict(messages, number, right):
        wrong = chance("wrong", number) < (better if improved(messages) else share)
        return values[1 - values.index(right)] if wrong else right

    return verdict


def noise(share: float, values=("Polite", "Rude")):
    """Give verdicts that are wrong in the same share of things by any definition, but in others by each."""

    def verdict(messages, number, right):
        wrong = chance([message.text for message in messages[:-1]], number) < share
        return values[1 - values.index(right)] if wrong else right

    return verdict


def tones(count: int, *, seed: int = 0) -> dict[int, str]:
    return {number: "Polite" if chance(seed, number) < 0.5 else "Rude" for number in range(count)}


def case(number: int) -> dict[str, str]:
    return {"id": f"q{number}", "question": f"Which is {number}?", "answer": f"It is thing {number}."}


def labels(metric, truth: Mapping[int, object]) -> list[Annotation]:
    """Give what people say of answers."""
    return [
        Annotation(sample_id=f"q{number}", metric=metric.name, annotator="ana", value=value)
        for number, value in truth.items()
    ]


def judged(folder, metric, truth: Mapping[int, object], judge):
    return evaluate([case(number) for number in truth], [metric], judge, out=folder)


def messages_of(judge, writing=""):
    return [messages for messages in judge.calls if asked_to_write(messages) == writing]


def label_answers(people_values, verdicts):
    """Return labelled answers, each of a question of its own."""
    return [
        LabelledItem(
            n, Case(id=f"q{n}", question=f"{n}?", answer=f"{n}"), None, n, people, Judgement(value=judge, reason="r")
        )
        for n, (people, judge) in enumerate(zip(people_values, verdicts, strict=True))
    ]
