"""What a run holds: its metrics with their scales and directions, and the cases as they were judged.

No other module reads the manifest entry "metrics", except to write or merge it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache, partial
from typing import Literal, NamedTuple

from greval._util.arguments import build_unknown_name_error
from greval._util.row_index import RowIndex
from greval.errors import DataError
from greval.metrics.dependencies import list_dependency_names
from greval.records.case import CLAIM_FIELDS, Case, ClaimField, format_history
from greval.records.formula_metric import StoredMetric, parse_stored_metrics
from greval.records.metric import JudgedMetric
from greval.records.metric_input import compute_keys, fill_claims, format_item, get_item_texts, list_items, narrow_case
from greval.records.result import CLAIM_LISTS, TEXTS_FIELD, Result, map_values
from greval.records.scale import Scale, ScaleDirection, find_direction
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.runs.store.reader import METRIC_VERSION

MAX_CACHED_CASES = 16
"""The number of cases kept while results are read: those of one case usually follow each other."""
CaseKey = tuple[str, str]
"""Sample id and method."""
ItemKey = tuple[str, str, str | None]
"""Sample id, method and item id."""
LINE_COLUMNS = ("sample_id", "method", "row")
"""The columns that name the case of a result, and the result as a JSON line."""
PriorValues = Mapping[CaseKey, Mapping[str, Mapping[str, object]]]
"""For each case, the values of its items by the metrics that a metric builds on."""


class JudgedCase(NamedTuple):
    """A case as the run stores it, the part of it that the metric saw, and the result.

    `seen` differs from `whole` if the metric builds on others, which narrow the case.
    """

    whole: Case
    seen: Case
    result: Result


class CaseTexts(NamedTuple):
    """The texts of a case, None if they are not recorded.

    `items` are those of the judged items by id, and `history` the turns before the question.
    """

    question: str | None = None
    answer: str | None = None
    expected_answer: str | None = None
    items: Mapping[str, str] | None = None
    history: str | None = None


def read_metrics(store: Store) -> dict[str, StoredMetric]:
    """Return the metrics of a run by name, in their order."""
    return parse_stored_metrics(store.fact("metrics"))


def read_metric(store: Store, name: str) -> StoredMetric:
    """Return a metric of a run."""
    metrics = read_metrics(store)
    if name not in metrics:
        raise build_unknown_name_error("metric", name, metrics, store.folder)
    return metrics[name]


def check_metric_names(store: Store, names: Iterable[str]) -> None:
    """Raise `DataError` for the first name that is no metric of a run."""
    for name in names:
        read_metric(store, name)


def read_judged_metric(store: Store, name: str) -> JudgedMetric:
    """Return the definition of a judged metric of a run."""
    metrics = read_metrics(store)
    if name not in metrics:
        names = ", ".join(sorted(metrics)) or "none"
        raise DataError(f"{store.folder}: was not judged by {name!r}; metrics there: {names}")
    judged = metrics[name].judged
    if judged is None:
        raise DataError(f"{name}: is computed, so there is nothing for people to judge; name a judged metric with -m")
    return judged


def read_known_scales(store: Store) -> dict[str, Scale]:
    """Return the scale of each metric that is predefined or that the run contains; the run has precedence."""
    # Most commands need only the metrics of the run.
    from greval.metrics.library import predefined

    scales: dict[str, Scale] = {name: metric.scale for name, metric in predefined().items()}
    return scales | {name: metric.scale for name, metric in read_metrics(store).items()}


def find_directions(*runs: Mapping[str, StoredMetric]) -> dict[str, ScaleDirection]:
    """Return the direction of each metric that a run contains or that is predefined; the first run has precedence."""
    # Imported late, as above.
    from greval.metrics.library import predefined

    directions: dict[str, ScaleDirection] = {}
    for metrics in runs:
        for name, metric in metrics.items():
            directions.setdefault(name, find_direction(metric.scale)._replace(computed=_needs_no_judge(name, metrics)))
    for name, predefined_metric in predefined().items():
        needs_no_judge = predefined_metric.kind == "computed" and not predefined_metric.dependency_places
        directions.setdefault(name, find_direction(predefined_metric.scale)._replace(computed=needs_no_judge))
    return directions


def _needs_no_judge(name: str, metrics: Mapping[str, StoredMetric]) -> bool:
    """Return whether neither a metric nor one from whose verdicts it is computed is judged by a model."""
    metric = metrics.get(name)
    return (
        metric is not None
        and not metric.is_judged
        and all(_needs_no_judge(below, metrics) for below in metric.built_on)
    )


def read_judged_cases(
    store: Store,
    metric: JudgedMetric,
    case_keys: Collection[CaseKey] | None = None,
    prints: Iterable[str] | None = None,
) -> Iterator[JudgedCase]:
    """Yield each case in the version that a metric judged last, with the result.

    A case that was changed and judged again is stored in several versions; the version of the result counts. `prints`
    are the fingerprints that verdicts may have, if known.
    """
    fingerprints = _read_fingerprints(store, metric) if prints is None else set(prints)
    prior_values = _read_prior_values(store, list_dependency_names(metric), case_keys)
    done: set[CaseKey] = set()
    for case in store.cases() if case_keys is None else _read_cases(store, case_keys):
        who = (case.id, case.method)
        if who in done:
            continue
        narrowed = narrow_case(metric, case, prior_values.get(who, {}))
        for fingerprint in fingerprints:
            _, key = compute_keys(narrowed, metric, fingerprint)
            if result := store.index.get(key, (*who, metric.name)):
                done.add(who)
                yield JudgedCase(case, narrowed, result)
                break


def _read_cases(store: Store, case_keys: Collection[CaseKey]) -> Iterator[Case]:
    """Yield every stored version of some cases; only these are parsed."""
    for number, sample_id, method in read_case_places(store):
        if (sample_id, method) in case_keys:
            yield read_case(store, number)


def read_case_places(store: Store) -> Iterator[tuple[int, str, str]]:
    """Yield the row number, the id and the method of every judged case, oldest first."""
    for number, names in store.select_cases(("rowid", "json_extract(row, '$.id', '$.method')")):
        sample_id, method = json.loads(names)
        # Fields that have their default are not stored.
        yield number, sample_id or "", method or ""


def read_lines(store: Store, numbers: Iterable[int], table: Literal["results", "cases"] = "results") -> Iterator[str]:
    """Yield the results, or the cases, with these row numbers as JSON lines, in this order."""
    query = f"SELECT row FROM {table} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"  # noqa: S608 - one of two tables
    # A query for consecutive numbers takes a third of the time of one for each of them.
    for ends in _list_spans(numbers):
        for (line,) in store.query(query, ends):
            yield line


def _list_spans(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last number of each span of consecutive numbers.

    Example:
        >>> [*_list_spans([4, 5, 6, 2, 3])]
        [(4, 6), (2, 3)]
    """
    span: tuple[int, int] | None = None
    for number in map(int, numbers):
        if span and number != span[1] + 1:
            yield span
            span = None
        span = (span[0] if span else number, number)
    if span:
        yield span


