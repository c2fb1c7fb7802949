"""Tests of the pairs of values, and of the scale on which they are compared."""

import pytest
from agreed_runs import MOSTLY, said, write

from greval.errors import DataError
from greval.trust.agreement.api import agreement


def test_half_steps_are_numbers_or_categories(tmp_path):
    """Half steps are compared as numbers, or as categories in their order; a mean between two steps is left out."""
    run = write(tmp_path / "half", "half", [0, 0.5, 1, 1, 0.5, 0])
    people = said("half", "ana", [0, 0.5, 0.5, 1, 1, 0])
    assert agreement(run, "half", people).groups[0].judge.figures["mae"].value == pytest.approx(1 / 6)
    result = agreement(run, "half", people, treat_as="categories")
    assert result.groups[0].things == 6
    assert result.groups[0].judge.figures["accuracy"].value == pytest.approx(4 / 6)


def test_each_annotation_may_count_by_itself(run):
    """With "each" every person's value is compared, and things are drawn together with all their values."""
    both = [*said("right", "ana", MOSTLY), *said("right", "bob", MOSTLY)]
    each = agreement(run, "right", both, combine="each").groups[0].judge.figures["accuracy"]
    single = agreement(run, "right", said("right", "ana", MOSTLY)).groups[0].judge.figures["accuracy"]
    assert (each.n, each.value) == (40, single.value)
    assert each.interval == single.interval


def test_levels_may_be_categories(tmp_path):
    """A scale of 0 and 1 is compared as categories, one of more levels where that is asked for; nothing else is."""
    run = write(tmp_path / "run", "passed", [1, 0, 1, 0.5])
    rows = said("passed", "ana", [1, 0, 0, 1])
    result = agreement(run, "passed", rows)
    assert result.treat_as == "categories"
    assert any(line.startswith("1 left out: the judge's value is a mean of repeats") for line in result.warnings)
    assert [
        (figures_of_class.name, figures_of_class.support) for figures_of_class in result.groups[0].judge.classes
    ] == [("1", 1), ("0", 2)]
    assert agreement(run, "passed", rows, treat_as="numbers").groups[0].judge.figures["mae"].value == 1.5 / 4
    deep = write(tmp_path / "deep", "depth", [5, 4, 3])
    said_deep = said("depth", "ana", [5, 4, 4])
    assert "kappa quadratic" in agreement(deep, "depth", said_deep, treat_as="categories").groups[0].judge.figures
    for metric, wanted in (("right", "numbers"), ("shift", "categories")):
        other = write(tmp_path / metric, metric, ["Yes"] if metric == "right" else [1.0])
        with pytest.raises(DataError, match="cannot be compared as"):
            agreement(other, metric, said(metric, "ana", ["Yes"] if metric == "right" else [1]), treat_as=wanted)
