"""What judgements cost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from greval.errors import DataError
from greval.judging.model.prices import SHIPPED_FILE, Price, Prices
from greval.records.result import Usage

JUDGE = "openai:fine"
counts = st.integers(0, 10**9)
dollars = st.floats(0, 1000)


@st.composite
def price(draw):
    """Give a price whose cached input is no dearer than other input."""
    input_price = draw(dollars)
    return Price(input=input_price, cached_input=draw(st.none() | st.floats(0, input_price)), output=draw(dollars))


@st.composite
def usage(draw):
    """Give what calls used, with cached tokens as a part of the input."""
    told = draw(counts)
    cached = draw(st.none() | st.integers(0, told))
    return Usage(calls=1, input_tokens=told, output_tokens=draw(counts), cached_tokens=cached)


def table(of, **models):
    return Prices(models={JUDGE: of, **models}, as_of="2025-01-01", source="a test")


def written(folder, text, name="prices.yaml"):
    """Give a file of prices."""
    path = Path(folder) / name
    path.write_text(text, encoding="utf-8")
    return path


@given(price(), usage(), usage())
def test_costs_add_up(of, first, second):
    """Two usages cost together what each costs."""
    prices = table(of)
    together = prices.cost(JUDGE, first + second)
    assert together == pytest.approx(prices.cost(JUDGE, first) + prices.cost(JUDGE, second))


@given(price(), usage())
@example(Price(input=3, cached_input=0, output=1), Usage(calls=1, input_tokens=1, output_tokens=0, cached_tokens=5))
def test_cached_input_is_never_dearer_and_no_cost_negative(of, used):
    """No usage costs less than nothing, even where a server tells more cached tokens than input."""
    prices = table(of)
    fresh = used.model_copy(update={"cached_tokens": None})
    assert 0 <= prices.cost(JUDGE, used) <= prices.cost(JUDGE, fresh) * (1 + 1e-12)


def test_cached_tokens_are_a_part_of_the_input():
    """Cached tokens are priced as cached, and not once more as input."""
    of = Price(input=2, cached_input=0.5, output=8)
    used = Usage(calls=1, input_tokens=1_000_000, cached_tokens=400_000, output_tokens=0)
    assert table(of).cost(JUDGE, used) == pytest.approx(0.6 * 2 + 0.4 * 0.5)
    dear = Price(input=2, output=8)
    assert table(dear).cost(JUDGE, used) == pytest.approx(2)


@pytest.mark.parametrize(
    ("label", "used"),
    [
        ("openai:unheard-of", Usage(calls=1, input_tokens=10, output_tokens=10)),
        (JUDGE, Usage(calls=1)),
        (JUDGE, Usage(calls=1, input_tokens=10)),
        (JUDGE, Usage(calls=1, output_tokens=10)),
        ("local", Usage(calls=1)),
    ],
)
def test_what_is_not_known_has_no_cost(label, used):
    """Without a price, or without the tokens, there is no cost: never 0."""
    assert table(Price(input=1, output=1)).cost(label, used) is None


@pytest.mark.parametrize("label", ["local", "local:qwen2.5-coder-1.5b", "local:/models/a.gguf"])
def test_the_embedded_model_is_free(label):
    """The embedded model costs nothing, under each of its names."""
    assert Prices.load().cost(label, Usage(calls=1, input_tokens=10**6, output_tokens=10**6)) == 0


@pytest.mark.parametrize(
    ("label", "same_as"),
    [
        ("openai:gpt-4.1-mini-2025-04-14", "openai:gpt-4.1-mini"),
        ("openai:gpt-5-2025-08-07", "openai:gpt-5"),
        ("anthropic:claude-haiku-4-5-20251001", "anthropic:claude-haiku-4-5"),
    ],
)
def test_a_dated_name_has_the_price_of_its_undated_one(label, same_as):
    """The date at the end of a model's name does not hide its price."""
    assert Prices.load().of(label) == Prices.load().models[same_as]


def test_a_dated_name_of_its_own_counts_first():
    """A dated name that stands in the table keeps its own price."""
    prices = Prices.load()
    assert prices.of("openai:gpt-4o-2024-05-13").input > prices.of("openai:gpt-4o-2024-08-06").input


@pytest.mark.parametrize(
    "label",
    [
        "",
        "gpt-4.1-mini",
        "openai:gpt-4.1-mini-latest",
        "openai:gpt-4.1-mini-2025-13-14",
        "openai:gpt-4.1-mini-20259999",
        "openai:gpt-4.1-mini-0414",
        "openai:ft:gpt-4.1-mini-2025-04-14:acme::x1",
        "openai:gpt-5.1-mini",
        "google_genai:gemini-2.5-flash-preview-09-2025",
        "azure_openai:gpt-4.1-mini",
        "localhost:gpt-4o",
    ],
)
def test_a_price_is_never_guessed(label):
    """Fine-tuned, unknown and other providers' names have no price."""
    assert Prices.load().of(label) is None


