"""Argilla's own objects for judged runs: build datasets and records with its SDK, push into them, and pull from them.

The functions take and return objects of the package `argilla`, which `pip install 'greval[argilla]'` installs. No other
module imports it, and this one when a function needs it. Datasets are those of `push_to_argilla` and
`pull_from_argilla`: what one began, the other continues.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Unpack

from greval._util.arguments import require_iterable, resolve_run_folder
from greval.errors import ArgillaArgumentError, DataError, MissingExtraError
from greval.metrics.library import load_metric
from greval.records.annotation import Annotation
from greval.records.metric import JudgedMetric, Metric
from greval.runs.run_reader import read_judged_metric
from greval.runs.store import Store
from greval.trust.agreement.api import AgreementOptions, pair_categories
from greval.trust.agreement.api import agreement as measure_agreement
from greval.trust.agreement.records import Agreement
from greval.trust.argilla.client import ArgillaClient
from greval.trust.argilla.dataset import PUBLISH_HINT, DatasetTarget, find_dataset
from greval.trust.argilla.form import Json, build_parts, build_question, format_guidelines
from greval.trust.argilla.ledger import Ledger, read_ledger
from greval.trust.argilla.pull import ResponseReader
from greval.trust.argilla.push import PushOptions, PushResult, RecordWriter, parse_sample, push_items
from greval.trust.argilla.questions import find_questions
from greval.trust.argilla.record_items import read_record_items
from greval.trust.argilla.sampling import SamplingPlan, plan_records

if TYPE_CHECKING:
    import argilla as rg

    from greval.runs.evaluation import Run

__all__ = ["agreement", "classification_report", "pull", "push", "records", "settings"]

Metrics = str | Metric | Iterable[str | Metric]
"""One or several metrics: definitions, or names of the run's metrics or of predefined ones."""
QUESTION_CLASSES = {"rating": "RatingQuestion", "label_selection": "LabelQuestion", "text": "TextQuestion"}
METADATA_CLASSES = {"terms": "TermsMetadataProperty", "float": "FloatMetadataProperty"}
"""The names of the SDK's classes for the types of questions and metadata in a form."""


def settings(
    metrics: Metrics,
    *,
    run: str | Path | Run | None = None,
    suggestions: bool = False,
    min_submitted: int = 2,
) -> rg.Settings:
    """Build the settings of a dataset in which people judge by the metrics, each a question of every record.

    Add questions, vectors and metadata of your own before you create the dataset. The SDK needs a client for it:
    create one (`rg.Argilla(...)`), or set ARGILLA_API_URL and ARGILLA_API_KEY.

    Args:
        metrics: Judged metrics of answers, or of the same items. All are questions of one record.
        run: A run whose metrics are meant by names. Without it, names are those of predefined metrics, or files.
        suggestions: Whether the judge's reasons, findings and notes have a field in the records.
        min_submitted: The number of annotators per record.

    Raises:
        ArgillaArgumentError: If the metrics cannot be questions of one record, or a scale has too many values.
        DataError: If a metric is computed, or not in the run.
        DefinitionError: If there is no such metric.
        MissingExtraError: If the package argilla is not installed.
    """
    definitions = _find_metrics(metrics, run)
    sdk = _import_sdk()
    parts = build_parts(definitions, suggested=suggestions)
    metadata = []
    for term in parts["metadata-properties"]:
        build = getattr(sdk, METADATA_CLASSES[term["settings"]["type"]])
        is_visible = term["visible_for_annotators"]
        metadata.append(build(name=term["name"], title=term["title"], visible_for_annotators=is_visible))
    return sdk.Settings(
        fields=[sdk.TextField.from_dict(field) for field in parts["fields"]],
        questions=[
            getattr(sdk, QUESTION_CLASSES[question["settings"]["type"]]).from_dict(question)
            for question in parts["questions"]
        ],
        metadata=metadata,
        guidelines=format_guidelines(definitions),
        allow_extra_metadata=True,
        distribution=sdk.TaskDistribution(min_submitted=min_submitted),
    )


