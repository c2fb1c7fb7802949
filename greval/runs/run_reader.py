"""What a run holds: its metrics with their scales and directions, and the cases as they were judged.

No other module reads the manifest entry "metrics", except to write or merge it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from greval._util.arguments import build_unknown_name_error
from greval.errors import DataError
from greval.metrics.library import predefined
from greval.records.case import Case
from greval.records.metric import ComputedMetric, JudgedMetric
from greval.records.metric_input import compute_keys, narrow_case
from greval.records.result import Result
from greval.records.scale import Scale
from greval.records.scale_direction import ScaleDirection, find_direction
from greval.records.stored_metric import StoredMetric, parse_stored_metrics
from greval.runs.store import Store

CaseKey = tuple[str, str]
"""Sample id and method."""
ItemKey = tuple[str, str, str | None]
"""Sample id, method and item id."""
PriorValues = Mapping[CaseKey, Mapping[str, Mapping[str, object]]]
"""For each case, the values of its items by the metrics that a metric builds on."""


class JudgedCase(NamedTuple):
    """A case as the run stores it, the part of it that the metric saw, and the result.

    `seen` differs from `whole` if the metric builds on others, which narrow the case.
    """

    whole: Case
    seen: Case
    result: Result


def read_metrics(store: Store) -> dict[str, StoredMetric]:
    """Return the metrics of a run by name, in their order."""
    return parse_stored_metrics(store.fact("metrics"))


def read_metric(store: Store, name: str) -> StoredMetric:
    """Return a metric of a run.

    Raises:
        DataError: If the run does not contain it.
    """
    metrics = read_metrics(store)
    if name not in metrics:
        raise build_unknown_name_error("metric", name, metrics, store.folder)
    return metrics[name]


def read_judged_metric(store: Store, name: str) -> JudgedMetric:
    """Return the definition of a judged metric of a run.

    Raises:
        DataError: If the run does not contain it, or it is computed.
    """
    metrics = read_metrics(store)
    if name not in metrics:
        known = ", ".join(sorted(metrics)) or "none"
        raise DataError(f"{store.folder}: was not judged by {name!r}; metrics there: {known}")
    judged = metrics[name].judged
    if judged is None:
        raise DataError(f"{name}: is computed, so there is nothing for people to judge; name a judged metric with -m")
    return judged


def read_known_scales(store: Store) -> dict[str, Scale]:
    """Return the scale of each metric that is predefined or that the run contains; the run has precedence."""
    found: dict[str, Scale] = {name: metric.scale for name, metric in predefined().items()}
    return found | {name: metric.scale for name, metric in read_metrics(store).items()}


def find_directions(*runs: Mapping[str, StoredMetric]) -> dict[str, ScaleDirection]:
    """Return the direction of each metric that a run contains or that is predefined, in their order.

    Args:
        runs: The metrics of each run, the one with precedence first.
    """
    found: dict[str, ScaleDirection] = {}
    for metrics in runs:
        for name, metric in metrics.items():
            found.setdefault(name, find_direction(metric.scale)._replace(computed=not metric.is_judged))
    for name, known in predefined().items():
        found.setdefault(name, find_direction(known.scale)._replace(computed=isinstance(known, ComputedMetric)))
    return found


def read_judged_cases(
    store: Store, metric: JudgedMetric, wanted: Collection[CaseKey] | None = None, prints: Iterable[str] | None = None
) -> Iterator[JudgedCase]:
    """Yield each case in the version that a metric judged last, with the result.

    A case that was changed and judged again is stored in several versions; the version of the result counts.

    Args:
        store: The run, opened for reading.
        metric: The metric by which the cases were judged.
        wanted: The samples and methods to read; None for all.
        prints: The fingerprints that verdicts may have, if known.
    """
    known = _read_fingerprints(store, metric) if prints is None else set(prints)
    before = _read_prior_values(store, metric, wanted)
    done: set[CaseKey] = set()
    for case in store.cases():
        who = (case.id, case.method)
        if who in done or (wanted is not None and who not in wanted):
            continue
        seen = narrow_case(metric, case, before.get(who, {})) if metric.uses else case
        for fingerprint in known:
            _, key = compute_keys(seen, metric, fingerprint)
            if result := store.get(key, (*who, metric.name)):
                done.add(who)
                yield JudgedCase(case, seen, result)
                break


def _read_fingerprints(store: Store, metric: JudgedMetric) -> set[str]:
    """Return the fingerprints of all verdicts of a metric."""
    return {json.loads(mark)[0] for _, _, name, _, _, mark in store.scores() if name == metric.name}


def _read_prior_values(store: Store, metric: JudgedMetric, wanted: Collection[CaseKey] | None) -> PriorValues:
    """Read the values given by the metrics that a metric builds on, by sample and method."""
    found: dict[CaseKey, dict[str, Mapping[str, object]]] = defaultdict(dict)
    for use in metric.uses.values():
        for line in store.lines(use.judged_by):
            result = Result.model_validate_json(line)
            if wanted is None or (result.sample_id, result.method) in wanted:
                values = {one.item or "": one.value for one in result.judgements}
                found[result.sample_id, result.method][use.judged_by] = values
    return found
