"""The page of a run in a real Chromium: what it lets one do, that it is accessible, and that texts stay text."""

from __future__ import annotations

import re
from contextlib import contextmanager

import pytest
from accessibility import find_violations
from duelled_answers import fair, judge_by, write_answers
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from report_pages import MADE, judge_pair, make_page

from greval import Case, duel, evaluate, load_metric
from greval.analysis.comparison.api import compare
from greval.metrics.files import parse_metric
from greval.report.html.archive import ArchiveLimits
from greval.report.html.comparison_page import build_comparison_page
from greval.testing import ScriptedJudge

pytestmark = pytest.mark.browser
WIDTHS = (390, 1024, 1440)
OPEN = "#list details"
WATCH = """
window.refused = [];
addEventListener("securitypolicyviolation", ({ violatedDirective }) => window.refused.push(violatedDirective));
"""
READ_TEXTS = """
(selector) => [...document.querySelectorAll(selector)].map((node) => node.textContent)
"""
REACH_OUT = """
async () => {
  const tried = [];
  try { await fetch("https://example.org/"); tried.push("fetch"); } catch { /* refused */ }
  try { document.body.innerHTML = "<b>x</b>"; tried.push("markup"); } catch { /* refused */ }
  const image = new Image();
  image.src = "https://example.org/x.png";
  document.body.append(image);
  const script = document.createElement("script");
  try { script.text = "window.hit = 1"; tried.push("script"); } catch { /* refused */ }
  document.body.append(script);
  await new Promise((done) => setTimeout(done, 100));
  return [tried, window.hit ?? null, window.refused.length > 0];
}
"""


@contextmanager
def opened(chromium, path, text=None, **window):
    """Open a page with every request but for the file cut off; at the end nothing may have gone wrong in it."""
    if text is not None:
        path.write_text(text, encoding="utf-8")
    context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **window})
    faults = []

    def answer(route):
        if route.request.url == path.as_uri():
            route.continue_()
        else:
            faults.append(route.request.url)
            route.abort()

    context.route("**/*", answer)
    context.add_init_script(WATCH)
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.on("console", lambda message: faults.append(message.text))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready]")
    yield page
    context.close()
    assert not faults


@pytest.fixture(scope="module")
def path(page_text, tmp_path_factory):
    """Return the file of the page of the run."""
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(page_text, encoding="utf-8")
    return path


@pytest.fixture
def page(chromium, path):
    """Open the page of the run."""
    with opened(chromium, path) as page:
        yield page


def choose(page, label, option):
    """Choose an option of a list by its begin."""
    control = page.get_by_label(label, exact=True)
    found = [text for text in control.locator("option").all_text_contents() if text.startswith(option)]
    control.select_option(label=found[0])
    page.wait_for_timeout(100)


def rows(page):
    return page.locator(f"{OPEN} > summary").all_inner_texts()


def test_filters_by_words_method_tag_and_value(page):
    """Each filter leaves what it names, and the number of cases is reported."""
    assert page.inner_text("#count") == "40 of 40 cases"
    page.get_by_label("Search").fill("goose INCIDENT cost")
    page.locator("#count", has_text="2 of 40 cases").wait_for()
    assert all("How many crowns did the goose incident cost?" in row for row in rows(page))
    choose(page, "Method", "walk")
    assert len(rows(page)) == 1
    page.get_by_label("Search").fill("no such words")
    page.locator("#count", has_text="0 of 40 cases").wait_for()
    page.get_by_label("Search").fill("")
    choose(page, "Method", "all")
    choose(page, "Tag", "query_type: aggregation")
    assert 0 < len(rows(page)) < 20
    choose(page, "Tag", "all")
    choose(page, "Metric", "correctness")
    choose(page, "Value", "failed")
    assert len(rows(page)) == 1
    choose(page, "Value", "0 (")
    assert all(re.search(r"correctness\s*0", row) for row in rows(page))


