"""The facts of an index in the order in which questions are drawn, and the gold of questions about them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from random import Random

from greval.methods.index_records import Relation
from greval.records.case import Edge, Gold
from greval.reference.questions.counts import CountTable
from greval.reference.questions.facts import (
    PREPOSITIONS,
    IndexText,
    begins_with_verb,
    compile_phrase,
    list_unnamed_words,
)
from greval.reference.questions.mentions import NameMention, is_person, is_place, list_distinctive_parts, read_mention
from greval.reference.questions.records import (
    DraftQuestion,
    QuestionPattern,
    QuestionType,
    StatedFact,
)
from greval.reference.questions.templates import choose_question_word

MAX_HELPFUL = 5
_WORD = re.compile(r"\w+")
_STEM_CHARS = 5
_PLACING = PREPOSITIONS - {"by", "with", "for", "of", "as"}
"""Prepositions that may join a verb to any place."""


@dataclass(frozen=True)
class FactTable:
    """The facts of an index with its text, in the order in which questions are drawn."""

    text: IndexText
    facts: Sequence[StatedFact]
    random: Random
    described: Sequence[StatedFact] = ()
    counts: CountTable | None = None

    @cached_property
    def by_subject(self) -> Mapping[str, Sequence[StatedFact]]:
        """The facts of each subject."""
        facts: dict[str, list[StatedFact]] = {}
        for fact in self.facts:
            facts.setdefault(fact.subject, []).append(fact)
        return facts

    @cached_property
    def relations(self) -> Sequence[StatedFact]:
        """The facts that are relations of the graph."""
        return [fact for fact in self.facts if fact.predicate]

    @cached_property
    def names(self) -> frozenset[str]:
        """The names of all entities that facts are about."""
        facts = (*self.facts, *self.described)
        return frozenset(name for fact in facts for name in (fact.subject, *fact.names))

    @cached_property
    def ends(self) -> tuple[Mapping[tuple[str, str], set[str]], Mapping[tuple[str, str], set[str]]]:
        """The objects of each subject and label of the graph, and the subjects of each label and object."""
        objects: dict[tuple[str, str], set[str]] = {}
        subjects: dict[tuple[str, str], set[str]] = {}
        for relation in self.text.relations:
            objects.setdefault((relation.source, relation.label), set()).add(relation.target)
            subjects.setdefault((relation.label, relation.target), set()).add(relation.source)
        return objects, subjects

    @cached_property
    def roles(self) -> frozenset[tuple[str, str]]:
        """Each name of a clause with the preposition before it."""
        return frozenset((find_role(fact.clause, name), name) for fact in self.facts for name in fact.names)

    @cached_property
    def told(self) -> Sequence[tuple[str, str]]:
        """All sentences of the text, each with its chunk."""
        return [*self.text.list_sentences()]

    @cached_property
    def sentences(self) -> Sequence[str]:
        """All sentences in lower case, in the order of `told`; descriptions of relations follow them."""
        described = (relation.label for relation in self.text.relations) if self.text.described else ()
        return [text.casefold() for text in (*(sentence for _, sentence in self.told), *described)]

    @cached_property
    def _places(self) -> Mapping[str, Sequence[int]]:
        """The positions of the sentences with each word."""
        positions: dict[str, list[int]] = {}
        for position, sentence in enumerate(self.sentences):
            for word in {*_WORD.findall(sentence)}:
                positions.setdefault(word, []).append(position)
        return positions

    def find_candidates(self, name: str) -> list[int]:
        """Return the positions of the sentences with the rarest word of an entity's name, which may have the name."""
        positions: set[int] = set()
        for alias in self.text.list_names(name):
            words = _WORD.findall(alias.casefold())
            positions |= {*min((self._places.get(word, ()) for word in words), key=len, default=())}
        return sorted(positions)

    @cached_property
    def _described_relations(self) -> Mapping[str, Sequence[Relation]]:
        """The relations with descriptions of each entity."""
        by_entity: dict[str, list[Relation]] = {}
        for relation in self.text.relations if self.text.described else ():
            for end in {relation.source, relation.target}:
                by_entity.setdefault(end, []).append(relation)
        return by_entity

    def list_descriptions(self, names: Collection[str], *, of_both_ends: bool) -> list[str]:
        """List the descriptions of relations with one end, or both, among some names."""
        relations = (relation for name in names for relation in self._described_relations.get(name, ()))
        return [
            relation.label
            for relation in relations
            if not of_both_ends or (relation.source in names and relation.target in names)
        ]

    def choose_word(self, name: str) -> str:
        """Return the question word for an entity, by its kind."""
        return {"": "who or what", "person": "who"}.get(self.get_kind(name).casefold(), "what")

    @cached_property
    def get_kind(self) -> Callable[[str], str]:
        """Return the type of an entity, else person, place or thing as its name and the texts show; empty if not."""
        return cache(self._find_kind)

    def _find_kind(self, name: str) -> str:
        entity = self.text.entities[name]
        word = choose_question_word(entity, " ".join(fact.sentence for fact in self.by_subject.get(name, ())))
        if entity.type or word != "who or what":
            return entity.type or ("person" if word == "who" else "thing")
        sentences = [mention.sentence for mention in self.list_mentions(name) if mention.is_whole]
        return "person" if is_person(name, sentences) else "place" if is_place(name, sentences) else ""

    def can_stand_for(self, substitute: str, name: str, clause: str) -> bool:
        """Return whether another name makes sense in a clause: it is of the same kind, and what precedes it fits.

        After a verb any place does ("moved to Virginia"). After a noun, as in "the state of New York", a text must have
        the same words with the other name.
        """
        kind = self.get_kind(substitute)
        if not kind or kind != self.get_kind(name):
            return False
        role = find_role(clause, name)
        preceding = re.search(rf"([\w-]+)(\s+[\w-]+\s+(?:the\s+)?){compile_phrase(name).pattern}", clause)
        is_after_verb = preceding and role in _PLACING and begins_with_verb([preceding[1].casefold()])
        if not preceding or not role or is_after_verb:
            return True
        phrase = compile_phrase(f"{preceding[1]}{preceding[2]}{substitute}")
        return any(phrase.search(mention.sentence) for mention in self.list_mentions(substitute))

    def list_mentions(self, name: str) -> list[NameMention]:
        """List the sentences that have a distinctive part of an entity's names."""
        parts = list_distinctive_parts(self.text.list_names(name))
        forms = {form for part in parts for form in (part, part.upper())}
        positions = {place for part in parts for place in self._places.get(part.casefold(), ())}
        told = (self.told[place] for place in sorted(positions) if place < len(self.told))
        return [read_mention(name, chunk, sentence) for chunk, sentence in told if forms & {*_WORD.findall(sentence)}]

    @cached_property
    def is_shared(self) -> Callable[[str], bool]:
        """Return whether a name is a part of several longer ones, as "Lincoln" is of "Abraham Lincoln" and others."""
        return cache(lambda name: len({word for item in self.list_mentions(name) for word in item.longer}) > 1)

    def means_one_thing(self, name: str, first: StatedFact, second: StatedFact) -> bool:
        """Return whether a name means the same in two facts; that of a person in one word may not, in two documents."""
        is_part = (" " not in name and self.get_kind(name) == "person") or name in self.text.bearers
        return not self.is_shared(name) and (first.document == second.document or not is_part)

    def has_rival(self, predicate: str, name: str, ignored: Iterable[str], *, name_first: bool) -> bool:
        """Return whether a sentence, other than the known ones, has a name before or after the predicate's main word.

        The name is the subject, before the word, if `name_first` is set; else the object, behind it.
        """
        stem, folded = find_stem(predicate), {text.casefold() for text in ignored}
        phrases = [compile_phrase(text) for text in self.text.list_names(name)]
        for sentence in map(self.sentences.__getitem__, self.find_candidates(name)):
            head, match, tail = sentence.partition(stem)
            part = head if name_first else tail
            if match and sentence not in folded and any(phrase.search(part) for phrase in phrases):
                return True
        return False

    def draft(
        self,
        kind: QuestionType,
        pattern: QuestionPattern,
        question: str,
        facts: Sequence[StatedFact],
        answer: str,
        hidden: Sequence[str] = (),
    ) -> DraftQuestion:
        """Draft a question about facts to which an entity is the answer; `hidden` entities are not named in it."""
        return DraftQuestion(
            type=kind,
            pattern=pattern,
            question=question,
            answer=answer,
            answers=self.text.list_names(answer)[1:],
            gold=build_gold(self.text, facts, answer, hidden=hidden),
            evidence=tuple(facts),
        )

    def draft_date(self, question: str, date: str, fact: StatedFact, mentioned: Sequence[str]) -> DraftQuestion:
        """Draft a question to which the date of a fact is the answer."""
        return DraftQuestion(
            type="temporal",
            pattern="date",
            question=question,
            answer=date,
            gold=build_gold(self.text, [fact], "", mentioned=mentioned),
            evidence=(fact,),
        )

    def has_twin(self, fact: StatedFact, names: Sequence[str], told: Iterable[str]) -> bool:
        """Return whether another sentence has the words that identify a fact, and one of the other names in it.

        These are its three longest words, or two if it has another name. Sentences that are `told` state the fact.
        """
        longest = sorted(list_unnamed_words(fact.clause, fact.names), key=len, reverse=True)
        words = [find_stem(word) for word in longest[: 2 if names else 3]] or [find_stem(fact.clause)]
        phrases = [compile_phrase(form) for name in names for form in self.text.list_names(name)]
        ignored = {*map(str.casefold, (*told, *self.list_descriptions({fact.subject}, of_both_ends=False)))}
        return any(
            all(word in sentence for word in words)
            and (not phrases or any(phrase.search(sentence) for phrase in phrases))
            and sentence not in ignored
            for sentence in self.sentences
        )


