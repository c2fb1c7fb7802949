"""Scales in formulas: the places at which numbers of different scales are added, averaged or compared."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from greval._util.wording import shorten_text
from greval.records.formula import Formula, FormulaFault
from greval.records.number_range import find_number_range
from greval.records.scale import MeasureScale, Scale


class OperandScale(NamedTuple):
    """The ends of the scale of a part of a formula, and its text without a weight; `high` is None without an end."""

    low: float
    high: float | None
    unit: str
    text: str

    @property
    def is_share(self) -> bool:
        """True if the numbers are from 0 to 1."""
        return (self.low, self.high) == (0, 1)

    def equals(self, other: OperandScale) -> bool:
        """Return whether the numbers of both parts are on the same scale."""
        return self[:3] == other[:3]


def find_mixed_scales(formula: Formula, scales: Mapping[str, Scale]) -> tuple[FormulaFault, ...]:
    """Find the parts of a formula that add, average or compare numbers of different scales.

    A factor that is a number is a weight and leaves a scale as it is. What is divided by a number, or has a number
    added to it, counts as converted: its scale is not known, and nothing is found.

    Args:
        formula: The formula, without faults.
        scales: The scales of the metrics by their names in the formula; unknown ones are left out.

    Example:
        >>> from greval.records.formula import read_formula
        >>> scales = {"right": MeasureScale(high=1), "depth": MeasureScale(low=1, high=5)}
        >>> for fault in find_mixed_scales(read_formula("0.5 * right + 0.5 * depth"), scales):
        ...     print(fault)
        column 1: mixes right (0 to 1) with depth (1 to 5); write scaled(depth, 1, 5)
        >>> find_mixed_scales(read_formula("0.5 * right + 0.5 * scaled(depth, 1, 5)"), scales)
        ()
    """
    finder = _ScaleFinder(formula.text, scales)
    finder.find(finder.tree)
    return tuple(sorted(finder.faults))


class _ScaleFinder:
    """Finds the scale of each part of a formula, and keeps the parts that mix several."""

    def __init__(self, text: str, scales: Mapping[str, Scale]) -> None:
        self._source = text.strip()
        self._offset = len(text) - len(text.lstrip()) + 1
        self._scales = scales
        self.tree = ast.parse(self._source, mode="eval").body
        self.faults: list[FormulaFault] = []

    def find(self, node: ast.expr) -> OperandScale | None:  # noqa: C901, PLR0911 - a part each
        """Return the scale of a part, None if it is a number or its scale is not known."""
        match node:
            case ast.Name(id=name):
                return self._find_metric_scale(name)
            case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=right):
                return self._join(node, [left, right])
            case ast.BinOp(left=left, op=op, right=right):
                return self._find_product_scale(left, op, right)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.find(test)
                return self._join(node, [part for part in (body, orelse) if not _is_number(part)])
            case ast.Call(func=ast.Name(id="mean" | "min" | "max"), args=args):
                return self._join(node, args)
            case ast.Compare(left=left, comparators=comparators):
                self._join(node, [left, *comparators])
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.find(operand)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                self.find(operand)
                return None
            case ast.Constant():
                return None
            case _:
                for part in ast.iter_child_nodes(node):
                    if isinstance(part, ast.expr) and not _is_number(part):
                        self.find(part)
        return OperandScale(0, 1, "", self._show(node))  # a condition, or scaled(...)

    def _find_metric_scale(self, name: str) -> OperandScale | None:
        scale = self._scales.get(name)
        numbers = find_number_range(scale) if scale else None
        if numbers is None:
            return None
        unit = scale.unit if isinstance(scale, MeasureScale) and numbers.high is None else ""
        return OperandScale(numbers.low, numbers.high, unit, name)

    def _find_product_scale(self, left: ast.expr, op: ast.operator, right: ast.expr) -> OperandScale | None:
        """Return the scale of a part with a weight, or of a sum that is divided by the weights."""
        scales = self.find(left), self.find(right)
        if isinstance(op, ast.Mult):
            if _is_number(left):
                return scales[1]
            return scales[0] if _is_number(right) else None
        is_sum = isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add)
        return scales[0] if is_sum and _is_number(right) else None

    def _join(self, node: ast.expr, parts: Sequence[ast.expr]) -> OperandScale | None:
        """Return the common scale of parts, and keep a fault if there are several."""
        found = [self.find(part) for part in parts]
        known = [scale for scale in found if scale is not None]
        other = next((scale for scale in known if not scale.equals(known[0])), None)
        if other is not None:
            self.faults.append(FormulaFault(self._find_column(node), _describe_mix(known[0], other)))
            return None
        if not known or len(known) < len(found):
            return None
        return known[0]._replace(text=self._show(node))

    def _show(self, node: ast.expr) -> str:
        return shorten_text(ast.get_source_segment(self._source, node) or "")

    def _find_column(self, node: ast.expr) -> int:
        """Return the column of a part in characters; the parser counts bytes."""
        return len(self._source.encode()[: node.col_offset].decode()) + self._offset


def _is_number(node: ast.expr) -> bool:
    """Return whether a part reads no metric."""
    return not any(isinstance(part, ast.Name) for part in ast.walk(node))


def _describe_mix(one: OperandScale, other: OperandScale) -> str:
    """Describe two scales that are mixed, and how to write the formula instead."""
    advice = " and ".join(_advise(scale) for scale in (one, other) if not scale.is_share)
    return f"mixes {_describe(one)} with {_describe(other)}; write {advice}"


def _describe(scale: OperandScale) -> str:
    ends = f"{scale.low:g} and more" if scale.high is None else f"{scale.low:g} to {scale.high:g}"
    return f"{scale.text} ({' '.join(filter(None, (ends, scale.unit)))})"


def _advise(scale: OperandScale) -> str:
    if scale.high is None:
        return f"scaled({scale.text}, A, B) with the numbers A and B that count as 0 and as 1"
    return f"scaled({scale.text}, {scale.low:g}, {scale.high:g})"
