"""Scales of every kind, each with the numbers that a judgement on it can read as."""

from hypothesis import strategies as st

from greval import CategoricalScale, MeasureScale, ValueScale


def categories(**scores):
    """Give a scale of categories with these scores, None for none."""
    content = {name: {"means": "m"} | ({} if score is None else {"score": score}) for name, score in scores.items()}
    return CategoricalScale(categories=content, ordered=False)


def values(low, high):
    return ValueScale(range=(low, high), levels={low: "Least.", high: "Most."})


SECONDS = st.one_of(st.integers(0, 5).map(float), st.floats(0, 1e6), st.floats(0, 1e-6))
SCALES = {
    "0..1": (values(0, 1), st.integers(0, 1)),
    "0..1 repeated": (values(0, 1), st.floats(0, 1)),
    "0..3": (values(0, 3), st.integers(0, 3)),
    "1..5": (values(1, 5), st.integers(1, 5)),
    "-2..2": (values(-2, 2), st.integers(-2, 2)),
    "0..1 by half": (
        ValueScale(range=(0, 1), step=0.5, levels={0: "Least.", 1: "Most."}),
        st.sampled_from([0.0, 0.5, 1.0]),
    ),
    "share": (MeasureScale(high=1.0), st.sampled_from([0.0, 0.1, 1 / 3, 0.5, 1 - 1e-16, 1.0]) | st.floats(0, 1)),
    "categories": (categories(Good=1.0, Fair=0.5, Bad=0.0), st.sampled_from([1.0, 0.5, 0.0])),
    "two categories": (categories(Good=1.5, Bad=0.5), st.sampled_from([1.5, 0.5])),
    "some categories": (categories(Good=1.0, Other=None, Bad=0.0), st.sampled_from([1.0, 0.0, None])),
    "no numbers": (categories(Yes=None, No=None), st.none()),
    "seconds": (MeasureScale(unit="s"), SECONDS),
    "counts": (MeasureScale(unit="calls", better="lower"), st.integers(0, 1000).map(float)),
    "from 1": (MeasureScale(low=1.0, unit="x"), st.integers(1, 3).map(float)),
}
