"""Indexing: documents become an index, and the same command again does only what is new or changed.

The ledger is written first, one transaction a document. All that searches read is then built from it in a new folder,
which takes the place of the old one at once. After a kill at any moment, the same command gives the index that an
unbroken one would have given.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from langchain_core.language_models import BaseChatModel
from pydantic import Field

import greval
from greval._util.concurrency import run_sync, run_workers
from greval._util.files import open_locked, sync_folder, write_atomically
from greval._util.groups import take_groups
from greval._util.wording import format_count
from greval.datasets.field_names import format_printable
from greval.datasets.row_faults import RowFault, describe_row_faults
from greval.errors import DataError, GrevalError, StoppedError, StoreError
from greval.judging.model.call_context import CallContext
from greval.judging.model.judge import Judge
from greval.methods.index_records import Entity, IndexedChunk
from greval.methods.reference_index import INDEX_FILE, LEDGER_FILE
from greval.records.record import Record
from greval.records.result import Usage
from greval.reference.chunking import CHUNKING_VERSION, chunk_document
from greval.reference.documents import read_documents
from greval.reference.extraction.rules import extract_with_rules
from greval.reference.extractor import (
    RULES,
    Extractor,
    IndexBudget,
    build_extraction_key,
    divide_by_megabytes,
    name_extractor,
    open_extractor,
)
from greval.reference.graph_arrays import EdgeTable, MentionTable, dump_arrays
from greval.reference.index import COLUMNS, TAG_PREFIX, IndexFile, Manifest, read_index_file
from greval.reference.ledger import (
    ExtractionKey,
    IndexLedger,
    StoredChunk,
    compute_text_key,
)
from greval.reference.names import ResolvedGraph, normalise_spelling, resolve_entities
from greval.reference.records import Document
from greval.reference.schema import GraphSchema, read_schema
from greval.reference.settings import IndexSettings, SearchSettings
from greval.reference.triple_tables import read_triple

if TYPE_CHECKING:
    from greval.reference.embeddings import Embedder
    from greval.reference.ledger import FloatArray

LOCK_FILE = "lock"
BUILD_PREFIX = "build-"
_BUILD = re.compile(rf"{BUILD_PREFIX}[0-9a-f]{{16}}(?:\.tmp-\d+)?")
"""The names of builds. Nothing else in a folder is ever deleted."""
BUILD_VERSION = 2
"""The version of what a build holds; increased when it changes, so that indexes are built anew."""
DOCUMENTS_AT_ONCE = 100
"""The number of documents that are synced to disk together. Each is written as a whole or not at all."""
CHUNKS_AT_ONCE = 256
"""The number of chunks whose extractions by rules are synced to disk together. Those of a model are synced at once."""
FIRST_TEXTS = 8
"""The number of texts that are embedded first, from whose time that of all is forecast."""
TEXTS_AT_ONCE = 64
"""The number of texts that are embedded together."""
CONCURRENCY = 8
LOCAL_CONCURRENCY = 2
"""The embedded model processes one call at a time; a second call waits in the queue."""
MAX_FAILURES_IN_A_ROW = 20
"""After this number of failed chunks in a row, the model is asked about no further chunk."""
MAX_FAULTS = 1_000
"""The most faults that a report holds; the others are only counted."""
Source = str | Path | Document | RowFault
Step = Literal["documents", "extraction", "embedding", "graph"]


class BuildProgress(Record):
    """A snapshot of the progress of indexing.

    `forecast` are the seconds that embedding will take. Only the snapshot after the first texts has it.
    """

    step: Step
    done: int = 0
    total: int | None = None
    failed: int = 0
    usage: Usage = Usage()
    seconds: float = 0.0
    step_seconds: float = 0.0
    forecast: float | None = None


OnProgress = Callable[[BuildProgress], None]


class BuildReport(Record):
    """What indexing did.

    Documents are counted by what was done with them; `failed` counts rows and files that are none, which `faults` has
    with their reasons. `failed_chunks` are chunks that the model could not read; they are indexed without entities, and
    the next command asks again. `names` counts the spellings of entities, `merged` those that each step of the
    resolution merged with another. `usage` is that of this command, `total_usage` that of all extractions in the index;
    `cost` and `total_cost` are their costs in US dollars, None if no price is known, and `cost_per_megabyte` is that of
    1,000,000 characters of the documents. `rebuilt` is true if anything changed.
    """

    folder: str
    documents: int = 0
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    failed: int = 0
    failed_chunks: int = 0
    faults: tuple[RowFault, ...] = ()
    chunk_faults: tuple[RowFault, ...] = ()
    chunks: int = 0
    entities: int = 0
    relations: int = 0
    names: int = 0
    merged: dict[str, int] = Field(default_factory=dict)
    extractor: str = RULES
    embedder: str = ""
    usage: Usage = Usage()
    total_usage: Usage = Usage()
    cost: float | None = None
    total_cost: float | None = None
    cost_per_megabyte: float | None = None
    rebuilt: bool = True
    seconds: float = 0.0

    def describe(self) -> str:
        """Describe in one line what the index holds, and what of it is new.

        Example:
            >>> BuildReport(folder="index", documents=2, added=1, chunks=5, entities=1).describe()
            'indexed 2 documents (1 new): 5 chunks, 1 entity, 0 relations'
        """
        parts = {"chunk": self.chunks, "entity": self.entities, "relation": self.relations}
        listed = ", ".join(format_count(count, what) for what, count in parts.items())
        changes = {"new": self.added, "changed": self.changed, "gone": self.removed}
        changed = ", ".join(f"{count:,} {what}" for what, count in changes.items() if count)
        return f"indexed {format_count(self.documents, 'document')} ({changed or 'none changed'}): {listed}"


def build_index(
    sources: Source | Iterable[Source],
    folder: str | Path,
    settings: IndexSettings = IndexSettings(),  # noqa: B008 - a frozen value
    on_progress: OnProgress | None = None,
    *,
    model: Judge | BaseChatModel | None = None,
    budget: IndexBudget = IndexBudget(),  # noqa: B008 - a frozen value
) -> BuildReport:
    """Index exactly the documents of the given sources, and return what was done.

    A folder that holds an index is brought up to date: documents that are no longer in the sources are removed, and
    what was extracted from unchanged text is used again.

    Args:
        sources: Paths of files and folders, and documents; see `read_documents`.
        folder: The folder of the index, which is created.
        settings: How the documents are indexed.
        on_progress: A function that is called with snapshots of the progress.
        model: The model that extracts, in place of the judge that `settings.extract` names.
        budget: What the extractions may take at most. At its end, chunks that were not read are faults, the index is
            built without them, and the same command with a higher budget continues.

    Returns:
        The report. Rows that are no documents, and chunks that a model could not read, are faults in it.

    Raises:
        DataError: If a path or the schema file does not exist, or if no source holds a document. The index is then
            unchanged.
        JudgeError: If there is a cap on the cost but no price.
        StoreError: If another process writes to the folder, it cannot be written, or it holds files of something else.
        MissingExtraError: If a package of the extra `reference` is missing.

    Example:
        >>> import tempfile
        >>> ferry = Document(id="ferry", title="Ferry", text="It leaves at nine. Ada steers it.")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     report = build_index([ferry], folder, IndexSettings(embedding="tfidf"))
        ...     again = build_index([ferry], folder, IndexSettings(embedding="tfidf"))
        >>> (report.added, report.chunks), (again.unchanged, again.rebuilt)
        ((1, 1), (1, False))
    """
    from greval.reference.embeddings import check_stored_name, load_embedder

    path = Path(folder)
    check_index_folder(path)
    schema = read_schema(settings.schema_file) if settings.schema_file else None
    check_stored_name(settings.embedding)
    embedder = load_embedder(settings.embedding)
    extractor = open_extractor(settings, model, budget)
    with lock_index(path):
        old = read_index_file(path)
        _delete_leftovers(path, old)
        with IndexLedger(path, write=True) as ledger:
            return _Build(path, settings, schema, extractor, embedder, ledger, old, on_progress).run(sources)


@contextmanager
def lock_index(folder: Path) -> Iterator[None]:
    """Create the folder of an index if it does not exist, and hold its write lock in the `with` block."""
    try:
        lock = open_locked(folder / LOCK_FILE)
    except OSError as error:
        raise StoreError(
            f"{folder}: cannot be used as the folder of an index: {error.strerror}; choose another with -o"
        ) from error
    if lock is None:
        raise StoreError(f"{folder}: another command writes to this index; wait for it or choose another with -o")
    with lock:
        yield


def check_index_folder(folder: Path) -> None:
    """Raise `StoreError` if a folder holds something else than an index and hidden files."""
    if not folder.is_dir() or (folder / LEDGER_FILE).exists():
        return
    index_files = {LOCK_FILE, INDEX_FILE}
    # A folder with nothing but hidden files is as good as an empty one.
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    foreign = next((name for name in names if name not in index_files and not _BUILD.fullmatch(name)), None)
    if foreign is not None:
        raise StoreError(
            f"{folder}: expected a new or empty folder, or that of an index, but it holds "
            f"{format_printable(foreign)!r}; choose another with -o, such as {folder / 'index'}"
        )


def _delete_leftovers(folder: Path, current: IndexFile | None) -> None:
    """Delete builds that were never finished, and those that another has replaced."""
    for path in folder.glob(f"{BUILD_PREFIX}*"):
        if _BUILD.fullmatch(path.name) and (current is None or path.name != current.build):
            shutil.rmtree(path, ignore_errors=True)


@dataclass
class _Build:
    """One command: the ledger is brought up to date, then the build."""

    folder: Path
    settings: IndexSettings
    schema: GraphSchema | None
    extractor: Extractor | None
    embedder: Embedder
    ledger: IndexLedger
    old: IndexFile | None
    on_progress: OnProgress | None
    faults: list[RowFault] = field(default_factory=list)
    chunk_faults: list[RowFault] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    failed: int = 0
    failed_chunks: int = 0
    characters: int = 0
    began: float = field(default_factory=time.monotonic)
    step: tuple[Step, float] = ("documents", 0.0)

    def run(self, sources: Source | Iterable[Source]) -> BuildReport:
        """Do all steps, and return what was done."""
        counts = self._write_documents(sources)
        stored = [*self.ledger.iterate_chunks()]
        self._extract(stored)
        if self.embedder.stored:
            self._embed(stored)
        name = self._name_build(stored)
        is_built = (self.folder / name / "manifest.json").is_file()
        is_current = self.old is not None and self.old.build == name and is_built
        if not is_current:
            self._show("graph")
            self._write_build(name, stored)
        search = self.old.search_settings if self.old else SearchSettings()
        file = IndexFile(build=name, settings=self.settings, search_settings=search)
        if file != self.old:
            write_atomically(self.folder / INDEX_FILE, file.model_dump_json(indent=2) + "\n")
            sync_folder(self.folder)
        # Only now: the old build read the chunks of retired documents until it was replaced.
        self.ledger.delete_retired()
        _delete_leftovers(self.folder, file)
        manifest = Manifest.model_validate_json((self.folder / name / "manifest.json").read_bytes())
        total_usage = self.ledger.sum_usage()
        cost, total_cost = map(self.extractor.compute_cost, (self.usage, total_usage)) if self.extractor else (0.0, 0.0)
        return BuildReport(
            folder=str(self.folder),
            **counts,
            failed=self.failed,
            failed_chunks=self.failed_chunks,
            faults=tuple(self.faults),
            chunk_faults=tuple(self.chunk_faults),
            **manifest.model_dump(include={"chunks", "entities", "relations", "names", "merged", "embedder"}),
            extractor=self.extractor.client.label if self.extractor else RULES,
            usage=self.usage,
            total_usage=total_usage,
            cost=cost,
            total_cost=total_cost,
            cost_per_megabyte=divide_by_megabytes(total_cost, self.characters) if self.extractor else None,
            rebuilt=not is_current,
            seconds=time.monotonic() - self.began,
        )

    def _show(self, step: Step, done: int = 0, total: int | None = None, forecast: float | None = None) -> None:
        seconds = time.monotonic() - self.began
        if self.step[0] != step:
            self.step = step, seconds
        if self.on_progress:
            self.on_progress(
                BuildProgress(
                    step=step,
                    done=done,
                    total=total,
                    failed=self.failed if step == "documents" else self.failed_chunks,
                    usage=self.usage,
                    seconds=seconds,
                    step_seconds=seconds - self.step[1],
                    forecast=forecast,
                )
            )

    def _add_chunk_fault(self, label: str, message: str, chunks: int = 1) -> None:
        self.failed_chunks += chunks
        if len(self.chunk_faults) < MAX_FAULTS:
            self.chunk_faults.append(RowFault(place=label, message=message))

    # Documents

    def _write_documents(self, sources: Source | Iterable[Source]) -> dict[str, int]:
        """Write new and changed documents to the ledger, retire those that are gone, and count all of them."""
        old_digests = {name: digest for _, name, digest in self.ledger.list_document_rows()}
        ids: set[str] = set()
        counts = {"documents": 0, "added": 0, "changed": 0, "unchanged": 0, "removed": 0}
        for group in take_groups(self._read_documents(sources), DOCUMENTS_AT_ONCE):
            with self.ledger.write_together():
                for document in group:
                    ids.add(document.id)
                    self.characters += len(document.text)
                    counts[self._write_document(document, old_digests.get(document.id))] += 1
            self._show("documents", done=len(ids))
        if not ids:
            raise DataError(describe_no_documents(self.faults, self.failed))
        removed = [document_id for document_id in old_digests if document_id not in ids]
        self.ledger.retire_documents(removed)
        return {**counts, "documents": len(ids), "removed": len(removed)}

    def _read_documents(self, sources: Source | Iterable[Source]) -> Iterator[Document]:
        for item in read_documents(sources):
            if isinstance(item, RowFault):
                self.failed += 1
                if len(self.faults) < MAX_FAULTS:
                    self.faults.append(item)
            else:
                yield item

    def _write_document(self, document: Document, old_digest: str | None) -> str:
        rules = (CHUNKING_VERSION, self.settings.chunk_chars, self.settings.overlap)
        digest = compute_text_key(document.model_dump_json(), *map(str, rules))
        if old_digest == digest:
            return "unchanged"
        self.ledger.put_document(document, digest, chunk_document(document, self.settings))
        return "added" if old_digest is None else "changed"

    # Extraction

    @property
    def _extractor(self) -> str:
        return name_extractor(self.extractor, self.schema)

    def _build_key(self, stored: StoredChunk) -> ExtractionKey:
        return build_extraction_key(stored.chunk, self.schema, is_by_rules=self.extractor is None)

    def _extract(self, stored: Sequence[StoredChunk]) -> None:
        """Extract from chunks from which nothing was extracted so far."""
        extracted = self.ledger.list_extracted(self._extractor)
        missing: dict[ExtractionKey, IndexedChunk] = {}
        for record in stored:
            if (key := self._build_key(record)) not in extracted:
                missing.setdefault(key, record.chunk)
        if not missing:
            return
        self._show("extraction", total=len(missing))
        # What a table states is taken as it is: no model is asked about it.
        triples = {key: missing.pop(key) for key in [*missing] if missing[key].triples}
        for group in take_groups(triples.items(), CHUNKS_AT_ONCE):
            self.ledger.put_extractions(self._extractor, [(key, read_triple(chunk)) for key, chunk in group])
        if self.extractor is not None:
            run_sync(self._extract_with_model(self.extractor, missing))
            return
        done = 0
        for group in take_groups(missing.items(), CHUNKS_AT_ONCE):
            self.ledger.put_extractions(
                self._extractor, [(key, extract_with_rules(chunk, self.schema)) for key, chunk in group]
            )
            done += len(group)
            self._show("extraction", done, len(missing))

    async def _extract_with_model(self, extractor: Extractor, missing: dict[ExtractionKey, IndexedChunk]) -> None:
        """Ask the model about several chunks at a time. Each answer is written before the next chunk is asked about."""
        from greval.reference.extraction.model import extract_with_model

        client = extractor.client
        guard = extractor.build_guard(self.ledger.sum_usage())
        context = CallContext(guard)
        # All workers take from one iterator, so that each chunk is asked about once.
        queue = iter(missing.items())
        in_a_row = done = 0

        async def work() -> None:
            nonlocal in_a_row, done
            for key, chunk in queue:
                if in_a_row >= MAX_FAILURES_IN_A_ROW:
                    return
                try:
                    extraction, usage = await extract_with_model(chunk, client, self.schema, context)
                except StoppedError:
                    return
                except GrevalError as error:
                    in_a_row += 1
                    # The message need not repeat the id, which the fault has as its place.
                    self._add_chunk_fault(chunk.id, str(error).removeprefix(f"{chunk.id}: "))
                else:
                    in_a_row = 0
                    guard.record_answer("extraction", None)
                    self.usage += usage
                    self.ledger.put_extractions(self._extractor, [(key, extraction)], usage)
                done += 1
                self._show("extraction", done, len(missing))

        await run_workers(work() for _ in range(LOCAL_CONCURRENCY if client.judge.local else CONCURRENCY))
        if unasked := len(missing) - done:
            reason = guard.why or f"{MAX_FAILURES_IN_A_ROW} chunks in a row failed; run the same command again"
            self._add_chunk_fault(format_count(unasked, "more chunk"), f"were not read, because {reason}", unasked)

    # Vectors

    def _embed(self, stored: Sequence[StoredChunk]) -> None:
        """Embed chunks that were not embedded so far. Texts of similar length are embedded together."""
        embedder = self.embedder
        embedded = self.ledger.list_embedded(embedder.name)
        missing = {record.text_key: record.chunk.content for record in stored if record.text_key not in embedded}
        if not missing:
            return
        self._show("embedding", total=len(missing))
        done = 0
        texts = sorted(missing.items(), key=lambda item: len(item[1]))
        middle = len(texts) // 2
        # Texts of medium length go first, so that the time can be forecast, and the time that is left estimated.
        texts = texts[middle:] + texts[:middle]
        for group in (texts[:FIRST_TEXTS], *take_groups(texts[FIRST_TEXTS:], TEXTS_AT_ONCE)):
            began = time.monotonic()
            vectors = embedder.embed_passages([text for _, text in group])
            forecast = None if done else (time.monotonic() - began) / len(group) * len(missing)
            self.ledger.put_embeddings(embedder.name, [key for key, _ in group], vectors)
            done += len(group)
            self._show("embedding", done, len(missing), forecast)

    def _read_vectors(self, stored: Sequence[StoredChunk]) -> tuple[Embedder, FloatArray]:
        """Return the vectors of the chunks, and the embedder, which may have been fitted to them."""
        if self.embedder.stored:
            keys = [record.text_key for record in stored]
            return self.embedder, self.ledger.read_embeddings(self.embedder.name, keys, self.embedder.dimensions)
        texts = [record.chunk.content for record in stored]
        fitted = self.embedder.fit(texts)
        return fitted, fitted.embed_passages(texts)

    # The build

    def _name_build(self, stored: Sequence[StoredChunk]) -> str:
        """Return the name of the build, made of everything that it depends on."""
        extracted = self.ledger.list_extracted(self._extractor)
        content = (
            BUILD_VERSION,
            greval.__version__,
            self._extractor,
            self.embedder.name,
            self.settings.graph,
            self.settings.resolution.model_dump_json(),
            self.ledger.list_document_rows(),
            # Failed chunks are asked about again, and the build differs when one of them succeeds.
            [record.row for record in stored if self._build_key(record) not in extracted],
        )
        return f"{BUILD_PREFIX}{hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]}"

    def _write_build(self, name: str, stored: Sequence[StoredChunk]) -> None:
        """Write a build to a folder of another name, which gets its name when all of it is on the disk."""
        from greval.reference.storage.graph_store import open_graph
        from greval.reference.storage.vectors import VectorIndex
        from greval.reference.storage.words import WordIndex

        new = self.folder / f"{name}.tmp-{os.getpid()}"
        new.mkdir()
        positions = {record.chunk.id: position for position, record in enumerate(stored)}
        graph = self._resolve(stored)
        fitted, vectors = self._read_vectors(stored)
        _write_chunks(new, stored)
        _write_graph(new, graph, positions)
        store = open_graph(self.settings.graph, new, read_only=False)
        try:
            store.write(graph.entities, graph.relations)
        finally:
            store.close()
        VectorIndex(vectors).save(new / "vectors")
        WordIndex.build([record.chunk.content for record in stored]).save(new / "words")
        np.savez(new / "embedder.npz", **fitted.state())  # type: ignore[arg-type]  # numpy's stubs have no arrays here
        manifest = Manifest(
            embedder=self.embedder.name,
            extractor=self._extractor,
            graph=self.settings.graph,
            graph_schema=self.schema,
            chunks=len(stored),
            entities=len(graph.entities),
            relations=len(graph.relations),
            names=graph.names,
            merged=graph.merged,
        )
        (new / "manifest.json").write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
        # All of it is on the disk before it gets its name, by which the next command takes it for complete.
        _sync_files(new)
        # A rename does not replace a folder, such as a build of this name that lost its manifest.
        shutil.rmtree(self.folder / name, ignore_errors=True)
        new.rename(self.folder / name)
        sync_folder(self.folder)

    def _resolve(self, stored: Sequence[StoredChunk]) -> ResolvedGraph:
        """Return the graph of all extractions."""
        extractions = dict(self.ledger.iterate_extractions(self._extractor))
        pairs = (
            (record.chunk.id, extractions[key]) for record in stored if (key := self._build_key(record)) in extractions
        )
        return resolve_entities(pairs, self.settings.resolution)


def describe_no_documents(faults: Sequence[RowFault], count: int) -> str:
    """Describe that no source holds a document, with the faults found."""
    if not faults:
        return "the sources hold no documents; name files or folders with .txt, .md, .jsonl, .json, .csv or .parquet"
    rows = describe_row_faults([str(fault) for fault in faults], count)
    return "\n".join(["the sources hold no documents:", *rows])


def _write_chunks(folder: Path, stored: Sequence[StoredChunk]) -> None:
    """Write the ids of the chunks, their rows in the ledger, and their filterable fields as coded columns."""
    tags = sorted({tag for record in stored for tag in record.chunk.tags})
    values: dict[str, dict[str, int]] = {name: {} for name in (*COLUMNS, *(f"{TAG_PREFIX}{tag}" for tag in tags))}
    codes = np.full((len(values), len(stored)), -1, np.int32)
    for position, record in enumerate(stored):
        chunk = record.chunk
        fields = {"doc_id": chunk.doc_id, "repo": chunk.repo, "version": chunk.version}
        fields |= {f"{TAG_PREFIX}{tag}": value for tag, value in chunk.tags.items()}
        for column, (name, value_codes) in enumerate(values.items()):
            if (value := fields.get(name)) is not None:
                codes[column, position] = value_codes.setdefault(value, len(value_codes))
    content = {
        "ids": [record.chunk.id for record in stored],
        "values": {name: [*value_codes] for name, value_codes in values.items()},
    }
    (folder / "chunks.json").write_text(json.dumps(content), encoding="utf-8")
    np.savez(folder / "chunks.npz", rows=np.array([record.row for record in stored], np.int64), codes=codes)


def _write_graph(folder: Path, graph: ResolvedGraph, chunks: dict[str, int]) -> None:
    """Write the names and types of the entities and the arrays of the graph."""
    entities = {entity.name: position for position, entity in enumerate(graph.entities)}
    content = {
        "names": [*entities],
        "positions": _map_names(graph.entities),
        "types": [entity.type for entity in graph.entities],
        "aliases": [entity.aliases for entity in graph.entities],
    }
    (folder / "entities.json").write_text(json.dumps(content), encoding="utf-8")
    arrays = dump_arrays(EdgeTable.build(graph.relations, entities, chunks), MentionTable.build(graph.entities, chunks))
    np.savez(folder / "graph.npz", **arrays)  # type: ignore[arg-type]  # numpy's stubs have no arrays here


def _map_names(entities: Sequence[Entity]) -> dict[str, int]:
    """Map the normalised names and aliases of entities to their positions."""
    positions: dict[str, int] = {}
    for position, entity in enumerate(entities):
        positions.setdefault(normalise_spelling(entity.name), position)
    # After all names, so that no alias takes the place of a name.
    for position, entity in enumerate(entities):
        for alias in entity.aliases:
            positions.setdefault(normalise_spelling(alias), position)
    return positions


def _sync_files(folder: Path) -> None:
    """Sync all files below a folder to disk."""
    for path in [*folder.rglob("*"), folder]:
        if path.is_dir():
            sync_folder(path)
        else:
            with path.open("rb") as file:
                os.fsync(file.fileno())