@pytest.mark.nightly
def test_searches_reasons_and_whole_texts(chromium, tmp_path):
    """A search finds words of reasons, and of an answer beyond what the list shows, but no words of the page itself."""
    words = {"q1": "it forgets the anchovy", "q2": "it names everything", "q3": "it is silent on the anchovy"}
    cases = [
        {"id": name, "question": f"What of {name}?", "expected_answer": "x", "answer": f"{'so ' * 200}{name}-end"}
        for name in words
    ]
    judge = ScriptedJudge(
        lambda messages: {
            "reason": next(why for name, why in words.items() if f"{name}?" in str(messages)), "value": 0
        }
    )  # fmt: skip
    run = evaluate(cases, [load_metric("correctness")], judge, out=tmp_path / "run")
    with opened(chromium, tmp_path / "page.html", make_page(run.folder)) as page:
        box = page.get_by_label("Search")
        for searched, expected in (("anchovy", ["q1", "q3"]), ("ANCHOVY silent", ["q3"]), ("q2-end", ["q2"])):
            box.fill(searched)
            page.locator("#count").get_by_text(f"{len(expected)} of 3 cases", exact=True).wait_for()
            assert [row.split()[0] for row in rows(page)] == expected
            box.fill("")
            page.locator("#count").get_by_text("3 of 3 cases", exact=True).wait_for()
        box.fill("verdict")
        page.locator("#count").get_by_text("0 of 3 cases", exact=True).wait_for()


@pytest.mark.nightly
def test_lists_all_won_and_lost_questions(chromium, tmp_path):
    """All of them are in pages, largest difference first; they are filtered by side and searched, also by reasons."""
    cases = [
        {"id": f"q{n:03}", "method": method, "question": f"Question {n}?", "answer": f"{method} {n}",
         "tags": {"odd": n % 2}, "expected_answer": "x", "chunks": [{"id": "c1", "text": f"Chunk of {n}."}]}
        for n in range(120)
        for method in ("old", "new")
    ]  # fmt: skip

    def answer(messages):
        text = str(messages)
        number = int(re.search(r"Question (\d+)\?", text)[1])
        return {
            "reason": f"Reason {number}-{'new' if 'new ' in text else 'old'}.",
            "value": int(("new " in text) == (number < 70)),
        }

    run = evaluate(cases, [load_metric("correctness")], ScriptedJudge(answer), out=tmp_path / "run")
    text = build_comparison_page(compare(run.folder, baseline="old"), made_at=MADE.made)
    with opened(chromium, tmp_path / "page.html", text) as page:
        assert page.inner_text("#count") == "120 of 120 questions, 1 to 50 shown"
        choose(page, "Value", "lost")
        assert page.inner_text("#count") == "50 of 120 questions"
        assert {row.split()[0] for row in rows(page)} == {f"q{n:03}" for n in range(70, 120)}
        choose(page, "Tag", "odd: 1")
        assert page.inner_text("#count") == "25 of 120 questions"
        choose(page, "Tag", "all")
        page.get_by_label("Search").fill("reason 101-old")
        page.locator("#count").get_by_text("1 of 120 questions", exact=True).wait_for()
        page.locator(f"{OPEN} > summary").click()
        page.locator(f"{OPEN} .side").first.wait_for()
        sides = page.locator(f"{OPEN} .side").all_inner_texts()
        assert ["old 101" in sides[0], "new 101" in sides[1], "Reason 101-new." in sides[1]] == [True, True, True]
        page.locator(f"{OPEN} .side .plain > summary").first.click()
        assert "Chunk of 101." in page.locator(f"{OPEN} .side").first.inner_text()


@pytest.mark.nightly
def test_sorts_by_a_metric(page):
    """The worst come first by its direction, and cases without a value are at the end."""
    choose(page, "Metric", "latency")
    choose(page, "Order", "worst")
    seconds = [float(re.search(r"latency\s*([\d.]+) s", row)[1]) for row in rows(page) if "latency\nskipped" not in row]
    assert seconds == sorted(seconds, reverse=True)
    assert len(seconds) == 39
    assert "skipped" in rows(page)[-1]
    choose(page, "Order", "best")
    assert f"{min(seconds):.3g} s" in rows(page)[0]


def test_opens_a_case_with_its_chunks(page):
    """A case is decompressed when it is opened, with the texts of its chunks and the drawing of its walk."""
    choose(page, "Method", "walk")
    assert page.locator(f"{OPEN} [data-text]").count() == 0
    page.locator(f"{OPEN} > summary").first.click()
    body = page.locator(f"{OPEN} .case-body").first
    body.locator("svg").wait_for()
    assert "A crew session lasts 12 hours" in body.inner_text()
    assert body.locator("[data-text]").evaluate_all("nodes => nodes.every((node) => node.textContent)")