def find_stem(predicate: str) -> str:
    """Return the beginning of the main word of a predicate, which its other forms share.

    Example:
        >>> find_stem("is owned by"), find_stem("calls")
        ('owne', 'call')
    """
    longest: str = max(_WORD.findall(predicate.casefold()), key=len)
    return longest[: max(3, min(_STEM_CHARS, len(longest) - 1))]


def find_role(clause: str, name: str) -> str:
    """Return the preposition before a name in a clause; empty if another word is there."""
    match = re.search(rf"([\w-]+)\s+(?:the\s+)?{compile_phrase(name).pattern}", clause)
    return match[1].casefold() if match and match[1].casefold() in PREPOSITIONS else ""


def build_gold(
    text: IndexText,
    facts: Sequence[StatedFact],
    answer: str,
    *,
    hidden: Sequence[str] = (),
    mentioned: Sequence[str] | None = None,
) -> Gold:
    """Return the gold of a question about facts.

    `hidden` are entities that the question describes without their names. By default it mentions all others.
    """
    edges: tuple[Edge, ...] = tuple(dict.fromkeys(edge for fact in facts for edge in fact.edges))
    ends = {end for source, _, target in edges for end in (source, target)}
    nodes = dict.fromkeys(text.get_bearer(name) for fact in facts for name in (fact.subject, *fact.names))
    answer, *hidden = map(text.get_bearer, (answer, *hidden))
    if edges and (not answer or answer in ends):
        nodes = dict.fromkeys(name for name in nodes if name in ends)
    else:
        edges = ()
    candidates = [*nodes] if mentioned is None else [*map(text.get_bearer, mentioned)]
    start = tuple(name for name in candidates if name in nodes and name != answer and name not in hidden)
    essential = tuple(dict.fromkeys(fact.document for fact in facts))
    aliases = {name: text.list_names(name)[1:] for name in nodes if text.list_names(name)[1:]}
    return Gold(
        essential_docs=essential,
        helpful_docs=_list_helpful(text, [*nodes], essential),
        expected_edges=edges or None,
        expected_nodes=tuple(nodes) or None,
        start_nodes=start or None,
        aliases=aliases or None,
    )


def _list_helpful(text: IndexText, names: Sequence[str], essential: Sequence[str]) -> tuple[str, ...]:
    """Return documents that mention at least two of the entities, as far as they are not essential."""
    counts: dict[str, int] = {}
    for name in names:
        documents = dict.fromkeys(
            text.chunks[chunk].doc_id for chunk in text.entities[name].chunks if chunk in text.chunks
        )
        for document in documents:
            counts[document] = counts.get(document, 0) + 1
    helpful = [document for document, count in counts.items() if count > 1 and document not in essential]
    return tuple(helpful[:MAX_HELPFUL])
