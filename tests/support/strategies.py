"""Hypothesis strategies: names and texts in any script, scales, metrics and cases."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import Any

from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from greval.records.case import PROMPT_FIELDS, Case
from greval.records.metric import JudgedMetric, build_metric
from greval.records.record import Label, Name, Text
from greval.records.scale import CategoricalScale, Category, ValueScale

SCRIPTS = "abzAZ09 äßéñøČžЖяλΩעברית한국어漢字ひカタกำहिन्दीتحليل😀½"
"""Characters of many scripts, with combining marks, a supplementary plane and a compatibility character."""

AWKWARD = " -:#'\"{}[]>|&*!%@`,?~=.\\/\n\t\u00a0\u200d\u2028\x00\x85\ufeff"
"""Characters that YAML, prompts or file names give a meaning to, or that are not seen."""

YAML_WORDS = (
    *("yes", "no", "true", "null", "~", "1", "1.0", "0x1F", "1e3", ".nan", "2024-01-01", "<<", "=", "- a", "a: b"),
)
"""Texts that a careless writer of YAML turns into something else."""


def _valid(kind: Any):
    adapter = TypeAdapter(kind)

    def check(text: str) -> bool:
        try:
            adapter.validate_python(text)
        except ValidationError:
            return False
        return True

    return check


@cache
def _any_text(**sizes: int) -> st.SearchStrategy[str]:
    characters = st.characters(exclude_categories=["Cs"]) | st.sampled_from(SCRIPTS) | st.sampled_from(AWKWARD)
    return st.sampled_from(YAML_WORDS) | st.text(st.sampled_from(SCRIPTS), **sizes) | st.text(characters, **sizes)


def _normal(text: str, kind: Any) -> str:
    return TypeAdapter(kind).validate_python(text)


@cache
def names() -> st.SearchStrategy[str]:
    """Names of metrics: letters, marks and digits of any script, and - . @ _."""
    first = st.characters(categories=["L", "N"]) | st.just("_")
    rest = st.text(st.characters(categories=["L", "M", "N"]) | st.sampled_from("-.@_"), max_size=12)
    drawn = st.builds(lambda start, end: start + end, first, rest) | st.sampled_from(["ndcg@10", "tone", "v1.0"])
    return drawn.filter(_valid(Name)).map(lambda text: _normal(text, Name))


@cache
def labels() -> st.SearchStrategy[str]:
    return _any_text(min_size=1, max_size=12).filter(_valid(Label)).map(lambda text: _normal(text, Label))


@cache
def texts() -> st.SearchStrategy[str]:
    """Prose of an author, short or with long lines."""
    long = st.lists(_any_text(min_size=1, max_size=12), min_size=10, max_size=30).map(" ".join)
    return (_any_text(min_size=1, max_size=30) | long).filter(_valid(Text)).map(lambda text: _normal(text, Text))


@cache
def categories(*, max_size: int = 6) -> st.SearchStrategy[tuple[Category, ...]]:
    """Categories with names that differ, best first."""
    scores = st.none() | st.floats(-1e6, 1e6) | st.integers(0, 5).map(float)
    parts = st.tuples(labels(), st.just("") | texts(), scores)
    drawn = st.lists(parts, min_size=2, max_size=max_size, unique_by=lambda part: part[0].casefold())
    return drawn.map(_best_first)


def _best_first(parts: list[tuple[str, str, float | None]]) -> tuple[Category, ...]:
    scores = iter(sorted((score for _, _, score in parts if score is not None), reverse=True))
    return tuple(
        Category(name=name, means=means, score=None if score is None else next(scores)) for name, means, score in parts
    )


@cache
def categorical_scales() -> st.SearchStrategy[CategoricalScale]:
    return st.builds(CategoricalScale, categories=categories(), ordered=st.booleans())


@st.composite
def value_scales(draw: st.DrawFn) -> ValueScale:
    """Scales of integers, or of steps of another size, with both ends and some levels described."""
    low = draw(st.integers(-(10**6), 10**6))
    better = {"better": draw(st.sampled_from(["higher", "lower"]))} if draw(st.booleans()) else {}
    if draw(st.booleans()):
        step = draw(st.sampled_from([0.1, 0.25, 0.5, 2, 2.5, 10]))
        high = low + draw(st.integers(1, 2)) * (1 if step < 1 else 10)
        levels = [float(low + place * Decimal(str(step))) for place in range(round((high - low) / step) + 1)]
        described = {low, high, *draw(st.lists(st.sampled_from(levels), max_size=3))}
        return ValueScale(range=(low, high), step=step, levels={level: draw(texts()) for level in described}, **better)
    high = low + draw(st.integers(1, 20) | st.integers(1, 10**6))
    described = {low, high, *draw(st.lists(st.integers(low, high), max_size=3))}
    return ValueScale(range=(low, high), levels={level: draw(texts()) for level in described}, **better)


@cache
def scales() -> st.SearchStrategy[CategoricalScale | ValueScale]:
    return categorical_scales() | value_scales()


@st.composite
def on_scale(draw: st.DrawFn, scale: CategoricalScale | ValueScale) -> float | str:
    """Give a value of a scale."""
    if isinstance(scale, CategoricalScale):
        return draw(st.sampled_from(scale.names))
    return draw(st.integers(*scale.range) if scale.step is None else st.sampled_from(scale.values))


@cache
def off_scale() -> st.SearchStrategy[object]:
    """Things that are no value of any scale that is drawn here but by rare chance."""
    numbers = st.floats(allow_nan=True, allow_infinity=True).filter(lambda number: not (number * 20).is_integer())
    others = st.none() | st.booleans() | st.lists(st.integers(), max_size=2) | st.dictionaries(st.text(), st.integers())
    return numbers | others | st.binary(max_size=3) | st.integers(min_value=10**9) | st.integers(max_value=-(10**9))


@cache
def notes() -> st.SearchStrategy[dict[str, Any]]:
    """Notes in the file form: texts, lists, and shares over a list."""
    when = st.sampled_from(["before", "after"])
    text = texts() | st.fixed_dictionaries({"means": texts(), "when": when})
    words = st.lists(labels(), min_size=1, max_size=3, unique=True)
    each = st.dictionaries(labels(), texts() | words, min_size=1, max_size=3)
    listed = st.fixed_dictionaries({"means": texts(), "each": each}, optional={"when": when})
    free = labels().filter(lambda name: name not in {"reason", "value", "item", "judgements", "findings"})
    return st.dictionaries(free, text | listed, max_size=3).map(_with_share)


def _with_share(drawn: dict[str, Any]) -> dict[str, Any]:
    """Count over the first list with listed words, if there is one."""
    for name, note in drawn.items():
        fields = note.get("each", {}) if isinstance(note, dict) else {}
        for field, words in fields.items():
            if isinstance(words, list) and "share of it" not in drawn:
                return {**drawn, "share of it": {"share": name, "where": {field: words[0]}, "among": {field: words}}}
    return drawn


def _has_numbers(scale):
    """Return whether the values of a scale read as numbers."""
    return isinstance(scale, ValueScale) or any(one.score is not None for one in scale.categories)


def _list_countable(scale: CategoricalScale | ValueScale, asked: dict[str, Any]) -> list[str]:
    """List the notes whose entries can be counted on a scale."""
    if not isinstance(scale, ValueScale) or scale.range[0] or scale.step:
        return []
    return [name for name, note in asked.items() if isinstance(note, dict) and "each" in note]


@st.composite
def metrics(draw: st.DrawFn) -> JudgedMetric:
    """Judged metrics of all four classes, with notes, uses and examples."""
    over = draw(st.sampled_from([None, "chunks", "triples", "claims", "expected_claims"]))
    tags = draw(st.lists(labels().map("tags.{}".format), max_size=1))
    needs = [*draw(st.lists(st.sampled_from(PROMPT_FIELDS), min_size=1, unique=True)), *tags, *([over] if over else [])]
    narrowed = [field for field in ("chunks", "triples") if {field, "context"} & {*needs}]
    use = st.fixed_dictionaries({"judged_by": names(), "as": st.lists(labels(), min_size=1, max_size=3)})
    scale = draw(scales())
    asked = draw(notes())
    if "share of it" in asked and (isinstance(scale, ValueScale) or scale.ordered) and draw(st.booleans()):
        asked = {**asked, "share of it": {**asked["share of it"], "better": draw(st.sampled_from(["higher", "lower"]))}}
    depth = draw(st.sampled_from(["brief", "detailed", "steps"]))
    steps = draw(st.lists(texts(), min_size=1, max_size=3))
    content = {
        "name": draw(names()),
        "description": draw(texts()),
        "over": over,
        "needs": needs,
        "scale": scale.model_dump(exclude_unset=True) if isinstance(scale, ValueScale) else scale.model_dump(),
        "steps": steps,
        "reason_depth": depth,
        "pass": draw(st.sampled_from(["", ">= 0.7", "< -1", ">1e3"])) if _has_numbers(scale) else "",
        "instructions": draw(st.just("") | texts()),
        "notes": asked,
        "counts": draw(st.sampled_from(["", *_list_countable(scale, asked)])),
        "uses": {field: draw(use) for field in narrowed if draw(st.booleans())},
    }
    examples = draw(st.lists(_examples(scale, asked, tags), max_size=1))
    if depth == "steps" or draw(st.booleans()):
        examples = [
            {**example, "findings": draw(st.lists(texts(), min_size=len(steps), max_size=len(steps)))}
            for example in examples
        ]
    return build_metric({**content, "examples": examples})


@st.composite
def _examples(
    draw: st.DrawFn, scale: CategoricalScale | ValueScale, asked: dict[str, Any], tags: list[str]
) -> dict[str, Any]:
    """Examples whose case holds everything a metric can need."""
    case = {
        "question": draw(texts()),
        "expected_answer": draw(texts()),
        "answer": draw(_any_text(max_size=20)),
        "chunks": [draw(_any_text(max_size=20))],
        "triples": [["a", "calls", draw(_any_text(max_size=20))]],
        "claims": [draw(_any_text(max_size=20))],
        "expected_claims": [draw(_any_text(max_size=20))],
        "traversal": {"start_nodes": ["a"], "traversed_edges": [["a", "calls", "b"]]},
        "tags": {tag.removeprefix("tags."): draw(_any_text(max_size=10)) for tag in tags},
    }
    given = {name: draw(texts()) for name, note in asked.items() if not (isinstance(note, dict) and "share" in note)}
    return {"case": case, "reason": draw(texts()), "value": draw(on_scale(scale)), "notes": given}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Cases with any of their fields recorded, empty or missing."""
    free = st.none() | _any_text(max_size=40)
    ids = st.text(min_size=1, max_size=5)
    chunk = st.fixed_dictionaries({"text": _any_text(max_size=40)}, optional={"doc_id": ids, "repo": ids})
    triple = st.lists(_any_text(max_size=12), min_size=3, max_size=3)
    walk = {"start_nodes": st.lists(ids, max_size=2), "traversed_edges": st.lists(st.tuples(ids, ids, ids), max_size=2)}
    count = st.none() | st.integers(0, 10**6)
    spent = {"latency": st.none() | st.floats(0, 1e4), "llm_calls": count, "prompt_tokens": count}
    return Case.model_validate(
        {
            "id": draw(st.text(max_size=5)),
            "question": draw(_any_text(max_size=40)),
            "expected_answer": draw(free),
            "answer": draw(free),
            "claims": draw(st.none() | st.lists(_any_text(max_size=40), max_size=3)),
            "expected_claims": draw(st.none() | st.lists(_any_text(max_size=40), max_size=3)),
            "chunks": draw(st.none() | st.lists(chunk, max_size=4)),
            "triples": draw(st.none() | st.lists(triple, max_size=4)),
            "traversal": draw(st.none() | st.fixed_dictionaries(walk)),
            "usage": draw(st.none() | st.fixed_dictionaries(spent)),
            "tags": draw(st.dictionaries(st.text(max_size=5), _any_text(max_size=10), max_size=2)),
        }
    )
