"""Writing a definition in parts, for small models: one sentence a call, in a form that a grammar enforces.

A small model that writes a whole definition repeats itself, mixes up the levels and stops in the middle of a sentence.
It can describe the best case, then the worst as its opposite, then one between them. What follows from the brief is not
asked for: what to read, which fields are needed, how categories are scored.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage

from greval.judging.drafting.brief import MAX_ROUNDS, DraftBrief, DraftWriter, find_draft_remarks
from greval.judging.prompt import neutralise_fences
from greval.metrics.lint import find_cited_inputs
from greval.records.metric import JudgedMetric, build_metric

MAX_PART_TOKENS = 240
"""The most tokens of a reply. A sentence that the grammar ended is so long that it gets a remark."""
MAX_LEVELS = 4
"""The most levels of a range that are all described; a small model mixes up more of them."""
FALLBACK_NAMES = ("Good", "Poor")
"""The names of categories if the model gives both the same name. Two, because a small judge cannot tell more apart."""
COMMON_WORDS = 5
"""The number of equal words at the start from which a worst is taken for a description of the best."""
FIELD_PHRASES = {"chunks": "the chunk", "triples": "the triple", "traversal": "the walk"}

SYSTEM_PROMPT = """\
You write one part of the definition of a metric at a time. A judge reads the definition and rates each {thing} by \
it. Write plain, concrete English. Say only what the description of the metric says, and add no other quality. \
Answer with JSON only.

