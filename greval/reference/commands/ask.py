"""`greval index ask`: ask an index a question, and print the answer with what it was built from."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from greval._util.wording import did_you_mean, escape_control_characters, format_count, shorten_text
from greval.cli.options import parse_tag_filters
from greval.methods.reference_index import Search
from greval.records.metric_input import format_item
from greval.reference.commands.build import parse_pairs
from greval.reference.settings import DEFAULT_SEARCH, SearchSettings, change_settings

if TYPE_CHECKING:
    from greval.reference.index import ReferenceIndex
    from greval.reference.method import Asked

MAX_CHARS = 160


class Part(StrEnum):
    """The parts of what is printed, in their order."""

    ANSWER = "answer"
    CHUNKS = "chunks"
    TRIPLES = "triples"
    WALK = "walk"


def ask(  # noqa: PLR0913 - the options of a command
    index: Annotated[str, typer.Argument(help="the folder of an index that `greval index build` made")],
    question: Annotated[str, typer.Argument(help="the question")],
    *,
    search: Annotated[Search, typer.Option("--search", help="how to search")] = DEFAULT_SEARCH,
    answer: Annotated[
        str | None,
        typer.Option("--answer", metavar="MODEL", help="this model answers; by default sentences of the chunks do"),
    ] = None,
    k: Annotated[int | None, typer.Option("-k", min=1, metavar="N", help="the number of chunks")] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="another setting of the search, such as depth=3; repeatable"),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where", metavar="TAG=VALUE", help="only chunks with this tag, doc_id, repo or version; repeatable"
        ),
    ] = None,
    show: Annotated[
        list[Part] | None,
        typer.Option("--show", metavar="PART", help="print only answer, chunks, triples or walk; repeatable"),
    ] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="draw the walk through the graph as SVG")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print everything as JSON")] = False,
) -> None:
    """Ask an index a question. It prints the answer, the chunks and triples that it is built from, and the walk."""
    from greval.reference.method import ReferenceMethod, create_answer_model, open_shared_index

    if not question.strip():
        raise typer.BadParameter("QUESTION is empty; write one in quotation marks")
    filters = parse_tag_filters(where or ())
    changed = parse_pairs("--set", changes or ()) | ({} if k is None else {"k": str(k)})
    opened = open_shared_index(index)
    _check_filters(opened, filters)
    method = ReferenceMethod(
        opened,
        search,
        change_settings(opened.search_settings, changed),
        answer=create_answer_model(answer),
    )
    outcome = asyncio.run(method.ask(question, filters))
    if svg:
        _draw_walk(svg, question, outcome)
    if as_json:
        described = describe_asked(question, search, method.settings, outcome, answered_by=answer)
        typer.echo(json.dumps(described, indent=2, ensure_ascii=False))
        return
    parts = show or [*Part]
    if answer is None and Part.ANSWER in parts:
        # On stderr, so that the output holds the answer alone.
        typer.echo("no model answered: the answer is sentences of the chunks; --answer MODEL names a model", err=True)
    typer.echo(escape_control_characters(format_asked(outcome, parts)))


def _check_filters(index: ReferenceIndex, filters: Mapping[str, Collection[str]]) -> None:
    """Check that chunks have what is filtered by."""
    for name, values in filters.items():
        selected = index.select_chunks({name: values})
        if selected is not None and not selected.any():
            alternatives = " or ".join(sorted(values))
            hint = did_you_mean(alternatives, index.list_values(name))
            raise typer.BadParameter(escape_control_characters(f"--where: no chunk has {name}={alternatives}{hint}"))
    selected = index.select_chunks(filters)
    if selected is not None and not selected.any():
        raise typer.BadParameter("--where: no chunk has all of them; leave one out")


def describe_asked(
    question: str, search: Search, settings: SearchSettings, outcome: Asked, *, answered_by: str | None = None
) -> dict[str, Any]:
    """Return a response and what the search found as JSON.

    `answered_by` is the model that answered; None if the answer is sentences of the chunks.
    """
    findings = outcome.found
    return {
        "question": question,
        "search": search,
        "answered_by": answered_by,
        "settings": settings.model_dump(mode="json", exclude_none=True),
        **outcome.response.model_dump(mode="json", exclude_none=True, exclude={"method"}),
        "linked": [
            {"name": link.name, "phrase": link.phrase, "how": link.how, "score": link.score} for link in findings.linked
        ],
        "activation": dict(findings.nodes),
        "walked": [edge._asdict() for edge in findings.edges],
        "cut": dict(findings.cut),
        "fallback": findings.fallback,
        "notes": list(findings.notes),
    }


def format_asked(outcome: Asked, parts: Sequence[Part]) -> str:
    """Format parts of a response and of what the search found as lines, each part with a heading if there are several.

    Why the graph was not searched, what it cut, and what a model answered that could not be used is in the walk.
    """
    lines = (line for part in parts for line in _format_part(part, outcome, titled=len(parts) > 1))
    return "\n".join(lines).strip("\n")


def _draw_walk(path: Path, question: str, outcome: Asked) -> None:
    from greval._util.files import write_atomically
    from greval.report.walk import draw_walk_svg

    if outcome.response.traversal is None:
        raise typer.BadParameter("--svg: this search does not walk a graph; use --search hybrid, local, graph or tog")
    activation = {edge[:3]: edge.activation for edge in outcome.found.edges}
    write_atomically(path, draw_walk_svg(outcome.response.traversal, title=question, activation=activation))
    typer.echo(f"{path}: the walk is drawn", err=True)


def _format_part(part: Part, outcome: Asked, *, titled: bool) -> Iterator[str]:
    """Yield the lines of a part, with a heading if there are several."""
    lines = [*_PARTS[part](outcome)]
    if titled and part is not Part.ANSWER and lines:
        yield f"\n{part.value}"
    yield from lines


def _format_answer(outcome: Asked) -> Iterator[str]:
    yield outcome.response.answer or ""
    yield from (f"computed: {text}" for text in outcome.response.aggregates or ())


def _format_chunks(outcome: Asked) -> Iterator[str]:
    for rank, chunk in enumerate(outcome.response.chunks or (), 1):
        yield f"{rank:>3}  {chunk.score or 0:.3f}  {chunk.id}: {shorten_text(format_item(chunk), MAX_CHARS)}"


def _format_triples(outcome: Asked) -> Iterator[str]:
    for triple in outcome.response.triples or ():
        yield f"  {triple.subject} - {triple.predicate} -> {triple.object}"


def _format_walk(outcome: Asked) -> Iterator[str]:
    from greval.report.walk import format_walk_tree

    findings, traversal = outcome.found, outcome.response.traversal
    if traversal is None:
        return
    if findings.fallback:
        yield f"the graph was not searched: {findings.fallback}"
    else:
        for link in findings.linked:
            yield f"{link.phrase!r} is {link.name} ({link.how}, {link.score:.2f})"
        yield format_walk_tree(traversal, activation={edge[:3]: edge.activation for edge in findings.edges})
    yield from (f"cut at {node}: {format_count(count, 'more edge')}" for node, count in findings.cut.items())
    yield from findings.notes


_PARTS = {
    Part.ANSWER: _format_answer,
    Part.CHUNKS: _format_chunks,
    Part.TRIPLES: _format_triples,
    Part.WALK: _format_walk,
}
