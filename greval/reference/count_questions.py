"""What a question asks to be counted, read by its words and a schema: relations, entities, and the type to group by."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from greval.methods.index_records import Entity
from greval.reference.linking import Place, match_names
from greval.reference.schema import GraphSchema, RelationType

if TYPE_CHECKING:
    from greval.reference.index import ReferenceIndex

MAX_PHRASE_WORDS = 8
AGGREGATION = re.compile(
    r"\b(?:how (?:many|often)|most(?:ly)?|least|few(?:er|est)|more|less|numbers?|count(?:s|ed)?|total|top|overall|"
    r"common(?:ly)?|frequent(?:ly)?|often|compar(?:e[sd]?|ing|ison)|versus|vs|differ(?:s|ences?|ent)?|main(?:ly)?|"
    r"typical(?:ly)?|popular|rank(?:ed|ing)?|majority|biggest|largest|highest|lowest|rarest)\b",
    re.IGNORECASE,
)
"""Words of a question that asks for a count, a ranking or a comparison."""
ASCENDING = re.compile(r"\b(?:(?<!at )least|fewest|fewer|less|lowest|rarest|rarely)\b", re.IGNORECASE)
_ALL_OF = frozenset({"across", "all", "any", "every", "over"})
"""Words before the name of a type that say that it is not grouped by: "across all products"."""
_GROUP_BEFORE = frozenset(
    {"by", "compare", "each", "fewest", "least", "many", "most", "per", "rank", "top", "what", "which"}
)
"""Words shortly before the name of a type that is grouped by: "which brand", "the most praised brand"."""
_GROUP_AFTER = frozenset({"get", "gets", "got", "had", "has", "have", "receive", "receives", "that", "who", "with"})
"""Words after the name of a type that is grouped by: "the brands with most complaints"."""
_PREPOSITIONS = frozenset({"about", "at", "for", "from", "in", "on", "to", "with"})
_REACH = 4
"""How many words before the name of a type decide whether it is grouped by."""
_WORD = re.compile(r"\b(?<!\w['\u2019])\w+(?:[-.&/]\w+)*")
_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SUFFIXES = ("ing", "ed", "es", "s", "e")
_MIN_STEM = 3


@dataclass(frozen=True)
class CountQuestion:
    """What a question asks to be counted."""

    labels: tuple[str, ...] = ()
    entities: tuple[Entity, ...] = ()
    group_by: tuple[str, ...] = ()
    ascending: bool = False


class _Token(NamedTuple):
    text: str
    stem: str
    start: int


Span = tuple[int, int]
"""The first token of a phrase, and the token after it."""


def stem_word(word: str) -> str:
    """Return a word in lower case without its ending, so that its forms are equal.

    Example:
        >>> [stem_word(word) for word in ("complaints", "praised", "praise", "batteries", "battery")]
        ['complaint', 'prais', 'prais', 'batteri', 'batteri']
    """
    stem = word.casefold()
    for suffix in _SUFFIXES:
        if stem.endswith(suffix) and len(stem) - len(suffix) >= _MIN_STEM and not stem.endswith("ss"):
            stem = stem.removesuffix(suffix)
            break
    return f"{stem[:-1]}i" if stem.endswith("y") and len(stem) > _MIN_STEM else stem


def find_named_entities(index: ReferenceIndex, question: str, schema: GraphSchema | None) -> tuple[Entity, ...]:
    """Return the entities that a question names exactly, in its order; with a schema only those of its types."""
    return tuple(dict.fromkeys(entity for _, entity in _find_entities(index, question, schema)))


def _find_entities(index: ReferenceIndex, question: str, schema: GraphSchema | None) -> list[tuple[Place, Entity]]:
    def look_up(phrase: str) -> int | None:
        spelling = schema.spellings.get(phrase.casefold()) if schema else None
        # A plural is looked up last, because a name may end in "s" itself.
        names = (phrase, spelling[0] if spelling else "", phrase.removesuffix("s"))
        positions = (index.find_entity(name) for name in names if name)
        return next((position for position in positions if position is not None and is_known(position)), None)

    def is_known(position: int) -> bool:
        return schema is None or index.read_entity(position).type in schema.entities

    return [(span, index.read_entity(position)) for span, position in match_names(question, look_up)]


def read_count_question(index: ReferenceIndex, schema: GraphSchema, question: str) -> CountQuestion:
    """Return what a question asks to be counted; without labels if it asks for nothing that the schema knows."""
    tokens = _split_tokens(question)
    starts = [token.start for token in tokens]
    mentions = [
        ((bisect_left(starts, start), bisect_left(starts, end)), entity)
        for (start, end), entity in _find_entities(index, question, schema)
    ]
    used = {position for (start, end), _ in mentions for position in range(start, end)}
    type_words = {kind: (split_name(kind), *entity.words) for kind, entity in schema.entities.items()}
    types = _match_phrases(tokens, type_words, used)
    used |= {position for (start, end), _ in types for position in range(start, end)}
    words = {label: _list_relation_words(label, definition) for label, definition in schema.relations.items()}
    stated = _match_phrases(tokens, words, used)
    if not stated and AGGREGATION.search(question):
        stated = _match_phrases(
            tokens, {label: definition.cues for label, definition in schema.relations.items()}, used
        )
    group_by = tuple(
        dict.fromkeys(
            kind for span, kind in types if _is_grouped_by(tokens, span, kind, mentions, [at for at, _ in stated])
        )
    )
    entities = tuple(dict.fromkeys(entity for _, entity in mentions))
    kinds = {entity.type for entity in entities} | {kind for _, kind in types}
    labels = tuple(dict.fromkeys(label for _, label in stated))
    if not labels and AGGREGATION.search(question):
        labels = _choose_labels(schema, kinds)
    return CountQuestion(labels, entities, group_by, ascending=ASCENDING.search(question) is not None)


def _choose_labels(schema: GraphSchema, kinds: set[str]) -> tuple[str, ...]:
    """Return the relations between the types that a question names, or those that sentences state about them."""
    between = [
        label
        for label, relation in schema.stated_by_documents.items()
        if kinds & {*relation.from_} and kinds & {*relation.to} and len(kinds & {*relation.from_, *relation.to}) > 1
    ]
    about = [
        label
        for label, relation_type in schema.stated_by_cues.items()
        if kinds & {*relation_type.from_, *relation_type.to}
    ]
    return tuple(between or about)


def _split_tokens(text: str) -> list[_Token]:
    """Split a text into words, without the ending of a possessive."""
    return [_Token(match[0], stem_word(match[0]), match.start()) for match in _WORD.finditer(text)]


def _list_spans(length: int) -> Iterator[Span]:
    """Iterate over the spans of a question, longest first."""
    for size in range(min(MAX_PHRASE_WORDS, length), 0, -1):
        for start in range(length - size + 1):
            yield start, start + size


def _match_phrases(
    tokens: Sequence[_Token], phrases: Mapping[str, Sequence[str]], excluded: set[int]
) -> list[tuple[Span, str]]:
    """Find phrases by the stems of their words, longest first; a word belongs to one phrase only."""
    by_stems: dict[tuple[str, ...], list[str]] = {}
    for key, texts in phrases.items():
        for text in texts:
            by_stems.setdefault(tuple(token.stem for token in _split_tokens(text)), []).append(key)
    used = set(excluded)
    matches: list[tuple[Span, str]] = []
    for span in _list_spans(len(tokens)):
        keys = by_stems.get(tuple(token.stem for token in tokens[span[0] : span[1]]))
        if keys and used.isdisjoint(range(*span)):
            used.update(range(*span))
            matches += [(span, key) for key in dict.fromkeys(keys)]
    return sorted(matches)


def _list_relation_words(label: str, relation: RelationType) -> tuple[str, ...]:
    """Return the words that name a relation: those of the schema, and its label without a leading `has` or `is`."""
    words = split_name(label).split()
    plain = words[1:] if len(words) > 1 and words[0] in {"has", "have", "is"} else words
    return (" ".join(plain), *relation.words)


def split_name(name: str) -> str:
    """Return the words of a name such as HAS_NEGATIVE or ProductLine."""
    return " ".join(part.lower() for part in _NAME_PARTS.findall(name)) or name


def _is_grouped_by(
    tokens: Sequence[_Token],
    span: Span,
    kind: str,
    mentions: Sequence[tuple[Span, Entity]],
    stated: Sequence[Span],
) -> bool:
    """Return whether a type that a question names is what it asks to group by."""
    start, end = span
    # "The brand Volta" names one brand and groups by none.
    if any(entity.type == kind and (at[1] == start or at[0] == end) for at, entity in mentions):
        return False
    preceding = [token.text.casefold() for token in tokens[max(0, start - _REACH) : start]]
    if preceding and (preceding[-1] in _ALL_OF or preceding[-2:] in ([quantifier, "the"] for quantifier in _ALL_OF)):
        return False
    after = tokens[end].text.casefold() if end < len(tokens) else ""
    if after in _GROUP_AFTER:
        return True
    for position in range(start - 1, max(0, start - _REACH) - 1, -1):
        word = tokens[position].text.casefold()
        if word in _GROUP_BEFORE:
            return True
        # "The most praised brand" groups by brands, but "which complaints do brands ..." asks for none.
        relation_word = any(first <= position < last for first, last in stated)
        if word in _PREPOSITIONS or (relation_word and position < start - 1):
            return False
    return False
