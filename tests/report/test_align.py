"""The report of an alignment."""

import re
from io import StringIO

from rich.console import Console

from greval.report.align import render
from greval.trust.alignment.records import AgreementGain, AlignAttempt, Alignment


def test_every_part_of_a_report_finds_its_place():
    """Ranks, failures, dropped ways, another writer and loud warnings are told, each where it is looked for."""
    gain = AgreementGain(figure="mae", things=9, questions=9, before=1.5, after=1.2, gain=0.3, p=0.2, ranks=(0.5, None))
    told = Alignment(
        folder="first", metric="depth", judge="j", writer="w", annotators=("ana",), labels=10, questions=9, folds=3,
        level=0.9, seed=0, ways=("examples", "rewrite"), gain=gain, failed=1, accepted=False, why="it is not sure",
        attempts=(
            AlignAttempt(fold=1, way="examples", learned=4, things=5, before=1.0, after=0.5, failed=2, chosen=True),
            AlignAttempt(fold=1, way="rewrite", dropped="nothing was changed"),
        ),
        cost=0.25, warnings=("ENRICHED SAMPLE: beware", "2 left out: people are tied"),
    )  # fmt: skip
    console = Console(file=StringIO(), width=100)
    render(told, console)
    out = console.file.getvalue()
    assert out.startswith("ENRICHED SAMPLE: beware")
    assert re.search(r"Spearman +9 +0\.50 +-", out)
    for part in ("chosen, 2 failed", "dropped: nothing was changed", "judge j, writer w;", "cost $0.2500", "[90%]"):
        assert part in out
    assert "left out of the gain: 1 things" in out
    assert out.index("nothing helped: it is not sure") < out.index("2 left out")
