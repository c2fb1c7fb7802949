"""Runs and their HTML pages: one with everything that a page shows, and small ones with given texts."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64decode
from datetime import UTC, datetime
from pathlib import Path

from page_judge import FAULTY, page_judge

import greval
from greval import Store, evaluate, load_metric
from greval.analysis.summary import build_report
from greval.report.html.page import PageContent, build_report_page
from greval.testing import ScriptedJudge
from greval.trust.annotations.files import keep_annotations, read_annotations

DEMO = Path(greval.__file__).parent / "demo" / "cases.jsonl"
METRICS = ("correctness", "answer_quality", "chunk_evaluation", "triple_evaluation", "edge_recall", "latency")
MADE = PageContent(made=datetime(2026, 11, 23, 9, 30, tzinfo=UTC), command="greval report runs/demo --html page.html")


def judge_demo(folder):
    """Judge the shipped cases, one of which cannot be judged, and add what two people said."""
    rows = [json.loads(line) for line in DEMO.read_text(encoding="utf-8").splitlines()]
    rows[5]["answer"] = f"This {FAULTY}."
    evaluate(rows, [load_metric(name) for name in METRICS], page_judge(), out=folder)
    labels = folder.parent / "labels.jsonl"
    said = [
        {"sample_id": row["id"], "method": row["method"], "metric": "correctness", "annotator": who, "value": place % 2}
        for place, row in enumerate(rows)
        for who in ("ana", "ben")
    ]
    labels.write_text("".join(f"{json.dumps(one)}\n" for one in said), encoding="utf-8")
    keep_annotations(folder, read_annotations(labels).annotations)
    return folder


def make_page(folder, content=MADE, **options):
    """Return the page of a run."""
    with Store.open(folder) as store:
        return build_report_page(store, build_report(store, **options), content)


def judge_pair(folder, pair, reasons=("The first.", "The second.")):
    """Judge one pair with a judge that prefers whatever stands first, and gives these reasons in turn."""
    judge = ScriptedJudge([{"reason": reason, "value": "A"} for reason in reasons])
    return evaluate([pair], [load_metric("comprehensiveness")], judge, out=folder).folder


def unpack_blocks(page, attribute):
    """Return the content of the compressed blocks of a page that have this attribute."""
    blocks = re.findall(rf'<script type="text/plain" {attribute}>([^<]*)</script>', page)
    return [json.loads(zlib.decompress(b64decode(block))) for block in blocks]
