"""Entities and relations of a chunk by rules: patterns of names and the words between them, without a model.

Names are found by their form: the title, capitals, quotation marks and identifiers of code. Two names that follow each
other in a sentence are related by the verb phrase between them. The title is related to all names of its chunk, because
a text about one thing names it by a pronoun or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from greval.methods.index_records import IndexedChunk
from greval.records.inventory import RELATED
from greval.reference.chunking import split_sentences
from greval.reference.extraction.phrases import (
    NameSpan,
    TextToken,
    find_names,
    is_common_word,
    is_roman,
    split_tokens,
)
from greval.reference.extraction.schema_rules import read_by_schema
from greval.reference.extraction.words import (
    AUXILIARIES,
    DETERMINERS,
    GENERIC_NAMES,
    NATIONALITIES,
    NEVER_NAMES,
    NO_VERBS,
    PERSON_PRONOUNS,
    PRONOUNS,
    VERBS,
    read_words,
)
from greval.reference.names import ALIAS, split_qualifier
from greval.reference.records import Extraction, Mention, Statement
from greval.reference.schema import GraphSchema

RULES_VERSION = "4"
"""The version of the rules, part of the key of an extraction. Increase it whenever they find something else."""
MAX_STATEMENTS = 12
"""The most statements of one sentence: a list of many names would have as many as it has pairs of names."""
MAX_PREDICATE_WORDS = 6
MIN_WRAPPED, MAX_WRAPPED = 45, 100
"""The characters of the longest line of wrapped text: shorter lines are a list, longer ones paragraphs or a log."""
MAX_LEAD = 4
"""The most characters in front of the name with which a sentence begins: an article, a quotation mark."""

_ALIAS_PHRASE = re.compile(
    r"""\s*[,(]?\s*(?:which\ is\ |who\ is\ |is\ |was\ |it\ is\ )?
    (?:(?:also|better|best|commonly|formerly|generally|locally|more|now|often|originally|popularly|previously|
    professionally|simply|sometimes|usually|widely|and|or|was)\s+)+
    (?:known|called|named|credited|referred\ to|abbreviated)(?:\s+(?:commonly|professionally|simply|mononymously))?
    (?:\s+(?:as|by\ (?:his|her|their|its)\ (?:stage|pen)\ name))?(?:\s+the)?\s*["“]?\s*\Z""",
    re.VERBOSE | re.IGNORECASE,
)
_DEFINITION = re.compile(r"\b(?:is|was|are|were)\s+(?:an?|the|one of the)\s+([^.;:(),]{3,120})")
_NOUN_ENDINGS = tuple(read_words("ss ers ors ists ians ties ches ments ions isms ings ans ages ous"))
_ADVERBS = read_words("not never also longer no later first often still now then")
_WORD = re.compile(r"[^\W_][\w'\u2019-]*")
_HEAD_END = read_words("in at on to by with from for of as under into that which who whose and or when where born")
"""The words before which the head of a definition ends."""


@dataclass
class _Topic:
    """What the text of a chunk is about: its title, and the words that stand for it in the text.

    `is_named` is set if the text names the title. A text that does not, such as a page of a novel, is not related to
    it. `is_title` is not set if there is no title: the pronouns of the text mean the name with which it begins.
    """

    name: str = ""
    variants: tuple[str, ...] = ()
    last_name: str = ""
    is_code: bool = False
    is_named: bool = False
    is_title: bool = True
    words: frozenset[str] = frozenset()


@dataclass
class _ChunkFindings:
    """What has been found in a chunk so far: types of names in the order of mention, and statements."""

    names: dict[str, str] = field(default_factory=dict)
    statements: dict[tuple[str, str, str], None] = field(default_factory=dict)
    related: set[tuple[str, str]] = field(default_factory=set)

    def add_statement(self, subject: str, predicate: str, object_: str) -> bool:
        """Add a statement, unless an end is missing or the pair is related already and nothing new is said of it."""
        if not subject or not object_ or subject == object_:
            return False
        if predicate == RELATED and ((subject, object_) in self.related or (object_, subject) in self.related):
            return False
        self.related.add((subject, object_))
        self.statements.setdefault((subject, predicate, object_))
        return True


def extract_with_rules(chunk: IndexedChunk, schema: GraphSchema | None = None) -> Extraction:
    """Return the entities and relations of a chunk, the title first.

    With a schema, its entities and relations come first; a name that is a term of the schema has the term's name.
    """
    sentences = _list_lines(chunk.text)
    tokens = [split_tokens(sentence) for sentence in sentences]
    topic = _read_topic(chunk, tokens)
    findings = _ChunkFindings()
    for name in _list_title_names(chunk.title.strip()):
        findings.names[name] = ""
    if topic.name:
        findings.names[topic.name] = _find_type(sentences)
    spans = [_find_spans(sentence, words, topic) for sentence, words in zip(sentences, tokens, strict=True)]
    spans = _drop_common_words(spans, tokens, topic)
    _rename_last_names(spans, topic, findings)
    # A text without a title is about the name with which it begins.
    if not topic.name and spans and spans[0] and spans[0][0].start <= MAX_LEAD:
        topic.name, topic.is_named, topic.is_title = spans[0][0].name, True, False
    for position, (sentence, words, names) in enumerate(zip(sentences, tokens, spans, strict=True)):
        if position == 0:
            _rename_full_name(names, topic, findings)
        for span in names:
            findings.names.setdefault(span.name, "")
        _state_sentence(sentence, words, names, topic, findings)
    if schema is not None:
        return read_by_schema(chunk, sentences, findings.names, [*findings.statements], schema)
    return Extraction(
        mentions=tuple(Mention(name=name, type=kind) for name, kind in findings.names.items()),
        statements=tuple(
            Statement(subject=subject, predicate=predicate, object=object_)
            for subject, predicate, object_ in findings.statements
        ),
    )


def _list_lines(text: str) -> list[str]:
    """List the sentences of a text, and the lines within them; a line that was wrapped goes on with the next one.

    It was if the longest line is as long as those of books, and if this one had no room for the first word of the next,
    or is long and the next one begins in lower case.
    """
    width = max(map(len, text.splitlines()), default=0)
    lines: list[str] = []
    for part in split_sentences(text):
        room = width + 1
        for line in filter(None, map(str.strip, part.split("\n"))):
            continues = room <= len(line.split()[0]) or (line[0].islower() and 2 * room < width)
            if MIN_WRAPPED <= width <= MAX_WRAPPED and continues:
                lines[-1] = f"{lines[-1]} {line}"
            else:
                lines.append(line)
            room = width - len(line)
    return lines


def _list_title_names(title: str) -> Iterator[str]:
    """Iterate over the names that a title has: itself, without its qualifier, and the parts of a place's name."""
    if not title:
        return
    yield title
    base, qualifier = split_qualifier(title)
    if qualifier:
        yield base
    if qualifier.startswith(","):
        part = qualifier[1:].strip()
        if part[:1].isupper() and part.lower() not in NATIONALITIES:
            yield part
    if "/" in title and " " not in title:
        yield title.rstrip("/").rpartition("/")[2].partition("@")[0]


def _read_topic(chunk: IndexedChunk, tokens: Sequence[Sequence[TextToken]]) -> _Topic:
    """Read what a chunk is about from its title and from whether the text names it."""
    title = chunk.title.strip()
    if not title:
        starts = any(words and words[0].text[0].islower() for words in tokens)
        return _Topic(is_code=starts)
    variants = tuple(dict.fromkeys(name for name in _list_title_names(title) if not title.endswith(f", {name}")))
    base = split_qualifier(title)[0]
    words = base.split()
    is_code = " " not in title and title == title.lower() and title[:1].isalpha()
    last_name = ""
    if 2 <= len(words) <= 4 and all(word[:1].isupper() for word in words):  # noqa: PLR2004
        pronouns = {token.text.lower() for sentence in tokens for token in sentence} & PERSON_PRONOUNS
        # The pronouns of persons show that the title is the name of one.
        last_name = words[-1] if pronouns else ""
    title_words = frozenset(word.lower() for word in _WORD.findall(base)) - NEVER_NAMES
    text = {part for sentence in tokens for token in sentence for part in _WORD.findall(token.text.lower())}
    # The first chunk of a document is about its title, even if it does not name it.
    is_named = bool(title_words & text) or chunk.id.endswith("#1")
    return _Topic(title, variants, last_name, is_code, is_named, words=title_words)


def _find_type(sentences: Sequence[str]) -> str:
    """Return the type of the title by its definition in the first sentence: a "film" if the text says "is a film"."""
    definition = _DEFINITION.search(sentences[0]) if sentences else None
    head = ""
    for word in definition[1].split() if definition else ():
        if word in _HEAD_END or word in AUXILIARIES or (head and (word.endswith("ed") or word[0].isupper())):
            break
        if word.islower() and word.isalpha() and word not in NEVER_NAMES:
            head = word
    return head


def _find_spans(sentence: str, tokens: Sequence[TextToken], topic: _Topic) -> list[NameSpan]:
    """Find the names of a sentence: those of the title, and those by their form."""
    lower_names = frozenset(topic.variants) if topic.is_code else frozenset[str]()
    spans = find_names(sentence, tokens, lower_names, code=topic.is_code or not topic.name)
    for variant in topic.variants:
        spans = _put_variant(sentence, variant, topic, spans)
    return spans


def _put_variant(sentence: str, variant: str, topic: _Topic, spans: list[NameSpan]) -> list[NameSpan]:
    """Put a name of the title into those of a sentence; it replaces names within it, not those that enclose it."""
    case = re.IGNORECASE if " " in variant and not topic.is_code else 0
    for match in re.finditer(rf"(?<![^\W_])(?<![-_/]){re.escape(variant)}(?![\w/])", sentence, case):
        start, end = match.span()
        overlapping = [span for span in spans if span.start < end and span.end > start]
        if all(start <= span.start and span.end <= end for span in overlapping):
            spans = [span for span in spans if span not in overlapping]
            spans.append(NameSpan(start, end, topic.name))
    return sorted(spans, key=lambda span: span.start)


def _drop_common_words(
    spans: Sequence[list[NameSpan]], tokens: Sequence[Sequence[TextToken]], topic: _Topic
) -> list[list[NameSpan]]:
    """Drop single words that have their capital from the start of a sentence only."""
    certain = {span.name for names in spans for span in names if not span.single}
    lower = {token.text for words in tokens for token in words if token.kind == "word" and token.text[0].islower()}
    # The words of longer names are names too, unless the text has them in lower case.
    certain |= {word for name in certain for word in name.split() if word.lower() not in lower}

    def is_name(span: NameSpan) -> bool:
        if not span.single or span.name in certain or span.name == topic.name:
            return True
        return not is_common_word(span.name) and span.name.lower() not in lower

    return [[span for span in names if is_name(span)] for names in spans]


def _is_person_name(words: Sequence[str]) -> bool:
    """Return whether a name may be that of a person or a team, which is called by its last word alone."""
    if not 2 <= len(words) <= 4 or not all(word[0].isupper() for word in words):  # noqa: PLR2004
        return False
    first, last = words[0].lower(), words[-1].lower()
    return first not in NATIONALITIES and first != "new" and last not in GENERIC_NAMES


def _rename_last_names(spans: Sequence[list[NameSpan]], topic: _Topic, findings: _ChunkFindings) -> None:
    """Replace a last name by the full name of its chunk, if there is exactly one, and state that it is another name."""
    full: dict[str, set[str]] = {topic.last_name: {topic.name}} if topic.last_name else {}
    for name in {span.name for names in spans for span in names if not span.quoted and " " in span.name}:
        words = [word for word in name.split() if not is_roman(word)]
        if _is_person_name(words):
            full.setdefault(words[-1], set()).add(name)
    for names in spans:
        for span in names:
            if len(full.get(span.name, ())) == 1 and not span.quoted and not span.name.isupper():
                (name,) = full[span.name]
                findings.names.setdefault(name, "")
                findings.names.setdefault(span.name, "")
                # Other chunks have the last name only; what is stated here resolves it there.
                findings.statements.setdefault((name, ALIAS, span.name))
                span.name, span.single = name, False


def _rename_full_name(names: Sequence[NameSpan], topic: _Topic, findings: _ChunkFindings) -> None:
    """Rename the first name of a text to the title, if it is the full name of the person of the title."""
    if not names or not topic.name or names[0].name == topic.name or names[0].start > 8:  # noqa: PLR2004
        return
    first = names[0]
    name_words = [word.lower() for word in _WORD.findall(first.name)]
    base = [word.lower() for word in _WORD.findall(split_qualifier(topic.name)[0])]
    if (
        1 < len(base) < len(name_words)
        and base[-1] in name_words
        and base[0] in name_words
        and topic.words <= {*name_words}
    ):
        findings.names.setdefault(first.name, "")
        findings.add_statement(topic.name, ALIAS, first.name)
        first.name = topic.name


def _state_sentence(
    sentence: str, tokens: Sequence[TextToken], names: Sequence[NameSpan], topic: _Topic, findings: _ChunkFindings
) -> None:
    """Add what one sentence states of neighbouring names, and of the title."""
    if not names:
        return
    count = end = 0
    subject = _find_subject(tokens, names, topic)
    previous = subject if subject and names[0].name != subject else ""
    for position, span in enumerate(names):
        gap = sentence[end : span.start]
        words = gap.lower().split() if len(gap) < 4 else _WORD.findall(gap.lower())  # noqa: PLR2004
        predicate = _find_predicate(words, follows_name=position > 0)
        if predicate and words[0] in {"and", "but", "or"}:
            # "A is owned by B and written in C" says it of A.
            previous = subject
        if previous and count < MAX_STATEMENTS:
            count += _state_pair(sentence, gap, previous, span, predicate, findings)
        # A text that does not name its title, such as a page of a novel, is not related to it.
        related = topic.is_named and (topic.is_title or subject == topic.name)
        if topic.name not in {"", previous, span.name} and related and count < MAX_STATEMENTS:
            count += findings.add_statement(topic.name, RELATED, span.name)
        previous, end = span.name, span.end


def _find_subject(tokens: Sequence[TextToken], names: Sequence[NameSpan], topic: _Topic) -> str:
    """Return the name that a sentence is about: its first, or the title for "He ...", "The film ..." and the like."""
    if names[0].start <= 2 or not topic.is_named:  # noqa: PLR2004
        return names[0].name
    first = tokens[0].text.lower()
    second = tokens[1].text if len(tokens) > 1 else ""
    refers = first in PRONOUNS or (first in {"the", "this"} and second.islower())
    has_topic = any(span.name == topic.name for span in names)
    return topic.name if refers or has_topic else names[0].name


def _state_pair(
    sentence: str, gap: str, previous: str, span: NameSpan, predicate: str, findings: _ChunkFindings
) -> bool:
    """Add what a sentence states of two neighbouring names: another name, an acronym, or a relation."""
    if _ALIAS_PHRASE.match(gap) or (
        gap.strip() == "(" and sentence[span.end : span.end + 1] in {")", ";", ","} and _is_acronym(span.name, previous)
    ):
        return findings.add_statement(previous, ALIAS, span.name)
    return findings.add_statement(previous, predicate or RELATED, span.name)


def _is_acronym(short: str, name: str) -> bool:
    """Return whether a short name has the first letters of the words of a name."""
    letters = short.replace(".", "").removesuffix("s")
    if not letters.isupper() or not 2 <= len(letters) <= 8:  # noqa: PLR2004
        return False
    words = [word for part in _WORD.findall(name) for word in part.split("-") if word]
    every = "".join(word[0].upper() for word in words)
    capitals = "".join(word[0] for word in words if word[0].isupper())
    return letters in {every, capitals}


def _is_verb(words: Sequence[str], position: int, *, follows_name: bool) -> bool:
    """Return whether a word between two names is a verb, by a list, by its ending, or by its place behind a name."""
    word = words[position]
    if word in AUXILIARIES:
        return True
    # Behind an article, a word that could be a verb is a noun: "the play".
    if position and words[position - 1] in DETERMINERS:
        return False
    if word in VERBS:
        return True
    if word.endswith("ed"):
        return len(word) > 3 and word not in NO_VERBS  # noqa: PLR2004
    if not follows_name or not word.endswith("s") or len(word) < 4 or word.endswith(_NOUN_ENDINGS):  # noqa: PLR2004
        return False
    first = position == 0 or (position == 1 and words[0] in {"which", "that", "who", "also"})
    following = words[position + 1] if position + 1 < len(words) else ""
    return first and word not in NEVER_NAMES and (not following or following in NEVER_NAMES)


def _find_predicate(words: Sequence[str], *, follows_name: bool) -> str:
    """Return the last verb phrase of the words between two names, up to the second; empty if there is no verb."""
    position = len(words) - 1
    while position >= 0 and not _is_verb(words, position, follows_name=follows_name):
        position -= 1
    if position < 0:
        return ""
    while position > 0:
        preceding = words[position - 1]
        if _is_verb(words, position - 1, follows_name=follows_name) or preceding in _ADVERBS:
            position -= 1
        else:
            break
    predicate = [word for word in words[position:] if word not in DETERMINERS and not word[0].isdigit()]
    # The last word is a preposition in most predicates, so that it stays.
    return " ".join(
        predicate if len(predicate) <= MAX_PREDICATE_WORDS else [*predicate[: MAX_PREDICATE_WORDS - 1], predicate[-1]]
    )
