"""Writing a definition from the words of its description, for small models, which add qualities that it does not name.

The model is asked for what words alone do not show: the verb at which the sentence of the description is denied.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.messages import HumanMessage, SystemMessage

from greval.judging.drafting.brief import DraftBrief, DraftWriter
from greval.judging.drafting.sentence import format_sentence, parse_sentence
from greval.judging.prompt import neutralise_fences
from greval.records.metric import JudgedMetric, build_metric

MAX_TOKENS = 240
MAX_LEVELS = 4
"""The most levels of a range that are all described; a small judge mixes up more of them."""
DEFAULT_NAMES = ("Yes", "No")
"""The names of categories if none were given. Two, because a small judge cannot tell more apart."""
FIELD_PHRASES = {"chunks": "the chunk", "triples": "the triple", "traversal": "the walk"}

SYSTEM_PROMPT = """\
You rewrite sentences of the definition of a metric that rates each {thing}. Keep their words, and add no other \
quality. Answer with JSON only."""
VERB_REQUEST = """\
Which word is the verb of the sentence?
The colours of the text name a town. -> name
The retrieved page supports what the guide said. -> supports
Each of the old songs ends with a rhyme. -> ends
{sentence} ->"""
_UNKNOWN = re.compile(r"un(?:clear|known|sure|decided|certain)|cannot|can't", re.IGNORECASE)
"""Names of categories for cases of which the clause is neither true nor false."""


async def write_literal(brief: DraftBrief, writer: DraftWriter) -> JudgedMetric:
    """Write a definition: the levels or categories from the sentence of the description, and what follows from it."""
    sentence = parse_sentence(brief.description, brief.thing)
    denial = sentence.deny(await _find_verb(brief, writer, sentence.list_verbs(), sentence.clause))
    ranks: Sequence[int | str] = _select_levels(brief) if brief.bounds else (brief.names or DEFAULT_NAMES)
    texts = dict(zip(ranks, sentence.list_texts(denial, len(ranks)), strict=True))
    unknown = [name for name in brief.names[1:-1] if _UNKNOWN.match(name)]
    texts |= dict.fromkeys(unknown, format_sentence(f"it cannot be told whether {sentence.clause}"))
    steps = [
        _format_read_step(brief),
        f"Find what shows {sentence.question}.",
        f"Choose the {'value' if brief.bounds else 'category'} whose description fits the {brief.thing} best.",
    ]
    return build_metric({**brief.given, "needs": brief.needs, "scale": _build_scale(brief, texts), "steps": steps})


async def _find_verb(brief: DraftBrief, writer: DraftWriter, verbs: Sequence[str], clause: str) -> str:
    """Find the verb at which a clause is denied; one word alone needs no call."""
    if not verbs[1:]:
        return "".join(verbs)
    request = VERB_REQUEST.format(sentence=format_sentence(clause))
    messages = [SystemMessage(SYSTEM_PROMPT.format(thing=brief.thing)), HumanMessage(neutralise_fences(request))]
    return (await writer.ask_texts("part", {"verb": verbs}, messages, max_tokens=MAX_TOKENS, grammar=True))["verb"]


def _select_levels(brief: DraftBrief) -> list[int]:
    """Select the levels to describe, the best first: all of a short range, else its ends and its middle."""
    low, high = brief.bounds or (0, 0)
    return [*range(high, low - 1, -1)] if high - low < MAX_LEVELS else [high, (low + high) // 2, low]


def _format_read_step(brief: DraftBrief) -> str:
    phrases = [FIELD_PHRASES.get(field, f"the {field.replace('_', ' ')}") for field in brief.needs]
    return f"Read {' and '.join(filter(None, [', '.join(phrases[:-1]), phrases[-1]]))}."


def _build_scale(brief: DraftBrief, texts: dict[int | str, str]) -> dict[str, Any]:
    """Build the scale. The scores of categories are evenly spaced from 1 to 0."""
    if brief.bounds:
        return {"range": brief.bounds, "better": "higher", "levels": dict(reversed(texts.items()))}
    steps = len(texts) - 1
    entries = enumerate(texts.items())
    return {
        "categories": [{"name": name, "means": text, "score": round(1 - n / steps, 2)} for n, (name, text) in entries]
    }
