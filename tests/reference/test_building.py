"""Indexing: only what is new is done, nothing that was paid for is lost, and a kill changes nothing."""

from __future__ import annotations

import json
import shutil

import pytest
from reference_indexes import SETTINGS, answer_with_names, digest_index, make_documents, make_index, make_model

from greval.datasets.row_faults import RowFault
from greval.errors import DataError, GrevalError, JudgeError, StoreError
from greval.judging.model.prices import Price, Prices
from greval.reference.build_forecast import forecast_index
from greval.reference.building import MAX_FAILURES_IN_A_ROW, build_index, lock_index
from greval.reference.documents import read_documents
from greval.reference.extractor import IndexBudget
from greval.reference.index import ReferenceIndex
from greval.reference.records import Document
from greval.reference.settings import IndexSettings
from greval.testing import ScriptedJudge

PRICES = Prices(models={"ScriptedJudge": Price(input=2, output=4)}, as_of="2026-11-27", source="a test")


def list_counts(report):
    return tuple(getattr(report, name) for name in ("added", "changed", "unchanged", "removed", "failed"))


def change(documents, number):
    """Return the documents, with a sentence more in one of them."""
    changed = documents[number].model_copy(update={"text": f"{documents[number].text} Gulls cry."})
    return [*documents[:number], changed, *documents[number + 1 :]]


def test_only_new_and_changed_documents_are_indexed(tmp_path):
    """The same command again counts what is new, changed and gone, and gives the index that a new folder would get."""
    documents = make_documents(9)
    assert list_counts(make_index(tmp_path / "one", documents)) == (9, 0, 0, 0, 0)
    repeated = make_index(tmp_path / "one", documents)
    assert (list_counts(repeated), repeated.rebuilt) == ((0, 0, 9, 0, 0), False)
    later = change(documents, 4)[2:] + make_documents(2, start=20)
    assert list_counts(make_index(tmp_path / "one", later)) == (2, 1, 6, 2, 0)
    make_index(tmp_path / "two", reversed(later))
    assert digest_index(tmp_path / "one") == digest_index(tmp_path / "two")
    make_index(tmp_path / "three", documents)
    assert digest_index(tmp_path / "one") != digest_index(tmp_path / "three")


def test_ids_of_chunks_do_not_depend_on_other_documents(tmp_path):
    """The chunks of a document have the same ids and texts whatever else is indexed."""
    documents = make_documents(5)
    make_index(tmp_path / "all", documents)
    make_index(tmp_path / "one", documents[3:4])
    with ReferenceIndex.open(tmp_path / "all") as complete, ReferenceIndex.open(tmp_path / "one") as part:
        assert {*part.chunk_ids} < {*complete.chunk_ids}
        assert part.read_chunks(part.chunk_ids) == complete.read_chunks(part.chunk_ids)


def test_a_model_is_asked_about_new_text_only(tmp_path):
    """Unchanged chunks of a changed document cost nothing, nor does a text that comes back."""
    documents, model = make_documents(6), make_model()
    first = make_index(tmp_path, documents, model=model)
    assert first.usage.calls == first.total_usage.calls == len(model.calls) == first.chunks
    assert first.relations > 0
    changed = make_index(tmp_path, change(documents, 3), model=model)
    assert changed.usage.calls == 1
    back = make_index(tmp_path, documents, model=model)
    assert back.usage.calls == 0
    assert back.total_usage.calls == first.chunks + 1
    assert (back.entities, back.relations) == (first.entities, first.relations)


def test_a_chunk_that_the_model_cannot_read_is_reported_and_asked_about_again(tmp_path):
    """The index is built without its entities; the next command asks again, about this chunk only."""
    documents = make_documents(4)

    def fail_once(messages):
        return ValueError("too hot") if "at 4." in messages[-1].content else answer_with_names(messages)

    broken = make_index(tmp_path, documents, model=ScriptedJudge(fail_once))
    assert broken.failed_chunks == len(broken.chunk_faults) == 1
    assert "too hot" in broken.chunk_faults[0].message
    assert broken.chunk_faults[0].place == "harbour/3.md#4"
    model = make_model()
    mended = make_index(tmp_path, documents, model=model)
    assert (mended.failed_chunks, len(model.calls), mended.rebuilt) == (0, 1, True)
    make_index(tmp_path / "unbroken", documents, model=make_model())
    assert digest_index(tmp_path) == digest_index(tmp_path / "unbroken")


