"""Formulas over the verdicts of metrics, and limits of figures: one grammar, its faults with their columns, its values.

A formula is an expression in Python's syntax with a closed set of parts: numbers, names, + - * /, comparisons, and, or,
not, `A if CONDITION else B`, and the functions of `FUNCTIONS`. It is read as data and never run as Python code. A limit
is a sign and a formula: `>= 0.7` of a case that passes, `< baseline - 0.02` of a gate.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from math import fsum, isfinite
from typing import Any, NamedTuple

from greval._util.wording import did_you_mean, shorten_text

TOLERANCE = 1e-9
"""The tolerance for equal figures: in floating point 0.7 - 0.02 is not exactly 0.68."""
SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda left, right: left < right - TOLERANCE,
    "<=": lambda left, right: left <= right + TOLERANCE,
    ">": lambda left, right: left > right + TOLERANCE,
    ">=": lambda left, right: left >= right - TOLERANCE,
}
_COMPARISON = re.compile(r"(?P<figure>.*)(?P<sign><=|>=|<|>)(?P<bound>[^<>]*)", re.DOTALL)
MAX_CHARACTERS = 2_000
MAX_DEPTH = 60
"""How deep the parts of a formula may be nested; a sum of n terms is n deep."""


class FormulaInput(NamedTuple):
    """The number of a metric on a case, that of several items being their mean, and its category.

    `reason` says why there is no number; `skipped` is true if the metric was skipped for this reason.
    """

    number: float | None = None
    label: str | None = None
    reason: str = ""
    skipped: bool = False


class FormulaFault(NamedTuple):
    """A fault of a formula, with its column in the text, counted from 1."""

    column: int
    text: str

    def __str__(self) -> str:
        """Return the fault as `column 5: what is wrong`."""
        return f"column {self.column}: {self.text}"


class NameUse(NamedTuple):
    """A name in a formula: its column, and the category that it is compared with, None if it is read as a number."""

    column: int
    name: str
    label: str | None = None


class FormulaError(ValueError):
    """The formula has no value for the verdicts on a case; the message says why."""


class SkippedInputError(FormulaError):
    """The formula reads the verdict of a metric that was skipped."""


class UndecidedError(Exception):
    """What a formula reads next depends on an input that is not known yet."""


class _UnknownInput:
    """Stands for a number or a category that is not known yet: any arithmetic gives it again, any decision fails."""

    def _return_itself(self, *_: object) -> _UnknownInput:
        return self

    def _fail(self, *_: object) -> Any:  # noqa: ANN401 - it never returns
        raise UndecidedError

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _return_itself
    __neg__ = __abs__ = _return_itself
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __bool__ = __float__ = _fail
    __hash__ = None  # type: ignore[assignment]


_UNKNOWN: Any = _UnknownInput()


class _ReadInputs(dict[str, FormulaInput]):
    """Inputs that keep which names were read; those that are not known yet stand for unknown numbers."""

    def __init__(self, inputs: Mapping[str, FormulaInput]) -> None:
        super().__init__(inputs)
        self.names: dict[str, None] = {}

    def __getitem__(self, name: str) -> FormulaInput:
        self.names[name] = None
        return self.get(name) or FormulaInput(_UNKNOWN, _UNKNOWN)


class NamesRead(NamedTuple):
    """The names that a formula reads for some inputs; if not `decided`, it may read others once these are known."""

    names: tuple[str, ...]
    decided: bool


FormulaInputs = Mapping[str, FormulaInput]
_Compute = Callable[[FormulaInputs], float]


def _scale_number(number: float, zero_at: float, one_at: float) -> float:
    """Map a number so that `zero_at` becomes 0 and `one_at` becomes 1; nothing is cut off."""
    return (number - zero_at) / (one_at - zero_at)


FUNCTIONS: dict[str, tuple[Callable[..., float], str]] = {
    "mean": (lambda *numbers: fsum(numbers) / len(numbers), "mean(a, b)"),
    "min": (lambda *numbers: min(numbers), "min(a, b)"),
    "max": (lambda *numbers: max(numbers), "max(a, b)"),
    "all": (lambda *numbers: float(all(numbers)), "all(a >= 0.5, b >= 0.5)"),
    "any": (lambda *numbers: float(any(numbers)), "any(a >= 0.5, b >= 0.5)"),
    "scaled": (_scale_number, "scaled(a, 1, 5), with the numbers that count as 0 and as 1"),
}
"""The functions that a formula may call, each with how it is written."""
GRAMMAR = f"a formula has numbers, names, + - * /, comparisons, and, or, not, if else, {', '.join(FUNCTIONS)}"

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: SIGNS["<"],
    ast.LtE: SIGNS["<="],
    ast.Gt: SIGNS[">"],
    ast.GtE: SIGNS[">="],
    ast.Eq: lambda left, right: abs(left - right) <= TOLERANCE,
    ast.NotEq: lambda left, right: abs(left - right) > TOLERANCE,
}


class Formula(NamedTuple):
    """A formula that was read: its text, the names in it, its faults, and its function if it has none.

    Example:
        >>> formula = read_formula("0.7 * right + 0.3 * found if grounded >= 0.5 else 0")
        >>> formula.names
        ('right', 'found', 'grounded')
        >>> formula.compute({"right": FormulaInput(1.0), "found": FormulaInput(0.5), "grounded": FormulaInput(1.0)})
        0.85
        >>> [str(fault) for fault in read_formula("right ** 2").faults]
        ["column 1: 'right ** 2': expected + - * or /"]
    """

    text: str
    uses: tuple[NameUse, ...]
    faults: tuple[FormulaFault, ...]
    function: _Compute

    @property
    def names(self) -> tuple[str, ...]:
        """The names of metrics in order, each once."""
        return tuple(dict.fromkeys(use.name for use in self.uses))

    def compute(self, inputs: FormulaInputs) -> float:
        """Return the value for the verdicts on a case.

        Only the conditions and parts that count are read. Inputs that are not read need not be there.
        """
        return self.function(inputs)

    def find_names(self, inputs: FormulaInputs) -> NamesRead:
        """Find which names the formula reads, as far as these inputs decide it. The others need not be known."""
        read = _ReadInputs(inputs)
        decided = True
        try:
            self.function(read)
        except UndecidedError:
            decided = False
        # The inputs that are missing do not change that, because it fails without them.
        except FormulaError:
            pass
        return NamesRead(tuple(read.names), decided)

    def fill(self, inputs: FormulaInputs) -> str:
        """Return the text with numbers and categories in the place of the names, which stay if nothing was found."""
        parts, end = [], 0
        for use in self.uses:
            start = use.column - 1
            parts += [self.text[end:start], _format_input(inputs.get(use.name, FormulaInput()), use)]
            end = start + len(use.name)
        return "".join((*parts, self.text[end:])).strip()


@lru_cache(maxsize=256)
def read_formula(text: str) -> Formula:
    """Read a formula; all its faults are found. Equal texts give the same object."""
    # A line break would end the expression; a blank in its place keeps the columns.
    reader = _FormulaReader(text.replace("\n", " "))
    function = reader.read()
    return Formula(reader.text, tuple(sorted(reader.uses)), tuple(dict.fromkeys(sorted(reader.faults))), function)


def _format_input(value: FormulaInput, use: NameUse) -> str:
    """Format what the formula reads of a metric, its name if there is nothing."""
    if use.label is not None:
        return use.name if value.label is None else f'"{value.label}"'
    return use.name if value.number is None else f"{value.number:.4g}"


class Limit(NamedTuple):
    """A sign and the formula of the number that a figure is compared with, such as `>= 0.7`."""

    sign: str
    bound: Formula

    def compute_bound(self, **numbers: float) -> float:
        """Return the number that a figure is compared with, for the numbers of the formula's names."""
        return self.bound.compute({name: FormulaInput(number) for name, number in numbers.items()})

    def is_met(self, figure: float, **numbers: float) -> bool:
        """Return whether a figure meets the limit."""
        return SIGNS[self.sign](figure, self.compute_bound(**numbers))


