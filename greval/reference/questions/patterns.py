"""Patterns of the graph: which facts are asked about together, and the question that the templates make of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import combinations
from typing import cast

from greval.records.case import Gold
from greval.reference.questions.counts import COUNT_PATTERNS, take_turns
from greval.reference.questions.descriptions import DESCRIPTION_DRAWERS
from greval.reference.questions.fact_table import FactTable, build_gold, find_role, find_stem
from greval.reference.questions.facts import (
    NAME_END,
    PREPOSITIONS,
    begins_with_verb,
    compile_phrase,
    has_phrase,
    list_unnamed_words,
)
from greval.reference.questions.records import NOT_STATED, CountPattern, DraftQuestion, QuestionType, StatedFact
from greval.reference.questions.templates import (
    ask_for_object,
    ask_for_subject,
    front_verb,
    is_place,
    replace_date,
    use_plural,
)

MAX_NESTED_WORDS, MAX_JOINED_WORDS = 10, 11
"""The most words of a clause that stands within another one, and of one that is joined with another one."""
MAX_USES = 1
"""The number of intersections that one fact may be part of."""
MAX_TRIED_NAMES = 200
"""How many other names are tried for a question that the documents do not answer."""
MAX_COUNT = 10
NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def draw_questions(
    table: FactTable, name: QuestionType | CountPattern, others: Collection[str]
) -> Iterator[DraftQuestion]:
    """Yield the questions of a type or a pattern, those of facts one document after the other in turn.

    Of a type, the patterns among the `others` that are asked for by their names are left out. All patterns of counts
    and the facts take turns. Those that count mentions come last, because they ask least of a system.
    """
    if name in COUNT_PATTERNS:
        yield from table.counts.draw(cast("CountPattern", name)) if table.counts else ()
        return
    counted = [pattern for pattern, kind in COUNT_PATTERNS.items() if kind == name and pattern not in others]
    drafts = _draw_facts(table, cast("QuestionType", name))
    last = [draft for draft in drafts if draft.pattern == "mentions"]
    yield from take_turns(
        [
            *(table.counts.draw(pattern) for pattern in counted if table.counts),
            iter(_turn_documents(draft for draft in drafts if draft.pattern != "mentions")),
        ]
    )
    yield from _turn_documents(last)


def _draw_facts(table: FactTable, kind: QuestionType) -> list[DraftQuestion]:
    described = DESCRIPTION_DRAWERS.get(kind)
    return [*_DRAWERS[kind](table), *(described(table) if described else ())]


def _turn_documents(drafts: Iterable[DraftQuestion]) -> list[DraftQuestion]:
    """Return the drafts so that each document has its turn before one has a second."""
    groups: dict[str, list[DraftQuestion]] = {}
    for draft in drafts:
        groups.setdefault(draft.evidence[0].document if draft.evidence else "", []).append(draft)
    turns = [
        (turn, position, draft) for position, group in enumerate(groups.values()) for turn, draft in enumerate(group)
    ]
    return [draft for _, _, draft in sorted(turns, key=lambda item: item[:2])]


def _draw_single_facts(table: FactTable) -> Iterator[DraftQuestion]:
    for fact in table.facts:
        about_subject = ask_for_subject(table.choose_word(fact.subject), fact.clause)
        drafts = [table.draft("single_fact", "edge", about_subject, [fact], fact.subject)]
        if fact.predicate:
            about_object = ask_for_object(table.choose_word(fact.object), fact.subject, fact.predicate)
            drafts += [table.draft("single_fact", "edge", about_object, [fact], fact.object)] if about_object else []
        table.random.shuffle(drafts)
        yield from drafts


def _draw_multi_hop(table: FactTable) -> Iterator[DraftQuestion]:
    drafts = [*_draw_chains(table), *_draw_descriptions(table), *_draw_intersections(table)]
    table.random.shuffle(drafts)
    return iter(drafts)


def _draw_chains(table: FactTable) -> Iterator[DraftQuestion]:
    """Yield the questions for the end of a chain of two relations, whose middle the question calls X."""
    objects, _ = table.ends
    for first in table.relations:
        for second in table.by_subject.get(first.object, ()):
            if not second.predicate or second.object == first.subject:
                continue
            if not table.means_one_thing(first.object, first, second):
                continue
            word = table.choose_word(second.object)
            question = ask_for_object(word, "X", second.predicate)
            if question and all(len(objects[edge[0], edge[1]]) == 1 for edge in (*first.edges, *second.edges)):
                chained = f"{first.subject} {first.clause.removesuffix(first.object)}X. {question}"
                yield table.draft("multi_hop", "chain", chained, [first, second], second.object, (first.object,))


def _draw_descriptions(table: FactTable) -> Iterator[DraftQuestion]:
    """Yield the questions in which an entity is not named, but described by another fact."""
    for first in table.facts:
        for name in first.names:
            for second in table.by_subject.get(name, ()):
                clause = _replace_name(first.clause, name, second, table)
                if (
                    clause is None
                    or first.sentence == second.sentence
                    or not table.means_one_thing(name, first, second)
                ):
                    continue
                question = ask_for_subject(table.choose_word(first.subject), clause)
                yield table.draft("multi_hop", "description", question, [first, second], first.subject, (name,))


def _replace_name(clause: str, name: str, by: StatedFact, table: FactTable) -> str | None:
    """Return a clause with a name at its end replaced by what a fact says of it; None if that would not be clear."""
    match = re.search(rf"(?P<before>[\w-]+)\s+(?:the\s+)?{compile_phrase(name).pattern}\Z", clause)
    if (
        match is None
        or len(by.clause.split()) > MAX_NESTED_WORDS
        or any(has_phrase(clause, other_name) for other_name in by.names)
    ):
        return None
    preceding = match["before"].casefold()
    if preceding not in PREPOSITIONS and not begins_with_verb([preceding]):
        return None
    word = table.choose_word(name)
    described = f"the person who {by.clause}" if word == "who" else f"the one that {by.clause}"
    return f"{clause[: match.start()]}{match['before']} {described}"


def _draw_intersections(table: FactTable) -> Iterator[DraftQuestion]:
    """Yield the questions for the entity of which two sentences each state something."""
    uses: Counter[StatedFact] = Counter()
    for subject, facts in table.by_subject.items():
        short = [fact for fact in facts if len(fact.clause.split()) <= MAX_JOINED_WORDS and "," not in fact.clause]
        for first, second in combinations(short, 2):
            if first.sentence == second.sentence or find_stem(first.clause) == find_stem(second.clause):
                continue
            if max(uses[first], uses[second]) >= MAX_USES or not table.means_one_thing(subject, first, second):
                continue
            uses.update((first, second))
            question = f"{ask_for_subject(table.choose_word(subject), first.clause)[:-1]}, and also {second.clause}?"
            yield table.draft("multi_hop", "intersection", question, [first, second], subject)


def _draw_comparisons(table: FactTable) -> Iterator[DraftQuestion]:
    """Yield the questions whether two subjects have the same object of one predicate."""
    objects, _ = table.ends
    groups: dict[str, list[StatedFact]] = {}
    for fact in table.relations:
        if all(len(objects[edge[0], edge[1]]) == 1 for edge in fact.edges):
            groups.setdefault(fact.predicate, []).append(fact)
    for predicate, facts in groups.items():
        pairs = [pair for pair in combinations(facts, 2) if pair[0].subject != pair[1].subject]
        table.random.shuffle(pairs)
        # Few pairs have one object, and those must not be left out below.
        pairs.sort(key=lambda pair: pair[0].object != pair[1].object)
        equal_count = sum(fact_a.object == fact_b.object for fact_a, fact_b in pairs)
        # At most as many questions with the answer no as with yes.
        for first, second in pairs[: 2 * max(equal_count, 1)]:
            fronted = front_verb(first.subject, predicate)
            if fronted is None or first.object == second.subject or second.object == first.subject:
                continue
            is_same = first.object == second.object
            same = f"the same {'place' if is_place(predicate) else 'one'}"
            stated = f"{first.subject} {first.clause}"
            yield DraftQuestion(
                type="comparison",
                pattern="pair",
                question=f"{fronted[:1].upper()}{fronted[1:]} {same} as {second.subject}?",
                answer=f"{'Yes' if is_same else 'No'}: {stated}, and {second.subject} {second.clause}.",
                answers=("Yes" if is_same else "No",),
                gold=build_gold(table.text, [first, second], "", mentioned=(first.subject, second.subject)),
                evidence=(first, second),
                fixed_answer=True,
            )


def _draw_aggregations(table: FactTable) -> Iterator[DraftQuestion]:
    yield from _draw_stars(table)
    yield from _draw_document_counts(table)


def _draw_stars(table: FactTable) -> Iterator[DraftQuestion]:
    """Yield the questions how many subjects have one predicate and object, if sentences state all of them."""
    _, subjects = table.ends
    groups: dict[tuple[str, str], dict[str, StatedFact]] = {}
    for fact in table.relations:
        groups.setdefault((fact.edges[0][1], fact.object), {}).setdefault(fact.subject, fact)
    for (label, target), by_subject in groups.items():
        facts, plural = [*by_subject.values()], use_plural(next(iter(by_subject.values())).clause)
        if plural is None or not 1 < len(facts) <= MAX_COUNT or by_subject.keys() != subjects[label, target]:
            continue
        names = sorted(by_subject)
        are_people = {table.get_kind(name) == "person" for name in names}
        if len(are_people) > 1 or table.is_shared(target):
            continue
        things = "people" if True in are_people else "things"
        yield DraftQuestion(
            type="aggregation",
            pattern="star",
            question=f"How many different {things} {plural}, according to the documents?",
            answer=f"{len(names)}: {', '.join(names)}",
            answers=(str(len(names)), NUMBERS[len(names)]),
            gold=build_gold(table.text, facts, "", mentioned=(target,)),
            evidence=tuple(facts),
            fixed_answer=True,
        )


def _draw_document_counts(table: FactTable) -> Iterator[DraftQuestion]:
    """Yield the questions how many documents name an entity."""
    for name in table.by_subject:
        first = _find_mentions(table, name)
        if not 1 < len(first) <= MAX_COUNT:
            continue
        yield DraftQuestion(
            type="aggregation",
            pattern="mentions",
            question=f"In how many of the documents is {name} mentioned by name?",
            answer=f"{len(first)}: {', '.join(sorted(first))}",
            answers=(str(len(first)), NUMBERS[len(first)]),
            gold=Gold(
                essential_docs=tuple(sorted(first)),
                expected_nodes=(name,),
                start_nodes=(name,),
            ),
            evidence=tuple(first[document] for document in sorted(first)),
            fixed_answer=True,
        )


def _find_mentions(table: FactTable, name: str) -> Mapping[str, StatedFact]:
    """Return the first sentence of each document that names an entity; empty if the name may mean several things.

    It may if it is one word and neither a place nor typed, if it is a person's name with a title, if it is part of
    several longer names, or if a document has only a part of it.
    """
    first: dict[str, StatedFact] = {}
    documents: set[str] = set()
    for mention in table.list_mentions(name):
        document = table.text.chunks[mention.chunk].doc_id
        documents.add(document)
        if mention.is_whole and document not in first:
            first[document] = StatedFact(
                subject=name, clause="", chunk=mention.chunk, document=document, sentence=mention.sentence
            )
    is_vague = (" " not in name and table.get_kind(name) in {"", "person"}) or name in table.text.bearers
    return {} if is_vague or first.keys() != documents or table.is_shared(name) else first


def _draw_temporal(table: FactTable) -> Iterator[DraftQuestion]:
    for fact in table.facts:
        dated = None if fact.predicate else replace_date(fact)
        if dated:
            yield table.draft_date(*dated, fact, (fact.subject,))


def _draw_unanswerable(table: FactTable) -> Iterator[DraftQuestion]:
    """Yield questions with another name in place of the right one, if no sentence has it with the predicate."""
    names = [*dict.fromkeys(name for fact in table.facts for name in (fact.subject, *fact.names))]
    for fact in table.facts:
        substitutes = [*names]
        table.random.shuffle(substitutes)
        tried = substitutes[:MAX_TRIED_NAMES]
        draft = next((candidate for substitute in tried if (candidate := _draft_absent(table, fact, substitute))), None)
        if draft:
            yield draft


def _draft_absent(table: FactTable, fact: StatedFact, substitute: str) -> DraftQuestion | None:
    """Return the question about a fact with another name in it; None if that would not be a question of its kind."""
    if substitute in {fact.subject, *fact.names}:
        return None
    replaced = fact.object or (fact.names[0] if len(fact.names) == 1 else "")
    role = find_role(fact.clause, replaced) if replaced else ""
    has_role = (role, substitute) in table.roles if role else bool(fact.predicate)
    # That nobody "left" a place cannot be told from a story, where people come and go without a word of it.
    is_told = table.get_kind(fact.subject) != "person" or len(list_unnamed_words(fact.clause, fact.names)) > 1
    if not replaced or not has_role or not is_told or not table.can_stand_for(substitute, replaced, fact.clause):
        return None
    predicate = fact.predicate or fact.clause.partition(replaced)[0]
    clause = re.sub(rf"{compile_phrase(replaced).pattern}{NAME_END}", substitute, fact.clause)
    is_related = any((label, substitute) in table.ends[1] for _, label, _ in fact.edges)
    if clause == fact.clause or is_related or table.has_rival(predicate, substitute, (), name_first=False):
        return None
    return DraftQuestion(
        type="unanswerable",
        pattern="absent",
        question=ask_for_subject(table.choose_word(fact.subject), clause),
        answer=NOT_STATED,
        gold=Gold(essential_docs=(), helpful_docs=()),
        evidence=(fact,),
        fixed_answer=True,
    )


_DRAWERS: Mapping[QuestionType, Callable[[FactTable], Iterator[DraftQuestion]]] = {
    "single_fact": _draw_single_facts,
    "multi_hop": _draw_multi_hop,
    "comparison": _draw_comparisons,
    "aggregation": _draw_aggregations,
    "temporal": _draw_temporal,
    "unanswerable": _draw_unanswerable,
}
