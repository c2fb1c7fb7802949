"""The reference pipeline as a method under test: search an index, and answer from what was found."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Literal, NamedTuple, get_args, get_origin

from langchain_core.language_models import BaseChatModel
from pydantic import ValidationError

from greval._util.concurrency import count_as_waiting, measure_work
from greval.errors import DataError, MethodError
from greval.judging.model.client import JudgeClient
from greval.judging.model.judge import Judge
from greval.judging.model.prices import Prices
from greval.methods.loading import read_adapter_spec
from greval.methods.protocol import Method
from greval.methods.reference_index import REFERENCE_SEARCHES, Search
from greval.records.case import Response, ResponseUsage, Sample
from greval.records.result import Usage
from greval.reference import searches
from greval.reference.aggregates import compute_aggregates, derive_filter
from greval.reference.answering import answer_question, select_context
from greval.reference.entity_naming import name_entities
from greval.reference.index import IndexFile, ReferenceIndex, read_in_turn, read_index_file
from greval.reference.response_parts import build_traversal, read_found_chunks, select_triples
from greval.reference.searches import SearchFindings, Where
from greval.reference.settings import DEFAULT_SEARCH, TEXT_SEARCHES, SearchSettings, change_settings, format_faults
from greval.reference.think_on_graph import think_on_graph

AnswerModel = Judge | BaseChatModel | JudgeClient
SWITCH = ("true", "false")


class Asked(NamedTuple):
    """A response, and what the search found."""

    response: Response
    found: SearchFindings


class ReferenceMethod:
    """A search of an index as a method; it returns the answer, chunks, triples, the traversal, aggregates and usage.

    The answer consists of sentences of the chunks if no model is given. If a model answers, the response holds the
    chunks, triples and aggregates that the model was given, so that a judge sees the same. Aggregates are computed
    if the question asks for a count or a comparison. The basic and the bm25 search use no graph, and record neither
    triples nor a traversal.
    """

    def __init__(  # noqa: PLR0913 - its options
        self,
        index: ReferenceIndex | Path | str,
        search: Search = DEFAULT_SEARCH,
        settings: SearchSettings | None = None,
        *,
        answer: AnswerModel | None = None,
        where: Collection[str] = (),
        aggregates: bool = True,
        filter_by_question: bool = False,
    ) -> None:
        if search not in REFERENCE_SEARCHES:
            raise MethodError(f"search: expected one of {', '.join(REFERENCE_SEARCHES)}, got {search!r}")
        if search == "tog" and answer is None:
            raise MethodError("search: tog asks a model at each step; name it with answer=local or --answer local")
        self.index = open_shared_index(index) if isinstance(index, str | Path) else index
        self.search = search
        self.settings = settings or self.index.search_settings
        if self.settings.entities == "model" and answer is None:
            raise MethodError("entities: model asks the answering model; name it with answer=local or --answer local")
        self._client = answer if isinstance(answer, JudgeClient) or answer is None else JudgeClient(answer)
        self._where = tuple(where)
        self._aggregates = aggregates and search not in TEXT_SEARCHES
        self._filter_by_question = filter_by_question
        self._prepared = False

    def __repr__(self) -> str:
        """Name the folder and the search."""
        return f"ReferenceMethod({str(self.index.folder)!r}, {self.search!r})"

    async def prepare(self) -> None:
        """Open what a search reads and start the model, so that the first question takes no longer than the others.

        What cannot be opened is reported by the questions.
        """
        if not self._prepared:
            await read_in_turn(self._warm_up)
        if self._client:
            with suppress(Exception):
                await self._client.ready()

    async def __call__(self, sample: Sample, /) -> Response:
        """Answer the sample's question."""
        missing = [name for name in self._where if name not in sample.tags]
        if missing:
            raise MethodError(f"where: the sample has no tag {missing[0]!r}, whose value its chunks must have")
        outcome = await self.ask(sample.question, {name: sample.tags[name] for name in self._where})
        return outcome.response

    async def ask(self, question: str, where: Where | None = None) -> Asked:
        """Answer a question from the chunks that a metadata filter selects."""
        with measure_work() as spent:
            # Opening the index is no work of the question that happens to be the first.
            with count_as_waiting():
                await self.prepare()
            if self._filter_by_question:
                # The tags that are given count first.
                where = {**await read_in_turn(derive_filter, self.index, question), **(where or {})}
            names, naming_usage = await self._name_entities(question)
            if self.search == "tog":
                assert self._client is not None  # noqa: S101 - checked when the method was made
                answer, findings, usage = await think_on_graph(
                    self.index, question, self.settings, self._client, where, names
                )
                response = await self._select_context(
                    await read_in_turn(self._build_response, question, where, findings)
                )
            else:
                findings, response = await read_in_turn(self._retrieve, question, where, names)
                response = await self._select_context(response)
                context = (response.chunks or (), response.triples or (), response.aggregates or ())
                tokens = self.settings.context_tokens
                answer, usage = await answer_question(question, *context, self._client, context_tokens=tokens)
        usage += naming_usage
        response_usage = ResponseUsage(
            latency=spent.worked,
            waited=spent.waited,
            llm_calls=usage.calls,
            prompt_tokens=usage.input_tokens if usage.calls else 0,
            output_tokens=usage.output_tokens if usage.calls else 0,
            cost=Prices.load().cost(self._client.label, usage) if self._client else 0.0,
        )
        return Asked(response.model_copy(update={"answer": answer, "usage": response_usage}), findings)

    async def _name_entities(self, question: str) -> tuple[Sequence[str], Usage]:
        """Return the names that the model gives for the entities of a question, if it is to, with the usage.

        Searches of one index ask about a question once. The usage counts for each, as if it had asked by itself.
        """
        if self._client is None or self.settings.entities == "words" or self.search in TEXT_SEARCHES:
            return (), Usage()
        key = (self._client.label, question)
        if key not in self.index.named_entities:
            self.index.named_entities[key] = await name_entities(question, self._client)
        return self.index.named_entities[key]

    def _warm_up(self) -> None:
        """Search for the name of an entity, or for the words of a chunk, as a question does."""
        if self._prepared:
            return
        # Also if it fails: what cannot be opened is reported by the questions.
        self._prepared = True
        with suppress(Exception):
            question = next(iter(self.index.entities or self.index.chunk_ids), "")
            if self._filter_by_question:
                derive_filter(self.index, question)
            self._retrieve(question, None)

    def _retrieve(
        self, question: str, where: Where | None, names: Sequence[str] = ()
    ) -> tuple[SearchFindings, Response]:
        # Think-on-Graph begins where the local search does.
        search = "local" if self.search == "tog" else self.search
        findings = searches.search_chunks(self.index, question, search, self.settings, where, names)
        return findings, self._build_response(question, where, findings)

    def _build_response(self, question: str, where: Where | None, findings: SearchFindings) -> Response:
        """Build the response without its answer."""
        chunks = read_found_chunks(self.index, findings)
        if self.search in TEXT_SEARCHES:
            return Response(chunks=chunks)
        return Response(
            chunks=chunks,
            triples=select_triples(self.index, findings, self.settings.triples),
            traversal=build_traversal(self.index, findings, where),
            aggregates=compute_aggregates(self.index, question, where) if self._aggregates else None,
        )

    async def _select_context(self, response: Response) -> Response:
        """Return what the answering model gets, so that a judge sees the same; without a model everything."""
        if self._client is None:
            return response
        selected = await select_context(response, self._client, self.settings.context_tokens)
        # Nothing of the graph is recorded, which is not the same as empty.
        if self.search in TEXT_SEARCHES:
            return response.model_copy(update={"chunks": selected.chunks})
        return selected


