"""Answers from what a search found: written by a model, or without one the sentences that match the question best."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from math import log
from typing import TypeVar

from greval._util.concurrency import run_in_turn
from greval.judging.model.client import JudgeClient
from greval.judging.model.tokens import TokenCounter, create_token_counter
from greval.methods.fair_context.answer_generation import generate_answer
from greval.records.case import Chunk, Response, Triple
from greval.records.result import Usage
from greval.reference.chunking import split_sentences
from greval.reference.linking import FUNCTION_WORDS

NOT_FOUND = "The documents do not hold the answer."
LOCAL_CONTEXT_TOKENS = 1_000
"""The default for the embedded model, which reads about 40 tokens a second on two cores."""
CONTEXT_TOKENS = 12_000
AGGREGATE_SHARE = 1 / 2
TRIPLE_SHARE = 1 / 4
"""The most of the context that aggregates and triples take, because the chunks have the wording to answer from."""
FENCE_TOKENS = 14
"""The tokens of the fence around an item."""
MIN_CUT_TOKENS = 30
"""A chunk is not cut to less than this."""
NAME_WEIGHT = 0.5
"""The weight of a name of the question. Most retrieved sentences have it, and it is not the answer."""
RANK_DISCOUNT = 0.03
"""The share by which a sentence counts less with each rank of its chunk."""
MAX_SENTENCES = 2
MIN_GAIN = 0.35
"""The least share of the question's weight that a second sentence must add."""

