"""Entities and relations of a chunk by a schema: terms, tags, and the cues of relations in the sentences."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from greval.methods.index_records import IndexedChunk
from greval.reference.records import Extraction, Mention, Statement
from greval.reference.schema import GraphSchema

NEGATION_WORDS = 3
"""The number of words in front of a cue among which a negation changes its meaning."""

_NEGATIONS = frozenset(("not", "never", "no", "without", "hardly", "barely", "neither", "nor", "cannot"))
_CLAUSE_END = re.compile(
    r"\b(?:but|although|though|while|whereas|however|yet|except)\b|[;:]|[.!?](?=\s)", re.IGNORECASE
)
_WORD = re.compile(r"[\w'\u2019]+")
_NOTHING = re.compile(r"(?!)")


class _Clause(NamedTuple):
    """A part of a sentence: the entities that it names and the cues that it has, each with its position."""

    entities: list[tuple[int, str]]
    cues: list[tuple[int, str]]


def read_by_schema(
    chunk: IndexedChunk,
    sentences: Sequence[str],
    names: Mapping[str, str],
    statements: Iterable[tuple[str, str, str]],
    schema: GraphSchema,
) -> Extraction:
    """Return the extraction of a chunk with the entities and relations of a schema in front of those of the rules."""
    tagged = {chunk.tags[tag]: kind for tag, kind in schema.tags.items() if chunk.tags.get(tag)}
    terms = {name.casefold(): (name, kind) for name, kind in tagged.items()} | schema.spellings
    pattern = _compile_phrases(terms)
    cues = {cue.casefold(): label for label, relation in schema.stated_by_cues.items() for cue in relation.cues}
    cue_pattern = _compile_phrases(cues, endings=r"(?:s|es|d|ed|ing)?")
    clauses = [[*_split_clauses(sentence, terms, pattern, cues, cue_pattern, schema)] for sentence in sentences]
    titled = [terms.get(match[1].casefold()) for match in pattern.finditer(chunk.title)]
    typed = {terms[name.casefold()][0]: terms[name.casefold()][1] for name in names if name.casefold() in terms}
    typed |= dict(each for each in titled if each) | tagged
    typed |= {name: terms[name.casefold()][1] for parts in clauses for clause in parts for _, name in clause.entities}
    stated = dict.fromkeys(statement for parts in clauses for statement in _state_clauses(parts, typed, tagged, schema))
    stated.update(dict.fromkeys(_state_document(typed, schema)))

    def rename(name: str) -> str:
        return terms[name.casefold()][0] if name.casefold() in terms else name

    mentions = {rename(name): kind for name, kind in [*names.items()][:1]} if chunk.title else {}
    mentions |= typed
    for name, kind in names.items():
        mentions.setdefault(rename(name), kind)
    renamed = ((rename(subject), predicate, rename(object_)) for subject, predicate, object_ in statements)
    stated.update(dict.fromkeys(each for each in renamed if each[0] != each[2]))
    return Extraction(
        mentions=tuple(Mention(name=name, type=kind) for name, kind in mentions.items()),
        statements=tuple(
            Statement(subject=subject, predicate=predicate, object=object_) for subject, predicate, object_ in stated
        ),
    )


def _compile_phrases(phrases: Iterable[str], endings: str = "s?") -> re.Pattern[str]:
    """Compile a pattern that finds phrases as whole words, the longest first, with some endings."""
    each = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    if not each:
        return _NOTHING
    # `re` keeps the compiled pattern, so that the many chunks of an index do not compile it again.
    return re.compile(rf"(?<!\w)({'|'.join(map(re.escape, each))}){endings}(?!\w)", re.IGNORECASE)


def _split_clauses(
    sentence: str,
    terms: Mapping[str, tuple[str, str]],
    pattern: re.Pattern[str],
    cues: Mapping[str, str],
    cue_pattern: re.Pattern[str],
    schema: GraphSchema,
) -> Iterator[_Clause]:
    """Split a sentence into clauses, with the entities and the cues of each; a negated cue states the opposite."""
    start = 0
    for end in [*(match.start() for match in _CLAUSE_END.finditer(sentence)), len(sentence)]:
        # To a pattern that ignores case, a dotless i is an i, which is in no term.
        matches = [(match.start(), match[1].casefold()) for match in pattern.finditer(sentence, start, end)]
        stated: list[tuple[int, str]] = []
        for match in cue_pattern.finditer(sentence, start, end):
            label = cues.get(match[1].casefold())
            if label is not None and _is_negated(sentence[start : match.start()]):
                label = schema.relations[label].opposite
            if label is not None:
                stated.append((match.start(), label))
        yield _Clause([(position, terms[term][0]) for position, term in matches if term in terms], stated)
        start = end


def _is_negated(preceding: str) -> bool:
    """Return whether the last words in front of a cue negate it."""
    words = [word.casefold().replace("\u2019", "'") for word in _WORD.findall(preceding)[-NEGATION_WORDS:]]
    return any(word in _NEGATIONS or word.endswith("n't") for word in words)


def _state_clauses(
    clauses: Sequence[_Clause], typed: Mapping[str, str], tagged: Collection[str], schema: GraphSchema
) -> Iterator[tuple[str, str, str]]:
    """State the relations of a sentence."""
    objects: list[tuple[int, str]] = []
    here = {name for clause in clauses for _, name in clause.entities}
    for clause in clauses:
        # A clause without an object speaks of those of the clause before it.
        objects = clause.entities or objects
        for position, name in objects:
            for label in _choose_labels(position, typed[name], clause.cues, schema):
                for subject in _find_subjects(name, schema.relations[label].from_, here, typed, tagged):
                    yield subject, label, name


def _choose_labels(position: int, kind: str, cues: Sequence[tuple[int, str]], schema: GraphSchema) -> list[str]:
    """Return the relations that cues of a clause state of an entity; of two opposite ones, that of the nearest cue."""
    nearest: dict[str, str] = {}
    for _, label in sorted((abs(cue_position - position), label) for cue_position, label in cues):
        relation = schema.relations[label]
        if kind in relation.to:
            # Two opposite relations share a key, so that only one of them is stated.
            nearest.setdefault(min(label, relation.opposite or label), label)
    return [*nearest.values()]


def _find_subjects(
    name: str, kinds: Collection[str], here: Collection[str], typed: Mapping[str, str], tagged: Collection[str]
) -> list[str]:
    """Find the sources of a relation: those that the sentence names, or else those of the document."""
    subjects = [candidate for candidate, kind in typed.items() if kind in kinds and candidate != name]
    mentioned = [candidate for candidate in subjects if candidate in here]
    # A sentence that names an entity of the document's tags, such as its product, speaks of the others as well,
    # such as its brand.
    if any(candidate in tagged for candidate in mentioned):
        return [candidate for candidate in subjects if candidate in mentioned or candidate in tagged]
    return mentioned or subjects


def _state_document(typed: Mapping[str, str], schema: GraphSchema) -> Iterator[tuple[str, str, str]]:
    """State the relations without cues, between all entities of their types."""
    for label, relation in schema.stated_by_documents.items():
        for source, kind in typed.items():
            if kind in relation.from_:
                yield from (
                    (source, label, target)
                    for target, target_kind in typed.items()
                    if target_kind in relation.to and target != source
                )
