"""What a run reports is what its last command planned: reused folders, other data, judges, definitions and parts."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import pytest
from fault_server import FaultServer, ok
from hypothesis import given, settings
from hypothesis import strategies as st

from greval import Judge, Store, evaluate, read_cases
from greval.analysis.summary import build_report
from greval.records.metric import CategoricalMetric
from greval.runs.merging import merge_runs
from greval.runs.store.pages import find_case, read_case_page, read_result_page
from greval.testing import ScriptedJudge

pytestmark = pytest.mark.usefixtures("empty_folder")
RIGHT, WRONG = "right", "wrong"


def judged(body):
    """Judge an answer by the word that it holds, as a careful judge would."""
    answer = body["messages"][-1]["content"].rpartition("<answer>")[2].partition("</answer>")[0]
    return ok(int(RIGHT in answer))


@pytest.fixture
def judge():
    """Give a real HTTP judge that finds an answer right if it says so."""
    with FaultServer(judged) as server:
        yield server


def row(number, answer=RIGHT, **more):
    """Give a case as a row of a file."""
    return {
        "id": f"q{number}",
        "question": f"Q{number}?",
        "expected_answer": "yes",
        "answer": f"{answer} {number}",
        **more,
    }


def write(path, rows):
    """Write cases as JSON lines."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return path


def by(server, model="fake"):
    return "--judge", f"openai:{model}", "--base-url", server.url, "--max-retries", "1"


class Commands:
    """The command line, and what a run folder reports afterwards."""

    def __init__(self, run):
        self._run = run

    def __call__(self, *words):
        self.code, self.out, self.err = self._run(*words)
        return self

    def report(self, folder, *words):
        """Read the report of a folder as JSON; its table is kept in `table`."""
        _, self.table, _ = self._run("report", folder, *words)
        _, text, _ = self._run("report", folder, "--format", "json", *words)
        return json.loads(text)


@pytest.fixture
def greval(greval_says):
    return Commands(greval_says)


def figures(report):
    return [(summary["group"], summary["mean"], summary["counted"]) for summary in report["summaries"]]


def test_verdicts_on_old_answers_are_not_counted_for_new_ones(greval, judge):
    """New answers under the same ids count no verdict of the old ones, also if the run is stopped."""
    write("v.jsonl", [row(n) for n in range(8)])
    greval("evaluate", "v.jsonl", "-m", "correctness", *by(judge), "-o", "runs/v")
    assert figures(greval.report("runs/v")) == [("", 1.0, 8)]
    write("v3.jsonl", [row(n, WRONG) for n in range(8)])
    command = ["evaluate", "v3.jsonl", "-m", "correctness", *by(judge), "-o", "runs/v"]
    greval(*command, "--max-calls", "11", "--concurrency", "1")  # 8 were made before
    assert greval.code == 3
    report = greval.report("runs/v")
    assert (figures(report), report["pending"], report["others"]) == ([("", 0.0, 3)], {"correctness": 5}, 5)
    assert report["stopped"]
    assert "5 rows of other cases, answers, judges or definitions: excluded" in greval.table
    everything = greval.report("runs/v", "--all")
    assert (sum(summary["scored"] for summary in everything["summaries"]), everything["others"]) == (8, 0)
    greval(*command)
    assert (greval.code, "continuing runs/v: 8 results from before" in greval.err) == (0, True)
    report = greval.report("runs/v")
    assert (figures(report), report["stopped"]) == ([("", 0.0, 8)], [])


def test_rows_that_were_removed_are_not_counted(greval, judge):
    """A file without its two bad rows gives the figures of what is left."""
    rows = [row(1), row(2), row(3, WRONG), row(4, WRONG)]
    header = "id,question,expected_answer,answer"

    def put(rows_kept):
        lines = [",".join(cells[name] for name in header.split(",")) for cells in rows_kept]
        Path("x.csv").write_text("\n".join([header, *lines]), encoding="utf-8")

    put(rows)
    greval("evaluate", "x.csv", "-m", "correctness", *by(judge))
    assert figures(greval.report("runs/x")) == [("", 0.5, 4)]
    put(rows[:2])
    greval("evaluate", "x.csv", "-m", "correctness", *by(judge))
    assert "continuing runs/x: 4 results from before" in greval.err
    assert judge.calls == 4
    assert figures(greval.report("runs/x")) == [("", 1.0, 2)]
    assert "n=2" in greval.table
    _, text, _ = greval._run("results", "runs/x")
    assert [json.loads(line)["sample_id"] for line in text.splitlines()] == ["q1", "q2"]
    _, text, _ = greval._run("results", "runs/x", "--all")
    assert len(text.splitlines()) == 4
    with Store.open("runs/x") as store:
        assert [*store.frame()["sample_id"]] == ["q1", "q2"]
        assert [case.id for case in store.cases()] == ["q1", "q2"]
        assert [line.sample_id for line in read_case_page(store)[0]] == ["q1", "q2"]
        assert len(read_result_page(store)[0]) == 2
        assert find_case(store, "q3", "") is None


