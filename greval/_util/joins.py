"""Joins by id: how many ids of each side met, an example of each, and what would make ids equal that nearly are.

Everything that joins two sets of ids asks here. Ids are equal only if they are the same text: a difference that is not
seen is named, and never ignored.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from itertools import islice
from typing import NamedTuple
from urllib.parse import unquote

from greval._util.wording import MAX_NAME_LENGTH

NO_ID_MET = "NO ID MET"
FEW_IDS_MET = "FEW IDS MET"
OFF_SCALE = "OFF SCALE"
"""The beginning of a remark about labels of which most are not on the scale of the verdicts."""
JOIN_REMARKS = (NO_ID_MET, FEW_IDS_MET, OFF_SCALE)
"""The beginnings of remarks about joins, which stand before all figures."""
MAX_COMPARED = 10_000
"""The number of ids of each side that are searched for an id that nearly meets another."""
MAX_ID_LENGTH = 300
"""The length from which a text is compared as it is, except for blanks: it is a passage and no id."""
MIN_SHAPED = 3
"""The number of different ids of a side from which their common shape shows of which kind they are."""
MIN_PASSAGE_WORDS = 10
NAME_SHAPE = "name"
"""The kind and the shape of an id that is no hash, URL or passage, and has no number."""
_QUOTES = "\"'`<>\u00b4"
_QUOTE_CATEGORIES = frozenset({"Ps", "Pe", "Pi", "Pf"})
_SPACE = re.compile(r"\s+")
_SCHEME = re.compile(r"^(?:[a-z][a-z0-9+.-]*://)(?:www\.)?|^www\.|^(?:urn|doi|file|mailto):", re.IGNORECASE)
_QUERY = re.compile(r"[?#].*$")
_ENDING = re.compile(r"(?<=[^./\\])\.[A-Za-z][A-Za-z0-9]{0,4}$")
_WHOLE_FLOAT = re.compile(r"(?<![\d.])([+-]?\d+)\.0+$")
_LEADING_ZEROS = re.compile(r"(?<![\d.])0+(?=\d)")
_SEPARATORS = re.compile(r"[\s_\-\u2010-\u2015\u2212]+")
_APOSTROPHE = re.compile("[\u2018\u2019\u02bc]")
_ACCENT = re.compile(r"(?<=[A-Za-z])[\u0300-\u036f]+")
"""A mark that is no part of a letter of another script."""
_LOOSE_SEPARATOR = re.compile(r"(?<!\d)-|-(?!\d)")
_PLAIN = re.compile(r"[a-z]*[1-9][0-9]*|[a-z]+")
_HASH = re.compile(r"(?:^|[^0-9a-z])(?=[a-f-]*[0-9])[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){2,}[0-9a-f]*\W*$", re.IGNORECASE)
_URL = re.compile(r"^(?:[a-z][a-z0-9+.-]*://|www\.)", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_PREFIX = re.compile(r"^[^\W\d_]+[\W_]*(?=\d)|^[\w ]+[:#|/]+(?=.)")
_PART = re.compile(
    r"(?<=\w)(?:[#:_./-]+|\s)(?:(?:chunk|passage|part|para|page|sec|section|p|c|s)[\s_.:-]*)?\d+$", re.IGNORECASE
)


def remove_invisible(text: str) -> str:
    """Remove invisible characters, and blanks at the ends; any other blanks become one space."""
    if text.isascii() and text.isprintable():
        return _SPACE.sub(" ", text).strip()
    kinds = (
        (character, unicodedata.category(character), "\ufe00" <= character <= "\ufe0f" or character in "\u034f\u3164")
        for character in text
    )
    visible = (" " if kind == "Cc" else char for char, kind, hidden in kinds if kind != "Cf" and not hidden)
    return _SPACE.sub(" ", "".join(visible)).strip()


def _remove_quotes(text: str) -> str:
    """Remove quotes and brackets around a text that is more than these."""
    inner = text
    while inner and _is_quote(inner[0]):
        inner = inner[1:]
    while inner and _is_quote(inner[-1]):
        inner = inner[:-1]
    return inner.strip() or text


def _is_quote(character: str) -> bool:
    return character in _QUOTES or unicodedata.category(character) in _QUOTE_CATEGORIES


def _remove_escapes(text: str) -> str:
    return html.unescape(unquote(text)) if "%" in text or "&" in text else text


def _remove_separators(text: str) -> str:
    """Remove separators, but not those between digits: 1-11 is not 11-1."""
    plain = _SEPARATORS.sub("-", text)
    return plain.replace("-", "") if _HASH.search(plain) else _LOOSE_SEPARATOR.sub("", plain)


FOLDS: Mapping[str, Callable[[str], str]] = {
    "blanks or invisible characters": remove_invisible,
    "escapes such as %20": _remove_escapes,
    "the slashes of a path": lambda text: text.replace("\\", "/"),
    "the Unicode form": lambda text: unicodedata.normalize("NFKC", _APOSTROPHE.sub("'", text)),
    "quotes or brackets": _remove_quotes,
    # Folding the case may undo the Unicode form.
    "case": lambda text: unicodedata.normalize("NFKC", text.casefold()),
    "accents": lambda text: unicodedata.normalize("NFKC", _ACCENT.sub("", unicodedata.normalize("NFD", text))),
    "the form of a URL": lambda text: _SCHEME.sub("", text).rstrip("/") or text,
    "a trailing .0": lambda text: _WHOLE_FLOAT.sub(r"\1", text),
    # The zeros of a hash are digits.
    "leading zeros": lambda text: text if _HASH.search(text) else _LEADING_ZEROS.sub("", text),
    "separators such as - and _": lambda text: _remove_separators(text) or text,
}
"""The differences of form that either side may have, with what removes them, in their order."""
PATH, ENDING, FRAGMENT, QUERY, PREFIX, PART = (
    "a path",
    "a file ending",
    "the fragment behind a #",
    "the query of a URL",
    "a prefix",
    "a number behind the id, as of a chunk",
)
CUTS = frozenset({PATH, ENDING, FRAGMENT, QUERY})
"""What only one of two ids may have: `a/x` and `b/x` may well be two documents."""
HINTED_CUTS = CUTS | {PREFIX, PART}
"""What is named in a message, but is no proof that two ids mean the same."""
ALL_FOLDS = frozenset(FOLDS)
AROUND = frozenset([*FOLDS][:5])
"""The differences that are removed before a path or an ending can be seen."""


@lru_cache(maxsize=65_536)
def _fold_id(text: str, folds: frozenset[str]) -> str:
    """Return an id without these differences."""
    if _PLAIN.fullmatch(text):
        # Nothing can be removed from it.
        return text
    if len(text) > MAX_ID_LENGTH:
        return remove_invisible(text)
    for name, remove in FOLDS.items():
        if name in folds:
            text = remove(text)
    return text


@lru_cache(maxsize=65_536)
def _list_cuts(text: str, folds: frozenset[str], cuts: frozenset[str]) -> frozenset[str]:
    """Return what an id may be without its path, ending, fragment, query, prefix or number, and these differences."""
    if _PLAIN.fullmatch(text) and PREFIX not in cuts:
        return frozenset()
    if len(text) > MAX_ID_LENGTH:
        return frozenset()
    bare = _fold_id(text, folds & AROUND)
    candidates = {bare}
    if QUERY in cuts and _URL.match(bare):
        candidates.add(_QUERY.sub("", bare))
    if FRAGMENT in cuts:
        candidates |= {_cut_fragment(candidate) for candidate in candidates}
    if PATH in cuts:
        paths = [re.split(r"[/\\]+", candidate) for candidate in candidates]
        candidates |= {"/".join(parts[start:]) for parts in paths for start in range(1, len(parts))}
    for name, pattern in ((ENDING, _ENDING), (PREFIX, _PREFIX), (PART, _PART)):
        if name in cuts:
            candidates |= {pattern.sub("", candidate) for candidate in candidates}
    return frozenset(_fold_id(candidate, folds) for candidate in candidates if candidate) - {""}


def _cut_fragment(text: str) -> str:
    """Return the path or the URL of a section of a document; a number behind it may be that of a chunk."""
    document, _, section = text.rpartition("#")
    is_section = bool(section) and not section.isdigit() and not _PART.search(text)
    return document if is_section and ("/" in document or _ENDING.search(document)) else text


class NearIds(NamedTuple):
    """An id of each side that are nearly equal, and what makes them differ."""

    left: str
    right: str
    differences: tuple[str, ...]

    @property
    def is_certain(self) -> bool:
        """True if they would be equal but for their form; a prefix or a number behind an id may have a meaning."""
        return {PREFIX, PART}.isdisjoint(self.differences)

    def __str__(self) -> str:
        return f"{format_id(self.left)} and {format_id(self.right)} differ only in {' and '.join(self.differences)}"


def find_near_ids(left_ids: Iterable[str], right_ids: Iterable[str], *, hints: bool = False) -> NearIds | None:
    """Return an id of each side that nearly meet, or None if no two do.

    With `hints`, a prefix, or a number behind an id, counts as a difference of form too.

    Example:
        >>> print(find_near_ids(["D1.txt"], ["d1", "d2"]))
        'D1.txt' and 'd1' differ only in case and a file ending
        >>> find_near_ids(["d1"], ["d2"])
    """
    cuts = HINTED_CUTS if hints else CUTS
    by_whole_id: dict[str, str] = {}
    by_cut_id: dict[str, str] = {}
    for name in islice(right_ids, MAX_COMPARED):
        by_whole_id.setdefault(_fold_id(name, ALL_FOLDS), name)
        for part in _list_cuts(name, ALL_FOLDS, cuts):
            by_cut_id.setdefault(part, name)
    for name in islice(left_ids, MAX_COMPARED):
        folded = _fold_id(name, ALL_FOLDS)
        parts = _list_cuts(name, ALL_FOLDS, cuts)
        counterpart = (
            by_whole_id.get(folded)
            or by_cut_id.get(folded)
            or next((by_whole_id[part] for part in parts if part in by_whole_id), None)
        )
        if counterpart is not None and counterpart != name and folded:
            return NearIds(name, counterpart, _explain_difference(name, counterpart, cuts))
    return None


def _explain_difference(left_id: str, right_id: str, cuts: frozenset[str]) -> tuple[str, ...]:
    """Return the fewest differences without which two ids are equal: each that is not needed is dropped."""
    names = (*FOLDS, *sorted(cuts))
    needed = list(names)
    for name in reversed(names):
        remaining = frozenset(needed) - {name}
        if _are_equal_without(left_id, right_id, remaining):
            needed.remove(name)
    return tuple(needed)


def _are_equal_without(left_id: str, right_id: str, differences: frozenset[str]) -> bool:
    folds, cuts = differences & ALL_FOLDS, differences - ALL_FOLDS
    first, second = _fold_id(left_id, folds), _fold_id(right_id, folds)
    return first == second or second in _list_cuts(left_id, folds, cuts) or first in _list_cuts(right_id, folds, cuts)


def format_id(text: str) -> str:
    r"""Format an id for a message: in quotes, shortened, with invisible characters as escapes.

    Example:
        >>> print(format_id("q1" + chr(160)))
        'q1\xa0'
    """
    return repr(text if len(text) <= MAX_NAME_LENGTH else f"{text[: MAX_NAME_LENGTH - 3]}...")


def show_id(text: str) -> str:
    """Return an id as it is if all of it can be seen, else as `format_id` does.

    Example:
        >>> show_id("q1 (local)"), show_id("q1 ")
        ('q1 (local)', "'q1 '")
    """
    return text if text.isprintable() and text.strip() == text else format_id(text)


def find_kind(text: str) -> str:
    """Return the kind of an id, as far as it is certain: a hash, a URL, a passage, else a name.

    Example:
        >>> [find_kind(text) for text in ("d1", "https://x.org/a", "5f3a9c02-11d2-4b7e-9f00-aa12bb34cc56")]
        ['name', 'URL', 'hash']
    """
    text = text.strip()
    if "\n" in text or len(text.split()) >= MIN_PASSAGE_WORDS:
        return "passage"
    if _URL.match(text):
        return "URL"
    return "hash" if _HASH.search(text) else NAME_SHAPE


def find_shape(text: str) -> str:
    """Return the shape of an id: its kind, and for a name with a number what stands around the number.

    Example:
        >>> find_shape("chunk_17"), find_shape("chunk_3"), find_shape("Ada Lovelace")
        ('chunk_0', 'chunk_0', 'name')
    """
    kind = find_kind(text)
    if kind == "hash":
        return f"hash {text.casefold().split('-')[0]}" if re.match(r"[g-z]+-", text, re.IGNORECASE) else kind
    plain = text.strip().casefold()
    return _DIGITS.sub("0", plain) if kind == NAME_SHAPE and " " not in plain and _DIGITS.search(plain) else kind


class JoinSide(NamedTuple):
    """One side of a join: what its ids are of, how many there are, how many met, and the first ids that did not."""

    name: str
    total: int
    met: int
    unmet: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.met:,} of {self.total:,} {self.name}"


class IdJoin(NamedTuple):
    """How many ids of two sides met. `left` is the side whose ids are looked up in `right`.

    `near` is an id of each side that nearly meet, and `are_unlike` whether the ids of the sides are of two kinds, so
    that none can meet.
    """

    left: JoinSide
    right: JoinSide
    near: NearIds | None = None
    are_unlike: bool = False

    @property
    def met_nothing(self) -> bool:
        """True if both sides have ids and none met."""
        return bool(self.left.total and self.right.total) and not self.left.met

    @property
    def met_few(self) -> bool:
        """True if less than half of the ids that are looked up met."""
        return self.left.met * 2 < self.left.total

    @property
    def cannot_meet(self) -> bool:
        """True if nothing met because of how the ids are written, so that a figure would say nothing."""
        return self.met_nothing and (self.near is not None or self.are_unlike)

    def describe(self) -> str:
        """Describe what met, with an id of each side that did not, and what would make them equal.

        Example:
            >>> print(join_ids(["Q1", "q7"], ["q1", "q2"], ("cases", "rows of gold")).describe())
            0 of 2 cases met 0 of 2 rows of gold; 'Q1' and 'q1' differ only in case
        """
        return f"{self.left} met {self.right}{self.describe_difference()}"

    def describe_difference(self) -> str:
        """Describe how the ids that did not meet differ, as the end of a sentence; empty if all of a side met."""
        if self.near:
            return f"; {self.near}"
        if not (self.left.unmet and self.right.unmet):
            return ""
        text = f", such as {format_id(self.left.unmet[0])} and {format_id(self.right.unmet[0])}"
        return f"{text}, which are ids of two kinds" if self.are_unlike else text

    def find_remark(self, remedy: str = "") -> str | None:
        """Return the remark that stands before all figures if less than half met, None if more did."""
        if not self.met_few or not self.left.total:
            return None
        kind = NO_ID_MET if self.met_nothing else FEW_IDS_MET
        return f"{kind}: {self.describe()}{f'; {remedy}' if remedy else ''}"


def name_remark(remark: str, name: str) -> str:
    """Return a remark with the name of what it is about behind its beginning; unchanged if the name is empty.

    Example:
        >>> name_remark("NO ID MET: 0 of 2 cases met", "bm25")
        'NO ID MET: bm25: 0 of 2 cases met'
    """
    kind, _, text = remark.partition(": ")
    return f"{kind}: {name}: {text}" if name else remark


def join_ids(left_ids: Iterable[str], right_ids: Iterable[str], names: tuple[str, str]) -> IdJoin:
    """Join two sets of ids; `names` are what the ids of each side are of, as plural nouns for messages.

    Example:
        >>> found = join_ids(["d1", "d2", "d3"], ["d1", "D2"], ("documents", "gold documents"))
        >>> found.left.met, found.right.met, str(found.near)
        (1, 1, "'d2' and 'D2' differ only in case")
    """
    first, second = dict.fromkeys(left_ids), dict.fromkeys(right_ids)
    counter = JoinCounter(second, names)
    for name in first:
        counter.add(name)
    return counter.build()


class JoinCounter:
    """Counts a join whose left side comes one id after the other, as the cases of a file do."""

    def __init__(self, right: Collection[str], names: tuple[str, str]) -> None:
        # What may be large and can be looked up already is not copied.
        self._right = frozenset(right) if not isinstance(right, dict | set | frozenset) else right
        self._names = names
        self._met_right: set[str] = set()
        self._unmet: dict[str, None] = {}
        self.total = self.met = 0

    def add(self, name: str) -> bool:
        """Count an id of the left side, and return whether it met one of the right side."""
        self.total += 1
        if name in self._right:
            self.met += 1
            self._met_right.add(name)
            return True
        if len(self._unmet) < MAX_COMPARED:
            self._unmet.setdefault(name)
        return False

    def build(self) -> IdJoin:
        """Return the join of all ids so far."""
        missed = tuple(islice((name for name in self._right if name not in self._met_right), MAX_COMPARED))
        return build_join(
            JoinSide(self._names[0], self.total, self.met, tuple(self._unmet)),
            JoinSide(self._names[1], len(self._right), len(self._met_right), missed),
        )


def build_join(left_side: JoinSide, right_side: JoinSide) -> IdJoin:
    """Build a join from the counts of both sides, with how the ids differ that did not meet."""
    near_ids = find_near_ids(left_side.unmet, right_side.unmet) or find_near_ids(
        left_side.unmet, right_side.unmet, hints=True
    )
    return IdJoin(
        left_side, right_side, near_ids, are_unlike=not left_side.met and _are_unlike(left_side.unmet, right_side.unmet)
    )


def are_of_other_kinds(left_ids: Iterable[str], right_ids: Iterable[str]) -> bool:
    """Return whether no id of one side is of a kind that the other side has, so that none can meet.

    Example:
        >>> are_of_other_kinds(["d1"], ["https://x.org/d1"]), are_of_other_kinds(["d1"], ["c7"])
        (True, False)
    """
    return set(map(find_kind, left_ids)).isdisjoint(map(find_kind, right_ids))


def _are_unlike(left_ids: Collection[str], right_ids: Collection[str]) -> bool:
    """Return whether two sides have ids of different kinds, or of one shape each that the other side has not."""
    if not left_ids or not right_ids:
        return False
    if are_of_other_kinds(left_ids, right_ids):
        return True
    shapes = [set(map(find_shape, side)) for side in (left_ids, right_ids)]
    is_uniform = all(
        len(side) >= MIN_SHAPED and len(side_shapes) == 1
        for side, side_shapes in zip((left_ids, right_ids), shapes, strict=True)
    )
    return is_uniform and shapes[0].isdisjoint(shapes[1])
