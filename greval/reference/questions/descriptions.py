"""Questions about relations that an index describes in sentences and gives no predicate, as drafts for a model to word.

Microsoft GraphRAG and LightRAG store such relations. A draft is a sentence of the description with a letter in place of
a name. No template makes a question of it, because nothing shows which of its words are the predicate.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from greval._util.wording import format_count
from greval.judging.prompt import join_lines
from greval.methods.index_records import Relation
from greval.records.inventory import RELATED
from greval.reference.chunking import split_sentences
from greval.reference.questions.fact_table import FactTable
from greval.reference.questions.facts import IndexText, compile_phrase, has_phrase
from greval.reference.questions.records import DraftQuestion, QuestionType, StatedFact
from greval.reference.questions.templates import ask_for_date

MAX_SENTENCE_WORDS = 40
MIN_LEFT_CHARS = 3
"""A capitalised word of this length that stays behind gives a hidden name away."""


def list_described_facts(text: IndexText) -> tuple[list[StatedFact], list[str]]:
    """Return what the descriptions of relations state, and sentences on those that were left out.

    A relation is used if a single chunk states it, which has the names of both ends, and if a sentence of its
    description has them as well.
    """
    facts: list[StatedFact] = []
    skipped: Counter[str] = Counter()
    for relation in text.relations:
        fact = _read_description(text, relation)
        if isinstance(fact, str):
            skipped[fact] += 1
        else:
            facts.append(fact)
    return facts, [f"not asked about: {format_count(count, 'relation')} {why}" for why, count in skipped.most_common()]


def _read_description(text: IndexText, relation: Relation) -> StatedFact | str:
    """Return what the description of a relation states, or why it is not used."""
    ends = (relation.source, relation.target)
    if relation.label in {RELATED, ""} or relation.source == relation.target:
        return "without a description, or from an entity to itself"
    # Its description was merged, and it is not known which chunk states what.
    if len(relation.chunks) > 1:
        return "that several chunks state"
    chunk = text.chunks[relation.chunks[0]]
    if not all(_has_name(text, chunk.text, end) for end in ends):
        return "whose chunk lacks the name of an end"
    if _find_sentence(text, relation.label, ends) is None:
        return "whose description has no sentence with the names of both ends"
    return StatedFact(
        subject=relation.source,
        clause="",
        names=(relation.target,),
        object=relation.target,
        edges=((relation.source, relation.label, relation.target),),
        chunk=chunk.id,
        document=chunk.doc_id,
        sentence=relation.label,
        described=True,
    )


def _has_name(text: IndexText, told: str, entity: str) -> bool:
    return any(has_phrase(told, name) for name in text.list_names(entity))


def _find_sentence(text: IndexText, description: str, ends: Sequence[str]) -> str | None:
    """Return the first sentence of a description with the names of both ends, and without a name that encloses one."""
    names = [name.casefold() for end in ends for name in text.list_names(end)]
    longer = [enclosing for name in names for enclosing in text.longer_names.get(name, ())]
    for sentence in map(join_lines, split_sentences(description)):
        is_short = len(sentence.split()) <= MAX_SENTENCE_WORDS
        has_both = all(_has_name(text, sentence, end) for end in ends)
        if (
            is_short
            and has_both
            and not any(has_phrase(sentence, enclosing) for enclosing in longer if enclosing not in names)
        ):
            return f"{sentence.rstrip('. ')}."
    return None


def _get_sentence(table: FactTable, fact: StatedFact) -> str:
    return _find_sentence(table.text, fact.sentence, (fact.subject, fact.object)) or fact.sentence


def _replace_entity(text: IndexText, sentence: str, entity: str, by: str) -> str | None:
    """Return a sentence with an entity's name replaced; None if a part of the name would stay behind."""
    names = sorted(text.list_names(entity), key=len, reverse=True)
    # A letter also replaces the article before the name.
    article = r"(?:\b(?:the|a|an)\s+)?" if len(by) == 1 else ""
    for name in names:
        pattern = rf"{article}{compile_phrase(name).pattern}"
        # A function, because a backslash of the name would be read as an escape.
        sentence = re.sub(pattern, lambda _: by, sentence, flags=re.IGNORECASE)
    parts = {part for name in names for part in re.findall(r"\w+", name)}
    telling = [part for part in parts if len(part) >= MIN_LEFT_CHARS and part[0].isupper()]
    return None if any(has_phrase(sentence, part) for part in telling) else sentence