@pytest.mark.nightly
def test_many_cases_are_listed_in_pages(chromium, tmp_path):
    """Fifty cases are shown at a time; cases whose details did not fit are listed and say so."""
    long = "".join(map(chr, range(0x4E00, 0x4E00 + 7_000)))  # compresses little
    cases = [{"id": f"q{n}", "question": f"{n}?", "answer": long[n:], "expected_answer": "Ada"} for n in range(120)]
    run = evaluate(cases, [load_metric("exact_match")], out=tmp_path / "run")
    text = make_page(run.folder, MADE._replace(limits=ArchiveLimits(detail_bytes=100_000)))
    with opened(chromium, tmp_path / "page.html", text) as page:
        assert page.inner_text("#count") == "120 of 120 cases, 1 to 50 shown"
        for _ in range(2):
            page.get_by_role("button", name="Next").click()
        assert page.inner_text("#count") == "120 of 120 cases, 101 to 120 shown"
        assert page.get_by_role("button", name="Next").is_disabled()
        page.locator(f"{OPEN} > summary").last.click()
        page.locator(f"{OPEN} .case-body", has_text="not in this file").wait_for()
        page.get_by_role("button", name="Previous").click()
        assert len(rows(page)) == 50


@pytest.mark.nightly
def test_a_link_opens_a_worst_case(page):
    """The list of the worst leads to the folded case below it."""
    link = page.locator(".worst-list a").nth(1)
    link.click()
    target = link.get_attribute("href")
    assert page.locator(f"{target} .texts").is_visible()


@pytest.mark.nightly
def test_printing_shows_all_worst_cases(page):
    """On paper the worst cases are open, no table is cut, and the list of all cases is left out."""
    page.set_viewport_size({"width": 690, "height": 1000})
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#worst .texts").evaluate_all("nodes => nodes.every((node) => node.checkVisibility())")
    assert not page.locator("#cases").is_visible()
    wide = "nodes => nodes.filter((node) => node.scrollWidth > node.clientWidth + 1).map((node) => node.outerHTML)"
    assert page.locator(".scroll").evaluate_all(wide) == []
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("#worst details[open]").count() == 1


