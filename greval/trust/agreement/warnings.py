"""Warnings about an agreement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from greval._util.joins import show_id
from greval._util.wording import format_count
from greval.trust.agreement.figures import find_referees
from greval.trust.agreement.records import AgreementGroup, CombineAnnotators
from greval.trust.annotations.matching import ON_VALUE, WITHOUT_VALUE, MatchedAnnotations, find_off_scale_remark

MIN_ITEMS = 30
MAX_LISTED = 3


def find_warnings(
    matched: MatchedAnnotations,
    overall: AgreementGroup,
    unread: Sequence[str],
    *,
    combine: CombineAnnotators,
    between: int,
) -> Iterator[str]:
    """Yield the warnings of an agreement; `between` items are left out as the judge's value is between two levels."""
    yield from find_join_warnings(matched, unread)
    if len(matched.judges) > 1 or len(matched.fingerprints) > 1:
        judges, definitions = (
            format_count(len(matched.judges), "judge"),
            format_count(len(matched.fingerprints), "definition"),
        )
        yield (
            f"MIXED: these verdicts are of {judges} and {definitions}; "
            "run the same command of greval evaluate again, so that all are of one"
        )
    if overall.enriched:
        yield (
            "ENRICHED SAMPLE: the annotated items were sampled with different probabilities. The raw figures are of "
            "this sample only; the weighted ones estimate those of all items that it was sampled from"
        )
    yield from find_suggestion_warnings(matched)
    ties = len(matched.things) - overall.things
    if combine == "majority" and ties:
        items = "1 item is" if ties == 1 else f"{ties} items are"
        yield f"{items} left out because people are tied on the hardest items; ask one more annotator"
    if between:
        yield f"{between} left out: the judge's value is a mean of repeats between two levels"
    for who in find_referees(matched.things):
        yield f"{who} was asked mostly where others disagree: look at the other pairs for the ceiling"
    if overall.things < MIN_ITEMS:
        items = "item" if overall.things == 1 else "items"
        yield f"only {overall.things} annotated {items}: with fewer than {MIN_ITEMS}, intervals are approximate"
    yield from find_left_out_warnings(matched, unread)


def find_sample_warnings(matched: MatchedAnnotations) -> Iterator[str]:
    """Yield the warnings for figures that ignore the sampling weights of annotated items."""
    if len({thing.weight for thing in matched.things}) > 1:
        yield (
            "ENRICHED SAMPLE: the annotated items were sampled with different probabilities; "
            "figures with people are of this sample only"
        )
    yield from find_suggestion_warnings(matched)


def find_suggestion_warnings(matched: MatchedAnnotations) -> Iterator[str]:
    """Yield a warning if items were annotated by people who saw the judge's verdict."""
    if suggested := sum(thing.suggested for thing in matched.things):
        items = format_count(len(matched.things), "item")
        yield f"{suggested} of {items} annotated by people who saw the judge's verdict: their agreement is too high"


def find_join_warnings(matched: MatchedAnnotations, unread: Sequence[str]) -> Iterator[str]:
    """Yield the warnings that stand before all figures: most labels are off the scale, or of no item of the run."""
    off_scale = [row for row in unread if ON_VALUE in row or (row in matched.faults and WITHOUT_VALUE not in row)]
    labels = matched.statuses.get("submitted", 0) + len(unread) - len(matched.faults)
    yield from find_off_scale_remark(off_scale, labels)
    if matched.join and (remark := matched.join.find_remark("annotations are matched by sample, method and item")):
        yield remark


def find_left_out_warnings(matched: MatchedAnnotations, unread: Sequence[str]) -> Iterator[str]:
    """Yield warnings about the annotations that are not counted, with the reason, and about unreadable rows."""
    yield from matched.united
    outdated = format_count(matched.outdated, "annotation")
    another = f"shown to people with another text than to the judge ({outdated}, left out)"
    for problem, names in (
        (another, matched.changed),
        ("not in the run", matched.strange),
        ("without a verdict of the judge", matched.unjudged),
        ("shown with other contents to one annotator than to another", matched.differing),
    ):
        if names:
            more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
            hint = f"; {matched.join.near}" if names is matched.strange and matched.join and matched.join.near else ""
            listed = ", ".join(map(show_id, names[:MAX_LISTED]))
            yield f"{format_count(len(names), 'annotated item')} {problem}: {listed}{more}{hint}"
    if matched.replaced:
        yield f"{format_count(matched.replaced, 'annotation')} given twice by the same annotator: the later one counts"
    if unread:
        yield f"{format_count(len(unread), 'row')} cannot be read:"
        yield from (f"  {row}" for row in unread[:MAX_LISTED])
