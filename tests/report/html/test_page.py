"""The page of a run as text: what it shows is what the report has, and nothing in it can reach out."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_pages import MADE, judge_pair, make_page, unpack_blocks

import greval
from greval import PreferenceMetric, Store, duel, evaluate, load_metric
from greval.analysis.comparison.api import compare
from greval.analysis.summary import build_report
from greval.report.comparison import describe_findings, format_difference
from greval.report.console import describe_troubles, format_mean
from greval.report.html.archive import ArchiveLimits
from greval.report.html.templating import create_environment
from greval.testing import ScriptedJudge

TOKENS = Path(greval.__file__).parent / "serve" / "page" / "css" / "tokens.css"
URL_ATTRIBUTES = {"src", "href", "action", "data", "poster", "srcset", "xlink:href", "formaction", "style", "ping"}


class Markup(HTMLParser):
    """Collects the tags, the attributes and the text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.text = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text.append(data)


def read_words(text):
    return " ".join("".join(Markup(text).text).split())


def test_shows_the_figures_of_the_report(judged_run, page_text):
    """Each mean with its interval, each count of failures and each trouble stands in the page."""
    with Store.open(judged_run) as store:
        report = build_report(store)
    words = read_words(page_text)
    for summary in report.summaries:
        mean, _, interval = format_mean(summary).partition(" ")
        assert mean in words
        assert interval in words
    for line in describe_troubles(report):
        assert " ".join(line.split()) in words
    assert "1 failed" in words


def test_begins_with_what_was_found_and_has_the_comparison(judged_run, page_text):
    """The head has the name of the run, the date and the sentence of the comparison; its differences follow."""
    comparison = compare(judged_run)
    head = read_words(page_text[page_text.index('<section class="head">') : page_text.index('<section id="figures">')])
    assert head.startswith(f"{judged_run.name} ")
    for text in ("23 November 2026", *describe_findings(comparison)):
        assert text in head
    words = read_words(
        page_text[page_text.index('<section id="comparison">') : page_text.index('<section id="people">')]
    )
    for contrast in comparison.contrasts:
        assert format_difference(contrast) in words
    assert all(" ".join(line.split()) in words for line in comparison.warnings)


@pytest.mark.parametrize(("methods", "text"), [(1, None), (2, "no comparison: "), (5, "5 methods are not compared")])
def test_methods_that_are_not_compared_are_explained(tmp_path, methods, text):
    """One method has no comparison; sides that share no question, and many methods, have a sentence in its place."""
    cases = [
        {"id": f"q{number}", "method": f"m{number}", "question": "?", "usage": {"latency": 1}}
        for number in range(methods)
    ]
    page = make_page(evaluate(cases, [load_metric("latency")], out=tmp_path / "run").folder)
    assert ('id="comparison"' in page) == (text is not None)
    assert text is None or text in read_words(page)


def test_only_failures_are_red(tmp_path):
    """A skipped case is counted in grey: nothing went wrong."""
    rows = [{"id": "q1", "question": "?"}, {"id": "q2", "question": "?", "usage": {"latency": 1}}]
    page = make_page(evaluate(rows, [load_metric("latency")], out=tmp_path / "run").folder)
    assert '<span class="soft small">1 skipped</span>' in page
    assert "bad-text" not in page[page.index('<section id="figures">') : page.index('<section id="cases">')]


def test_shows_worst_cases_with_all_that_was_judged(page_text):
    """A worst case has its texts, items, verdicts with reasons, and its walk as a drawing and as text."""
    words = read_words(page_text[page_text.index('<section id="worst">') : page_text.index('<section id="cases">')])
    for text in (
        "Expected answer",
        "Chunks",
        "Triples",
        "essential",
        "It reads as",
        "expected, not walked",
        "score 0.",
    ):
        assert text in words
    assert 'class="edge-label"' in page_text
    assert "<svg xmlns" in page_text


def test_a_failed_case_is_no_worst_case(page_text):
    """What failed has no value, so it is in the list of troubles and not among the worst of its metric."""
    worst = page_text[page_text.index('<div class="worst-lists">') : page_text.index('<details class="case"')]
    assert "failed" not in worst
    assert "malformed" in page_text


def test_shows_people_cost_and_how_it_was_made(page_text):
    """Agreement, cost, fingerprints, the judge, the version and the command are in the page."""
    words = read_words(page_text)
    for text in ("Judge and people", "people among themselves", "Cost by metric", "calls", "fingerprint", MADE.command):
        assert text in words
    assert "23 November 2026, 09:30 UTC" in words


def test_a_tag_has_a_table_and_an_id_has_none(page_text):
    """Tags with few values divide the figures; methods come first."""
    words = read_words(page_text)
    assert "method · query_type" in words
    assert "walk · aggregation" in words


PAIR = {
    "id": "q1",
    "question": "Who owns the boat?",
    "method": "local vs walk",
    "answer": "Ada owns it.",
    "other_response": {
        "method": "walk",
        "answer": "Bob owns it.",
        "chunks": [{"id": "c1", "text": "Bob paid for it."}],
    },
}


def test_a_pair_has_both_answers_and_the_verdict_of_each_order(tmp_path):
    """Both methods are named, with what each answered, and each order has its winner and its reason."""
    page = make_page(judge_pair(tmp_path / "run", PAIR, ("It is longer.", "It names Bob.")))
    words = read_words(page[page.index('class="case" id="worst-1"') : page.index('<section id="cases">')])
    for text in (
        "A local Ada owns it.",
        "B walk Bob owns it.",
        "What B was built from Chunks 1 c1 Bob paid for it.",
        "comprehensiveness Tie Flipped: the two orders name different winners",
        "A prefers local the judge saw A: local, B: walk It is longer.",
        "B prefers walk the judge saw A: walk, B: local It names Bob.",
    ):
        assert text in words
    assert "Answer" not in words