def test_a_file_whose_run_was_killed_counts_nothing_of_what_it_was_before(greval, judge):
    """A file that changed takes the place of its old content at once, also for methods that were not reached."""
    both = [row(1, method="a"), row(2, method="b")]
    write("c.jsonl", both)
    greval("evaluate", "c.jsonl", "-m", "correctness", *by(judge), "-o", "run")
    write("c.jsonl", [{**case, "answer": f"{WRONG} 9"} for case in both])

    class KilledError(Exception):
        """Ends the run as kill -9 does: nothing more is written down."""

    def rows():
        yield next(iter(read_cases("c.jsonl")))
        raise KilledError

    from greval import load_metric  # noqa: PLC0415

    server = Judge("openai:fake", base_url=judge.url)
    with pytest.raises(KilledError):
        evaluate(
            rows(),
            [load_metric("correctness")],
            server,
            out="run",
            origin=read_cases("c.jsonl").identify_source(),
            total=2,
        )
    report = greval.report("run")
    assert sum(summary["scored"] for summary in report["summaries"]) <= 1
    assert {summary["mean"] for summary in report["summaries"]} <= {0.0}
    assert report["stopped"]


def test_shards_of_one_file_count_together(greval, judge):
    """Each shard adds its part; shards of the file as it was before, of another number or judge are not counted."""
    rows = [row(n) for n in range(12)]
    write("c.jsonl", rows)
    for number in (1, 2, 3):
        greval("evaluate", "c.jsonl", "-m", "correctness", *by(judge), "-o", "run", "--shard", f"{number}/3")
    assert figures(greval.report("run")) == [("", 1.0, 12)]
    write("c.jsonl", [{**case, "answer": f"{WRONG} 1"} for case in rows])
    greval("evaluate", "c.jsonl", "-m", "correctness", *by(judge), "-o", "run", "--shard", "2/3")
    report = greval.report("run")
    part = report["summaries"][0]["planned"]
    assert (figures(report), report["others"]) == ([("", 0.0, part)], 12 - part)
    greval("evaluate", "c.jsonl", "-m", "correctness", *by(judge), "-o", "run", "--shard", "1/2")
    half = greval.report("run")["summaries"][0]["planned"]
    greval("evaluate", "c.jsonl", "-m", "correctness", *by(judge), "-o", "run", "--shard", "2/2")
    assert 0 < half < 12
    assert figures(greval.report("run")) == [("", 0.0, 12)]
    write("c.jsonl", rows)
    greval("evaluate", "c.jsonl", "-m", "correctness", *by(judge), "-o", "run")
    assert figures(greval.report("run")) == [("", 1.0, 12)]


TONE = CategoricalMetric(
    name="tone",
    description="d",
    needs=["answer"],
    steps=["s"],
    categories={"Good": {"means": "g", "score": 1}, "Bad": {"means": "b", "score": 0}},
)


def by_answer(messages):
    return {"reason": "It says so.", "value": "Good" if RIGHT in messages[-1].text else "Bad"}


def test_a_run_that_is_merged_again_takes_its_own_place(tmp_path):
    """Merged runs add up; one that was judged anew and merged again counts as it is now, and nothing changes twice."""
    runs = [tmp_path / "a", tmp_path / "b"]
    for number, folder in enumerate(runs):
        evaluate([row(n) for n in (2 * number, 2 * number + 1)], [TONE], ScriptedJudge(by_answer), out=folder)
        merge_runs(tmp_path / "all", [folder])

    def reported():
        with Store.open(tmp_path / "all") as store:
            report = build_report(store)
            rows = {(result.sample_id, str(result.judgements[0].value)) for result in store.results()}
        return rows, report.pending, report.others

    assert reported() == ({(f"q{n}", "Good") for n in range(4)}, {}, 0)
    evaluate([row(0, WRONG)], [TONE], ScriptedJudge(by_answer), out=runs[0])
    merge_runs(tmp_path / "all", runs)
    expected = ({("q0", "Bad"), ("q2", "Good"), ("q3", "Good")}, {}, 1)
    assert reported() == expected
    second_merge = merge_runs(tmp_path / "all", runs)
    assert (second_merge.rows, reported()) == (0, expected)


def test_answers_that_went_back_to_what_they_were_are_read_as_they_are(tmp_path):
    """A third run on the first answers asks nothing, and its cases are those of its verdicts."""
    judge = ScriptedJudge(by_answer)
    for answer in (RIGHT, WRONG, RIGHT):
        run = evaluate([row(1, answer)], [TONE], judge, out=tmp_path)
    assert len(judge.calls) == 2
    assert [result.judgements[0].value for result in run.results()] == ["Good"]
    with Store.open(tmp_path) as store:
        assert [case.answer for case in store.cases()] == ["right 1"]