_OPENED: dict[Path, tuple[IndexFile, ReferenceIndex]] = {}
_OPENING = Lock()


def open_shared_index(folder: Path | str) -> ReferenceIndex:
    """Open the index of a folder, or return the one that is open. It is opened again if it was built anew."""
    path = Path(folder).resolve()
    with _OPENING:
        file = read_index_file(path)
        opened = _OPENED.get(path)
        if file is not None and opened and opened[0] == file:
            return opened[1]
        index = ReferenceIndex.open(folder)
        if file is not None:
            _OPENED[path] = file, index
        return index


def load(spec: str, answer: AnswerModel | None = None) -> Method:
    """Load a search of an index as a method.

    Args:
        spec: `FOLDER?name=value&...`: the folder of the index, and options: `search` (basic, bm25, local, graph,
            hybrid or tog; default hybrid), `answer` (the name of a judge; by default no model), `where` (tags of the
            sample that its chunks must have, such as repo,version), `aggregates` (true or false), `filter` (auto: its
            chunks must have the tags whose values the question names, by the schema), and every field of
            `greval.reference.settings.SearchSettings`, by default as the index says.
        answer: The model that answers if the spec names none.

    Raises:
        MethodError: If an option is unknown or has a value that is not allowed, or there is no index.
    """
    choices: Mapping[str, tuple[str, ...] | None] = {
        "search": REFERENCE_SEARCHES,
        "answer": None,
        "where": None,
        "aggregates": SWITCH,
        "filter": ("auto",),
    }
    folder, options = read_adapter_spec("reference", spec, **choices, **_list_setting_values())
    try:
        index = open_shared_index(folder)
        changed = {name: value for name, value in options.items() if name not in choices}
        settings = change_settings(index.search_settings, changed)
        return ReferenceMethod(
            index,
            options.get("search", DEFAULT_SEARCH),  # type: ignore[arg-type]  # checked by `read_adapter_spec`
            settings,
            answer=create_answer_model(options.get("answer")) or answer,
            where=[name.strip() for name in options.get("where", "").split(",") if name.strip()],
            aggregates=options.get("aggregates") != "false",
            filter_by_question="filter" in options,
        )
    except (DataError, MethodError) as error:
        raise MethodError(f"reference:{spec}: {error}") from error


def create_answer_model(name: str | None) -> Judge | None:
    """Return the settings of the model of this name; None if there is no name."""
    if not name:
        return None
    try:
        return Judge(name)
    except ValidationError as error:
        raise MethodError(f"answer: {format_faults(error)}") from error


def _list_setting_values() -> dict[str, tuple[str, ...] | None]:
    """Return the allowed values of each setting that has a list of them; None for others, which pydantic checks."""
    return {
        name: get_args(field.annotation) if get_origin(field.annotation) is Literal else None
        for name, field in SearchSettings.model_fields.items()
    }