def test_a_pair_is_not_counted_as_a_method(tmp_path):
    """The head counts the methods of answers and of both sides of pairs, and the pairs among the cases."""
    names = ("flat", "walk vs local", "walk")  # one is spelt like a pair
    cases = [
        {"id": f"q{n}", "question": "Who?", "method": name, "answer": name, "usage": {"latency": 1}}
        for n in range(2)
        for name in names
    ]
    evaluate(cases, [load_metric("latency")], out=tmp_path / "run")
    assert "2 questions, 3 methods, 6 cases, 1 metric" in read_words(make_page(tmp_path / "run"))
    judge = ScriptedJudge([{"reason": "Equal.", "value": "Tie"}])
    duel(tmp_path / "run", [load_metric("comprehensiveness")], judge)
    assert "2 questions, 3 methods, 12 cases, 6 of them pairs, 2 metrics" in read_words(make_page(tmp_path / "run"))
    duel(tmp_path / "run", [load_metric("comprehensiveness")], judge, out=tmp_path / "duel")
    assert "2 questions, 3 methods, 6 pairs, 1 metric" in read_words(make_page(tmp_path / "duel"))


def test_a_pair_whose_orders_agree_did_not_flip(tmp_path):
    """A verdict that holds in both orders says so, also if one order is surer than the other on a graded scale."""
    scale = {"range": (-2, 2), "levels": {-2: "B.", 0: "Equal.", 2: "A."}}
    needs = ["question", "answer"]
    graded = PreferenceMetric(name="clarity", description="d", needs=needs, steps=["s"], **scale)
    judge = ScriptedJudge([{"reason": "Much.", "value": -2}, {"reason": "A bit.", "value": 1}])
    words = read_words(make_page(evaluate([PAIR], [graded], judge, out=tmp_path / "run").folder))
    assert "Both orders agree." in words
    assert "-2 prefers walk" in words
    assert "-1 prefers walk" in words


def test_nothing_in_the_page_can_be_requested(page_text):
    """No attribute has an address but anchors of the page, no style is inline, and no handler is there."""
    for tag, attributes in Markup(page_text).tags:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name not in URL_ATTRIBUTES or value.startswith("#"), (tag, name, value)
    assert "@import" not in page_text
    assert not re.search(r"url\((?!#)", page_text)


def test_the_policy_allows_its_own_style_and_script_only(page_text):
    """The policy names the hashes of both, and forbids everything else."""
    policy = unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', page_text)[1])
    style = re.search(r"<style>(.*?)</style>", page_text, re.DOTALL)[1]
    script = re.findall(r"<script>(.*?)</script>", page_text, re.DOTALL)
    assert len(script) == 1
    for kind, text in (("style", style), ("script", script[0])):
        assert f"{kind}-src 'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_equal_runs_have_equal_pages(judged_run, page_text):
    """Nothing in a page depends on chance."""
    assert make_page(judged_run) == page_text


@pytest.mark.skipif(not TOKENS.is_file(), reason="the server is not here")
def test_colours_are_those_of_the_page_of_the_server():
    """Each colour has the value that the web page gives it."""
    source = create_environment().loader.get_source(create_environment(), "page.css")[0]
    own = dict(re.findall(r"--([\w-]+): (light-dark\([^;]*\));", source))
    served = dict(re.findall(r"--([\w-]+): (light-dark\([^;]*\));", TOKENS.read_text("utf-8")))
    assert own
    assert own == {name: served[name] for name in own}


def test_a_run_without_worst_cases_has_none(tmp_path):
    """If each case has the best value, the list says so, and an empty part of the page is left out."""
    cases = [{"id": f"q{n}", "question": "Who?", "answer": "Ada", "expected_answer": "Ada"} for n in range(3)]
    run = evaluate(cases, [load_metric("exact_match")], out=tmp_path / "run")
    text = make_page(run.folder)
    assert "No case is below the best value." in text
    for part in ("tags", "missing", "cost", "people", "probes"):
        assert f'<section id="{part}">' not in text


def test_a_small_limit_leaves_out_details_and_cuts_texts(judged_run):
    """The page says how many cases are listed, how many have no details, and to which length texts are cut."""
    page = make_page(judged_run, MADE._replace(limits=ArchiveLimits(cases=30, detail_bytes=1, case_bytes=500)))
    words = read_words(page)
    assert "The first 30 of 40 cases are listed; the figures are of all of them." in words
    assert "Texts of chunks are left out" in words
    [index] = unpack_blocks(page, 'id="index"')
    assert len(index["cases"]) == 30


def test_markup_in_texts_is_escaped_everywhere(tmp_path):
    """Neither the page nor the compressed details have an element that a text would make."""
    evil = "</script><img src=x onerror=alert(1)>\"'&"
    case = {
        "id": evil,
        "method": evil,
        "question": evil,
        "answer": evil,
        "expected_answer": "Ada",
        "tags": {evil: evil},
    }
    case |= {"chunks": [{"id": evil, "text": evil, "doc_id": evil}], "triples": [[evil, evil, evil]]}
    case |= {"traversal": {"start_nodes": [evil]}, "gold": {"expected_edges": [[evil, evil, evil]]}}
    run = evaluate([case, {**case, "method": "m"}], [load_metric("exact_match")], out=tmp_path / "run")
    page = make_page(run.folder)
    details = [text for block in unpack_blocks(page, 'data-part="cases"') for text in block]
    assert len(details) == 2
    for text in (page, *details):
        tags = {tag for tag, _ in Markup(text).tags}
        assert "img" not in tags
        assert "&lt;img" in text
    assert page.count("</script>") == page.count("<script")