def test_a_finished_run_of_the_same_file_is_not_read_again(greval, judge):
    """With nothing left to do no case is read; a row that is none, or a failure, has the file read again."""
    write("c.jsonl", [row(n) for n in range(5)])
    command = ["evaluate", "c.jsonl", "-m", "correctness", *by(judge), "-o", "run"]
    greval(*command)
    greval(*command, "--json")
    events = [json.loads(line) for line in greval.out.splitlines()]
    assert {(event.get("done"), event.get("kept")) for event in events if "done" in event} == {(5, 5)}
    Path("c.jsonl").write_text(Path("c.jsonl").read_text(encoding="utf-8") + "no case\n", encoding="utf-8")
    for _ in range(2):
        greval(*command)
        assert (greval.code, greval.report("run")["unread_count"]) == (3, 1)
    assert judge.calls == 5


CHANGES = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, 4), st.sampled_from([RIGHT, WRONG]), min_size=1, max_size=5),
        st.sampled_from(["", "a", "b"]),
        st.sampled_from([("tone",), ("tone", "depth"), ("depth",)]),
        st.sampled_from(["one", "other"]),
        st.sampled_from([None, None, 0, 1, 2]),
    ),
    min_size=1,
    max_size=5,
)


@settings(max_examples=12)
@given(CHANGES)
def test_each_figure_is_that_of_a_fresh_folder(commands):
    """Whatever was run in a folder before, it reports what the last command of each metric and method planned."""
    with tempfile.TemporaryDirectory() as name:
        used, calls = Path(name) / "used", 0
        expected: dict[tuple[str, str], tuple[dict[str, str], int]] = {}
        for number, (rows, method, names, definition, cap) in enumerate(commands):
            cases = [row(sample, answer, method=method) for sample, answer in rows.items()]
            metrics = [TONE.model_copy(update={"name": metric, "description": definition}) for metric in names]
            options = {} if cap is None else {"max_calls": calls + cap}  # a cap holds for the folder
            run = evaluate(cases, metrics, ScriptedJudge(by_answer), out=used, concurrency=1, **options)
            calls += run.progress.usage.calls
            fresh = evaluate(cases, metrics, ScriptedJudge(by_answer), out=Path(name) / f"fresh-{number}")
            for metric in names if cases else ():
                values = {r.sample_id: str(r.judgements[0].value) for r in fresh.results() if r.metric == metric}
                expected[metric, method] = (values, len(cases))
            with Store.open(used) as store:
                counted: dict[tuple[str, str], dict[str, str]] = {key: {} for key in expected}
                for result in store.results():
                    counted[result.metric, result.method][result.sample_id] = str(result.judgements[0].value)
                pending = build_report(store).pending
            for key, values in counted.items():
                assert values.items() <= expected[key][0].items()
            missing = {metric: 0 for metric, _ in expected}
            for (metric, of), (_, planned) in expected.items():
                missing[metric] += planned - len(counted[metric, of])
            assert pending == {metric: count for metric, count in missing.items() if count}
            if cap is None:
                assert all(counted[metric, method] == expected[metric, method][0] for metric in names if cases)


def answered(number, method, answer):
    """Give a case with what a diagnosis looks at."""
    chunk = {"id": "c1", "text": f"Q{number}: yes", "doc_id": f"d{number}"}
    return row(number, answer, method=method, chunks=[chunk], gold={"essential_docs": [f"d{number}"]})


@pytest.mark.parametrize(
    "words",
    [
        ("report", "--by", "method"),
        ("results", "--format", "csv"),
        ("compare", "--baseline", "a"),
        ("agreement", "-m", "correctness", "--annotations", "labels.csv"),
        ("estimate", "-m", "correctness", "--annotations", "labels.csv"),
        ("diagnose",),
    ],
    ids=lambda words: words[0],
)
def test_every_reader_counts_the_same_rows(greval, judge, words):
    """A used folder is reported, compared, held against people and diagnosed as a fresh one is."""
    old = [answered(n, method, RIGHT) for n in range(40) for method in "ab"]
    new = [answered(n, "b", WRONG if n % 3 else RIGHT) for n in range(30)]
    labels = [f"q{n},{method},correctness,ana,{n % 2}" for n in range(40) for method in "ab"]
    Path("labels.csv").write_text("\n".join(["sample_id,method,metric,annotator,value", *labels]), encoding="utf-8")
    write("old.jsonl", old)
    write("new.jsonl", new)
    write("a.jsonl", [case for case in old if case["method"] == "a"])
    for folder, files in (("x1", ("old.jsonl", "new.jsonl")), ("x2", ("a.jsonl", "new.jsonl"))):
        for file in files:
            greval("evaluate", file, "-m", "correctness", *by(judge), "-o", f"{folder}/run")
            assert greval.code == 0
    assert Path("x1/run").is_dir()
    form = () if "--format" in words else ("--format", "json")
    lines = {}
    for folder in ("x1", "x2"):
        code, out, err = greval._run(words[0], f"{folder}/run", *words[1:], *form)
        assert code == 0, err
        out = re.sub(r'"(usage|others|spending|folder)": ?(\{[^}]*\}|\[[^]]*\]|[^,\n]*)', "", out)
        lines[folder] = sorted(re.sub(r",\d+\.\d+(e-\d+)?,", ",", out).replace(folder, "").splitlines())  # latencies
    assert lines["x1"] == lines["x2"]
    assert len(lines["x1"]) > 10