def records(
    run: str | Path | Run,
    metrics: Metrics,
    *,
    suggestions: bool = False,
    sample: SamplingPlan | str | None = None,
    seed: int = 0,
) -> list[rg.Record]:
    """Build a record for each item that the metrics judged: its texts, and metadata that identifies it.

    Add vectors and metadata of your own, and log the records with the SDK.

    Args:
        run: The run, or its folder.
        metrics: Judged metrics of the run.
        suggestions: Whether the judge's values are suggestions, with the reasons, findings and notes in a field. People
            who see them tend to repeat them: leave it off to measure agreement.
        sample: The sample size and method, such as `random:200`. None takes all items.
        seed: The random seed of the sample.

    Raises:
        ArgillaArgumentError: If the metrics saw different texts in one field, or the sample is invalid.
        DataError: If a metric is computed, or not in the run.
        MissingExtraError: If the package argilla is not installed.
        StoreError: If the folder is not a run.
    """
    folder = resolve_run_folder(run)
    with Store.open(folder) as store:
        definitions = _find_metrics(metrics, store)
        items = read_record_items(store, definitions, written=suggestions)
    # A record of the SDK is in no dataset yet, so its suggestions name their questions instead of their ids.
    forms = [build_question(metric) for metric in definitions]
    questions = find_questions(definitions, [{**question, "id": question["name"]} for question in forms])
    plan, drawn = plan_records(Ledger(), items, parse_sample(sample), seed=seed)
    writer = RecordWriter(folder.resolve().name, questions, suggestions)
    return _build_records(writer.build_record(item, plan.planned[item.id]) for item in items if item.id in drawn)


def push(run: str | Path | Run, metrics: Metrics, *, dataset: rg.Dataset, **options: Unpack[PushOptions]) -> PushResult:
    """Push the judged items of a run into a dataset on the server, as `push_to_argilla` does.

    If it is interrupted, the same call completes it without duplicates.

    Args:
        run: The run, or its folder.
        metrics: Judged metrics of the run.
        dataset: The dataset; requests go through its client.
        **options: `suggestions`, `sample`, `seed` and `questions`, as in `push_to_argilla`. Records on the server get
            the suggestions that they lack.

    Returns:
        The counts of added and existing records.

    Raises:
        ArgillaError: If the server is not available or refuses, or the dataset does not fit the metrics.
        DataError: If nothing in the run was judged by the metrics.
        StoreError: If the run folder cannot be used.
    """
    names = [metric if isinstance(metric, str) else metric.name for metric in _list_metrics(metrics)]
    with _connect_dataset(dataset) as server:
        return push_items(server, run, names, DatasetTarget(dataset.name, dataset.workspace.name), options)


def pull(
    dataset: rg.Dataset,
    metrics: Metrics,
    *,
    run: str | Path | Run | None = None,
    questions: Mapping[str, str] | None = None,
) -> list[Annotation]:
    """Pull every person's answers to the questions of the metrics, also from a dataset that greval did not make.

    A question belongs to a metric if it has its name and its labels, or if it is the only one with its labels. Records
    that greval did not push name their items with the metadata `sample_id`, `method` and `item`, or else the id of the
    record is that of the sample.

    Args:
        dataset: A dataset on the server.
        metrics: Judged metrics.
        run: The run that was pushed. Names of metrics are those of the run, and records whose metadata was removed are
            found again.
        questions: The name of the question for a metric, if it is neither that of the metric nor the only one with its
            labels.

    Returns:
        Annotations with all statuses; only submitted ones count as labels. `keep_annotations` stores them in a run.

    Raises:
        ArgillaArgumentError: If a metric has no question; the message names the questions that were found and the
            labels that were expected.
        ArgillaError: If the server is not available or refuses.
        DataError: If a metric is computed, or not in the run.
        DefinitionError: If there is no such metric.
    """
    definitions = _find_metrics(metrics, run)
    with _connect_dataset(dataset) as server:
        source = find_dataset(server, dataset.name, dataset.workspace.name)
        ledger = Ledger() if run is None else read_ledger(resolve_run_folder(run), source.id)
        # As a list, because the connection is closed with this block.
        return [*ResponseReader(server, source, definitions, ledger, questions=questions).iter_annotations()]


def agreement(
    dataset: rg.Dataset,
    run: str | Path | Run,
    metric: str,
    *,
    questions: Mapping[str, str] | None = None,
    **options: Unpack[AgreementOptions],
) -> Agreement:
    """Compute how far the judge of a run agrees with the people who answered in a dataset.

    Args:
        dataset: A dataset on the server.
        run: The run, or its folder.
        metric: A judged metric of the run.
        questions: As in `pull`.
        **options: Those of `greval.agreement`.

    Raises:
        ArgillaError: If the server is not available or refuses, or the metric has no question.
        DataError: If no answer matches a verdict, or the run has no such judged metric.
    """
    return measure_agreement(run, metric, pull(dataset, metric, run=run, questions=questions), **options)


