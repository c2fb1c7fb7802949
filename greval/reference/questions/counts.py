"""Questions that counts over the whole graph answer, drawn from the schema of an index: who has most of what.

Each is asked of the index itself, in its words, and kept only if the index counts exactly what is meant. Its answer and
its documents are those that were counted.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from random import Random
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from greval.methods.index_records import Relation, find_document
from greval.records.case import Gold
from greval.reference.aggregates import Tally, find_joins, list_tallies
from greval.reference.count_questions import split_name
from greval.reference.questions.facts import IndexText, has_phrase
from greval.reference.questions.records import CountPattern, DraftQuestion, QuestionType, StatedFact
from greval.reference.schema import GraphSchema

if TYPE_CHECKING:
    from greval.reference.index import ReferenceIndex

COUNT_PATTERNS: Mapping[CountPattern, QuestionType] = {
    "top_objects": "aggregation",
    "top_subjects": "aggregation",
    "all_objects": "aggregation",
    "all_subjects": "aggregation",
    "number": "aggregation",
    "two_subjects": "comparison",
    "look_up": "single_fact",
}
"""The type of the questions of each pattern."""
MAX_LISTED, MAX_TIED = 3, 5
"""How many of the most frequent an answer lists, and how many if the last of them have the same count."""
Drawn = TypeVar("Drawn")


class _CountTopic(NamedTuple):
    """What questions count: a relation of the schema, between a type of subjects and a type of objects."""

    label: str
    noun: str
    subject_kind: str
    object_kind: str

    @property
    def nouns(self) -> str:
        """Return what is counted, in the plural."""
        return _pluralise(self.noun)

    @property
    def subject_word(self) -> str:
        """Return the type of the subjects as a question names it."""
        return split_name(self.subject_kind)


class _Ask(NamedTuple):
    """A question before it is counted: its words, the type whose entities are counted, and those that it names."""

    topic: _CountTopic
    question: str
    kind: str
    names: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()


@dataclass(frozen=True)
class CountTable:
    """The counts of an index with a schema, as far as sentences state them, and the questions that they answer."""

    index: ReferenceIndex
    schema: GraphSchema
    text: IndexText
    seed: int

    @cached_property
    def _topics(self) -> list[_CountTopic]:
        """Return the relations with a noun, from their subjects or from a type that is joined to these."""
        return [
            _CountTopic(label, relation.words[0], subject_kind, object_kind)
            for label, relation in self.schema.stated_by_cues.items()
            if relation.words
            for subject_kind in (*relation.from_, *find_joins(self.schema, relation))
            for object_kind in relation.to
        ]

    @cached_property
    def _names(self) -> Mapping[str, list[str]]:
        """The names of the entities of each type, in the order in which they are asked about."""
        names: dict[str, list[str]] = defaultdict(list)
        for entity in self.text.entities.values():
            names[entity.type].append(entity.name)
        return defaultdict(list, {kind: self._shuffle(listed, kind) for kind, listed in names.items()})

    def _shuffle(self, items: Iterable[Drawn], key: str) -> list[Drawn]:
        """Return items in a random order, which does not depend on what was drawn before."""
        shuffled = [*items]
        Random(f"{self.seed} {key}").shuffle(shuffled)  # noqa: S311 - a sample, not a secret
        return shuffled

    @cached_property
    def _stated(self) -> Mapping[tuple[str, str], list[tuple[Relation, str]]]:
        """The relations that a document states with a label, each with the chunk that states it."""
        stated: dict[tuple[str, str], list[tuple[Relation, str]]] = defaultdict(list)
        for relation in self.text.relations:
            first = {find_document(chunk): chunk for chunk in reversed(relation.chunks)}
            for document, chunk in first.items():
                stated[relation.label, document].append((relation, chunk))
        return stated

    def draw(self, pattern: CountPattern) -> Iterator[DraftQuestion]:
        """Yield the questions of a pattern that the index counts as they are meant, in a random order."""
        ask, read = _PATTERNS[pattern]
        for asked in take_turns(ask(self, topic) for topic in self._topics):
            documents = self._count(asked)
            answers = read(documents, asked) if documents else ()
            if answers:
                yield self._draft(pattern, asked, documents, answers)

    def _count(self, asked: _Ask) -> Mapping[str, frozenset[str]]:
        """Return the documents that the index counts for a question; empty if it counts something else as well."""
        tallies = list_tallies(self.index, asked.question)
        is_meant = len(tallies) == 1 and _describe(tallies[0]) == (asked.topic.label, asked.kind, {*asked.names})
        return {name: found for name, found in tallies[0].documents.items() if found} if is_meant else {}

    def counts_alike(self, question: str, draft: DraftQuestion) -> bool:
        """Return whether the index counts the same for other words of a drawn question."""
        tallies, drawn = (list_tallies(self.index, text) for text in (question, draft.question))
        return tallies == drawn

    def _draft(
        self, pattern: CountPattern, asked: _Ask, documents: Mapping[str, frozenset[str]], answers: Sequence[str]
    ) -> DraftQuestion:
        evidence = [*self._list_evidence(asked, documents)]
        counted = frozenset[str]().union(*documents.values())
        named = (*asked.subjects, *asked.objects)
        edges = dict.fromkeys(edge for fact in evidence for edge in fact.edges)
        nodes = dict.fromkeys((*named, *(name for fact in evidence for name in (fact.subject, fact.object))))
        aliases = {name: names[1:] for name in nodes if len(names := self.text.list_names(name)) > 1}
        return DraftQuestion(
            type=COUNT_PATTERNS[pattern],
            pattern=pattern,
            question=asked.question,
            answer=answers[0],
            answers=tuple(answers[1:]),
            gold=Gold(
                essential_docs=tuple(sorted(counted)),
                expected_edges=(*edges,),
                expected_nodes=(*nodes,),
                start_nodes=named or None,
                aliases=aliases or None,
            ),
            evidence=tuple(evidence),
            fixed_answer=True,
        )

    def _list_evidence(self, asked: _Ask, documents: Mapping[str, frozenset[str]]) -> Iterator[StatedFact]:
        """Yield what each counted document states; of the subjects that are counted, if the graph has it of them."""
        seen: set[tuple[str, Relation]] = set()
        for group, counted in documents.items():
            is_subject = asked.kind == asked.topic.subject_kind
            subjects = {group} if is_subject else {*asked.subjects}
            objects = {*asked.objects} if is_subject else {group}
            for document in sorted(counted):
                stated = [
                    (relation, chunk)
                    for relation, chunk in self._stated[asked.topic.label, document]
                    if not objects or relation.target in objects
                ]
                direct = [pair for pair in stated if pair[0].source in subjects]
                for relation, chunk in direct or stated:
                    if (document, relation) not in seen:
                        seen.add((document, relation))
                        yield self._build_fact(relation, chunk, document)

    def _build_fact(self, relation: Relation, chunk: str, document: str) -> StatedFact:
        sentences = self.text.sentences[chunk]
        names = self.text.list_names(relation.target)
        naming = (sentence for sentence in sentences if any(has_phrase(sentence, name) for name in names))
        return StatedFact(
            subject=relation.source,
            clause="",
            names=(relation.target,),
            object=relation.target,
            edges=((relation.source, relation.label, relation.target),),
            chunk=chunk,
            document=document,
            sentence=next(naming, sentences[0] if sentences else ""),
        )

    def ask_top_objects(self, topic: _CountTopic) -> Iterator[_Ask]:
        """Yield the questions what is said most of one subject."""
        for subject in self._names[topic.subject_kind]:
            question = f"What are the most common {topic.nouns} about {subject}, and how many of each?"
            yield _Ask(topic, question, topic.object_kind, subjects=(subject,))

    def ask_top_subjects(self, topic: _CountTopic) -> Iterator[_Ask]:
        """Yield the questions of which subject one thing is said most."""
        for name in self._names[topic.object_kind]:
            question = f"Which {topic.subject_word} has the most {topic.nouns} about {name}, and how many?"
            yield _Ask(topic, question, topic.subject_kind, objects=(name,))

    def ask_all_objects(self, topic: _CountTopic) -> Iterator[_Ask]:
        """Yield the question what is said most of all subjects."""
        subjects = _pluralise(topic.subject_word)
        question = f"What are the most common {topic.nouns} across all {subjects}, and how many of each?"
        yield _Ask(topic, question, topic.object_kind)

    def ask_all_subjects(self, topic: _CountTopic) -> Iterator[_Ask]:
        """Yield the question of which subject something is said most."""
        question = f"Which {topic.subject_word} has the most {topic.nouns} overall, and how many?"
        yield _Ask(topic, question, topic.subject_kind)

    def ask_number(self, topic: _CountTopic) -> Iterator[_Ask]:
        """Yield the questions in how many documents one thing is said of one subject."""
        return self._ask_of_pairs(topic, "How many documents have {nouns} about the {name} of {subject}?")

    def ask_look_up(self, topic: _CountTopic) -> Iterator[_Ask]:
        """Yield the questions which document says one thing of one subject."""
        return self._ask_of_pairs(topic, "Which document has {nouns} about the {name} of {subject}?")

    def _ask_of_pairs(self, topic: _CountTopic, template: str) -> Iterator[_Ask]:
        """Yield the questions about each subject with each object."""
        pairs = product(self._names[topic.subject_kind], self._names[topic.object_kind])
        for subject, name in self._shuffle(pairs, template):
            question = template.format(nouns=topic.nouns, name=name, subject=subject)
            yield _Ask(topic, question, topic.subject_kind, (subject,), (subject,), (name,))

    def ask_two_subjects(self, topic: _CountTopic) -> Iterator[_Ask]:
        """Yield the questions of which of two subjects something is said more, of one object or in all."""
        subject_pairs = combinations(self._names[topic.subject_kind], 2)
        pairs = product(subject_pairs, (None, *self._names[topic.object_kind]))
        for (first, second), name in self._shuffle(pairs, topic.label):
            nouns = f"{topic.nouns} about {name}" if name else topic.nouns
            question = f"Which {topic.subject_word} has more {nouns}, {first} or {second}, and how many has each?"
            names, objects = (first, second), (name,) if name else ()
            yield _Ask(topic, question, topic.subject_kind, names, names, objects)


def is_counted(draft: DraftQuestion) -> bool:
    """Return whether a question is about the counts of many documents, which reading a few does not answer."""
    return draft.pattern in COUNT_PATTERNS and draft.pattern != "look_up"


def take_turns(sources: Iterable[Iterator[Drawn]]) -> Iterator[Drawn]:
    """Yield one item of each iterator in turn until all are exhausted.

    Example:
        >>> "".join(take_turns(map(iter, ("ace", "bd"))))
        'abcde'
    """
    waiting = deque(sources)
    while waiting:
        source = waiting.popleft()
        for item in source:
            yield item
            waiting.append(source)
            break


def _describe(tally: Tally) -> tuple[str, str, Collection[str]]:
    return tally.label, tally.kind, {*tally.names}


def _pluralise(noun: str) -> str:
    return noun if noun.endswith("s") else f"{noun}s"


def _rank(documents: Mapping[str, frozenset[str]]) -> list[tuple[str, int]]:
    """Return the names with their counts, the highest first."""
    return sorted(((name, len(found)) for name, found in documents.items()), key=lambda item: (-item[1], item[0]))


def _format_ranking(ranking: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{name}: {number}" for name, number in ranking)


def _list_most(documents: Mapping[str, frozenset[str]], _: _Ask) -> tuple[str, ...]:
    """Return the most frequent with their counts, and their names; empty if too many are equally frequent."""
    ranking = _rank(documents)
    listed = [item for item in ranking if item[1] >= ranking[min(MAX_LISTED, len(ranking)) - 1][1]]
    return () if len(listed) > MAX_TIED else (_format_ranking(listed), ", ".join(name for name, _ in listed))


def _list_highest(documents: Mapping[str, frozenset[str]], _: _Ask) -> tuple[str, ...]:
    """Return the one with the highest count, or those that share it, and their names; empty if too many do."""
    ranking = _rank(documents)
    listed = [item for item in ranking if item[1] == ranking[0][1]]
    return () if len(listed) > MAX_LISTED else (_format_ranking(listed), ", ".join(name for name, _ in listed))


def _compare_two(documents: Mapping[str, frozenset[str]], asked: _Ask) -> tuple[str, ...]:
    """Return both counts, the higher first; empty if they are equal."""
    ranking = sorted(((name, len(documents.get(name, ()))) for name in asked.names), key=lambda item: -item[1])
    return () if ranking[0][1] == ranking[1][1] else (_format_ranking(ranking), "{}: {}".format(*ranking[0]))


def _read_number(documents: Mapping[str, frozenset[str]], _: _Ask) -> tuple[str, ...]:
    return (str(sum(map(len, documents.values()))),)


def _read_document(documents: Mapping[str, frozenset[str]], _: _Ask) -> tuple[str, ...]:
    """Return the only document; empty if there are several."""
    (counted,) = documents.values()
    return tuple(counted) if len(counted) == 1 else ()


_ReadAnswers = Callable[[Mapping[str, frozenset[str]], _Ask], tuple[str, ...]]
_PATTERNS: Mapping[CountPattern, tuple[Callable[[CountTable, _CountTopic], Iterator[_Ask]], _ReadAnswers]] = {
    "top_objects": (CountTable.ask_top_objects, _list_most),
    "top_subjects": (CountTable.ask_top_subjects, _list_highest),
    "all_objects": (CountTable.ask_all_objects, _list_most),
    "all_subjects": (CountTable.ask_all_subjects, _list_highest),
    "number": (CountTable.ask_number, _read_number),
    "two_subjects": (CountTable.ask_two_subjects, _compare_two),
    "look_up": (CountTable.ask_look_up, _read_document),
}
