"""Names of entities: how they are normalised, and which of them are one entity.

Names are resolved in steps: names of one normalised form, names that the settings
give, names that a text states ("Full Name (FN)"), names with and without a qualifier ("Algiers (film)"), and names that
are spelled almost alike. The result does not depend on the order of the chunks.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from greval.methods.index_records import Entity, Relation
from greval.reference.extraction.words import NO_PLURALS
from greval.reference.records import Extraction
from greval.reference.settings import ResolutionSettings

ALIAS = "also known as"
"""The predicate of a statement that its object is another name of its subject."""

MIN_SIMILAR_CHARS = 7
"""The fewest characters of names, and of words of names, that may be one entity because they are spelled alike."""
MAX_ACRONYM_CHARS = 3
"""The most letters of an acronym that is kept apart from a word of the same letters."""

_BLOCK_ROWS = 1000
"""The number of names that are compared with a block of names at a time, so that the table of scores stays small."""

_LEGAL_FORM = re.compile(
    r"""(?:,?\s+(?:(?:inc|incorporated|corp|corporation|ltd|llc|llp|plc|gmbh|pty)\.?|l\.l\.c\.|p\.l\.c\.
    |limited|(?-i:Co\.|S\.A\.|S\.A|SA|A\.G\.|AG|A\.B\.|B\.V\.|BV|N\.V\.|S\.p\.A\.|S\.r\.l\.|KG|Oy|AB)))+\Z""",
    re.VERBOSE | re.IGNORECASE,
)
_INITIALS = re.compile(r"(?<![^\W_])([^\W\d_])\.\s*(?=[^\W\d_]\.)")
_POSSESSIVE = re.compile(r"['\u2019`]s?(?!\w)")
_APOSTROPHE = re.compile(r"(?<=\w)['\u2019`\u02bb](?=\w)")
_INNER_DOT = re.compile(r"(?<!\w)\.|\.(?!\w)")
_MARK = re.compile(
    # Marks of scripts that write vowels as marks are letters to a reader, but no word characters to `re`.
    r"[^\w\s.+#()\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0fff\u1000-\u109f\u1780-\u17ff\u3099\u309a]|_"
)
_PLUS = re.compile(r"(?<![\w+#])[+#]+")
_BRACKET = re.compile(r"[()]")
_BRACKETED = re.compile(r"(.*[^\s()].*?)\(([^()]*\w[^()]*)\)\s*\Z", re.DOTALL)
_QUALIFIER = re.compile(r"(?P<base>\S.*?)\s*(?P<qualifier>\([^()]+\)|,(?:\s[^\W\d_a-z][^,\s]*){1,3})\Z", re.DOTALL)
_ROMAN = re.compile(r"(?=[ivxlc])(?:c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})\Z")
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "\u0131": "i"})
_MARKS_OF_LETTERS = range(0x300, 0x370)
_ARTICLES = ("the ", "a ", "an ")
_KEPT_ENDINGS = ("ss", "us", "is", "as", "os", "ics", "ies")


class ResolvedGraph(NamedTuple):
    """The entities and relations of all chunks, sorted, and how their names were resolved.

    `names` is the number of different spellings, with those that the settings give. `merged` is the number of names
    that each step merged with another; the names less the merged ones are the entities.
    """

    entities: tuple[Entity, ...]
    relations: tuple[Relation, ...]
    names: int
    merged: dict[str, int]


def normalise_spelling(text: str) -> str:
    """Return the form of a name that all its spellings share.

    Case, accents, punctuation, a possessive, a leading article, a legal form and the plural do not count. A qualifier
    in brackets at the end does.

    Example:
        >>> [normalise_spelling(name) for name in ("Acme Corp.", "ACME", "the batteries", "Zoë's", "Algiers (film)")]
        ['acme', 'acme', 'battery', 'zoe', 'algiers (film)']
    """
    return _normalise(text, singular=True)


def _normalise(text: str, *, singular: bool) -> str:
    folded = _fold_name(text, singular=singular)
    # A pass removes one of two articles, and normalising again must change nothing.
    while (refolded := _fold_name(folded, singular=singular)) != folded:
        folded = refolded
    return folded


def split_qualifier(name: str) -> tuple[str, str]:
    """Split a name into the name itself and what distinguishes it from others of this name.

    Example:
        >>> split_qualifier("Algiers (film)"), split_qualifier("Laie, Hawaii"), split_qualifier("Oahu")
        (('Algiers', '(film)'), ('Laie', ', Hawaii'), ('Oahu', ''))
    """
    match = _QUALIFIER.match(name)
    return (match["base"], match["qualifier"]) if match and "," not in match["base"] else (name, "")


def resolve_entities(extractions: Iterable[tuple[str, Extraction]], settings: ResolutionSettings) -> ResolvedGraph:
    """Return the graph of extractions, each with the id of its chunk.

    The result is the same in any order of the extractions. An entity has its most frequent spelling as its name, and
    of several the longest; relations between the same entities with the same label are one.
    """
    names = _read_names(extractions)
    resolver = _Resolver(names, settings)
    resolver.merge_all()
    return resolver.build_graph()


def _fold_name(text: str, *, singular: bool) -> str:
    """Return a name with one pass of each rule applied."""
    name = _LEGAL_FORM.sub("", unicodedata.normalize("NFKC", text).strip()).casefold()
    if not name.isascii():
        decomposed = unicodedata.normalize("NFKD", name)
        name = "".join(letter for letter in decomposed if ord(letter) not in _MARKS_OF_LETTERS)
        name = unicodedata.normalize("NFKC", name).casefold().translate(_LETTERS)
    name = _INITIALS.sub(r"\1", name)
    name = _APOSTROPHE.sub("", _POSSESSIVE.sub("", name)).replace("&", " and ")
    name = _PLUS.sub(" ", _INNER_DOT.sub(" ", _MARK.sub(" ", name)))
    match = _BRACKETED.match(name)
    base, qualifier = (match[1], f" ({' '.join(match[2].split())})") if match else (name, "")
    name = " ".join(_BRACKET.sub(" ", base).split())
    for article in _ARTICLES:
        if name.startswith(article) and len(name) > len(article):
            name = name.removeprefix(article)
    name = f"{_make_singular(name) if singular and not qualifier else name}{qualifier}".strip()
    return name or " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _make_singular(name: str) -> str:
    """Return a name with its last word in the singular."""
    head, space, last = name.rpartition(" ")
    if len(last) < 4 or not last.endswith("s") or not last.isalpha() or last in NO_PLURALS:  # noqa: PLR2004
        return name
    if last.endswith("ies") and len(last) > 4:  # noqa: PLR2004
        last = f"{last[:-3]}y"
    elif last.endswith(("sses", "shes", "ches", "xes")):
        last = last[:-2]
    elif not last.endswith(_KEPT_ENDINGS):
        last = last[:-1]
    return f"{head}{space}{last}"


@dataclass
class _Names:
    """All spellings with their chunks and types, and all relations with theirs."""

    chunks: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    types: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    relations: dict[tuple[str, str, str], set[str]] = field(default_factory=lambda: defaultdict(set))


def _read_names(extractions: Iterable[tuple[str, Extraction]]) -> _Names:
    """Read the spellings and the relations of all extractions. An end of a statement is a mention as well."""
    names = _Names()
    for chunk, extraction in extractions:
        for mention in extraction.mentions:
            if name := " ".join(mention.name.split()):
                names.chunks[name].add(chunk)
                if mention.type:
                    names.types[name][mention.type] += 1
        for statement in extraction.statements:
            source, target = " ".join(statement.subject.split()), " ".join(statement.object.split())
            if source and target:
                names.chunks[source].add(chunk)
                names.chunks[target].add(chunk)
                names.relations[source, " ".join(statement.predicate.split()), target].add(chunk)
    return names


class _Resolver:
    """Groups of spellings, merged step by step."""

    def __init__(self, names: _Names, settings: ResolutionSettings) -> None:
        self.names = names
        self.settings = settings
        self.spellings = sorted(names.chunks)
        self.keys = {name: normalise_spelling(name) for name in self.spellings}
        self.given: dict[str, str] = {}
        self._add_given()
        self.parents = {name: name for name in self.spellings}
        self.merged: dict[str, int] = {}

    def merge_all(self) -> None:
        """Take all steps."""
        # The steps are generators: each looks at the groups that the steps before it left.
        for step, pairs in {
            "normalisation": self._find_equal(),
            **({"given aliases": self._find_given()} if self.settings.aliases else {}),
            "stated aliases": self._find_stated(),
            "qualifiers": self._find_qualified(),
            **({"similarity": self._find_similar()} if self.settings.similarity < 1 else {}),
        }.items():
            self.merged[step] = sum(self._join(first, second) for first, second in pairs)

    def find_root(self, name: str) -> str:
        """Return the spelling that stands for the group of a spelling: the first of it in alphabetical order."""
        root = name
        while self.parents[root] != root:
            root = self.parents[root]
        # The path is shortened, so that the next search for any name on it takes one step.
        while self.parents[name] != root:
            self.parents[name], name = root, self.parents[name]
        return root

    def _join(self, name: str, alias: str) -> bool:
        first, second = sorted((self.find_root(name), self.find_root(alias)))
        self.parents[second] = first
        return first != second

    def _find_equal(self) -> Iterator[tuple[str, str]]:
        """Find spellings of one normalised form."""
        groups: dict[str, list[str]] = defaultdict(list)
        for name, key in self.keys.items():
            groups[key].append(name)
        for group in groups.values():
            # If no spelling is in lower case, all are names. Then a plural and a singular are two entities ("Rolling
            # Stone" and "Rolling Stones"), and so are an acronym and a word (WHO and Who).
            common = len(group) == 1 or any(name == name.lower() for name in group)
            parts: dict[str, list[str]] = defaultdict(list)
            for name in group:
                parts["" if common else _make_strict_key(name)].append(name)
            for names in parts.values():
                yield from ((names[0], spelling) for spelling in names[1:])

    def _add_given(self) -> None:
        """Read which spellings have a given name. A name that no text has is a spelling from here on."""
        aliases = sorted(self.settings.aliases.items())
        targets = {normalise_spelling(alias): " ".join(name.split()) for alias, name in aliases if name.strip()}
        for key in sorted({*self.keys.values()} & {*targets}):
            final, chain = targets[key], [key]
            while (following := normalise_spelling(final)) in targets and following not in chain:
                chain.append(following)
                final = targets[following]
            # A circle: all of its names are one, by the first of them.
            if following in chain:
                following = min(chain[chain.index(following) :])
                final = next(name for name in sorted(targets.values()) if normalise_spelling(name) == following)
            self.given[key] = final
        for final in sorted({*self.given.values()} - {*self.names.chunks}):
            self.names.chunks[final] = set()
            self.keys[final] = normalise_spelling(final)
        self.spellings = sorted(self.names.chunks)

    def _find_given(self) -> Iterator[tuple[str, str]]:
        """Find the names that the settings give another name, with that name."""
        chosen = {normalise_spelling(final): final for final in sorted(self.given.values(), reverse=True)}
        for name in self.spellings:
            key = self.keys[name]
            final = self.given.get(key) or chosen.get(key)
            if final is not None:
                yield final, name

    def _find_stated(self) -> Iterator[tuple[str, str]]:
        """Find the other names that texts state, unless a name is stated of several entities."""
        subjects: dict[str, set[str]] = defaultdict(set)
        for source, label, target in self.names.relations:
            if label == ALIAS:
                subjects[self.find_root(target)].add(self.find_root(source))
        sizes: Counter[str] = Counter()
        for name, chunks in self.names.chunks.items():
            sizes[self.find_root(name)] += len(chunks)
        for target in sorted(subjects):
            sources = sorted(subjects[target] - {target})
            # A last name is resolved only if it is no more frequent than the full name: a place with the name of a
            # person is.
            if len(sources) == 1 and (not _is_part(target, sources[0]) or sizes[target] <= sizes[sources[0]]):
                yield sources[0], target

    def _find_qualified(self) -> Iterator[tuple[str, str]]:
        """Find names with a qualifier that are the only one of their base, if the base is a name as well."""
        bases: dict[str, set[str]] = defaultdict(set)
        plain: dict[str, list[str]] = defaultdict(list)
        for name in self.spellings:
            base, qualifier = split_qualifier(name)
            if qualifier:
                bases[normalise_spelling(base)].add(self.find_root(name))
            plain[self.keys[name]].append(name)
        for key in sorted(bases):
            if len(bases[key]) == 1 and key in plain:
                yield plain[key][0], next(iter(bases[key]))

    def _find_similar(self) -> Iterator[tuple[str, str]]:
        """Find names that are spelled almost alike. Numbers and codes are equal; names of one chunk are kept apart."""
        first: dict[str, str] = {}
        for name in self.spellings:
            first.setdefault(self.keys[name], name)
        blocks: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for key in sorted(first):
            if len(key) >= MIN_SIMILAR_CHARS:
                # Only names with the same beginning, numbers and codes can be alike, so that few pairs are compared.
                codes = [word for word in re.split(r"[ ()]+", key) if _is_code(word)]
                blocks[key[:2], *codes].append(key)
        for block in blocks.values():
            if len(block) > 1:
                for key_a, key_b in _compare_block(block, self.settings.similarity):
                    # A chunk that has both spellings means two entities.
                    if not self.names.chunks[first[key_a]] & self.names.chunks[first[key_b]]:
                        yield first[key_a], first[key_b]

    def build_graph(self) -> ResolvedGraph:
        """Return the entities and relations of the groups."""
        groups: dict[str, list[str]] = defaultdict(list)
        for name in self.spellings:
            groups[self.find_root(name)].append(name)
        preferred = {self.find_root(name): name for name in sorted(self.given.values(), reverse=True)}
        titles = {root: preferred.get(root) or self._choose_name(members) for root, members in groups.items()}
        name_of = {member: titles[root] for root, members in groups.items() for member in members}
        entities = (self._build_entity(titles[root], members) for root, members in groups.items())
        relations: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        for (source, label, target), chunks in self.names.relations.items():
            ends = name_of[source], name_of[target]
            # That a last name stands for a full name is no relation between two entities.
            if ends[0] != ends[1] and not (label == ALIAS and _is_part(ends[1], ends[0])):
                relations[ends[0], label, ends[1]] |= chunks
        return ResolvedGraph(
            entities=tuple(sorted(entities, key=lambda entity: entity.name)),
            relations=tuple(
                Relation(source=source, label=label, target=target, chunks=_sort_chunks(chunks))
                for (source, label, target), chunks in sorted(relations.items())
            ),
            names=len(self.spellings),
            merged=self.merged,
        )

    def _choose_name(self, members: Sequence[str]) -> str:
        """Choose the most frequent spelling, and of several the longest."""
        return min(members, key=lambda name: (-len(self.names.chunks[name]), -len(name), name))

    def _build_entity(self, name: str, members: Sequence[str]) -> Entity:
        types: Counter[str] = Counter()
        chunks: set[str] = set()
        for member in members:
            types.update(self.names.types.get(member, {}))
            chunks |= self.names.chunks[member]
        kind = min(types, key=lambda kind: (-types[kind], kind)) if types else ""
        aliases = tuple(member for member in members if member != name)
        return Entity(name=name, type=kind, aliases=aliases, chunks=_sort_chunks(chunks))


def _is_part(name: str, of: str) -> bool:
    return of.endswith(f" {name}")


def _make_strict_key(name: str) -> str:
    """Return the normalised form of a name that keeps its plural, and a mark if the name is a short acronym."""
    letters = [letter for letter in name if letter.isalpha()]
    acronym = len(letters) <= MAX_ACRONYM_CHARS and all(letter.isupper() for letter in letters)
    return f"{_normalise(name, singular=False)}{'!' if acronym else ''}"


def _is_code(word: str) -> bool:
    """Return whether a word must be equal in two names of one entity: a number, a code, a numeral or an initial."""
    return len(word) == 1 or bool(_ROMAN.match(word)) or any(letter.isdigit() for letter in word)


def _compare_block(block: Sequence[str], similarity: float) -> Iterator[tuple[str, str]]:
    from rapidfuzz import fuzz, process

    for start in range(0, len(block), _BLOCK_ROWS):
        rows = block[start : start + _BLOCK_ROWS]
        scores = process.cdist(rows, block, scorer=fuzz.ratio, score_cutoff=100 * similarity)
        for row, column in zip(*scores.nonzero(), strict=True):
            first, second = rows[row], block[column]
            if first < second and _is_same_spelling(first, second):
                yield first, second


def _is_same_spelling(first: str, second: str) -> bool:
    """Return whether two similar names differ by a slip of spelling and not by a word.

    They differ by spaces, or in one long word of the same first letter, by one letter that is not at its end: an
    ending makes another word of it (Bulgaria, Bulgarian), unless the last letter is doubled.
    """
    if first.replace(" ", "") == second.replace(" ", ""):
        return True
    first_words, second_words = first.split(), second.split()
    if len(first_words) != len(second_words):
        return False
    differing = [(word, against) for word, against in zip(first_words, second_words, strict=True) if word != against]
    if len(differing) != 1:
        return False
    short, long = sorted(differing[0], key=len)
    if len(short) < MIN_SIMILAR_CHARS or short[0] != long[0]:
        return False
    return not long.startswith(short) or long[len(short) :] == short[-1]


def _sort_chunks(chunks: Iterable[str]) -> tuple[str, ...]:
    """Return ids of chunks by document and position."""

    def read_place(chunk: str) -> tuple[str, int, str]:
        document, _, position = chunk.rpartition("#")
        # By number, so that the tenth chunk follows the ninth.
        return document, int(position) if position.isascii() and position.isdigit() else 0, chunk

    return tuple(sorted(chunks, key=read_place))
