"""The page of a comparison as text: differences as reports print them, and the questions that differ on both sides."""

from __future__ import annotations

import json
import re
from html import unescape
from shutil import copytree

import pytest
from page_judge import page_judge
from report_pages import DEMO, MADE, unpack_blocks

from greval import evaluate, load_metric
from greval.analysis.comparison.api import compare
from greval.report.comparison import describe_findings, format_difference, format_relative, format_verdict
from greval.report.html.comparison_page import MAX_NAMED, build_comparison_page


def make_page(comparison):
    """Return the page of a comparison with single spaces, and its text."""
    page = build_comparison_page(comparison, made_at=MADE.made, command=MADE.command)
    text = unescape(re.sub(r"<[^>]+>", " ", page[page.index("<main") :]))
    return page, " ".join(text.split())


@pytest.fixture(scope="module")
def comparison(judged_run):
    return compare(judged_run, baseline="local", by="query_type")


def test_shows_every_difference(comparison):
    """Each contrast has its difference with its interval, its counts, its verdict, and its plot with a line at zero."""
    page, words = make_page(comparison)
    for contrast in comparison.contrasts:
        assert format_difference(contrast) in words
        assert contrast.relative_difference is None or f"relative {format_relative(contrast)}" in words
        assert format_verdict(contrast) in words
        assert f"{contrast.won:,} won, {contrast.tied:,} tied, {contrast.lost:,} lost" in words
    assert page.count('class="zero"') == sum(contrast.difference is not None for contrast in comparison.contrasts)
    for line in comparison.warnings:
        assert " ".join(line.split()) in words
    assert page.count('class="ticks"') == len(comparison.axes)
    for axis in comparison.axes:
        assert f"axis from \N{MINUS SIGN}{axis.end:g} to {axis.end:g}" in page
    for line in describe_findings(comparison):
        assert line in words


def test_shows_won_and_lost_questions_side_by_side(comparison):
    """The first questions of each list have the answers and verdicts of both sides, each question once."""
    page, words = make_page(comparison)
    rows = [json.loads(line) for line in DEMO.read_text(encoding="utf-8").splitlines()]
    answers = {(row["id"], row["method"]): row["answer"] for row in rows}
    whole = [contrast for contrast in comparison.contrasts if not contrast.group]
    named = {
        name
        for contrast in whole
        for name in (*contrast.lost_questions[:MAX_NAMED], *contrast.won_questions[:MAX_NAMED])
    }
    assert len(re.findall(r'id="changed-\d+"', page)) == len(named) > MAX_NAMED
    for name in named - {rows[5]["id"]}:
        for method in ("local", "walk"):
            assert " ".join(answers[name, method].split()) in words
    assert f"Lost {whole[-1].lost}, the first {MAX_NAMED}" in words


def test_lists_all_won_and_lost_questions(comparison):
    """The list to search has every question of every pair, won or lost by metric, the largest difference first."""
    page, _ = make_page(comparison)
    [index] = unpack_blocks(page, 'id="index"')
    whole = [one for one in comparison.contrasts if not one.group]
    assert index["metrics"] == [one.metric for one in whole]
    for place, one in enumerate(whole):
        cells = {line[0]: line[5][place] for line in index["cases"] if line[5][place]}
        lost = sorted((rank, name) for name, (said, rank, _) in cells.items() if said == "lost")
        won = sorted((-rank, name) for name, (said, rank, _) in cells.items() if said == "won")
        assert [name for _, name in lost] == [*one.lost_questions]
        assert [name for _, name in won] == [*one.won_questions]


def test_compressed_blocks_hold_no_folder(judged_run, tmp_path):
    """A server replaces the folders of runs in the text of a page, which does not reach into what is compressed."""
    earlier = tmp_path / "earlier"
    copytree(judged_run, earlier)
    rows = [json.loads(line) for line in DEMO.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        row["answer"] = f"{row['answer']} Or so."
    later = tmp_path / "later"
    evaluate(rows, [load_metric("correctness"), load_metric("latency")], page_judge(), out=later)
    comparison = compare(later, against=earlier)
    page = build_comparison_page(comparison, made_at=MADE.made)
    packed = json.dumps([unpack_blocks(page, 'id="index"'), *unpack_blocks(page, 'data-part="cases"')])
    assert "Or so." in packed
    assert str(tmp_path) in page
    assert str(tmp_path) not in packed


def test_a_run_is_compared_with_an_earlier_one(tmp_path):
    """Both runs have their versions, and sides are named before and now."""
    rows = [json.loads(line) for line in DEMO.read_text(encoding="utf-8").splitlines()][:20]
    folders = [tmp_path / name for name in ("old", "new")]
    metrics = [load_metric("correctness"), load_metric("latency")]
    for folder in folders:
        evaluate(rows, metrics, page_judge(), out=folder)
        for row in rows:
            row["answer"] = f"{row['answer']} Or so."
    _, words = make_page(compare(folders[1], against=folders[0]))
    assert "Before" in words
    assert "Now" in words
    assert "Or so." in words
    assert words.count("fingerprint") == 2


def test_without_a_difference_no_question_is_named(tmp_path):
    """If no question differs, the page has no section of questions."""
    cases = [
        {"id": f"q{n}", "method": method, "question": "Who?", "answer": "Ada", "expected_answer": "Ada"}
        for n in range(3)
        for method in ("a", "b")
    ]
    run = evaluate(cases, [load_metric("exact_match")], out=tmp_path / "run")
    page, words = make_page(compare(run.folder))
    assert 'id="changed"' not in page
    assert "equal on every question" in words