An example from another metric, "spelling: Whether the {thing} is free of spelling errors.":
- the best: The {thing} spells every word right.
- in between: The {thing} spells most words right, but has one or two misspelt words.
- the worst: The {thing} has a misspelt word in nearly every sentence."""
BEST_REQUEST = (
    "Describe the best {thing}: what it is like if the description above is fully true of it.{category} One sentence "
    "of 5 to 20 words."
)
WORST_REQUEST = (
    "Describe the worst {thing}: the opposite, what it does instead.{category} One sentence of 5 to 20 words."
)
MIDDLE_REQUEST = (
    'Describe a {thing} {place}: first what is good about it, then after "but" what is still wrong with it.{category}'
)
FIND_REQUEST = (
    "Write a step for the judge: which words or parts of the {thing} to look for. One sentence of 6 to 20 words."
)
CHECK_REQUEST = (
    "Write a step for the judge: what to check about them, to tell the best {thing} from the worst. One sentence of 6 "
    "to 20 words."
)
NAMES_REQUEST = "Write a name of one or two words for each of the two. The names are opposites."
_SIMILAR = re.compile(r"(?:reads nearly like|includes all of) (['\"])(?P<name>.+)\1;|is the worst, but")
"""A remark after which a worst must say what is missing."""

SENTENCE = r'[^."\\]{10,320}[.]$'
VERB = "([a-z]+ly )?[a-z]+s"
"""A verb in the third person, so that a description is a statement about the judged thing."""
HALF = r'[^.,"\\]{10,150}'
NAME = r"^[A-Z][a-z]{2,14}( [a-z]{2,14})?$"


async def write_by_parts(brief: DraftBrief, writer: DraftWriter) -> JudgedMetric:
    """Write the descriptions, the steps and the names of categories, then write anew what remarks point at.

    A definition is complete without a middle level or a step that still has a remark after `MAX_ROUNDS` rounds.
    """
    parts = PartsDraft(brief, writer)
    await parts.write_all()
    for _ in range(MAX_ROUNDS):
        for part, remark in parts.locate_remarks().items():
            await parts.write(part, remark)
    for part in parts.locate_remarks():
        parts.leave_out(part)
    return parts.build()


class PartsDraft:
    """The parts written so far: a description for each rank (level or category, the best first), `find` and `check`."""

    def __init__(self, brief: DraftBrief, writer: DraftWriter) -> None:
        """Determine the ranks to describe."""
        self._brief = brief
        self._writer = writer
        self._texts: dict[int | str, str] = {}
        self._ranks: list[int | str] = [*_select_levels(brief)] if brief.bounds else [*(brief.names or FALLBACK_NAMES)]

    async def write_all(self) -> None:
        """Write the ends of the scale, then what lies between them, the steps, and names if none were given."""
        last = len(self._ranks) - 1
        for part in (0, last, *range(1, last), "find", "check"):
            await self.write(part)
        if not self._brief.bounds and not self._brief.names:
            self._ranks = [*await self._write_names()]

    async def write(self, part: int | str, remark: str = "") -> None:
        """Write a part, or write it anew because of a remark."""
        request = self._format_request(part)
        if remark:
            request += f'\nYou wrote: "{self._texts[part]}" The remark on it: {remark}. Write another sentence.'
        # The name of the text in the reply tells a small model more than the request.
        role = self._name_role(part)
        is_negated = part == len(self._ranks) - 1 and _SIMILAR.match(remark) is not None
        self._texts[part] = (await self._ask(request, {role: self._build_pattern(part, negated=is_negated)}))[role]

    def locate_remarks(self) -> dict[int | str, str]:
        """Return the first remark on each part that can be written anew."""
        # The first step is not written by the model.
        places: dict[str, int | str] = {f"steps.{number}": part for number, part in enumerate(self._written_steps, 2)}
        kind = "levels" if self._brief.bounds else "categories"
        places |= {f"scale.{kind}.{self._ranks[rank]}": rank for rank in self._described_ranks}
        remarks: dict[int | str, str] = {}
        for remark in find_draft_remarks(self._brief, self.build()):
            path, _, text = remark.partition(": ")
            if path in places:
                remarks.setdefault(self._choose_similar(places[path], text), text)
        last = len(self._ranks) - 1
        best, worst = (_cut_subject(self._texts[rank], self._brief.thing) for rank in (0, last))
        if best.split()[:COMMON_WORDS] == worst.split()[:COMMON_WORDS]:
            remarks.setdefault(last, f"reads nearly like '{self._ranks[0]}'; say what the {self._brief.thing} lacks")
        return remarks

    def leave_out(self, part: int | str) -> None:
        """Leave out a step or what lies between the ends, but no category that the caller named."""
        is_end = part in {0, len(self._ranks) - 1}
        if isinstance(part, str) or not (is_end or self._brief.names):
            del self._texts[part]

    def build(self) -> JudgedMetric:
        """Build the definition from the parts."""
        needs = list(self._brief.select_needs([self._read_step]))
        steps = [self._read_step, *(self._texts[part] for part in self._written_steps), self._choose_step]
        return build_metric({**self._brief.given, "needs": needs, "scale": self._build_scale(), "steps": steps})

    @property
    def _described_ranks(self) -> list[int]:
        return [rank for rank, _ in enumerate(self._ranks) if rank in self._texts]

    @property
    def _written_steps(self) -> list[str]:
        return [part for part in ("find", "check") if part in self._texts]

    @property
    def _read_step(self) -> str:
        """The first step: read what the description calls for, and the question if a text that was written cites it."""
        is_asked = any(need == "question" for text in self._texts.values() for need, _, _ in find_cited_inputs(text))
        fields = dict.fromkeys((*(["question"] if is_asked else []), *self._brief.needs))
        phrases = [FIELD_PHRASES.get(field, f"the {field.replace('_', ' ')}") for field in fields]
        return f"Read {' and '.join(filter(None, [', '.join(phrases[:-1]), phrases[-1]]))}."

    @property
    def _choose_step(self) -> str:
        what = "value" if self._brief.bounds else "category"
        return f"Choose the {what} whose description fits the {self._brief.thing} best."

    def _build_scale(self) -> dict[str, Any]:
        """Build the scale. The scores of categories are evenly spaced from 1 to 0."""
        texts = {self._ranks[rank]: self._texts[rank] for rank in self._described_ranks}
        if self._brief.bounds:
            return {"range": self._brief.bounds, "better": "higher", "levels": dict(reversed(texts.items()))}
        steps = len(texts) - 1
        scores = [round(1 - rank / steps, 2) for rank in range(steps + 1)]
        entries = zip(texts.items(), scores, strict=True)
        return {"categories": [{"name": str(name), "means": text, "score": score} for (name, text), score in entries]}

    def _choose_similar(self, part: int | str, remark: str) -> int | str:
        """Choose which of two similar descriptions to write anew: the middle one, or else the worst."""
        match = _SIMILAR.match(remark)
        names = [str(rank) for rank in self._ranks]
        if not match or not isinstance(part, int) or match["name"] not in names:
            return part
        similar, last = names.index(match["name"]), len(self._ranks) - 1
        return max({part, similar} - {0, last} or {last})

    def _format_request(self, part: int | str) -> str:
        """Format the request for a part, after the description of the metric and the ends of the scale."""
        last = len(self._ranks) - 1
        category = ""
        if isinstance(part, int):
            category = f' It belongs to the category "{self._ranks[part]}".' if self._brief.names else ""
            requests = {0: BEST_REQUEST, last: WORST_REQUEST}
            request = requests.get(part, MIDDLE_REQUEST)
        else:
            request = {"find": FIND_REQUEST, "check": CHECK_REQUEST}[part]
        end_ranks = {"The best": 0, "The worst": last} if part != 0 else {}
        lines = [
            f"{label}: {self._texts[rank]}" for label, rank in end_ranks.items() if rank in self._texts and rank != part
        ]
        if part == "check" and "find" in self._texts:
            lines.append(f"The step before: {self._texts['find']}")
        instruction = request.format(thing=self._brief.thing, place=self._describe_place(part), category=category)
        return "\n".join([*lines, instruction])

    def _describe_place(self, part: int | str) -> str:
        """Describe the place of a rank between the ends."""
        last = len(self._ranks) - 1
        if not isinstance(part, int) or 2 * part == last:
            return "halfway between them"
        return "nearer to the best" if 2 * part < last else "nearer to the worst"

    def _name_role(self, part: int | str) -> str:
        return part if isinstance(part, str) else {0: "best", len(self._ranks) - 1: "worst"}.get(part, "between")

    def _build_pattern(self, part: int | str, *, negated: bool) -> str:
        """Build the regular expression of a part; with `negated`, it must say what is missing."""
        thing = self._brief.thing
        if part == "find":
            return f"^(Find|Mark|Note|List) the {SENTENCE}"
        if part == "check":
            return f"^Check whether {SENTENCE}"
        if negated:
            return f"^The {thing} (does not|is not|has no|cannot) {SENTENCE}"
        if part in {0, len(self._ranks) - 1}:
            return f"^The {thing} {VERB} {SENTENCE}"
        return f"^The {thing} {VERB} {HALF}, but {HALF}[.]$"

    async def _write_names(self) -> Sequence[str]:
        """Write the names of the two categories, the best first."""
        keys = ("best", "worst")
        lines = [f"{key}: {self._texts[rank]}" for rank, key in enumerate(keys)]
        written = await self._ask("\n".join([*lines, NAMES_REQUEST]), dict.fromkeys(keys, NAME))
        names = [written[key] for key in keys]
        return FALLBACK_NAMES if len({name.casefold() for name in names}) == 1 else names

    async def _ask(self, request: str, patterns: Mapping[str, str]) -> dict[str, str]:
        """Ask for texts that match regular expressions, after the description of the metric."""
        prompt = neutralise_fences(f"Metric: {self._brief.name}. {self._brief.description}\n{request}")
        messages = [SystemMessage(SYSTEM_PROMPT.format(thing=self._brief.thing)), HumanMessage(prompt)]
        return await self._writer.ask_texts("part", patterns, messages, max_tokens=MAX_PART_TOKENS, grammar=True)


def _select_levels(brief: DraftBrief) -> list[int]:
    """Select the levels to describe, the best first: all of a short range, else its ends and its middle."""
    low, high = brief.bounds or (0, 0)
    return [*range(high, low - 1, -1)] if high - low < MAX_LEVELS else [high, (low + high) // 2, low]


def _cut_subject(text: str, thing: str) -> str:
    return text.removeprefix(f"The {thing} ").removesuffix(".")
