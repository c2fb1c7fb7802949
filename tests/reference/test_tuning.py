"""Tuning: settings that help are written, noise is not, and what cannot be decided is refused."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from noisy_scores import draw_noise
from tuned_worlds import index_chains

from greval.errors import DataError
from greval.metrics.computed import find_computed_metric
from greval.records.case import Case
from greval.reference.index import ReferenceIndex
from greval.reference.searches import QuestionSearch, search_chunks
from greval.reference.settings import SearchSettings
from greval.reference.tuning import list_candidates, number_folds, tune
from greval.stats.cross_validation import choose_candidate, validate_choice
from greval.stats.interval import sum_by_cluster
from greval.stats.paired import compute_difference_intervals

GRID = {"alpha": [0.2, 0.6, 1.0], "top_k": [1, 20]}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Index a world in which the vectors never find the expected document; the settings use only them."""
    folder = tmp_path_factory.mktemp("world") / "index"
    return folder, index_chains(folder, alpha=1.0, k=3)


@pytest.fixture
def copied(world, tmp_path):
    """Return a copy of the index, which may be written, and its questions."""
    folder = tmp_path / "index"
    shutil.copytree(world[0], folder)
    return folder, world[1]


def read_settings(folder):
    """Return the search settings that the index stores."""
    with ReferenceIndex.open(folder) as index:
        return index.search_settings


def tune_folder(folder, cases, **options):
    """Tune the index of a folder."""
    with ReferenceIndex.open(folder) as index:
        return tune(index, cases, **{"measure": "recall@3", "grid": GRID, **options})


def test_settings_that_help_are_written(copied):
    """The gain is that of the graph, its interval is above 0, and the next search uses the settings."""
    folder, cases = copied
    tuning = tune_folder(folder, cases)
    assert (tuning.accepted, tuning.written, tuning.questions, tuning.candidates) == (True, True, 24, 6)
    assert tuning.interval.low > 0
    assert tuning.gain > 0.5
    assert tuning.changes == {"alpha": 0.2}  # top_k=1 is equally good, and a change more
    assert tuning.changes.items() <= read_settings(folder).model_dump().items()
    assert tuning.agreeing == len(tuning.folds) == 5
    assert sum(fold.questions for fold in tuning.folds) == 24
    repeated = tune_folder(folder, cases)
    assert (repeated.accepted, repeated.changes) == (False, {})
    assert "none of the 6 settings" in repeated.why


def test_the_measure_is_the_metric_of_responses(world):
    """The mean with the current settings is that of the computed metric on the chunks of a search."""
    folder, cases = world
    with ReferenceIndex.open(folder) as index:
        tuning = tune(index, cases, measure="recall@3", grid=GRID, write=False)
        metric = find_computed_metric("recall@3")
        values = []
        for case in cases:
            ranked = search_chunks(index, case.question, "hybrid", index.search_settings).chunks
            chunks = [index.read_chunks([index.chunk_ids[each]])[0] for each, _ in ranked]
            rows = [{"id": chunk.id, "text": chunk.text, "doc_id": chunk.doc_id} for chunk in chunks]
            answered = Case.model_validate({**case.model_dump(), "chunks": rows})
            values.append(metric.compute(answered)[0].number)
    assert tuning.before == pytest.approx(np.mean(values))


@pytest.mark.parametrize("search", ["basic", "bm25", "graph", "local", "hybrid"])
def test_searches_with_several_settings_are_those_of_one(world, search):
    """What is computed once for all settings changes no ranking."""
    folder, cases = world
    grid = {"graph": ["activation", "pagerank"], "fusion": ["minmax", "weighted", "rrf"], "depth": [0, 2]}
    grid |= {"alpha": [0.2, 0.8], "top_k": [1, 5]}
    with ReferenceIndex.open(folder) as index:
        query = QuestionSearch(index, cases[3].question)
        for settings in list_candidates(SearchSettings(k=4), grid):
            assert query.search(search, settings) == search_chunks(index, cases[3].question, search, settings)


def test_gold_may_name_chunks(copied):
    """If the gold names chunks of the index, chunks are ranked in place of documents."""
    folder, cases = copied
    by_chunk_id = [
        Case(id=case.id, question=case.question, gold={"essential_docs": [f"{case.gold.essential[0]}#1"]})
        for case in cases
    ]
    by_chunk, by_document = (tune_folder(folder, labelled, write=False) for labelled in (by_chunk_id, cases))
    assert (by_chunk.gain, by_chunk.before) == (by_document.gain, by_document.before)
    assert not by_chunk.warnings