@pytest.mark.nightly
def test_the_name_of_a_method_has_a_line_of_its_own_on_a_telephone(page):
    """On a narrow screen the name takes the whole width, so that it does not break in the middle of a word."""
    page.set_viewport_size({"width": 390, "height": 900})
    widths = "(row) => [row.querySelector('th').clientWidth, row.clientWidth]"
    for row in page.locator(".figures tbody tr").all():
        name, whole = row.evaluate(widths)
        assert name == whole


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_is_accessible_at_every_width(chromium, path, scheme):
    """Axe finds no violation with cases open, and nothing is wider than the window."""
    with opened(chromium, path, color_scheme=scheme) as page:
        page.locator(f"{OPEN} > summary").nth(1).click()
        page.locator(f"{OPEN} svg").first.wait_for()
        assert find_violations(page) == []


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_comparison_is_accessible_at_every_width(chromium, judged_run, tmp_path, scheme):
    """Axe finds no violation with both sides of a question open, and nothing is wider than the window."""
    text = build_comparison_page(compare(judged_run, baseline="local", by="query_type"), made_at=MADE.made)
    with opened(chromium, tmp_path / "page.html", text, color_scheme=scheme) as page:
        page.locator(f"{OPEN} > summary").first.click()
        page.locator(f"{OPEN} .side").first.wait_for()
        for place in ("#changed-1", OPEN):
            for summary in page.locator(f"{place} .plain > summary").all():
                summary.click()
        assert find_violations(page) == []


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("baseline", "method"),
    [
        ("local", "walk"),
        ("lightrag_hybrid_mode_gpt5_mini_top_k_40_", "graphrag-local-search-reranked-k20-v2-x1"),
        ("W" * 40, "M" * 40),
    ],
)
def test_a_comparison_of_long_names_is_shown_whole(chromium, tmp_path, baseline, method):
    """The table is cut at no width and on no paper, also if the names have no place to break."""
    cases = [
        {
            "id": f"q{n}",
            "question": "?",
            "method": name,
            "usage": {"latency": n + len(name)},
            "tags": {"type": "multi_hop"},
        }
        for n in range(12)
        for name in (baseline, method)
    ]
    run = evaluate(cases, [load_metric("latency")], out=tmp_path / "run")
    text = build_comparison_page(compare(run.folder, baseline=baseline, by="type"), made_at=MADE.made)
    too_wide = "nodes => nodes.filter((node) => node.scrollWidth > node.clientWidth).length"
    with opened(chromium, tmp_path / "page.html", text) as page:
        for width in (390, 737, 1008, 1024, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.locator("#differences .scroll").evaluate_all(too_wide) == 0, width
            verdict = page.locator(".verdict-cell").first.bounding_box()
            assert verdict["x"] + verdict["width"] <= width
        page.set_viewport_size({"width": 690, "height": 1000})
        page.emulate_media(media="print")
        assert page.locator("#differences .scroll").evaluate_all(too_wide) == 0


def build_pair(one="Ada owns it. ", other="Bob owns it. "):
    """Return a pair in which every text of the first response is `one`, and of the second `other`."""
    response = {"answer": other, "method": other, "chunks": [{"id": other, "text": other, "doc_id": other}]}
    return {"id": "q1", "question": one, "answer": one, "method": f"{one} vs {other}", "other_response": response}


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_pair_is_accessible_and_side_by_side_where_there_is_room(chromium, tmp_path, scheme):
    """The answers are in two columns from about 700 px on, below each other on a telephone, and axe finds nothing."""
    text = make_page(judge_pair(tmp_path / "run", build_pair("Ada owns it. " * 9, "Bob owns it. " * 9)))
    tops = "nodes => new Set(nodes.map((node) => node.getBoundingClientRect().top)).size"
    with opened(chromium, tmp_path / "page.html", text, color_scheme=scheme) as page:
        page.locator(f"{OPEN} > summary").click()
        page.locator(f"{OPEN} .plain > summary").click()
        for width, rows in ((390, 2), (760, 1), (1440, 1)):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.locator(f"{OPEN} .response").evaluate_all(tops) == rows
        assert find_violations(page) == []


@pytest.mark.nightly
def test_the_theme_can_be_turned(chromium, path):
    """The page follows the system until someone turns it."""
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    with opened(chromium, path, color_scheme="dark") as page:
        dark = page.evaluate(ground)
        page.get_by_role("button", name="Light or dark").click()
        light = page.evaluate(ground)
        assert light != dark
        page.get_by_role("button", name="Light or dark").click()
        assert page.evaluate(ground) == dark


def test_the_policy_refuses_what_the_page_never_does(chromium, path):
    """A request, markup of text and a script are refused by the browser."""
    context = chromium.new_context()
    context.add_init_script(WATCH)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.evaluate(REACH_OUT) == [[], None, True]
    context.close()


def test_without_script_the_report_can_be_read(chromium, path):
    """Figures and worst cases need no script; a sentence says what does."""
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.locator("#figures table").first.is_visible()
    assert page.locator("#worst .texts").first.is_visible()
    assert "needs JavaScript" in page.inner_text("#cases")
    context.close()


HOSTILE = (
    "</script><script>window.hit=1</script>",
    "<img src=x onerror=window.hit=1>",
    "<svg onload=window.hit=1>",
    '"><a href="javascript:window.hit=1">x</a>',
    "' onmouseover='window.hit=1",
    "{{7*7}}{% raw %}${7*7}",
    "]]><!--",
    "<style>*{display:none}</style><base href=//example.org>",
    "</textarea></title></noscript></details></template><iframe srcdoc='<script>parent.hit=1</script>'>",
    "&lt;b&gt;&amp;&#60;",
    "\u202e\u2066\u200f",
)
hostile = st.lists(
    st.sampled_from(HOSTILE) | st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), max_size=12)
)
hostile_texts = hostile.map(" ".join).map(lambda text: f"x{text}x")


