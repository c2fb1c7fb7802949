"""The questions of an evaluation: rows of question, ground truth and group; all other columns are tags."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from greval.case import Case, Sample
from greval.datasets.names import FIELD_OF, dotted, names_of, settle, shown
from greval.datasets.reading import READERS
from greval.datasets.rows import case_of, id_of
from greval.datasets.texts import Raw
from greval.errors import DataError
from greval.metric_file import did_you_mean

ANSWER = "answer"
OF_SAMPLES = frozenset(Sample.model_fields)
MOST_TOLD = 20


@dataclass(frozen=True)
class Questions:
    """What a dataset holds: its samples, the rows that are none, and the columns that were left out."""

    samples: tuple[Sample, ...]
    faults: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def where(self, given: Mapping[str, str | Sequence[str]], limit: int | None = None) -> Questions:
        """Give the samples whose tags have the wanted value each, or one of several; the first `limit` of them.

        Raises:
            DataError: Where none is left, with what there is.
        """
        wanted = {tag: (values,) if isinstance(values, str) else values for tag, values in given.items()}
        left = [one for one in self.samples if all(one.tags.get(tag) in values for tag, values in wanted.items())]
        if not left:
            asked = " and ".join(f"{tag}={' or '.join(values)}" for tag, values in wanted.items())
            raise DataError(f"no question has {asked}{self._known(wanted)}" if asked else "there are no questions")
        return replace(self, samples=tuple(left[:limit]))

    def _known(self, wanted: Mapping[str, Sequence[str]]) -> str:
        """Say which values there are, or which tags."""
        tags = dict.fromkeys(tag for sample in self.samples for tag in sample.tags)
        for tag, values in wanted.items():
            if tag not in tags:
                return f"; no row has the column {tag!r}{did_you_mean(tag, tags)}"
            known = dict.fromkeys(sample.tags[tag] for sample in self.samples if tag in sample.tags)
            if not set(values) & set(known):
                return did_you_mean(values[0], known)
        return ""


def read_questions(path: Path, group_by: str) -> Questions:
    """Read the questions of a dataset.

    Args:
        path: A file in any form that cases are read in.
        group_by: The column that every row must have.

    Returns:
        The samples. `answer` is the ground truth, unless a column such as `expected_answer` is there.

    Raises:
        DataError: Where the file cannot be read, or no row of it is a question.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"{path}: its ending {path.suffix!r} is not known (known are {', '.join(READERS)})")
    samples: dict[str, Sample] = {}
    faults: list[str] = []
    ignored: dict[str, None] = {}
    for position, row in enumerate(_rows(reader(path), path), 1):
        found = _sample(row, f"row-{position}", group_by, ignored)
        if isinstance(found, Sample) and found.id in samples:
            found = f"id: {shown(found.id)} is that of a row before; give each row its own"
        if isinstance(found, Sample):
            samples[found.id] = found
        else:
            faults.append(f"{path}{row.unit}{row.number}: {found}")
    if not samples:
        raise DataError("\n".join(faults[:MOST_TOLD]) or f"{path}: holds no rows; write question, answer, {group_by}")
    return Questions(tuple(samples.values()), tuple(faults), tuple(ignored))


def _rows(rows: Iterator[Raw], path: Path) -> Iterator[Raw]:
    try:
        yield from rows
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def _sample(row: Raw, made_id: str, group_by: str, ignored: dict[str, None]) -> Sample | str:
    """Give the sample that a row holds, or all that is wrong with it."""
    values, tags = _sorted(row.sound if row.faults else row.values, ignored)
    given = values.get("tags")
    settled = settle({**values, "tags": {**tags, **(given if isinstance(given, Mapping) else {})}})
    found = case_of(row, settled, made_id, None)
    if isinstance(found, str):
        return f"{id_of(settled, made_id)}: {found}" if settled.values.get("id") else found
    if not found.tags.get(group_by):
        return f"has no {group_by}, by which its index is chosen; add it, or set dataset.group_by to another column"
    return _only_sample(found)


def _only_sample(case: Case) -> Sample:
    return Sample(**{name: getattr(case, name) for name in Sample.model_fields})


def _sorted(row: Mapping[str, object], ignored: dict[str, None]) -> tuple[dict[str, object], dict[str, object]]:
    """Give the columns that are fields of a sample, and those that are tags; note those that are neither."""
    told = any(row.get(name) is not None for name in names_of("expected_answer"))
    values: dict[str, object] = {}
    tags: dict[str, object] = {}
    for name, value in row.items():
        part = dotted(name)
        if name == ANSWER and not told:
            values["expected_answer"] = value
        elif FIELD_OF.get(name) in OF_SAMPLES or (part and part[0] in OF_SAMPLES):
            values[name] = value
        elif name in FIELD_OF or part or isinstance(value, list | dict):
            ignored[shown(name)] = None
        elif value is not None:
            tags[name] = value
    return values, tags


def groups(samples: Iterable[Sample], group_by: str) -> dict[str, int]:
    """Give how many samples each group has, in order of the first."""
    counts: dict[str, int] = {}
    for sample in samples:
        counts[sample.tags[group_by]] = counts.get(sample.tags[group_by], 0) + 1
    return counts