def test_documents_that_are_not_indexed_are_reported(copied):
    """No search can find them, so that the figures are lower than they could be."""
    folder, cases = copied
    more = Case(id="x", question="What about Ship Nowhere?", gold={"essential_docs": ["lost"]})
    assert tune_folder(folder, [*cases, more], write=False).warnings == (
        "1 expected document not in the index, so no search finds them: lost",
    )


def test_questions_without_gold_are_counted(copied):
    """They are left out with the reason; a question that comes again counts once."""
    folder, cases = copied
    tuning = tune_folder(folder, [*cases, *cases, Case(id="x", question="Why?")], write=False)
    assert (tuning.questions, tuning.skipped) == (24, {"gold is not recorded": 1})


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"measure": "recal@5"}, "did you mean recall@5"),
        ({"measure": "recall@0"}, "write recall@10"),
        ({"measure": "edge_recall"}, "does not measure a ranking"),
        ({"measure": "recall", "grid": {"k": [5, 10]}}, "name a measure with a cut-off"),
        ({"grid": {"alhpa": [1]}}, "did you mean alpha"),
        ({"grid": {"alpha": [2]}}, "less than or equal to 1"),
        ({"grid": {"alpha": []}}, "no setting of hybrid to try"),
        ({"search": "tog"}, "asks a model"),
        ({"folds": 1}, "expected 2 or more"),
        ({"grid": {"k": range(1, 60), "top_k": range(1, 60)}}, "at most 2,000"),
    ],
)
def test_what_cannot_be_tuned_is_refused(world, options, part):
    """The message says what was expected and what to do."""
    with pytest.raises(DataError, match=part):
        tune_folder(*world, **options)


def test_few_questions_are_refused(world):
    """With fewer than 20 questions with gold nothing is claimed, and the message says how many are needed."""
    folder, cases = world
    with pytest.raises(
        DataError, match="at least 20 questions with gold, got 12, and 1 left out: gold is not recorded"
    ):
        tune_folder(folder, [*cases[:12], Case(id="x", question="Why?")])


def test_settings_with_the_fewest_changes_are_tried_first():
    """The first are the current ones; a combination that is there already is not tried again."""
    candidates = list_candidates(SearchSettings(), {"depth": [1, 2], "damping": [0.5, 0.85]})
    assert [(settings.depth, settings.damping) for settings in candidates] == [(2, 0.85), (1, 0.85), (2, 0.5), (1, 0.5)]


@given(st.lists(st.text(max_size=5), min_size=1, max_size=40), st.integers(2, 6))
def test_equal_ids_are_in_one_fold(names, count):
    """Folds depend on the ids only, differ in size by one at most, and hold all rows of an id."""
    folds = number_folds(names, count)
    fold_of = dict(zip(names, folds.tolist(), strict=True))
    assert [fold_of[name] for name in names] == folds.tolist()
    sizes = np.bincount([*fold_of.values()], minlength=count)
    assert sizes.max() - sizes.min() <= 1
    repeated = number_folds(names[::-1], count)
    assert repeated.tolist() == folds[::-1].tolist()


@pytest.mark.nightly
def test_noise_is_seldom_written():
    """Of 400 worlds without any difference, the interval of the gain is above 0 in at most 5 % (2.5 % is nominal)."""
    written = 0
    for seed in range(400):
        scores = draw_noise(seed, questions=50)
        tuning = validate_choice(scores, number_folds([f"q{number}" for number in range(50)], 5))
        sums = sum_by_cluster(tuning.gains, None)
        low = compute_difference_intervals(sums, level=0.95, ends=(-1.0, 1.0)).interval.low
        written += low > 0 and choose_candidate(scores) != 0
    assert written <= 20


@pytest.mark.parametrize("seed", range(8))
def test_gold_at_random_is_not_written(copied, seed):
    """If the expected documents are drawn by lot, the index keeps its settings."""
    folder, cases = copied
    rng = np.random.default_rng(seed)
    names = [f"{kind}{number}" for kind in ("ship", "owner", "noise") for number in range(24)]
    drawn = [Case(id=case.id, question=case.question, gold={"essential_docs": [rng.choice(names)]}) for case in cases]
    previous = read_settings(folder)
    assert not tune_folder(folder, drawn, measure="recall@10").written
    assert read_settings(folder) == previous
