"""Warnings about an agreement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from greval._util.joins import show_id
from greval._util.wording import format_count
from greval.trust.agreement.figures import find_referees
from greval.trust.agreement.records import AgreementGroup, CombineAnnotators
from greval.trust.annotations.joining import ON_VALUE, find_off_scale_remark
from greval.trust.annotations.matching import WITHOUT_VALUE, MatchedAnnotations

MIN_ITEMS = 30
MAX_LISTED = 3


def find_warnings(
    found: MatchedAnnotations, whole: AgreementGroup, unread: Sequence[str], *, combine: CombineAnnotators, between: int
) -> Iterator[str]:
    """Yield the warnings of an agreement; `between` items are left out as the judge's value is between two levels."""
    yield from find_join_warnings(found, unread)
    if len(found.judges) > 1 or len(found.fingerprints) > 1:
        judges, definitions = (
            format_count(len(found.judges), "judge"),
            format_count(len(found.fingerprints), "definition"),
        )
        yield (
            f"MIXED: these verdicts are of {judges} and {definitions}; "
            "run the same command of greval evaluate again, so that all are of one"
        )
    if whole.enriched:
        yield (
            "ENRICHED SAMPLE: the annotated items were sampled with different probabilities. The raw figures are of "
            "this sample only; the weighted ones estimate those of all items that it was sampled from"
        )
    yield from find_suggestion_warnings(found)
    ties = len(found.things) - whole.things
    if combine == "majority" and ties:
        items = "1 item is" if ties == 1 else f"{ties} items are"
        yield f"{items} left out because people are tied on the hardest items; ask one more annotator"
    if between:
        yield f"{between} left out: the judge's value is a mean of repeats between two levels"
    for who in find_referees(found.things):
        yield f"{who} was asked mostly where others disagree: look at the other pairs for the ceiling"
    if whole.things < MIN_ITEMS:
        items = "item" if whole.things == 1 else "items"
        yield f"only {whole.things} annotated {items}: with fewer than {MIN_ITEMS}, intervals are approximate"
    yield from find_left_out_warnings(found, unread)


def find_sample_warnings(found: MatchedAnnotations) -> Iterator[str]:
    """Yield the warnings for figures that ignore the sampling weights of annotated items."""
    if len({thing.weight for thing in found.things}) > 1:
        yield (
            "ENRICHED SAMPLE: the annotated items were sampled with different probabilities; "
            "figures with people are of this sample only"
        )
    yield from find_suggestion_warnings(found)


def find_suggestion_warnings(found: MatchedAnnotations) -> Iterator[str]:
    """Yield a warning if items were annotated by people who saw the judge's verdict."""
    if suggested := sum(thing.suggested for thing in found.things):
        items = format_count(len(found.things), "item")
        yield f"{suggested} of {items} annotated by people who saw the judge's verdict: their agreement is too high"


def find_join_warnings(found: MatchedAnnotations, unread: Sequence[str]) -> Iterator[str]:
    """Yield the warnings that stand before all figures: most labels are off the scale, or of no item of the run.

    `unread` are unreadable rows and the faults of matched annotations.
    """
    off_scale = [row for row in unread if ON_VALUE in row or (row in found.faults and WITHOUT_VALUE not in row)]
    labels = found.statuses.get("submitted", 0) + len(unread) - len(found.faults)
    yield from find_off_scale_remark(off_scale, labels)
    if found.join and (remark := found.join.find_remark("annotations are matched by sample, method and item")):
        yield remark


def find_left_out_warnings(found: MatchedAnnotations, unread: Sequence[str]) -> Iterator[str]:
    """Yield warnings about the annotations that are not counted, with the reason, and about unreadable rows."""
    yield from found.united
    outdated = format_count(found.outdated, "annotation")
    another = f"shown to people with another text than to the judge ({outdated}, left out)"
    for problem, names in (
        (another, found.changed),
        ("not in the run", found.strange),
        ("without a verdict of the judge", found.unjudged),
        ("shown with other contents to one annotator than to another", found.differing),
    ):
        if names:
            more = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
            near = f"; {found.join.near}" if names is found.strange and found.join and found.join.near else ""
            listed = ", ".join(map(show_id, names[:MAX_LISTED]))
            yield f"{format_count(len(names), 'annotated item')} {problem}: {listed}{more}{near}"
    if found.replaced:
        yield f"{format_count(found.replaced, 'annotation')} given twice by the same annotator: the later one counts"
    if unread:
        yield f"{format_count(len(unread), 'row')} cannot be read:"
        yield from (f"  {row}" for row in unread[:MAX_LISTED])