def test_a_model_that_always_fails_is_asked_no_further(tmp_path):
    """After some failures in a row the other chunks are reported together, and the index is built all the same."""
    model = ScriptedJudge([ValueError("gone")])
    report = make_index(tmp_path, make_documents(40), model=model)
    assert len(model.calls) < MAX_FAILURES_IN_A_ROW + 10 < report.chunks == report.failed_chunks
    assert report.chunk_faults[-1].place.endswith("more chunks")
    assert report.entities == 0


def test_a_budget_counts_over_commands_and_nothing_that_was_paid_for_is_lost(tmp_path):
    """At the cap the index is built without the other chunks, and a higher one goes on with these only."""
    documents, model = make_documents(6), make_model()
    capped = make_index(tmp_path, documents, model=model, budget=IndexBudget(max_calls=4))
    assert len(model.calls) == capped.usage.calls == 4
    assert capped.failed_chunks == capped.chunks - 4
    assert "the cap of 4 calls is reached (--max-calls)" in capped.chunk_faults[-1].message
    same = make_index(tmp_path, documents, model=model, budget=IndexBudget(max_calls=4))
    assert (same.usage.calls, same.failed_chunks) == (0, capped.failed_chunks)
    whole = make_index(tmp_path, documents, model=model, budget=IndexBudget(max_calls=100))
    assert (whole.failed_chunks, len(model.calls)) == (0, whole.chunks)
    assert whole.total_usage.calls == whole.chunks


def test_costs_are_those_of_the_tokens(tmp_path):
    """The report has the cost of this command, of the whole index and of a megabyte of its documents."""
    documents, model = make_documents(6), make_model()
    budget = IndexBudget(prices=PRICES)
    first = make_index(tmp_path, documents, model=model, budget=budget)
    usage = first.usage
    assert first.cost == first.total_cost == PRICES.cost("ScriptedJudge", usage) > 0
    characters = sum(len(document.text) for document in documents)
    assert first.cost_per_megabyte == pytest.approx(first.cost / characters * 1e6)
    again = make_index(tmp_path, documents, model=model, budget=budget)
    assert (again.cost, again.total_cost) == (0, first.cost)
    with pytest.raises(JudgeError, match="no price is known to cap a cost by"):
        make_index(tmp_path, documents, model=model, budget=IndexBudget(max_cost=1))


def test_a_forecast_counts_what_is_not_extracted_and_writes_nothing(tmp_path):
    """As many calls as the command then makes; after an extraction, the tokens of answers are measured."""
    documents, model = make_documents(6), make_model()
    plan = forecast_index(documents, tmp_path / "index", SETTINGS, model=model, prices=PRICES)
    assert not (tmp_path / "index").exists()
    report = make_index(tmp_path / "index", documents, model=model)
    assert (plan.chunks, plan.calls, plan.measured) == (report.chunks, report.usage.calls, False)
    assert plan.cost == pytest.approx((plan.input_tokens * 2 + plan.output_tokens * 4) / 1e6)
    later = forecast_index(change(documents, 3), tmp_path / "index", SETTINGS, model=model, prices=PRICES)
    assert (later.calls, later.measured) == (1, True)
    assert later.output_tokens == round(report.usage.output_tokens / report.usage.calls)
    assert forecast_index(documents, tmp_path / "rules", SETTINGS).calls == 0
    with pytest.raises(DataError, match="the sources hold no documents"):
        forecast_index([RowFault(place="x", message="bad")], tmp_path / "new", SETTINGS)


def test_sources_without_documents_change_nothing(tmp_path):
    """An empty folder, or one with faults only, is an error, and the index stays as it was."""
    make_index(tmp_path / "index", make_documents(3))
    previous = digest_index(tmp_path / "index")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="the sources hold no documents; name files"):
        build_index(tmp_path / "empty", tmp_path / "index", SETTINGS)
    with pytest.raises(DataError, match="the sources hold no documents:\nx: bad"):
        build_index([RowFault(place="x", message="bad")], tmp_path / "index", SETTINGS)
    with pytest.raises(DataError, match="no such file"):
        build_index(tmp_path / "nothing", tmp_path / "index", SETTINGS)
    assert digest_index(tmp_path / "index") == previous


