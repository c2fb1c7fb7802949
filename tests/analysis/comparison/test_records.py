"""The records of a comparison: counts that add up, values or reasons, and JSON that reads back."""

from hypothesis import given
from hypothesis import strategies as st

from greval.analysis.comparison.records import Comparison, Contrast, CorrectionFamily, LeftOutCounts, MethodMean
from greval.stats.interval import Interval, MeasuredValue, Undefined

NAMES = {"metric": "tone", "group": "", "method": "walk", "baseline": "local", "better": "higher"}
INTERVAL = Interval(low=-0.5, high=0.5, method="t")
counts = st.builds(LeftOutCounts, *[], **{name: st.integers(0, 99) for name in LeftOutCounts.model_fields})


@given(counts)
def test_every_reason_counts_in_the_total(left):
    """The total is the sum of the fields, so that a new reason cannot be forgotten."""
    assert left.total == sum(left.model_dump().values())


@given(st.none() | st.floats(-1, 1), st.integers(0, 99))
def test_a_difference_is_a_value_or_a_reason(difference, n):
    """The public fields of a contrast and its value agree; 0 is a difference like any other."""
    found = Contrast(**NAMES, questions=99, n=n, difference=difference, interval=INTERVAL).difference_value
    if difference is None:
        assert found == Undefined(n=n, reason="no question has both figures")
    else:
        assert found == MeasuredValue(value=difference, n=n, interval=INTERVAL)


def test_a_mean_is_a_value_or_a_reason():
    """A method without a figure has a reason instead of a mean."""
    one = MethodMean(metric="tone", group="", method="walk", n=0, mean=None)
    assert one.mean_value == Undefined(n=0, reason="no question has a figure")
    assert one.model_copy(update={"mean": 0.0, "n": 3}).mean_value == MeasuredValue(value=0.0, n=3)


def test_derived_values_are_no_part_of_the_json():
    """The JSON form is stable: it has the fields and nothing that is computed from them."""
    one = Contrast(**NAMES, questions=9, n=9, difference=0.5)
    assert one.model_dump(mode="json").keys() == Contrast.model_fields.keys()
    assert Contrast.model_validate_json(one.model_dump_json()) == one


@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 6))
def test_a_short_form_names_the_first_questions(won, lost, most):
    """The first ids are kept in their order, and the counts are unchanged."""
    ids = {"won_questions": [f"w{n}" for n in range(won)], "lost_questions": [f"l{n}" for n in range(lost)]}
    one = Contrast(**NAMES, questions=9, n=9, won=won, lost=lost, **ids)
    family = CorrectionFamily(tests=1, counted=1, told="1 test", correction="holm", alpha=0.05)
    fields = {"against": None, "baseline": "local", "methods": ["walk"], "by": [], "cluster_by": None, "level": 0.95}
    whole = Comparison(folder="runs/x", family=family, contrasts=[one], levels=[], **fields)
    (cut,) = whole.name_first(most).contrasts
    assert cut.won_questions == tuple(ids["won_questions"][:most])
    assert cut.lost_questions == tuple(ids["lost_questions"][:most])
    assert (cut.won, cut.lost) == (won, lost)