def test_the_shipped_table_says_when_it_was_right_and_that_prices_change():
    """The table that ships has a day, a source, and words on how to replace it."""
    prices = Prices.load()
    assert prices.as_of.startswith("20")
    assert prices.source
    text = SHIPPED_FILE.read_text(encoding="utf-8")
    assert "Prices change" in text
    assert "--prices FILE" in text
    assert all(of.output >= of.input > 0 for of in prices.models.values())


@pytest.mark.parametrize("indent", [None, 2, "\t"])
def test_a_file_replaces_the_table(tmp_path, indent):
    """A JSON file of a user's own, named by a text, is read; nothing of the shipped table is left."""
    content = {"as_of": "today", "source": "our contract", "models": {"azure_openai:ours": {"input": 1, "output": 2.5}}}
    prices = Prices.load(str(written(tmp_path, json.dumps(content, indent=indent), "prices.json")))
    assert prices.of("azure_openai:ours") == Price(input=1, output=2.5)
    assert prices.of("openai:gpt-4o") is None


@given(st.dictionaries(st.text("abz:-.é1", min_size=1), price(), min_size=1))
def test_a_table_survives_its_file(tmp_path_factory, models):
    """A table that was written as JSON or as YAML is read as it was."""
    prices = Prices(models=models, as_of="2025-01-01", source='a "test": ä # b')
    folder = tmp_path_factory.mktemp("prices")
    for text in (prices.model_dump_json(), prices.format_yaml()):
        assert Prices.load(written(folder, text)) == prices


def test_the_environment_names_a_table_for_all(tmp_path, monkeypatch):
    """GREVAL_PRICES replaces the shipped table wherever none is named."""
    path = written(tmp_path, "as_of: a\nsource: mine\nmodels:\n  openai:m: {input: 1, output: 2}\n")
    monkeypatch.setenv("GREVAL_PRICES", str(path))
    assert Prices.load().source == "mine"
    assert Prices.load(SHIPPED_FILE).source != "mine"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("openai:gpt-5.4-mini", ["openai:gpt-5.4-mini"]),
        ("openai:gpt-5.4-mini-2026-03-17", ["openai:gpt-5.4-mini-2026-03-17"]),
        ("GPT-4.1-", ["openai:gpt-4.1-mini", "openai:gpt-4.1-nano"]),
        ("local", ["local"]),
    ],
)
def test_prices_are_found_by_a_name_or_a_part_of_it(name, found):
    """A name has its own price; a part of a name has those of all models with it."""
    assert [*Prices.load().find(name)] == found


def test_a_model_without_a_price_suggests_the_nearest():
    """A misspelt model names the one that was probably meant, and how to add a price."""
    with pytest.raises(DataError, match=r"did you mean openai:gpt-4\.1-mini\?.*file of prices"):
        Prices.load().find("openai:gpt-4.1-mimi")


def test_all_faults_of_a_file_are_told_at_once(tmp_path):
    """Each fault is told with file, line and field, in one error."""
    text = """\
as_of: 2025-01-01
models:
  openai:a: {input: 1, output: 1}
  openai:b: {input: -1, output: .inf}
  openai:c:
    input: 1
    cached_input: 2
    output: 3
  openai:d: {input: 1, outptu: 1}
  openai:e: {input: cheap, output: 1}
  openai:a: {input: 1, output: 1}
"""
    path = written(tmp_path, text)
    with pytest.raises(DataError) as caught:
        Prices.load(path)
    told = str(caught.value).splitlines()
    places = [line.removeprefix(f"{path}:").split(": ", 2)[:2] for line in told]
    assert sorted(map(tuple, places)) == sorted(
        [
            ("1", "source"),
            ("4", "models > openai:b > input"),
            ("4", "models > openai:b > output"),
            ("5", "models > openai:c"),
            ("9", "models > openai:d > output"),
            ("9", "models > openai:d > outptu"),
            ("10", "models > openai:e > input"),
            ("11", "models > openai:a"),
        ]
    )
    assert "input: must be a number, got 'cheap'" in str(caught.value)
    assert "swapped" in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"- 1\n", b"a: [", b"\xff\xfe", b"models: {}\nas_of: a\nsource: b\n", None])
def test_what_is_no_table_is_told(tmp_path, content):
    """A file that holds no table of prices, or is not there, is an error that names it."""
    path = tmp_path / "prices.yaml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=r"prices\.yaml"):
        Prices.load(path)