def test_one_command_writes_at_a_time(tmp_path):
    """A second writer is refused at once; readers are not."""
    make_index(tmp_path, make_documents(3))
    with lock_index(tmp_path):
        with pytest.raises(StoreError, match="another command writes to this index"):
            make_index(tmp_path, make_documents(4))
        assert digest_index(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be used as the folder of an index"):
        make_index(tmp_path / "file", make_documents(1))


def test_settings_that_change_chunks_or_names_build_the_index_anew(tmp_path):
    """Another length of chunks or another resolution gives the index that a new folder would get."""
    documents = make_documents(5)
    make_index(tmp_path / "one", documents)
    for changed in (
        {"chunk_chars": 100},
        {"overlap": 0},
        {"resolution": SETTINGS.resolution.model_copy(update={"similarity": 0.5})},
    ):
        settings = SETTINGS.model_copy(update=changed)
        assert make_index(tmp_path / "one", documents, settings).rebuilt
        make_index(tmp_path / str(changed), documents, settings)
        assert digest_index(tmp_path / "one") == digest_index(tmp_path / str(changed))


def test_leftovers_and_old_builds_are_removed(tmp_path):
    """Of builds only the current one is kept, also after a kill; a folder that is merely named like one stays."""
    make_index(tmp_path, make_documents(3))
    for name in ("build-0123456789abcdef.tmp-1", "build-release"):
        (tmp_path / name).mkdir()
    make_index(tmp_path, make_documents(4))
    current = json.loads((tmp_path / "index.json").read_text())["build"]
    assert {path.name for path in tmp_path.glob("build-*")} == {current, "build-release"}


def test_a_build_that_is_lost_is_made_again(tmp_path):
    """The ledger is all that is needed: a deleted build, or a deleted index.json, is made again without the model."""
    documents, model = make_documents(4), make_model()
    make_index(tmp_path, documents, model=model)
    previous, calls = digest_index(tmp_path), len(model.calls)
    for path in tmp_path.glob("build-*"):
        shutil.rmtree(path)
    make_index(tmp_path, documents, model=model)
    assert digest_index(tmp_path) == previous
    (tmp_path / "index.json").unlink()
    make_index(tmp_path, documents, model=model)
    assert (digest_index(tmp_path), len(model.calls)) == (previous, calls)


def test_progress_comes_to_its_end_in_each_step(tmp_path):
    """Each step ends with all of it done, in the order of the steps."""
    snapshots = []
    documents = make_documents(5)
    report = make_index(tmp_path, documents, on_progress=snapshots.append)
    last = {each.step: each.done for each in snapshots}
    assert [*last] == ["documents", "extraction", "graph"]
    assert last["documents"] == 5
    assert last["extraction"] == report.chunks
    assert all(each.seconds >= each.step_seconds >= 0 for each in snapshots)


def test_the_first_texts_forecast_the_time_of_all(tmp_path, monkeypatch):
    """Eight texts are embedded before the others, and one snapshot has the forecast."""
    (tmp_path / "lengths.py").write_text(
        "class Embeddings:\n"
        "    def embed_documents(self, texts):\n        return [[1.0, len(text)] for text in texts]\n"
        "    def embed_query(self, text):\n        return [1.0, len(text)]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    snapshots = []
    settings = IndexSettings(embedding="lengths:Embeddings()", chunk_chars=60)
    report = make_index(tmp_path / "index", make_documents(9), settings, on_progress=snapshots.append)
    embedding = [each for each in snapshots if each.step == "embedding"]
    assert [each.done for each in embedding] == [0, 8, report.chunks]
    first, forecast, last = (each.forecast for each in embedding)
    assert (first, last) == (None, None)
    assert forecast > 0


def test_tags_that_name_entities_are_part_of_what_is_extracted(tmp_path):
    """With a schema that takes entities from a tag, another value of the tag is another extraction."""
    schema = tmp_path / "schema.yaml"
    schema.write_text("entities: {Kind: {from_tag: kind}}\n")
    settings = SETTINGS.model_copy(update={"schema_file": str(schema)})
    model, text = make_model(), Document(id="a", text="Ada left.", tags={"kind": "x", "other": "1"})
    make_index(tmp_path / "index", [text], settings, model=model)
    make_index(
        tmp_path / "index", [text.model_copy(update={"tags": {"kind": "x", "other": "2"}})], settings, model=model
    )
    assert len(model.calls) == 1
    make_index(tmp_path / "index", [text.model_copy(update={"tags": {"kind": "y"}})], settings, model=model)
    assert len(model.calls) == 2


def test_a_passage_that_several_documents_share_is_extracted_from_by_its_place(tmp_path):
    """The first chunk of a document is about its title; the same passage further on is not, whichever was first."""
    shared = "It pays the crew. Ada Byron steers the Golden Ferry to Pier Two at nine."
    previous = "Gulls cry over the grey water of the bay all day long and half the night."
    late = Document(id="a", title="Harbour Trust", text=f"{previous} {shared}")
    early = Document(id="b", title="Harbour Trust", text=shared)
    settings = SETTINGS.model_copy(update={"chunk_chars": 75, "overlap": 0})
    make_index(tmp_path / "index", [late], settings)
    make_index(tmp_path / "index", [late, early], settings)
    make_index(tmp_path / "unbroken", [early, late], settings)
    with ReferenceIndex.open(tmp_path / "index") as index:
        chunks = index.read_chunks(index.chunk_ids)
        assert [chunk.id for chunk in chunks if chunk.text == shared] == ["a#2", "b#1"]
        stated = {chunk for each in index.read_relations() if each.source == "Harbour Trust" for chunk in each.chunks}
        assert "b#1" in stated
        assert "a#2" not in stated
    assert digest_index(tmp_path / "index") == digest_index(tmp_path / "unbroken")


def test_a_reader_keeps_its_index_while_another_is_built(tmp_path):
    """Chunks can be read until the new build has taken the place of the old one; then the message says what to do."""
    make_index(tmp_path, make_documents(3))
    with ReferenceIndex.open(tmp_path) as index:
        ids = [*index.chunk_ids]
        snapshots = []

        def read_now(_):
            snapshots.append(len(index.read_chunks(ids)))

        make_index(tmp_path, [*read_documents(change(make_documents(3), 0))], on_progress=read_now)
        assert {*snapshots} == {len(ids)}
        with pytest.raises(DataError, match="open it again"):
            index.read_chunks(ids)


@pytest.mark.parametrize("name", ["build-release/app", "notes.md", "build-0123456789abcdef.txt"])
def test_a_folder_of_something_else_is_refused(tmp_path, name):
    """An index is not made among other files, and changes nothing there."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("mine")
    previous = sorted(tmp_path.rglob("*"))
    with pytest.raises(StoreError, match=f"empty folder, .* holds '?{name.split('/')[0]}'?; choose another with out="):
        make_index(tmp_path, make_documents(1))
    assert sorted(tmp_path.rglob("*")) == previous


def test_hidden_files_do_not_refuse_a_folder(tmp_path):
    """A folder with nothing but hidden files is as good as an empty one, and so is one of a first try that failed."""
    (tmp_path / ".gitignore").write_text("*")
    (tmp_path / "lock").write_text("")
    (tmp_path / "build-0123456789abcdef.tmp-7").mkdir()
    assert make_index(tmp_path, make_documents(1)).added == 1


def test_an_index_within_the_documents_is_no_document(tmp_path):
    """The folder of an index may be below that of the documents; its files are not read as documents."""
    (tmp_path / "ferry.md").write_text("The Ferry leaves Pier Two.")
    for _ in range(2):
        report = build_index(tmp_path, tmp_path / "index", SETTINGS)
    assert list_counts(report) == (0, 0, 1, 0, 0)


@pytest.mark.parametrize("name", ["nothing:embeddings", "os:system(true)"])
def test_a_wrong_embedder_leaves_no_folder(tmp_path, name):
    """The embedder is loaded before anything is written."""
    with pytest.raises(GrevalError, match=r"embedding|no module"):
        make_index(tmp_path / "index", make_documents(1), IndexSettings(embedding=name))
    assert not (tmp_path / "index").exists()
