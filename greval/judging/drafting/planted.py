"""A draft tried on planted pairs: its writer makes up good and bad examples, and the good ones must get more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage
from pydantic import ValidationError

from greval.errors import JudgeError
from greval.judging.drafting.brief import DraftBrief, DraftWriter
from greval.judging.metric_judge import MetricJudge, gather_all
from greval.judging.model.call_context import CallContext
from greval.judging.prompt import neutralise_fences
from greval.records.case import Case
from greval.records.metric import JudgedMetric
from greval.records.result import Failed, Judgement, Scored

SUBJECTS = ("a museum", "a computer program", "cooking")
"""What the examples of each pair are about, so that no pair repeats another one."""
MAX_EXAMPLE_TOKENS = 400
MAX_QUOTED_CHARS = 80
"""The most characters of an example that a remark quotes."""

SYSTEM_PROMPT = """\
You make up examples for a test of a metric that rates each {thing}. Write plain English with invented facts, one to \
three short sentences a text. Answer with JSON only.

An example for another metric, "calm: Whether the {thing} is written without words in capitals.", about a garden:
- best_{thing}: {best}
- worst_{thing}: {worst}"""
REQUESTS = {
    "best": "Write {shared}one {thing} about {subject} that is the best by this metric.",
    "worst": "Write one {thing} about {subject} that is the worst by this metric, because it is the opposite of what "
    "the metric asks for.",
}
"""What is asked for each side of a pair."""
_EXAMPLES = {
    "question": "When do the roses bloom?",
    "triples": "rose | blooms in | June",
    "traversal": "rose | blooms in | June; June | follows | May",
    "context": "The roses bloom in June. | Moss grows in the shade.",
}
"""An example in the form of a field that is not any text; the worst one is the same in capitals."""
_EDGE = r'[^|;"\\]{1,80} [|] [^|;"\\]{1,80} [|] [^|;"\\]{1,80}'
_PATTERNS = {
    "triples": f"^{_EDGE}$",
    "traversal": f"^{_EDGE}(; {_EDGE}){{1,3}}$",
    "context": r'^[^|"\\]{3,160}( [|] [^|"\\]{3,160}){1,2}$',
}
_SMALL_PATTERNS = {**_PATTERNS, "question": r'^[A-Z][^"\\?]{8,120}[?]$'}
_SMALL_TEXT = r'^[^"\\]{3,240}$'
"""The form of any other text, which a small model would not end in time."""


async def find_pair_faults(
    brief: DraftBrief, metric: JudgedMetric, writer: DraftWriter, context: CallContext
) -> list[str]:
    """Let the writer make up a pair for each subject, and find those of which the draft gives the good one no more.

    Each is one sentence: why, and what to read. A failed call is such a reason too.
    """
    pairs = PlantedPairs(brief, metric, writer, context)
    return [fault for fault in await gather_all(pairs.find_fault(subject) for subject in SUBJECTS) if fault]


class PlantedPairs:
    """Writes pairs of cases that differ in the judged field only, and judges them by a draft."""

    def __init__(self, brief: DraftBrief, metric: JudgedMetric, writer: DraftWriter, context: CallContext) -> None:
        """Determine the field that differs, and those that both cases of a pair share."""
        self._brief = brief
        self._metric = metric
        self._writer = writer
        self._context = context
        self._judge = MetricJudge(metric, writer.client)
        needs = metric.needs
        self._field = next((need for need in (brief.judged_field, "answer") if need in needs), None) or needs[-1]
        # A small model that writes no question forgets that it writes an answer.
        asked = ["question"] if brief.thing == "answer" else []
        self._shared = [*dict.fromkeys((*asked, *(need for need in needs if need != self._field)))]

    async def find_fault(self, subject: str) -> str:
        """Return why the good example of a pair did not get the better value; empty if it did."""
        try:
            texts = await self._write(subject)
            best, worst = [await self._judge_side(texts, side) for side in REQUESTS]
        except (JudgeError, ValidationError) as error:
            return " ".join(str(error).split())
        if best > worst:
            return ""
        quotes = (f"{side}: {texts[side][:MAX_QUOTED_CHARS]!r}" for side in REQUESTS)
        return f"read the descriptions of both ends again with {', '.join(quotes)}"

    async def _write(self, subject: str) -> dict[str, str]:
        """Write the texts of a pair: the shared fields with the best text of the judged field, then the worst one.

        In one call, a small model would copy the best as the worst.
        """
        thing = self._brief.thing
        is_small = self._writer.client.judge.local
        patterns, text_pattern = (_SMALL_PATTERNS, _SMALL_TEXT) if is_small else (_PATTERNS, r"\S")
        example = _EXAMPLES.get(self._field, "The roses bloom in June.")
        system = SystemMessage(SYSTEM_PROMPT.format(thing=thing, best=example, worst=example.upper()))
        texts: dict[str, str] = {}
        for side, request in REQUESTS.items():
            lines = [f"Metric: {self._brief.name}. {self._brief.description}"]
            lines += [f"The {field.replace('_', ' ')}: {texts[field]}" for field in self._shared if field in texts]
            missing = [field for field in self._shared if field not in texts]
            phrases = "".join(f"the {field.replace('_', ' ')}, then " for field in missing)
            lines.append(request.format(shared=phrases, thing=thing, subject=subject))
            # The name of the text in the reply tells a small model more than the request.
            names = {**{field: field for field in missing}, f"{side}_{thing}": self._field}
            written = await self._writer.ask_texts(
                "example",
                {name: patterns.get(field, text_pattern) for name, field in names.items()},
                [system, HumanMessage(neutralise_fences("\n".join(lines)))],
                max_tokens=MAX_EXAMPLE_TOKENS,
                grammar=is_small,
            )
            texts |= {name if name in missing else side: text for name, text in written.items()}
        return texts

    async def _judge_side(self, texts: Mapping[str, str], side: str) -> float:
        """Judge an example, and return how good it is by the draft.

        Raises:
            JudgeError: If the judgement failed.
        """
        # Each case has a question, which is shown only if it is needed.
        fields: dict[str, Any] = {"question": "?"}
        for name in (*self._shared, side):
            fields |= _build_field(self._field if name == side else name, texts[name])
        judged = await self._judge(Case.model_validate(fields), self._context)
        self._writer.usage += judged.usage
        match judged.outcome:
            case Scored(judgements=[Judgement(number=float() | int() as number), *_]):
                return number
            case Failed(error=failure):
                raise JudgeError(f"the {side} example was not judged: {failure.message}")
            case _:
                raise JudgeError(f"the {side} example got no number")


def _build_field(field: str, text: str) -> dict[str, Any]:
    """Build a field of a case from the text that was written for it."""
    match field:
        case "context":
            return {"chunks": text.split(" | "), "triples": []}
        case "chunks" | "claims" | "expected_claims":
            return {field: [text]}
        case "triples":
            return {field: [text.split(" | ")]}
        case "traversal":
            edges = [edge.split(" | ") for edge in text.split("; ")]
            return {field: {"start_nodes": [edges[0][0]], "traversed_edges": edges, "final_nodes": [edges[-1][-1]]}}
        case _:
            return {field: text}