def try_hostile_texts(test):
    """Give a test two hostile texts: first all at once, then generated ones, of which each takes a second."""
    limited = settings(
        max_examples=settings.default.max_examples // 12,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    both = example(" ".join(HOSTILE), " ".join(reversed(HOSTILE)))
    return given(hostile_texts, hostile_texts)(both(limited(test)))


METRIC = """
name: evil_metric
description: Whether it is hostile.
needs: [question, chunks]
over: chunks
scale:
  categories:
    Yes: {means: It is., score: 1}
    No: {means: It is not., score: 0}
steps: [Read it.]
"""


def open_all(page):
    """Open every listed case, one after the other."""
    while page.locator("#list .case-body:empty").count():
        page.locator(f"{OPEN}:not([open]) > summary").first.click()
        page.wait_for_timeout(50)


def search_unharmed(page, words, count):
    """Search for words; before and after, no text has run, was refused, or has made an element or a link."""
    for _ in range(2):
        assert page.evaluate("[window.hit ?? null, ...window.refused]") == [None]
        assert page.locator("main :is(img, script, iframe, base, style)").count() == 0
        assert page.locator("main a:not([href^='#'])").count() == 0
        page.get_by_label("Search").fill(words)
        page.locator("#count").get_by_text(count, exact=True).wait_for()


@try_hostile_texts
def test_hostile_texts_stay_text(chromium, tmp_path_factory, one, other):
    """Whatever a case, a verdict or a name holds, it is shown as it is, runs nothing and makes no element."""
    folder = tmp_path_factory.mktemp("evil")
    case = Case.model_validate(
        {
            "id": one,
            "method": other,
            "question": one,
            "answer": other,
            "expected_answer": one,
            "chunks": [{"id": other, "text": one, "doc_id": one}],
            "triples": [{"id": one, "subject": one, "predicate": other, "object": one}],
            "traversal": {"start_nodes": [one], "traversed_edges": [[one, other, other]], "final_nodes": [other]},
            "gold": {"expected_edges": [[one, other, one]], "answers": [other]},
            "tags": {"kind": one},
        }
    )
    others = [case.model_copy(update={"id": "q2", "method": "m", "tags": {"kind": other}})]
    judge = ScriptedJudge(lambda _: {"judgements": [{"item": 1, "reason": other, "value": "No"}]})
    run = evaluate([case, *others], [parse_metric(METRIC)], judge, out=folder / "run")
    text = make_page(run.folder)
    with opened(chromium, folder / "page.html", text) as page:
        open_all(page)
        for place in ("#worst", "#list"):
            texts = page.evaluate(READ_TEXTS, f"{place} .texts dd")
            assert texts[:3] == [one, other, one]
            assert page.evaluate(READ_TEXTS, f"{place} .item .text")[0] == one
            assert other in page.evaluate(READ_TEXTS, f"{place} .verdict .text")
        search_unharmed(page, other, "2 of 2 cases")


@try_hostile_texts
def test_hostile_texts_of_a_comparison_stay_text(chromium, tmp_path_factory, one, other):
    """Names of methods, ids, tags, answers and reasons of both sides are shown as they are."""
    folder = tmp_path_factory.mktemp("evil")
    sides = ((one, "No"), (f"other {other}", "Yes"))
    cases = [
        {"id": f"{one} {n}", "method": method, "question": one, "answer": f"{other} {value}", "tags": {"kind": other},
         "chunks": [{"id": other, "text": f"{one} {value}"}]}
        for n in range(3)
        for method, value in sides
    ]  # fmt: skip

    def answer(messages):
        value = "Yes" if f"{one} Yes" in str(messages[1].content) else "No"
        return {"judgements": [{"item": 1, "reason": other, "value": value}]}

    run = evaluate(cases, [parse_metric(METRIC)], ScriptedJudge(answer), out=folder / "run")
    text = build_comparison_page(compare(run.folder, by="kind"), made_at=MADE.made)
    with opened(chromium, folder / "page.html", text) as page:
        open_all(page)
        for place in ("#changed-1", f"{OPEN}:first-child"):
            texts = page.evaluate(READ_TEXTS, f"{place} .side > .text")
            assert sorted(texts) == [f"{other} No", f"{other} Yes"]
            assert other in page.evaluate(READ_TEXTS, f"{place} .verdict .text")
        search_unharmed(page, f"{other} yes", "3 of 3 questions")


@try_hostile_texts
def test_hostile_texts_of_a_pair_stay_text(chromium, tmp_path_factory, one, other):
    """Both answers, the names of their methods and the reasons of both orders are shown as they are."""
    folder = tmp_path_factory.mktemp("evil")
    text = make_page(judge_pair(folder / "run", build_pair(one, other), (one, other)))
    with opened(chromium, folder / "page.html", text) as page:
        page.locator(f"{OPEN} > summary").click()
        page.locator(f"{OPEN} .response").first.wait_for()
        for place in ("#worst", "#list"):
            assert page.evaluate(READ_TEXTS, f"{place} .response > .text") == [one, other]
            assert page.evaluate(READ_TEXTS, f"{place} .response h4 .mono") == [one, other]
            assert page.evaluate(READ_TEXTS, f"{place} .order .text") == [one, other]
        search_unharmed(page, other, "1 of 1 case")


@pytest.mark.nightly
def test_names_stay_legible_in_the_tables_of_preferences(chromium, tmp_path):
    """On a narrow screen the tables scroll within their place; a name is not broken letter by letter."""
    answers = tmp_path / "cases.jsonl"
    answers.write_text("\n".join(case.model_dump_json() for case in write_answers(questions=4)), encoding="utf-8")
    run = duel(answers, [load_metric("overall_preference")], judge_by(fair), out=tmp_path / "run")
    with opened(chromium, tmp_path / "page.html", make_page(run.folder)) as page:
        page.set_viewport_size({"width": 390, "height": 800})
        cells = page.locator("#preferences td.lines")
        widths = [cells.nth(number).bounding_box()["width"] for number in range(cells.count())]
        assert min(widths) > 60
        assert page.evaluate("document.documentElement.scrollWidth") == 390
