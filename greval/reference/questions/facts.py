"""Reading the facts of an index: sentences that state something of an entity, in words that a question can use.

Relations that rules extracted from free text are noisy. A relation is used only if a sentence has its subject, its
predicate and its object one right after the other. Sentences that begin with the name of an entity and a verb are facts
as well, whether the graph has a relation of them or not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations

from greval.judging.prompt import join_lines
from greval.methods.index_records import Entity, IndexedChunk, Relation
from greval.records.inventory import RELATED
from greval.reference.chunking import split_sentences
from greval.reference.extraction.words import (
    AUXILIARIES,
    DETERMINERS,
    HONORIFICS,
    NEVER_NAMES,
    NO_VERBS,
    PRONOUNS,
    STARTERS,
    VERBS,
    read_words,
)
from greval.reference.questions.records import StatedFact
from greval.reference.questions.templates import DATE

MIN_CLAUSE_WORDS, MAX_CLAUSE_WORDS = 3, 22
MIN_TELLING_WORDS, MIN_TELLING_CHARS, MIN_RARE_WORDS = 3, 5, 2
"""A clause without another name must identify the subject by this many words of this length, of which some are rare."""
MAX_RARE_SHARE, MAX_RARE_COUNT = 1 / 500, 2
"""A rare word is in at most this share of the sentences, or in this many."""
MIN_NAME_CHARS, MAX_NAME_WORDS = 3, 5
_WORD = re.compile(r"[^\W_](?:[\w\u2019-]|'\w)*")
_UNFIT = re.compile(r"[\"\u201c\u201d\u2018\u00ab\u00bb_*\[\]|=<>:;()?!]|--|\u2014|\s['\u2019]|['\u2019]\s|\.\s+[a-z]")
"""Marks of speech, notes and lists. A clause with one of them is seldom clear by itself."""
PREPOSITIONS = read_words("in at on to by with from for of as under into over near through against upon")
_SPEECH = re.compile(r"[\"\u201c\u201d\u00ab\u00bb]")
_OTHER_WOMAN = re.compile(
    rf"\bher(?=\Z|\s+(?:{'|'.join(sorted(PREPOSITIONS | DETERMINERS | {'and', 'but', 'very', 'so'}))})\b)"
)
"""A pronoun in place of an object, which never is the subject."""
_BEING = re.compile(r"(?:\w+ly\s+|soon\s+)?(?:is|was|are|were|(?:has|have|had)\s+been)\b")
_DEFINING = re.compile(rf"{_BEING.pattern}\s+(?:a|an|the|one\s+of)\s")
"""The beginning of a clause that says how or where something is, and of one that says what it is."""
_UNCLEAR = (PRONOUNS - {"his", "her", "its"}) | read_words(
    """
    this that these those there here then thus we us our i my me you your them him such same another other others
    former latter above below following so too also yet however therefore though one ones not never no nothing none
    now still again more scarcely hardly
    """
)
"""Words that point out of their sentence, or that turn it around. A question with one of them is not understood by
itself. Possessives are not among them, as they mean the subject."""
REPORTING = read_words("said says replied asked cried answered added remarked exclaimed continued began")
_GESTURES = read_words(
    """
    looked looks glanced stared gazed nodded smiled laughed sighed frowned shrugged turned paused stood stands sat sits
    rose walked stepped leaned regarded watched listened waited remained seemed felt thought hoped wished feared
    believed supposed doubted imagined expected perceived observed expressed admitted behaved entered longed spoke
    """
)
"""Verbs of what anybody in a story does or feels many times. A question for who did it has many answers."""
_UNCERTAIN = read_words("could would should may might must shall appeared")
"""Verbs of what need not be so."""
_PAST_VERBS = VERBS | read_words(
    """
    arose ate awoke beheld bent bit blew bore bound burst caught clung crept dealt drank dreamt dug dwelt flung forbade
    forgave forgot forsook froze hid hurt knelt leapt lit mistook overcame overheard overtook rang read ridden rode
    sank set shook shut slept slid slung spread sprang stole stuck strode strove struck swam swore swept swung
    threw tore trod undertook upset wept withdrew woke wound
    """
)
"""Verbs with which sentences of a narrative go on; the extraction needs fewer."""
_ADVERBS = read_words("soon once always often at last just almost first instantly immediately")
_PART_END = re.compile(r";\s*(?:--|\u2014)?\s*(?:(?:and|but)\s+)?|(?<=\.)(?:--|\u2014)\s*|,\s+(?:and|but)\s+(?=[A-Z])")
"""The end of a part of a sentence, behind which another subject may begin."""
_DEPENDING = read_words("if unless whether that lest though because when while until as")
"""Words on which what follows in the sentence may depend, so that it is not stated by itself."""
_TITLED = re.compile(
    rf"(?<![\w-])(?P<title>(?:{'|'.join(word.title() for word in sorted(HONORIFICS) if word.isalpha())})\.?)"
    r"\s+(?P<name>(?:St\.\s+)?[A-Z][\w\u2019'-]*(?:\s+[A-Z][\w\u2019'-]*)*)"
)
_POSSESSIVE = re.compile(r"['\u2019]s\Z")
_INSERTION = re.compile(r",\s[^,;]+,(?=\s)")
"""What a sentence inserts between its subject and its verb."""
_NO_START = read_words("being been having including starring featuring called known born")
_COMMON = NEVER_NAMES | STARTERS | VERBS
_NEW_SUBJECTS = PRONOUNS | DETERMINERS
_END = re.compile(r"[.\s]+\Z")
_CLAUSE_END = re.compile(
    r"(?P<joined>\s+(?:and|but)\s+(?P<next>\w+))|\s+(?:who|whom|whose|which|where|when|while|because)\s"
    r"|[,;]|:(?=\s)|--|\u2014"
)
NAME_END = (
    r"(?=\s*[.,;]|\s+(?:to|in|on|at|for|from|with|by|because|when|while|where|who|which|as|after|before)\b"
    r"|\s+and\s+(?:is|was|has|[a-z]+(?:s|ed|en))\b|\s*\Z)"
)
"""What may follow the object of a relation, so that its name is not the beginning of a longer one."""
_NEEDED_END = re.compile(r"\s+(?:to|by|with|into|from)\b")
"""What a verb with an object may still need, as in "took Suza by the hand" and "permitted Roxie to go"."""
_PAIRING = read_words("both between either neither")
"""Words that need a second part, which the end of a clause may have cut off."""
_CUT_ADJECTIVE = re.compile(r"\b(?:a|an|the|his|her|its|their)\s+[a-z]+\Z")
_LOOSE_END = PREPOSITIONS | read_words(
    "the a an and or but his her its their very which who two three four five six ten dozen hundred thousand"
)


@dataclass(frozen=True)
class IndexText:
    """The chunks of an index, its entities and its relations, by the names that texts use.

    `owners` has the entity of each of its names in lower case. A name of several entities is in none. `described` is
    true if the labels of relations are descriptions, as whole sentences, and not predicates. `bearers` has the entity
    of each name with a title before it: "Mr. Elton" and "Mrs. Elton" are two persons, whom the graph has as "Elton".
    """

    chunks: Mapping[str, IndexedChunk]
    entities: Mapping[str, Entity]
    relations: Sequence[Relation]
    owners: Mapping[str, str] = field(default_factory=dict)
    described: bool = False
    bearers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def build(
        cls,
        chunks: Sequence[IndexedChunk],
        entities: Sequence[Entity],
        relations: Sequence[Relation],
        *,
        described: bool = False,
    ) -> IndexText:
        """Return the text of an index, with the names of its entities."""
        owners: dict[str, set[str]] = {}
        for entity in entities:
            for name in (entity.name, *entity.aliases):
                owners.setdefault(name.casefold(), set()).add(entity.name)
        single = {name: next(iter(holders)) for name, holders in owners.items() if len(holders) == 1}
        by_id, by_name = {chunk.id: chunk for chunk in chunks}, {entity.name: entity for entity in entities}
        titled, bearers = ({}, {}) if described else _find_titled(chunks, single)
        single |= {name.casefold(): name for name in titled}
        return cls(by_id, by_name | titled, relations, single, described, bearers)

    def list_names(self, entity: str) -> tuple[str, ...]:
        """Return the names of an entity, its main name first."""
        return (entity, *self.entities[entity].aliases)

    def get_bearer(self, name: str) -> str:
        """Return the entity of the graph that bears a name, without its title."""
        return self.bearers.get(name, name)

    def find_entities(self, question: str) -> frozenset[str]:
        """Return the entities that a question names, by names that only one entity has."""
        folded = question.casefold()
        return frozenset(
            entity for name, entity in self.owners.items() if name in folded and has_phrase(question, name)
        )

    @cached_property
    def longer_names(self) -> Mapping[str, Sequence[str]]:
        """The names that begin with, end with or enclose the name of an entity, by that name in lower case."""
        names = {name.casefold() for entity in self.entities for name in self.list_names(entity)}
        longer: dict[str, list[str]] = {}
        for name in names:
            words = name.split()
            spans = combinations(range(len(words) + 1), 2)
            for part in {" ".join(words[begin:end]) for begin, end in spans} & names - {name}:
                longer.setdefault(part, []).append(name)
        return longer

    @cached_property
    def sentences(self) -> Mapping[str, Sequence[str]]:
        """The sentences of each chunk, each on one line."""
        return {chunk.id: [*map(join_lines, split_sentences(chunk.text))] for chunk in self.chunks.values()}

    @cached_property
    def is_rare(self) -> Callable[[str], bool]:
        """Return whether few sentences have a word in lower case."""
        sentences = {sentence.casefold() for _, sentence in self.list_sentences()}
        counts = Counter(word for sentence in sentences for word in {*_WORD.findall(sentence)})
        most = max(MAX_RARE_COUNT, MAX_RARE_SHARE * len(sentences))
        return lambda word: counts[word] <= most

    def list_sentences(self) -> Iterator[tuple[str, str]]:
        """Yield all sentences, each with its chunk."""
        return ((chunk, sentence) for chunk, sentences in self.sentences.items() for sentence in sentences)


def _find_titled(chunks: Sequence[IndexedChunk], owners: Mapping[str, str]) -> tuple[dict[str, Entity], dict[str, str]]:
    """Return the names that have a title in the texts, as entities, and who bears each of them.

    The name alone means the same person if it has one title only.
    """
    places: dict[tuple[str, str], list[str]] = {}
    for chunk in chunks:
        for match in _TITLED.finditer(join_lines(chunk.text)):
            words = _POSSESSIVE.sub("", match["name"]).split()
            names = (" ".join(words[:length]) for length in range(len(words), 0, -1))
            if name := next((name for name in names if name.casefold() in owners), ""):
                places.setdefault((match["title"], name), []).append(chunk.id)
    titles = Counter(name for _, name in places)
    entities: dict[str, Entity] = {}
    bearers: dict[str, str] = {}
    for (title, name), chunk_ids in places.items():
        titled = f"{title} {name}"
        if titled.casefold() not in owners:
            aliases = (name,) if titles[name] == 1 else ()
            entities[titled] = Entity(name=titled, aliases=aliases, chunks=tuple(dict.fromkeys(chunk_ids)))
            bearers[titled] = owners[name.casefold()]
    return entities, bearers


def has_phrase(text: str, phrase: str) -> bool:
    """Return whether a text holds a phrase as whole words, in any case.

    Example:
        >>> has_phrase("Team Eider owns it.", "team eider"), has_phrase("Eiderdown", "Eider")
        (True, False)
    """
    return compile_phrase(phrase).search(text) is not None


@lru_cache(65_536)
def compile_phrase(phrase: str) -> re.Pattern[str]:
    """Return the pattern of a phrase as whole words, in any case."""
    words = r"\s+".join(map(re.escape, phrase.split()))
    return re.compile(rf"(?<![\w-]){words}(?![\w-])", re.IGNORECASE)


def list_facts(text: IndexText) -> list[StatedFact]:
    """Return the facts of an index: those of its relations first, each sentence once for each document."""
    sound_names = _find_sound_names(text)
    facts: dict[tuple[str, str, str], StatedFact] = {}
    for fact in (*_list_relation_facts(text, sound_names), *_list_sentence_facts(text, sound_names)):
        facts.setdefault((fact.document, fact.subject, fact.clause.casefold()), fact)
    return [*facts.values()]


def _find_sound_names(text: IndexText) -> dict[str, list[str]]:
    """Return the names that are used in each chunk, of entities that also stand within a sentence."""
    sound: dict[str, list[str]] = {}
    chunk_counts = Counter(word for chunk in text.chunks.values() for word in {*_WORD.findall(chunk.text)})
    sources = {relation.source for relation in text.relations if relation.label != RELATED}
    for entity in text.entities.values():
        # In a play, the names of those who speak are in capitals, and sentences with them direct the stage.
        is_direction = entity.name.isupper() and entity.name.title() in entity.aliases
        if is_direction or not _is_clean_name(entity.name):
            continue
        # A word that only begins sentences or stands in headings is capitalised for that reason, and may be no name.
        phrase = re.compile(rf"[\w,] {compile_phrase(entity.name).pattern}")
        within = any(
            phrase.search(sentence)
            for chunk in entity.chunks
            for sentence in text.sentences.get(chunk, ())
            if sentence[-1:] == "."
        )
        # A component in lower case does something; "two-disc" and "upper-ten" are words with a hyphen.
        # Where most chunks use the word without naming anything by it, it is a common word.
        is_component = entity.name in sources and 2 * len(entity.chunks) >= chunk_counts[entity.name]
        if within if entity.name[0].isupper() else is_component:
            for chunk in entity.chunks:
                sound.setdefault(chunk, []).append(entity.name)
    return sound


def _is_clean_name(name: str) -> bool:
    """Return whether a name is one that a question can use: short, with letters, and no common word."""
    words = name.split()
    if len(name) < MIN_NAME_CHARS or len(words) > MAX_NAME_WORDS or not re.fullmatch(r"[\w .'\u2019&-]*\w", name):
        return False
    if len(words) > 1 and any(word.isdigit() for word in words[:-1]):
        return False
    is_heading = name.isupper() and len(words) > 1
    return any(c.isalpha() for c in name) and not is_heading and not {*map(str.casefold, words)} <= _COMMON


def _list_relation_facts(text: IndexText, sound_names: Mapping[str, Sequence[str]]) -> Iterator[StatedFact]:
    for relation in () if text.described else text.relations:
        if relation.label in {RELATED, ""}:
            continue
        for chunk in relation.chunks:
            if {relation.source, relation.target} <= {*sound_names.get(chunk, ())} and chunk in text.chunks:
                yield from _read_relation(text.chunks[chunk], text.sentences[chunk], relation)


def _read_relation(chunk: IndexedChunk, sentences: Sequence[str], relation: Relation) -> Iterator[StatedFact]:
    """Yield the relation as a fact if a sentence states it word by word.

    The subject may be "It" if the sentence before begins with its name, or if it is the title of the document.
    """
    words = relation.label.casefold().split()
    if not begins_with_verb(words) or not _ends_a_predicate(words) or _is_unclear(words) or words[0] in _GESTURES:
        return
    verb = r"\s+(?:(?:a|an|the)\s+)?".join(map(re.escape, relation.label.split()))
    target = compile_phrase(relation.target).pattern
    stated = re.compile(rf"\s+(?P<verb>{verb})\s+(?P<article>(?:a|an|the)\s+)?{target}{NAME_END}")
    previous = chunk.title
    for sentence in sentences:
        start = re.match(rf"(?:(?:The|A|An)\s+)?{compile_phrase(relation.source).pattern}|It(?=\s)", sentence)
        is_meant = start is not None and (start[0] != "It" or _begins_with(previous, relation.source))
        if start and is_meant and (match := stated.match(sentence, start.end())):
            if words[-1] not in PREPOSITIONS and _NEEDED_END.match(sentence, match.end()):
                return
            predicate = " ".join(match["verb"].split())
            article = match["article"] or ""
            yield StatedFact(
                subject=relation.source,
                clause=f"{predicate} {article}{relation.target}",
                names=(relation.target,),
                predicate=predicate,
                object=relation.target,
                edges=((relation.source, relation.label, relation.target),),
                chunk=chunk.id,
                document=chunk.doc_id,
                sentence=sentence,
            )
            return
        if not sentence.startswith("It "):
            previous = sentence


def _begins_with(text: str, name: str) -> bool:
    return _compile_beginning(name).match(text) is not None


@lru_cache(65_536)
def _compile_beginning(name: str) -> re.Pattern[str]:
    """Return the pattern of a name with an article before it, if there is one."""
    return re.compile(rf"(?:(?:The|A|An)\s+)?{compile_phrase(name).pattern}")


def _list_sentence_facts(text: IndexText, sound_names: Mapping[str, Sequence[str]]) -> Iterator[StatedFact]:
    """Yield the facts of sentences with the relations between their names."""
    edges: dict[str, list[Relation]] = {}
    for relation in text.relations:
        for chunk in relation.chunks:
            edges.setdefault(chunk, []).append(relation)
    for chunk, names in sound_names.items():
        facts = (
            _read_part(text, text.chunks[chunk], sentence, part, names)
            for sentence in text.sentences[chunk]
            for part in _split_parts(sentence)
        )
        for fact in facts:
            if fact is not None:
                ends = {*map(text.get_bearer, (fact.subject, *fact.names))}
                stated = (edge for edge in edges.get(chunk, ()) if {edge.source, edge.target} <= ends)
                # A sentence need not state all that the description of a relation does: then its edge has no label.
                yield fact.model_copy(
                    update={
                        "edges": tuple(
                            dict.fromkeys(
                                (edge.source, "" if text.described else edge.label, edge.target) for edge in stated
                            )
                        )
                    }
                )


def _split_parts(sentence: str) -> Iterator[str]:
    """Yield the parts of a sentence that state something by themselves, as far as its words show."""
    if not sentence.endswith("."):
        return
    first, *others = _PART_END.split(sentence)
    yield first
    preceding = {*map(str.casefold, _WORD.findall(first))}
    for part in others:
        if not preceding.isdisjoint(_DEPENDING) or _SPEECH.search(sentence):
            return
        yield part
        preceding |= {*map(str.casefold, _WORD.findall(part))}


def _read_part(
    text: IndexText, chunk: IndexedChunk, sentence: str, part: str, names: Sequence[str]
) -> StatedFact | None:
    """Return what a part of a sentence states of the entity that it begins with; None if it is not clear by itself."""
    begun = [name for name in names if _begins_with(part, name)]
    if not begun:
        return None
    subject = max(begun, key=len)
    following = _compile_beginning(subject).sub("", part, count=1)
    inserted = _INSERTION.match(following)
    remainder = _END.sub("", following[inserted.end() :] if inserted else following)
    if not remainder.startswith(" "):
        return None
    # What follows the first clause may have another subject.
    clause = _cut_clause(remainder).strip()
    if _cuts_adjectives(clause, remainder.strip()[len(clause) :]):
        return None
    mentioned = [name for name in names if name != subject and has_phrase(clause, name)]
    outer = tuple(
        name for name in mentioned if not any(name != longer and has_phrase(longer, name) for longer in mentioned)
    )
    if not _is_clear(clause) or not _is_specific(text, clause, outer):
        return None
    return StatedFact(
        subject=subject, clause=clause, names=outer, chunk=chunk.id, document=chunk.doc_id, sentence=sentence
    )


def _cut_clause(text: str) -> str:
    """Return what follows a subject up to the end of the first clause; an "and" between nouns does not end it."""
    for match in _CLAUSE_END.finditer(text):
        following = (match["next"] or "").casefold()
        # One subject has no verb in its base form: "the summer and fall" are two nouns.
        is_verb = begins_with_verb([following]) and not {f"{following}s", f"{following}es"} & VERBS
        if not match["joined"] or is_verb or following in _NEW_SUBJECTS | _DEPENDING:
            return text[: match.start()]
    return text


def _cuts_adjectives(clause: str, following: str) -> bool:
    """Return whether a clause ends between two adjectives, as "with a sweet" does before ", trusting smile".

    Or between other words that a dash joins.
    """
    if re.match(r"(?:--|\u2014)[a-z]", following):
        return True
    match = re.match(r",\s+(?P<next>[a-z]+)\s+[a-z]+", following)
    return bool(_CUT_ADJECTIVE.search(clause)) and match is not None and match["next"] not in NEVER_NAMES


def list_telling_words(clause: str) -> list[str]:
    """List the words of a clause that are long enough to make it differ from others, in lower case."""
    return [word for word in map(str.casefold, _WORD.findall(clause)) if len(word) >= MIN_TELLING_CHARS]


def _is_specific(text: IndexText, clause: str, names: Sequence[str]) -> bool:
    """Return whether a clause identifies its subject: what it says of how somebody is or feels may be said of many."""
    words = list_unnamed_words(clause, names)
    is_defining = _DEFINING.match(clause) is not None
    if DATE.search(clause) or (names and (is_defining or words)):
        return True
    if len(words) < MIN_TELLING_WORDS or (_BEING.match(clause) and not is_defining):
        return False
    return is_defining or sum(map(text.is_rare, words)) >= MIN_RARE_WORDS


def list_unnamed_words(clause: str, names: Sequence[str]) -> list[str]:
    """List the long words of a clause that are neither words of these names nor adverbs, in lower case."""
    named = {word for name in names for word in list_telling_words(name)}
    return [word for word in list_telling_words(clause) if word not in named and not word.endswith("ly")]


def _is_clear(clause: str) -> bool:
    """Return whether a clause begins with a verb, and has no word that points out of its sentence."""
    words = [word.casefold() for word in _WORD.findall(clause)]
    if _UNFIT.search(clause) or _OTHER_WOMAN.search(clause) or not MIN_CLAUSE_WORDS <= len(words) <= MAX_CLAUSE_WORDS:
        return False
    verbs = words[1:] if words[0] in _ADVERBS or words[0].endswith("ly") else words
    is_verb = begins_with_verb(verbs) and verbs[0] not in REPORTING | _GESTURES | _UNCERTAIN
    lacks_second = _PAIRING & {*words} and not {"and", "or", "nor"} & {*words}
    return is_verb and not lacks_second and not _is_unclear(words) and words[-1] not in _LOOSE_END


def _is_unclear(words: Sequence[str]) -> bool:
    """Return whether words in lower case point out of their sentence, or turn it around."""
    return not _UNCLEAR.isdisjoint(words) or any(word.endswith(("n't", "n\u2019t")) for word in words)


def begins_with_verb(words: Sequence[str]) -> bool:
    """Return whether the first of some words in lower case is a finite verb, as far as its form or a list shows."""
    first = words[0]
    is_verb = first in AUXILIARIES or first in _PAST_VERBS or (first.endswith("ed") and len(first) > MIN_NAME_CHARS + 1)
    return is_verb and first not in _NO_START and first not in NO_VERBS


def _ends_a_predicate(words: Sequence[str]) -> bool:
    """Return whether an object can follow a predicate: it ends with a preposition, or is a single verb."""
    return words[-1] in PREPOSITIONS or (len(words) == 1 and words[0] not in AUXILIARIES)
