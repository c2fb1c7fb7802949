"""Label sheets: the judged items of a run as a table in which people write labels, with the verdicts hidden."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from greval._util.arguments import resolve_run_folder
from greval._util.spreadsheet_cells import escape_formula
from greval.errors import DataError, MissingExtraError
from greval.records.formula_metric import StoredMetric
from greval.records.scale import MAX_ENUM_LEVELS, CategoricalScale, MeasureScale, Scale, ValueScale
from greval.runs.run_reader import CaseFinder, CaseTexts, read_metric, read_metrics, read_texts
from greval.runs.store import Store
from greval.runs.store.disk import ResultFilter
from greval.trust.annotations.judged_items import ItemRef, JudgedItem, read_judged_items
from greval.trust.annotations.reading import CONTENT_MARK
from greval.trust.annotations.rendering import cut_text, list_titles, unescape_text

if TYPE_CHECKING:
    from greval.runs.evaluation import Run

SHEET_FORMATS = (".csv", ".xlsx")
LABEL_COLUMN, SCALE_COLUMN = "label", "scale"
PLACE_COLUMNS = ("id", "method", "item")
TEXT_COLUMNS = ("question", "answer", "expected_answer")
LAST_COLUMNS = (LABEL_COLUMN, "comment", SCALE_COLUMN, "metric", "content")
MAX_CELL = 32_767
"""The most characters that a cell of Excel holds; a longer text would run into other cells."""
MAX_CHOICES = 250
"""The most characters of a list that Excel offers in a cell."""
WIDE, NARROW = 60, 16
"""The widths of columns with texts and of other ones."""
SheetRow = Mapping[str, str]


def write_label_sheet(
    run: str | Path | Run,
    path: str | Path,
    metric: str | None = None,
    *,
    method: str | None = None,
    tags: Mapping[str, Sequence[str]] | None = None,
) -> int:
    """Write a table in which people label the judged items of a run, blind: it holds no verdict and no reason.

    A row has the id of the case, the method, the item, the texts that the judge saw, an empty cell for the label, and
    one for a comment. The scale is explained in a column (CSV) or in a sheet of its own (Excel). The rows are in random
    order, so that those from the top are a random sample however many of them people label. `read_annotations` and
    `agreement` take the filled file as it is.

    Args:
        run: The run, or its folder.
        path: A new file that ends in .csv or .xlsx.
        metric: The metric to label; needed if the run has several.
        method: Only the items of this method.
        tags: Only the items of cases that have one of these values of each tag.

    Returns:
        The number of rows.

    Raises:
        DataError: If the file is there already, its ending is another one, or there is nothing to label.
        MissingExtraError: If openpyxl is not installed, for .xlsx.
        StoreError: If the folder is not a run.

    Example:
        >>> import tempfile
        >>> from greval import evaluate, load_metric
        >>> from greval.testing import ScriptedJudge
        >>> folder = Path(tempfile.mkdtemp())
        >>> cases = [{"id": "q1", "question": "Who?", "answer": "Ada.", "expected_answer": "Ada."}]
        >>> judge = ScriptedJudge([{"reason": "The same.", "value": 1}])
        >>> run = evaluate(cases, [load_metric("correctness")], judge, out=folder / "run")
        >>> write_label_sheet(run, folder / "labels.csv")
        1
    """
    path = Path(path)
    if path.suffix.lower() not in SHEET_FORMATS:
        raise DataError(f"{path}: a label sheet ends in {' or '.join(SHEET_FORMATS)}; name such a file")
    result_filter = ResultFilter(
        method=method,
        status="scored",
        tags=tuple((name, value) for name, values in (tags or {}).items() for value in values),
    )
    with Store.open(resolve_run_folder(run)) as store, store.snapshot():
        stored = _find_metric(store, metric)
        rows = [*_iterate_rows(store, stored, result_filter._replace(metrics=(stored.name,)))]
    if not rows:
        raise DataError(f"{store.folder}: no verdict of {stored.name} is there, so there is nothing to label")
    columns = _list_columns(stored, rows)
    content = _build_csv(columns, rows) if path.suffix.lower() == ".csv" else _build_workbook(columns, rows, stored)
    try:
        # Exclusive creation never overwrites labels, not even of a file that appeared a moment ago.
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        raise DataError(f"{path}: is there already, and may hold labels; name a new file") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from error
    return len(rows)


def explain_levels(scale: Scale) -> list[str]:
    """Explain the values that a label may have, each described one in a line."""
    match scale:
        case CategoricalScale():
            return [
                f"{category.name}: {category.means}" if category.means else category.name
                for category in scale.categories
            ]
        case ValueScale():
            described = [f"{level}: {scale.levels[level]}" for level in sorted(scale.levels)]
            return [*described, *([f"allowed: {scale.allowed()}"] if scale.size > len(described) else [])]
        case MeasureScale():
            end = "or more" if scale.high is None else f"to {scale.high:g}"
            return [f"a number, {scale.low:g} {end} {scale.unit}".rstrip()]
        case _:
            assert_never(scale)


def _find_metric(store: Store, name: str | None) -> StoredMetric:
    """Return the metric to label: the named one, or the only one of the run."""
    metrics = read_metrics(store)
    if name is None and len(metrics) == 1:
        return next(iter(metrics.values()))
    if name is None:
        raise DataError(f"{store.folder}: a label sheet is of one metric; name it: {', '.join(metrics) or 'none'}")
    return read_metric(store, name)


def _iterate_rows(store: Store, stored: StoredMetric, result_filter: ResultFilter) -> Iterator[SheetRow]:
    """Yield the row of each judged item, in an order that does not depend on the data."""
    results = [*store.results(result_filter)]
    judged_items = (
        {} if stored.judged is None else {item.place: item for item in read_judged_items(store, stored.judged)}
    )
    finder = CaseFinder(store)
    texts = {(result.sample_id, result.method): read_texts(finder.find_case(result), stored.over) for result in results}
    places = {
        ItemRef(sample_id=result.sample_id, method=result.method, item=judgement.item): None
        for result in results
        for judgement in result.judgements
    }
    legend = " | ".join(explain_levels(stored.scale))
    # By hash, so that the rows from the top are a random sample however many of them people label.
    for ref in sorted(places, key=ItemRef.hash_key):
        item = judged_items.get(ref)
        yield {
            "id": ref.sample_id,
            "method": ref.method,
            "item": ref.item or "",
            **_collect_texts(texts[ref.sample_id, ref.method], stored, ref.item),
            **(_collect_fields(item, stored) if item else {}),
            SCALE_COLUMN: legend,
            "metric": stored.name,
            "content": f"{CONTENT_MARK}{item.content}" if item else "",
        }


def _collect_texts(texts: CaseTexts, stored: StoredMetric, item: str | None) -> dict[str, str]:
    """Return the texts of a case, and that of the judged item."""
    cells = {name: getattr(texts, name) or "" for name in TEXT_COLUMNS}
    if stored.over and item:
        cells[stored.over.removesuffix("s")] = (texts.items or {}).get(item, "")
    return cells


def _collect_fields(item: JudgedItem, stored: StoredMetric) -> dict[str, str]:
    """Return the texts that the judge saw; tags are named by what they are."""
    titles = list_titles(stored.judged) if stored.judged else {}
    return {
        f"tag: {titles[name]}" if name.startswith("tag_") else name: unescape_text(text)
        for name, text in item.fields.items()
    }


def _list_columns(stored: StoredMetric, rows: Iterable[SheetRow]) -> tuple[str, ...]:
    """List the columns of a sheet: what was judged, the texts, and what people fill in; the judged item comes last."""
    names = dict.fromkeys(name for row in rows for name in row)
    judged = (stored.over or "").removesuffix("s")
    # Of a pair, each side has a column of its own.
    paired = {name for name in TEXT_COLUMNS if f"{name}_a" in names}
    texts = [name for name in names if name not in {*PLACE_COLUMNS, *LAST_COLUMNS, *paired, judged}]
    return (*PLACE_COLUMNS, *texts, *([judged] if judged in names else []), *LAST_COLUMNS)


def _build_csv(columns: Sequence[str], rows: Iterable[SheetRow]) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(columns)
    writer.writerows([escape_formula(cut_text(row.get(name, ""), MAX_CELL)) for name in columns] for row in rows)
    # Spreadsheets know UTF-8 by its byte order mark only.
    return file.getvalue().encode("utf-8-sig")


def _build_workbook(columns: Sequence[str], rows: Iterable[SheetRow], stored: StoredMetric) -> bytes:
    """Build a sheet as an Excel workbook, whose cells are texts and no formulas, with the scale in a second sheet."""
    try:
        import openpyxl
    except ImportError as error:
        raise MissingExtraError("excel", "openpyxl") from error
    from openpyxl.worksheet.datavalidation import DataValidation

    book = openpyxl.Workbook()
    labels, legend = book.active, book.create_sheet(SCALE_COLUMN)
    labels.title = "labels"
    sheet_columns = [name for name in columns if name != SCALE_COLUMN]
    table = [dict(zip(sheet_columns, sheet_columns, strict=True)), *rows]
    for number, row in enumerate(table, 1):
        for column, name in enumerate(sheet_columns, 1):
            _write_text(labels.cell(number, column), row.get(name, ""))
    labels.freeze_panes = "A2"
    for column, name in enumerate(sheet_columns, 1):
        is_text = name not in {*PLACE_COLUMNS, *LAST_COLUMNS} or name == "comment"
        labels.column_dimensions[openpyxl.utils.get_column_letter(column)].width = WIDE if is_text else NARROW
    if listed := _list_choices(stored.scale):
        letter = openpyxl.utils.get_column_letter(sheet_columns.index(LABEL_COLUMN) + 1)
        choice = DataValidation(type="list", formula1=f'"{listed}"', allow_blank=True, errorStyle="warning")
        labels.add_data_validation(choice)
        choice.add(f"{letter}2:{letter}{len(table)}")
    # one column: a sheet of labels has more, so that this one is never read as labels, wherever it is moved
    lines = [f"{stored.name}: {stored.describe().description}", *explain_levels(stored.scale)]
    for number, line in enumerate(lines, 1):
        _write_text(legend.cell(number, 1), line)
    legend.column_dimensions["A"].width = 2 * WIDE
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _write_text(cell: Any, text: str) -> None:  # noqa: ANN401 - openpyxl is untyped
    """Write a text into a cell as it is: no formula, and no number or date that the program makes of it."""
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
    from openpyxl.styles import Alignment

    if text:
        cell.value = ILLEGAL_CHARACTERS_RE.sub("\ufffd", cut_text(text, MAX_CELL))
        # Text by all three means: no formula, and no number or date that the program makes of it.
        cell.data_type, cell.number_format, cell.quotePrefix = "s", "@", True
        cell.alignment = Alignment(wrap_text=True, vertical="top")


def _list_choices(scale: Scale) -> str:
    """Return the values of a scale as Excel offers them in a cell, empty if it cannot."""
    names = scale.names if isinstance(scale, CategoricalScale) else ()
    if isinstance(scale, ValueScale) and scale.size <= MAX_ENUM_LEVELS:
        names = tuple(map(str, scale.values))
    listed = ",".join(names)
    # Excel separates the choices by commas and has no way to quote one.
    return "" if len(listed) > MAX_CHOICES or any(set(name) & {",", '"'} for name in names) else listed