def split_comparison(text: str, names: Collection[str] = ()) -> tuple[str, Limit]:
    """Split a comparison at its last sign into the text of a figure and its limit, whose formula may have these names.

    Example:
        >>> figure, limit = split_comparison("recall < baseline - 0.02", ["baseline"])
        >>> figure, limit.is_met(0.4, baseline=0.5)
        ('recall', True)
    """
    match = _COMPARISON.fullmatch(text)
    if match is None:
        raise ValueError("has no sign")
    bound = read_formula(match["bound"])
    misplaced = (use.column for use in bound.uses if use.name not in names or use.label is not None)
    if columns := [*(fault.column for fault in bound.faults), *misplaced]:
        raise ValueError(f"cannot be read at column {match.start('bound') + columns[0]}")
    limit = Limit(match["sign"], bound)
    if not bound.names:
        # A division by 0 is found now, because it does not depend on any figure.
        limit.compute_bound()
    return match["figure"].strip(), limit


# A report parses the limit of a metric for each case.
@lru_cache(maxsize=64)
def parse_limit(text: str) -> Limit:
    """Parse a sign and a number, or a formula without names."""
    usage = "write < <= > or >= and a number, such as '>= 0.7'"
    try:
        figure, limit = split_comparison(text)
    except ValueError as error:
        raise ValueError(f"{error}; {usage}") from error
    if figure:
        raise ValueError(f"has {figure!r} before its sign; {usage}")
    return limit