def classification_report(
    dataset: rg.Dataset,
    run: str | Path | Run,
    metric: str,
    *,
    questions: Mapping[str, str] | None = None,
    output_dict: bool = False,
    **options: Unpack[AgreementOptions],
) -> str | dict[str, Any]:
    """Return scikit-learn's classification report of the judge, with the people of a dataset as the truth.

    The compared items and values are those of `agreement`.

    Args:
        dataset: A dataset on the server.
        run: The run, or its folder.
        metric: A judged metric of the run. Levels of a value scale are compared as categories.
        questions: As in `pull`.
        output_dict: Whether to return the figures instead of a text.
        **options: Those of `greval.agreement`.

    Raises:
        ArgillaError: If the server is not available or refuses, or the metric has no question.
        DataError: If no answer matches a verdict, or the run has no such judged metric.
        MissingExtraError: If scikit-learn is not installed.
    """
    try:
        from sklearn import metrics as sklearn_metrics
    except ImportError as error:
        raise MissingExtraError("stats", "scikit-learn") from error
    rows = pull(dataset, metric, run=run, questions=questions)
    scale, pairs = pair_categories(run, metric, rows, **options)
    people, judge = [str(pair.people) for pair in pairs], [str(pair.judge) for pair in pairs]
    # By default scikit-learn sorts labels by the alphabet, and warns about those that the judge never gave.
    report: str | dict[str, Any] = sklearn_metrics.classification_report(
        people, judge, labels=[*scale.names], output_dict=output_dict, zero_division=0
    )
    return report


def _find_metrics(metrics: Metrics, run: str | Path | Run | Store | None) -> list[JudgedMetric]:
    """Find judged metrics by name in a run, or among predefined metrics and files if there is no run."""
    listed = [*_list_metrics(metrics)]
    if isinstance(run, Store):
        definitions = [read_judged_metric(run, metric if isinstance(metric, str) else metric.name) for metric in listed]
    elif run is not None:
        with Store.open(resolve_run_folder(run)) as store:
            return _find_metrics(listed, store)
    else:
        loaded = [load_metric(metric) if isinstance(metric, str) else metric for metric in listed]
        if computed := [metric.name for metric in loaded if not isinstance(metric, JudgedMetric)]:
            reason = f"{computed[0]}: is computed, so there is nothing for people to judge"
            raise DataError(f"{reason}; name a judged metric")
        definitions = [metric for metric in loaded if isinstance(metric, JudgedMetric)]
    if not definitions:
        raise DataError("metrics: expected one or several, got none; name a judged metric")
    return definitions


def _list_metrics(metrics: Metrics) -> Iterable[str | Metric]:
    listed = [metrics] if isinstance(metrics, str | Metric) else metrics
    require_iterable(listed, "metrics", "a list, such as ['correctness', 'tone']")
    return listed


def _import_sdk() -> ModuleType:
    """Import the package `argilla`, or raise `MissingExtraError` if it or what it needs is not installed."""
    try:
        import argilla
    except ImportError as error:
        raise MissingExtraError("argilla", error.name or "argilla") from error
    module: ModuleType = argilla
    return module


def _connect_dataset(dataset: rg.Dataset) -> ArgillaClient:
    """Return a REST client that sends requests through the client of a dataset."""
    client: rg.Argilla = dataset._client  # noqa: SLF001 - the SDK has no other way to the client of a dataset
    if dataset.id is None:
        raise ArgillaArgumentError("dataset", f"{dataset.name!r} is not on the server; {PUBLISH_HINT}", "missing")
    return ArgillaClient(client=client.http_client)


def _build_records(records: Iterable[Json]) -> list[rg.Record]:
    """Build records of the SDK from those that are sent over REST; they name questions instead of giving their ids."""
    sdk = _import_sdk()
    return [
        sdk.Record(
            id=record["external_id"],
            fields=record["fields"],
            metadata=record["metadata"],
            suggestions=[
                # A record of the SDK has no dataset before it is logged, so its suggestions name their questions.
                sdk.Suggestion(
                    verdict["question_id"], verdict["value"], score=verdict.get("score"), agent=verdict.get("agent")
                )
                for verdict in record["suggestions"]
            ],
        )
        for record in records
    ]