def read_case(store: Store, number: int) -> Case:
    """Return the case with a row number."""
    return Case.model_validate_json(next(read_lines(store, [number], "cases")))


class CaseFinder:
    """Finds the case of a result in the version that was judged, without holding the cases in memory.

    Claims that the run listed are part of the case if the result is of a metric that reads them.

    Args:
        store: The run, which must stay open.
        case_keys: The samples and methods whose results are given to it; None for all.
    """

    def __init__(self, store: Store, case_keys: Collection[CaseKey] | None = None) -> None:
        self._store = store
        self._newest = RowIndex()
        self._several: dict[CaseKey, list[int]] = {}
        for number, *case_key in read_case_places(store):
            if case_keys is not None and (case_key[0], case_key[1]) not in case_keys:
                continue
            key = json.dumps(case_key)
            previous = self._newest.get(key)
            if previous is not None:
                self._several.setdefault((case_key[0], case_key[1]), [previous]).append(number)
            self._newest[key] = number
        # Caches of this object rather than of the class, so that they end with it.
        self.read_case = lru_cache(maxsize=MAX_CACHED_CASES)(partial(read_case, store))
        self._read_priors = lru_cache(lambda names: _read_prior_values(store, names, self._several))

    @cached_property
    def _metrics(self) -> dict[str, StoredMetric]:
        return read_metrics(self._store)

    def find_case(self, result: Result) -> Case | None:
        """Return the case of a result, None if it is not stored."""
        case = self._find_stored_case(result)
        stored = self._metrics.get(result.metric)
        if case is None or stored is None or not (fields := stored.claim_fields):
            return case
        return self.add_claims(case, fields)

    def add_claims(self, case: Case, fields: Iterable[ClaimField] = CLAIM_FIELDS) -> Case:
        """Return a case with the claims that the run listed of it, in each of the fields that is not recorded."""
        names = {field: CLAIM_LISTS[field] for field in fields if getattr(case, field) is None}
        results = {name: self._store.index.get(None, (case.id, case.method, name)) for name in names.values()}
        listed = map_values(filter(None, results.values()))
        return fill_claims(case, {field: listed.get(name) for field, name in names.items()})

    def _find_stored_case(self, result: Result) -> Case | None:
        who = (result.sample_id, result.method)
        newest = self._newest.get(json.dumps(who))
        if newest is None or who not in self._several:
            return None if newest is None else self.read_case(newest)
        versions = (self.read_case(number) for number in reversed(self._several[who]))
        return next((case for case in versions if self._is_judged_version(case, result)), self.read_case(newest))

    def _is_judged_version(self, case: Case, result: Result) -> bool:
        """Return whether a version of a case is the one that has a result."""
        stored = self._metrics.get(result.metric)
        metric = stored and (stored.judged or stored.describe())
        if not metric:
            return False
        names = list_dependency_names(metric)
        priors = self._read_priors(names).get((case.id, case.method), {}) if names else {}
        _, key = compute_keys(narrow_case(metric, case, priors), metric, result.fingerprint)
        return self._store.index.get(key, (case.id, case.method, metric.name), result.repeat) is not None