def _read_nothing(_: FormulaInputs) -> float:
    """Stand for a faulty part, which is never computed."""
    return 0.0


class FormulaText:
    """The text of a formula, and the columns and texts of its parts."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._indent = len(text) - len(text.lstrip())
        # The parser counts columns in bytes.
        self._source = text.lstrip().encode()

    def parse(self) -> ast.expr:
        """Return the expression; raise what `ast.parse` raises."""
        return ast.parse(self._source.decode(), mode="eval").body

    def find_column(self, node: ast.expr) -> int:
        """Return the column of a part in characters, from 1."""
        return self._indent + len(self._source[: node.col_offset].decode()) + 1

    def show(self, node: ast.expr) -> str:
        """Return a part as it is written, for a message."""
        return shorten_text(self._source[node.col_offset : node.end_col_offset].decode())


class _FormulaReader(FormulaText):
    """Reads an expression part by part into functions of the verdicts, and keeps its names and faults."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.uses: list[NameUse] = []
        self.faults: list[FormulaFault] = []

    def read(self) -> _Compute:
        """Return the function of the formula."""
        if not self.text.strip():
            return self._add_fault(1, "is empty; write one such as mean(correctness, faithfulness)")
        if len(self.text) > MAX_CHARACTERS:
            return self._add_fault(1, f"is longer than {MAX_CHARACTERS:,} characters; make a metric of a part of it")
        try:
            return self._read_part(self.parse(), 0)
        except SyntaxError as error:
            # Some faults have no offset, or 0.
            column = max(error.offset or 1, 1) + self._indent
            return self._add_fault(min(column, len(self.text)), f"is no expression ({error.msg}); {GRAMMAR}")
        # What the parser raises for null characters and for thousands of parentheses.
        except (ValueError, RecursionError, MemoryError):
            return self._add_fault(1, f"cannot be read; {GRAMMAR}")

    def _add_fault(self, location: ast.expr | int, text: str) -> _Compute:
        column = location if isinstance(location, int) else self.find_column(location)
        self.faults.append(FormulaFault(column, text))
        return _read_nothing

    def _quote(self, node: ast.expr) -> str:
        return self.show(node) if _is_text(node) else repr(self.show(node))

    def _read_part(self, node: ast.expr, depth: int) -> _Compute:  # noqa: C901, PLR0911 - a part each
        """Return the function of a part."""
        if depth > MAX_DEPTH:
            return self._add_fault(node, f"is nested more than {MAX_DEPTH} deep; make a metric of a part of it")
        match node:
            case ast.Constant():
                return self._read_number(node)
            case ast.Name():
                return self._read_name(node)
            case ast.BinOp(left=left, op=op, right=right):
                return self._read_operation(node, op, self._read_parts([left, right], depth))
            case ast.UnaryOp(op=op, operand=operand):
                return self._read_sign(node, op, self._read_part(operand, depth + 1))
            case ast.BoolOp(op=op, values=values):
                parts = self._read_parts(values, depth)
                return self._join(all if isinstance(op, ast.And) else any, parts)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                condition, chosen, alternative = self._read_parts([test, body, orelse], depth)
                return lambda inputs: chosen(inputs) if condition(inputs) else alternative(inputs)
            case ast.Compare(left=left, comparators=comparators):
                if any(_is_text(side) for side in (left, *comparators)):
                    return self._read_label_comparison(node)
                return self._read_comparison(node, self._read_parts([left, *comparators], depth))
            case ast.Call(args=args):
                return self._read_call(node, self._read_parts(args, depth))
            case _:
                return self._add_fault(node, f"{self._quote(node)} is not allowed; {GRAMMAR}")

    def _read_parts(self, nodes: Sequence[ast.expr], depth: int) -> list[_Compute]:
        return [self._read_part(node, depth + 1) for node in nodes]

    def _read_number(self, node: ast.Constant) -> _Compute:
        if isinstance(node.value, str):
            quoted = self._quote(node)
            return self._add_fault(node, f"{quoted}: a category is compared with one metric, as in tone == {quoted}")
        number = _get_number(node)
        if number is None:
            return self._add_fault(node, f"{self._quote(node)}: expected a number such as 0.5")
        return lambda _: number

    def _read_name(self, node: ast.Name) -> _Compute:
        name = node.id
        if name in FUNCTIONS:
            return self._add_fault(node, f"{name!r} is a function; write {FUNCTIONS[name][1]}")
        self.uses.append(NameUse(self.find_column(node), name))
        return lambda inputs: _get_input_number(name, inputs[name])

    def _read_operation(self, node: ast.BinOp, op: ast.operator, parts: list[_Compute]) -> _Compute:
        operate = _OPERATORS.get(type(op))
        if operate is None:
            return self._add_fault(node, f"{self._quote(node)}: expected + - * or /")
        left_part, right_part = parts
        divisor = f"{self._quote(node.right)}, at column {self.find_column(node.right)}"

        def compute(inputs: FormulaInputs) -> float:
            try:
                return operate(left_part(inputs), right_part(inputs))
            except ZeroDivisionError as error:
                raise FormulaError(f"it divides by {divisor}, which is 0") from error

        return compute

    @staticmethod
    def _join(quantifier: Callable[[Iterable[float]], bool], parts: Sequence[_Compute]) -> _Compute:
        """Join conditions; those after the one that decides are not read."""
        # A generator, so that conditions after the one that decides are not computed.
        return lambda inputs: float(quantifier(part(inputs) for part in parts))

    def _read_sign(self, node: ast.UnaryOp, op: ast.unaryop, part: _Compute) -> _Compute:
        match op:
            case ast.USub():
                return lambda inputs: -part(inputs)
            case ast.UAdd():
                return part
            case ast.Not():
                return lambda inputs: float(not part(inputs))
            case _:
                return self._add_fault(node, f"{self._quote(node)} is not allowed; {GRAMMAR}")

    def _read_comparison(self, node: ast.Compare, parts: list[_Compute]) -> _Compute:
        signs = [_COMPARISONS.get(type(op)) for op in node.ops]
        comparisons = [sign for sign in signs if sign]
        if len(comparisons) < len(signs):
            return self._add_fault(node, f"{self._quote(node)}: expected < <= > >= == or !=")

        def compute(inputs: FormulaInputs) -> float:
            pairs = pairwise([part(inputs) for part in parts])
            return float(all(sign(*pair) for sign, pair in zip(comparisons, pairs, strict=True)))

        return compute

    def _read_label_comparison(self, node: ast.Compare) -> _Compute:
        """Read a comparison of a metric with a category."""
        sides = [node.left, *node.comparators]
        names = [side for side in sides if isinstance(side, ast.Name) and side.id not in FUNCTIONS]
        labels = [side.value for side in sides if isinstance(side, ast.Constant) and isinstance(side.value, str)]
        op = node.ops[0]
        if len(sides) != 2 or len(names) != 1 or not isinstance(op, ast.Eq | ast.NotEq):  # noqa: PLR2004 - both sides
            message = f"{self._quote(node)}: a category is compared with one metric, by == or !="
            return self._add_fault(node, message)
        name, label, equal = names[0].id, labels[0], isinstance(op, ast.Eq)
        self.uses.append(NameUse(self.find_column(names[0]), name, label))
        return lambda inputs: float((_get_input_label(name, inputs[name]) == label) is equal)

    def _read_call(self, node: ast.Call, parts: list[_Compute]) -> _Compute:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in FUNCTIONS:
            suggestion = did_you_mean(name, FUNCTIONS)
            return self._add_fault(node, f"{self._quote(node.func)} is no function of formulas{suggestion}")
        compute, usage = FUNCTIONS[name]
        is_complete = len(parts) == 3 if name == "scaled" else bool(parts)  # noqa: PLR2004 - a number and both ends
        if node.keywords or not is_complete:
            return self._add_fault(node, f"{self._quote(node)}: write {usage}")
        ends = [_get_number(part) for part in node.args[1:]] if name == "scaled" else [0, 1]
        if None in ends or ends[0] == ends[1]:
            return self._add_fault(node, f"{self._quote(node)}: write {usage}; these must differ")
        if quantifier := {"all": all, "any": any}.get(name):
            return self._join(quantifier, parts)
        return lambda inputs: compute(*(part(inputs) for part in parts))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _get_number(node: ast.expr) -> float | None:
    """Return a written number, None if the part is anything else or too large."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _get_number(node.operand)
        return None if number is None else -number
    # By type, because True is an instance of int.
    if not isinstance(node, ast.Constant) or type(node.value) not in {int, float}:
        return None
    try:
        number = float(node.value)  # type: ignore[arg-type]  # checked above
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _get_input_number(name: str, formula_input: FormulaInput) -> float:
    if formula_input.number is None:
        raise _build_input_error(name, formula_input, f"has no number: {formula_input.reason}")
    return formula_input.number


def _get_input_label(name: str, formula_input: FormulaInput) -> str:
    if formula_input.label is None:
        raise _build_input_error(name, formula_input, "has no category: it gave several verdicts, or numbers")
    return formula_input.label


def _build_input_error(name: str, formula_input: FormulaInput, fault: str) -> FormulaError:
    if formula_input.skipped:
        return SkippedInputError(f"{name} is skipped: {formula_input.reason}")
    return FormulaError(f"{name} {fault}")
