"""The glossary and the public names agree: one word, one meaning."""

from __future__ import annotations

import re

import pytest
from doc_pages import PAGES
from public_faces import NAMES

GLOSSARY = "docs/glossary.md"
WORD = re.compile(r"\w+")
PLAIN = frozenset(
    WORD.findall("""
    answer capabilities check checks collect collected context create data definition depth draft evaluate
    evaluation events extra fault fill finding forecast format from gate generate keep limits load merge
    mean measured missing on open parse prices progress pull push read reader reason report row scripted set
    settings source stopped summarise summary to unavailable unread write
    """)
)
"""Plain English words of public names."""
TERMS = frozenset(
    WORD.findall("""
    app argilla argument async batch chain classification config counter error eval formulas greval lang qrels
    ranking ray request server telemetry token trec warning
    """)
)
"""Terms of the field and names of other tools in public names."""


def entries():
    """Return the forms of each word that the glossary defines."""
    lines = re.findall(r"^\| ([\w, ]+) \|", PAGES[GLOSSARY].read_text(encoding="utf-8"), re.MULTILINE)
    return [tuple(line.split(", ")) for line in lines if line != "word"]


def defined():
    """Return every word that the glossary defines, in the first column or in italics within a meaning."""
    text = PAGES[GLOSSARY].read_text(encoding="utf-8")
    italic = re.findall(r"(?<!\*)\*(\w+)\*(?!\*)", text)
    return {form for forms in entries() for form in forms} | {*italic}


def words_of(name):
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)]


def singular(word):
    return {word, word.removesuffix("s"), re.sub("ies$", "y", word)}


PUBLIC = {word for name in NAMES for word in words_of(name)}


@pytest.mark.parametrize("name", NAMES)
def test_public_names_use_the_words_of_the_glossary(name):
    """Each word of a public name is in the glossary, is plain English, or is a term of the field."""
    known = defined() | PLAIN | TERMS
    assert [word for word in words_of(name) if not singular(word) & known] == []


def test_the_lists_are_short():
    """What is listed here occurs in public names, and is not defined in the glossary."""
    assert {word for word in PLAIN | TERMS if word not in PUBLIC} == set()
    assert (PLAIN | TERMS) & defined() == set()
    assert not PLAIN & TERMS


@pytest.mark.parametrize("forms", entries(), ids=" ".join)
def test_every_entry_is_used(forms):
    """Each word of the glossary occurs in public names or on other pages, and is defined once."""
    others = "\n".join(path.read_text(encoding="utf-8") for page, path in PAGES.items() if page != GLOSSARY)
    used = [form for form in forms if form in PUBLIC or re.search(rf"\b{form}s?\b", others, re.IGNORECASE)]
    assert used == [*forms]
    assert sum(one == forms[0] for other in entries() for one in other) == 1
