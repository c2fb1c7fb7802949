"""The forecast of indexing: the calls, tokens and cost that a model would take, computed without calling it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from langchain_core.language_models import BaseChatModel

from greval.datasets.row_faults import RowFault
from greval.errors import DataError
from greval.judging.model.judge import Judge
from greval.judging.model.prices import Prices
from greval.judging.model.tokens import estimate_tokens
from greval.methods.reference_index import LEDGER_FILE
from greval.records.record import Record
from greval.records.result import Usage
from greval.reference.building import Source, check_index_folder, describe_no_documents
from greval.reference.chunking import chunk_document
from greval.reference.documents import read_documents
from greval.reference.extractor import (
    RULES,
    Extractor,
    IndexBudget,
    build_extraction_key,
    divide_by_megabytes,
    name_extractor,
    open_extractor,
)
from greval.reference.ledger import ExtractionKey, IndexLedger
from greval.reference.records import Document
from greval.reference.schema import GraphSchema, read_schema
from greval.reference.settings import IndexSettings


class BuildForecast(Record):
    """What indexing would ask of a model: calls, tokens and cost, and the cost of a megabyte of text.

    `chunks` are those of the documents, and `calls` are needed for those of which nothing is extracted yet. `measured`
    is true if the output tokens are the mean of earlier extractions of the index, and false if they are assumed.
    """

    extractor: str
    documents: int
    chunks: int
    failed: int = 0
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    measured: bool = False
    cost: float | None = None
    cost_per_megabyte: float | None = None


def forecast_index(
    sources: Source | Iterable[Source],
    folder: str | Path,
    settings: IndexSettings = IndexSettings(),  # noqa: B008 - a frozen value
    *,
    model: Judge | BaseChatModel | None = None,
    prices: Prices | None = None,
) -> BuildForecast:
    """Count the calls, tokens and cost that `build_index` with the same arguments would need, without any call.

    Nothing is written. Repeated answers of a form that cannot be read are not included.

    Raises:
        DataError: If a path or the schema file does not exist, or if no source holds a document.
        StoreError: If the folder holds something else than an index.

    Example:
        >>> import tempfile
        >>> from greval.reference.records import Document
        >>> ferry = Document(id="ferry", title="Ferry", text="It leaves at nine. Ada steers it.")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     forecast = forecast_index([ferry], folder, IndexSettings(extract="openai:gpt-5.4-mini"))
        >>> forecast.chunks, forecast.calls, forecast.measured
        (1, 1, False)
    """
    path = Path(folder)
    check_index_folder(path)
    schema = read_schema(settings.schema_file) if settings.schema_file else None
    extractor = open_extractor(settings, model, IndexBudget(prices=prices))
    with ExitStack() as opened:
        has_ledger = (path / LEDGER_FILE).is_file()
        ledger = opened.enter_context(IndexLedger(path)) if has_ledger else None
        return _forecast(read_documents(sources), settings, schema, extractor, ledger)


def _forecast(
    sources: Iterable[Document | RowFault],
    settings: IndexSettings,
    schema: GraphSchema | None,
    extractor: Extractor | None,
    ledger: IndexLedger | None,
) -> BuildForecast:
    """Chunk documents, and count what a model would be asked about chunks of which nothing is extracted yet."""
    from greval.reference.extraction.model import ASSUMED_OUTPUT_TOKENS, build_extraction_messages

    name = name_extractor(extractor, schema)
    extracted = ledger.list_extracted(name) if ledger else set[ExtractionKey]()
    earlier = ledger.sum_usage() if ledger else Usage()
    is_measured = bool(earlier.calls and earlier.output_tokens)
    output_tokens = round((earlier.output_tokens or 0) / earlier.calls) if is_measured else ASSUMED_OUTPUT_TOKENS
    counts = Counter[str]()
    faults: list[RowFault] = []
    for item in sources:
        if isinstance(item, RowFault):
            faults.append(item)
            continue
        counts["documents"] += 1
        counts["characters"] += len(item.text)
        for chunk in chunk_document(item, settings):
            counts["chunks"] += 1
            key = build_extraction_key(chunk, schema, is_by_rules=extractor is None)
            if extractor is None or chunk.triples or key in extracted:
                continue
            extracted.add(key)
            messages = build_extraction_messages(chunk, schema, brief=extractor.client.judge.local)
            counts["calls"] += 1
            counts["input_tokens"] += sum(estimate_tokens(message.text) for message in messages)
    if not counts["documents"]:
        raise DataError(describe_no_documents(faults, len(faults)))
    characters = counts.pop("characters")
    usage = Usage(
        calls=counts["calls"], input_tokens=counts["input_tokens"], output_tokens=counts["calls"] * output_tokens
    )
    cost = extractor.compute_cost(usage) if extractor else 0.0
    return BuildForecast(
        **counts,
        failed=len(faults),
        extractor=extractor.client.label if extractor else RULES,
        output_tokens=usage.output_tokens or 0,
        measured=is_measured,
        cost=cost,
        cost_per_megabyte=divide_by_megabytes(cost, characters) if counts["calls"] == counts["chunks"] else None,
    )