_COUNTING = re.compile(
    r"\b(how (many|much|often)|number of|count of|total|average|share|percentage|most|fewest|least|top|rank\w*)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_ENDING = re.compile(r"(?<=\w{3})(ings?|ed|es|s|e)$")
Item = TypeVar("Item")


async def answer_question(
    question: str,
    chunks: Sequence[Chunk],
    triples: Sequence[Triple] = (),
    aggregates: Sequence[str] = (),
    client: JudgeClient | None = None,
    *,
    context_tokens: int | None = None,
) -> tuple[str, Usage]:
    """Return the answer to a question from what was found, and the usage.

    A model gets as much of the context as fits, see `select_context`. Without a model, the answer consists of the
    sentences that match the question best, see `extract_answer`.
    """
    if client is None:
        return extract_answer(question, chunks, triples, aggregates), Usage()
    response = Response(chunks=tuple(chunks), triples=tuple(triples), aggregates=tuple(aggregates))
    return await generate_answer(client, question, await select_context(response, client, context_tokens))


async def select_context(
    response: Response, client: JudgeClient, context_tokens: int | None = None, *, share: float = 1
) -> Response:
    """Return a response with the part of its context that a model can be given, the best items of each kind.

    Aggregates take at most a half of the tokens and triples a quarter; chunks take the rest. If not even the first
    chunk fits, its text is cut. Tokens of the embedded model are counted exactly, those of others are estimated.
    """
    most = int(share * (context_tokens or (LOCAL_CONTEXT_TOKENS if client.judge.local else CONTEXT_TOKENS)))
    model = await (await client.ready()).load_model() if client.judge.local else None

    def select() -> Response:
        return _fit_context(response, most, TokenCounter() if model is None else create_token_counter(model))

    # The embedded model counts by HTTP, which would block the event loop.
    return await run_in_turn(nullcontext(), select)


def _fit_context(response: Response, most: int, count: TokenCounter) -> Response:
    aggregates, used = _take_first(
        response.aggregates or (), [*(response.aggregates or ())], most * AGGREGATE_SHARE, count
    )
    texts = [
        f"subject: {triple.subject}\npredicate: {triple.predicate}\nobject: {triple.object}"
        for triple in response.triples or ()
    ]
    triples, more = _take_first(response.triples or (), texts, most * TRIPLE_SHARE, count)
    room = most - used - more
    listed = response.chunks or ()
    chunks, _ = _take_first(listed, [chunk.text or "" for chunk in listed], room, count)
    # Chunks have the wording to answer from, so that the first one is cut rather than left out.
    if listed and not chunks:
        chunks = (listed[0].model_copy(update={"text": _cut_text(listed[0].text or "", room - FENCE_TOKENS, count)}),)
    return response.model_copy(update={"aggregates": aggregates, "triples": triples, "chunks": chunks})


def _take_first(
    items: Sequence[Item], texts: Sequence[str], most: float, count: TokenCounter
) -> tuple[tuple[Item, ...], float]:
    """Return the first items whose texts fit into a number of tokens, and the tokens that they take."""
    used, fitting = 0.0, 0
    for text in texts:
        cost = count(text) + FENCE_TOKENS
        if used + cost > most:
            break
        used += cost
        fitting += 1
    return tuple(items[:fitting]), used


def _cut_text(text: str, most: float, count: TokenCounter) -> str:
    """Return the beginning of a text that has at most some tokens, cut after a word."""
    room = max(most, MIN_CUT_TOKENS)
    # Tokens differ in length, so that one proportional cut may not suffice.
    while (tokens := count(text)) > room:
        prefix = text[: min(int(len(text) * room / tokens), len(text) - 1)]
        text = prefix.rpartition(" ")[0] or prefix
    return text


def extract_answer(
    question: str, chunks: Sequence[Chunk], triples: Sequence[Triple] = (), aggregates: Sequence[str] = ()
) -> str:
    """Return the sentences that match a question best, or a sentence which says that no sentence does.

    A sentence gets the weights of the question's words that it has; rare words weigh more, names in the question less.
    A second sentence is added if it has much of what the first one lacks. If the question asks for a count or an
    extreme, the aggregate that matches best is the answer. Triples count only if no sentence matches.
    """
    weights = _weigh_words(question)
    if aggregates and _COUNTING.search(question):
        return max(aggregates, key=lambda text: sum(weights.get(word, 0) for word in _list_stems(text)))
    facts = [f"{triple.subject} {' '.join(triple.predicate.split('_'))} {triple.object}." for triple in triples]
    for candidates in ([*_list_sentences(chunks)], [(text, 0) for text in (*facts, *aggregates)]):
        if answer := _select_sentences(weights, candidates):
            return answer
    return NOT_FOUND


def _list_sentences(chunks: Sequence[Chunk]) -> Iterator[tuple[str, int]]:
    """Iterate over the different sentences of chunks, each with the rank of its chunk from 0."""
    texts = set()
    for rank, chunk in enumerate(chunks):
        for sentence in split_sentences(chunk.text or ""):
            text = " ".join(sentence.split())
            # Chunks overlap, so that a sentence may be in several.
            if text and text not in texts:
                texts.add(text)
                yield text, rank


def _select_sentences(word_weights: Mapping[str, float], candidates: Sequence[tuple[str, int]]) -> str:
    """Select the sentences that have most of the weights of a question's words; empty if none has a word of it."""
    stems = [frozenset(_list_stems(text)) & word_weights.keys() for text, _ in candidates]
    spread = Counter(word for words in stems for word in words)
    weights = {word: word_weights[word] * log(1 + len(candidates) / spread[word]) for word in spread}
    missing, chosen = set(weights), list[int]()
    while len(chosen) < MAX_SENTENCES and missing:
        gains = [sum(weights[word] for word in words & missing) for words in stems]
        scores = [gain / (1 + RANK_DISCOUNT * rank) for gain, (_, rank) in zip(gains, candidates, strict=True)]
        best = scores.index(max(scores))
        if chosen and gains[best] < MIN_GAIN * sum(weights.values()):
            break
        chosen.append(best)
        missing -= stems[best]
    return " ".join(candidates[position][0] for position in chosen)


def _weigh_words(question: str) -> dict[str, float]:
    """Return the words of a question that can be searched for, with the weight that each has by its kind."""
    names = {stem for word in _WORD.findall(question) if word[0].isupper() for stem in _list_stems(word)}
    return {stem: NAME_WEIGHT if stem in names else 1.0 for stem in _list_stems(question)}


def _list_stems(text: str) -> list[str]:
    """List the words of a text that carry meaning, without common endings."""
    return [_ENDING.sub("", word) for word in _WORD.findall(text.casefold()) if word not in FUNCTION_WORDS]