def _get_other_end(fact: StatedFact, entity: str) -> str:
    return fact.object if entity == fact.subject else fact.subject


def _ask(table: FactTable, told: Sequence[str], entity: str, letter: str) -> str:
    """Return sentences with the question which entity a letter in them stands for."""
    word = table.choose_word(entity)
    return " ".join((*told, f"{word[:1].upper()}{word[1:]} is {letter}?"))


def _draw_single_facts(table: FactTable) -> Iterator[DraftQuestion]:
    for fact in table.described:
        ends = [fact.subject, fact.object]
        table.random.shuffle(ends)
        for answer in ends:
            told = _replace_entity(table.text, _get_sentence(table, fact), answer, "X")
            if told is not None:
                yield table.draft("single_fact", "edge", _ask(table, [told], answer, "X"), [fact], answer)


def _draw_multi_hop(table: FactTable) -> Iterator[DraftQuestion]:
    """Yield questions about two relations of one entity: for that entity, or for the end of the chain over it."""
    by_end: dict[str, list[StatedFact]] = {}
    linked = {frozenset((relation.source, relation.target)) for relation in table.text.relations}
    for fact in table.described:
        for end in (fact.subject, fact.object):
            by_end.setdefault(end, []).append(fact)
    for middle, facts in by_end.items():
        for first, second in pairwise(facts):
            ends = {_get_other_end(first, middle), _get_other_end(second, middle)}
            if len(ends) == 1:
                continue
            is_open = frozenset(ends) not in linked
            chain = _draft_chain(table, first, second, middle) if is_open and table.random.random() < 1 / 2 else None
            draft = chain or _draft_intersection(table, first, second, middle)
            if draft is not None:
                yield draft


def _draft_chain(table: FactTable, first: StatedFact, second: StatedFact, middle: str) -> DraftQuestion | None:
    """Return the question for the end of a chain, whose middle is X and whose end is Y; None if a name would show."""
    end = _get_other_end(second, middle)
    begin, tail = (_replace_entity(table.text, _get_sentence(table, fact), middle, "X") for fact in (first, second))
    told = None if tail is None else _replace_entity(table.text, tail, end, "Y")
    if begin is None or told is None or _has_name(table.text, begin, end):
        return None
    return table.draft("multi_hop", "chain", _ask(table, [begin, told], end, "Y"), [first, second], end, (middle,))


def _draft_intersection(table: FactTable, first: StatedFact, second: StatedFact, answer: str) -> DraftQuestion | None:
    """Return the question for the entity that two relations have in common; None if its name would show."""
    told = [_replace_entity(table.text, _get_sentence(table, fact), answer, "X") for fact in (first, second)]
    sentences = [sentence for sentence in told if sentence is not None]
    if len(sentences) < len(told):
        return None
    return table.draft("multi_hop", "intersection", _ask(table, sentences, answer, "X"), [first, second], answer)


def _draw_temporal(table: FactTable) -> Iterator[DraftQuestion]:
    for fact in table.described:
        dated = ask_for_date(_get_sentence(table, fact).removesuffix("."))
        if dated is not None and has_phrase(table.text.chunks[fact.chunk].text, dated[1]):
            yield table.draft_date(f"{dated[0]}?", dated[1], fact, (fact.subject, fact.object))


DESCRIPTION_DRAWERS: Mapping[QuestionType, Callable[[FactTable], Iterator[DraftQuestion]]] = {
    "single_fact": _draw_single_facts,
    "multi_hop": _draw_multi_hop,
    "temporal": _draw_temporal,
}
"""The types that descriptions allow. Comparisons and counts need relations with one predicate, and whether no text
says a thing cannot be decided from a description, whose words need not be those of the texts."""