def add_texts(store: Store, lines: Iterable[str]) -> Iterator[str]:
    """Add the texts of the case to results given as JSON lines.

    The field `texts` has the question, the answer, the expected answer, and in `items` the text of each judged item
    by its id; `history` if the case has one.
    """
    finder = CaseFinder(store)
    over = {name: metric.over for name, metric in read_metrics(store).items()}
    for line in lines:
        result = Result.model_validate_json(line)
        texts = read_texts(finder.find_case(result), over.get(result.metric))
        fields = {name: text for name, text in texts._asdict().items() if name != "history" or text}
        yield f'{line[:-1]},"{TEXTS_FIELD}":{json.dumps(fields, ensure_ascii=False)}}}'


def read_texts(case: Case | None, over: str | None) -> CaseTexts:
    """Return the texts of a case, with those of its items if a metric judges them."""
    if case is None:
        return CaseTexts()
    items = {item.id: format_item(item) for item in list_items(over, case) if any(get_item_texts(item))}
    return CaseTexts(case.question, case.answer, case.expected_answer, items, format_history(case.history) or None)


def _read_fingerprints(store: Store, metric: JudgedMetric) -> set[str]:
    versions = store.select((METRIC_VERSION,), ResultFilter(metrics=(metric.name,)))
    return {json.loads(version)[0] for (version,) in versions}


def _read_prior_values(store: Store, names: Iterable[str], case_keys: Collection[CaseKey] | None) -> PriorValues:
    """Read the values given by the metrics of some names, by sample and method."""
    values: dict[CaseKey, dict[str, Mapping[str, object]]] = defaultdict(dict)
    for name in names:
        for result in store.results(ResultFilter(metrics=(name,))):
            if case_keys is None or (result.sample_id, result.method) in case_keys:
                values[result.sample_id, result.method].update(map_values([result]))
    return values
