"""Duels: pairs of the responses of several methods to the same samples, judged by preference metrics into a run.

A pair is a case whose method is `A vs B`. Everything that holds for cases holds for it: results, resuming, caps, costs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import combinations
from pathlib import Path

from greval._util.arguments import build_unknown_name_error
from greval._util.joins import IdJoin, join_ids
from greval.datasets.case_reader import CaseReader, read_cases
from greval.datasets.row_faults import RowFault
from greval.errors import DataError, DefinitionError
from greval.records.case import OTHER_RESPONSE, RESPONSE_FIELDS, TAG, Case, Response
from greval.records.metric import Metric, is_preference
from greval.runs.run_reader import CaseKey
from greval.runs.store import Store
from greval.runs.store.reader import read_case_heads

VERSUS = " vs "
"""The text between the names of two methods in the method of their pair."""
PAIR_REMEDY = "a sample counts only if it has one id in both methods"
_CONTEXT = ("chunks", "triples", "aggregates")


def list_pairs(
    cases: Iterable[Case],
    metrics: Iterable[Metric],
    methods: Collection[str] = (),
    *,
    limit: int | None = None,
    source: object = "cases",
) -> list[Case]:
    """List the pairs of each two methods that answered the same sample, sample by sample.

    A pair holds what the metrics read, and the answers. Its methods are in the order of their names, so that neither
    the order of the cases nor that of `methods` makes another pair. Pairs among the cases are left out. If a sample has
    several cases of a method, the last counts. Without `methods`, all are compared. The limit counts samples that at
    least two of them answered.
    """
    samples: dict[str, dict[str, Case]] = {}
    for case in cases:
        if case.other_response is None:
            samples.setdefault(case.id, {})[case.method] = case
    method_names = dict.fromkeys(method for by_method in samples.values() for method in by_method)
    for name in methods:
        if name not in method_names:
            raise build_unknown_name_error("method", name, method_names, Path(str(source)))
    chosen = frozenset(methods or method_names)
    fields = _list_fields(metrics)
    answered = ([by_method[name] for name in sorted(by_method.keys() & chosen)] for by_method in samples.values())
    shared = [selected for selected in answered if len(selected) > 1]
    pairs = [
        build_pair(first, second, fields)
        for by_method in shared[:limit]
        for first, second in combinations(by_method, 2)
    ]
    _check_labels(pairs, method_names, source)
    if not pairs:
        joins = (join for join in join_methods(samples, chosen) if join.met_nothing)
        hint = next((f"; {join.describe()}" for join in joins), "")
        raise DataError(
            f"{source}: no two methods answered the same question; expected the answers of at least two methods, "
            f"found {', '.join(name or '(none)' for name in method_names) or 'no case'}{hint}"
        )
    return pairs


def _check_labels(pairs: Iterable[Case], method_names: Collection[str], source: object) -> None:
    """Raise `DataError` if a pair of methods would have the name of another pair, or of a method."""
    names: dict[str, tuple[str, ...]] = {name: (name,) for name in method_names}
    for pair in pairs:
        methods_of_pair = split_pair_label(pair, pair.method)
        if (earlier := names.setdefault(pair.method, methods_of_pair)) != methods_of_pair:
            pair_names, taken = (" and ".join(map(repr, methods)) for methods in (methods_of_pair, earlier))
            raise DataError(
                f"{source}: the pair of {pair_names} would be called {pair.method!r}, as is {taken}; "
                f"rename a method that has {VERSUS.strip()!r} in its name"
            )


def join_methods(samples: Mapping[str, Collection[str]], methods: Collection[str]) -> Iterator[IdJoin]:
    """Yield the join of the samples of each two methods; those of the one with fewer samples are looked up."""
    answered = {
        name: [sample for sample, sample_methods in samples.items() if name in sample_methods]
        for name in sorted(methods)
    }
    for names in combinations(answered, 2):
        few, many = sorted(names, key=lambda name: len(answered[name]))
        yield join_ids(
            answered[few], answered[many], (f"samples of {few or '(none)'}", f"samples of {many or '(none)'}")
        )


def list_case_keys(cases: Iterable[Case]) -> list[CaseKey]:
    """List the sample id and the method of each case that is no pair."""
    return [(case.id, case.method) for case in cases if case.other_response is None]


def find_pair_remarks(cases: Iterable[CaseKey], methods: Collection[str] = ()) -> list[str]:
    """Return remarks on each two methods of which less than half of the samples pair; without `methods`, on all."""
    samples: dict[str, set[str]] = {}
    for sample_id, method in cases:
        samples.setdefault(sample_id, set()).add(method)
    chosen = methods or set().union(*samples.values())
    remarks = (join.find_remark(PAIR_REMEDY) for join in join_methods(samples, chosen))
    return [remark for remark in remarks if remark]


def split_method_names(texts: Iterable[str], cases: Iterable[Case]) -> list[str]:
    """Split lists of methods at their commas, except those that are the name of a method as a whole."""
    method_names = {case.method for case in cases}
    parts = [[text] if text in method_names else text.split(",") for text in texts]
    return [name.strip() for part in parts for name in part if name.strip()]


def build_pair(first: Case, second: Case, fields: Collection[str]) -> Case:
    """Build the pair of two cases of one sample, with these fields of both."""
    second_fields = {name: getattr(second, name) for name in Response.model_fields.keys() & fields}
    # The fields come from a valid case, and need no second validation.
    other_response = Response.model_construct(**{**second_fields, "method": second.method, "error": second.error})
    dropped = dict.fromkeys(Response.model_fields.keys() - {*fields, "method", "error"})
    method = f"{first.method}{VERSUS}{second.method}"
    return first.model_copy(update={**dropped, "method": method, OTHER_RESPONSE: other_response})


def split_pair_label(case: Case | None, label: str) -> tuple[str, str]:
    """Return the names of the two methods of a pair, of which the case may be unknown."""
    first, _, second = label.partition(VERSUS)
    if case is not None and case.other_response is not None:
        # The name of the first method may hold the text between both.
        second = case.other_response.method
        first = label.removesuffix(f"{VERSUS}{second}")
    return first, second


def read_paired_methods(store: Store) -> dict[CaseKey, tuple[str, str]]:
    """Return the names of the two methods of each pair of a run."""
    return {
        (head.sample_id, head.method): (head.method.removesuffix(f"{VERSUS}{head.other}"), head.other)
        for head in read_case_heads(store)
        if head.other is not None
    }


def read_responses(source: Path | CaseReader) -> tuple[list[Case], list[RowFault]]:
    """Read the cases of a run folder, or of a file, and the rows of the file that are no cases."""
    if isinstance(source, Path) and source.is_dir():
        with Store.open(source) as store, store.snapshot():
            return [*store.cases()], []
    rows = [*(source if isinstance(source, CaseReader) else read_cases(source))]
    return [row for row in rows if isinstance(row, Case)], [row for row in rows if isinstance(row, RowFault)]


def name_responses(source: Path | CaseReader) -> str:
    """Return the name of a run folder or a file in messages."""
    return source.name if isinstance(source, CaseReader) else str(source)


def find_duel_folder(source: Path | CaseReader, out: Path | None) -> Path:
    """Return the folder of the results of a duel."""
    if isinstance(source, Path) and not source.exists():
        raise DataError(f"{source}: there is nothing; expected a run folder, or a file of cases of several methods")
    folder = out or (source if isinstance(source, Path) and source.is_dir() else None)
    if folder is None:
        raise DataError(f"{name_responses(source)}: is no run folder; name the folder of the results with -o RUN")
    return folder


def check_preferences(metrics: Iterable[Metric]) -> None:
    """Raise `DefinitionError` if there is no metric, or for the first one that is no preference."""
    listed_metrics = [*metrics]
    if not listed_metrics:
        raise DefinitionError("no metric is given; give a preference, such as load_metric('comprehensiveness')")
    for metric in listed_metrics:
        if not is_preference(metric):
            raise DefinitionError(
                f"{metric.name}: judges one response; a duel needs a preference between two (preference: true)"
            )


def _list_fields(metrics: Iterable[Metric]) -> set[str]:
    """Return the fields of responses that metrics read, and the answer, whose length is reported."""
    needed = {need for metric in metrics for need in metric.inputs if not need.startswith(TAG)} & {*RESPONSE_FIELDS}
    return needed - {"context"} | {"answer", *(_CONTEXT if "context" in needed else ())}
