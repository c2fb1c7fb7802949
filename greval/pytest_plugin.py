"""The pytest plugin of greval: a fixture that asserts on judged values, cases of a file as tests, and a summary.

Every test run on a machine with greval imports this module. At its top it therefore imports nothing but pytest; all
else is imported when a test uses it. pytest need not rewrite its assertions: PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from argparse import ArgumentTypeError
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterator, Mapping

    from langchain_core.language_models import BaseChatModel

    from greval.judging.model.judge import Judge
    from greval.judging.model.reply_cache import ReplyCache
    from greval.records.case import Case
    from greval.records.metric import Metric
    from greval.records.result import Result
    from greval.runs.judge_session import CallCap, JudgeSession

CASES_MARK = "greval_cases"
CASES_MARK_HELP = f"{CASES_MARK}(file): call the test with each case of a file as its argument `case`"
CALLS_FILE = "calls.sqlite"
WORKER_KEY = "greval"
"""The key of what this plugin exchanges with workers of pytest-xdist."""
MAX_RETRIES = 3
"""Retries of a call, fewer than in a run: somebody waits for the tests, and a missing judge should be seen soon."""
NO_JUDGE = """\
no judge is named. Name one of:
  pytest --greval-judge openai:MODEL     or in the environment variable GREVAL_JUDGE
  a fixture `greval_judge` in conftest.py that returns the name, a greval.Judge or a chat model of LangChain"""
CAP_REACHED = "the cap of {calls} is reached (--greval-max-calls); raise it to continue, replies are cached"
CAP_REACHED_UNCACHED = "the cap of {calls} is reached (--greval-max-calls); raise it to judge the other cases"


@dataclass(frozen=True)
class InvalidCaseRow:
    """A row of a file that is no case; `message` holds its place and what is wrong."""

    message: str


@dataclass
class PluginState:
    """What the plugin keeps for one pytest process: files read, judge sessions, and what workers reported."""

    config: pytest.Config
    rows: dict[Path, list[Case | InvalidCaseRow]] = field(default_factory=dict)
    names: dict[str, tuple[Metric, tuple[Metric, ...]]] = field(default_factory=dict)
    sessions: list[tuple[object, JudgeSession]] = field(default_factory=list)
    stopped: Counter[str] = field(default_factory=Counter)
    reports: list[dict[str, Any]] = field(default_factory=list)
    lost_workers: int = 0
    shared_folder: Path | None = None
    _cache: ReplyCache | None = None
    _cap: CallCap | None = None

    @property
    def max_calls(self) -> int | None:
        """The cap of calls, None without one."""
        most: int | None = self.config.getoption("greval_max_calls")
        return most

    def get_session(self, judge: Judge | BaseChatModel | str | None) -> JudgeSession:
        """Return the session of a judge, created at first use."""
        from greval.judging.model.judge import Judge

        for session_judge, session in self.sessions:
            # Only names and settings are compared by value: two equal chat models may answer differently.
            if session_judge is judge or (isinstance(judge, Judge | str) and session_judge == judge):
                return session
        session = self._create_session(judge)
        self.sessions.append((judge, session))
        return session

    def share_calls(self) -> str | None:
        """Return the file of the count of calls that all workers share, None without a cap."""
        if self.max_calls is None:
            return None
        if self.shared_folder is None:
            self.shared_folder = Path(tempfile.mkdtemp(prefix="greval-"))
        return str(self.shared_folder / CALLS_FILE)

    def export(self) -> dict[str, Any] | None:
        """Return what was judged in this process as JSON-like values, None if nothing was."""
        rows = [row for _, session in self.sessions for row in session.rows]
        if not rows and not self.stopped:
            return None
        metrics = {name: metric for _, session in self.sessions for name, metric in session.metrics.items()}
        scales = {name: metric.scale.model_dump(mode="json") for name, metric in metrics.items()}
        return {"rows": rows, "scales": scales, "stopped": self.stopped}

    def close(self) -> None:
        """Close the cache and the cap, and delete the shared folder."""
        for opened in (self._cache, self._cap):
            if opened:
                opened.close()
        if self.shared_folder:
            shutil.rmtree(self.shared_folder, ignore_errors=True)

    def _create_session(self, judge: Judge | BaseChatModel | str | None) -> JudgeSession:
        from greval._util.wording import format_count
        from greval.judging.model.judge import Judge
        from greval.judging.model.judge_names import parse_judge_name
        from greval.judging.model.reply_cache import CACHE_FILE, ReplyCache
        from greval.runs.judge_session import CallCap, JudgeSession

        # There is no cache with -p no:cacheprovider.
        store = getattr(self.config, "cache", None)
        if self.config.getoption("greval_no_cache"):
            store = None
        if store is not None and self._cache is None and judge is not None:
            self._cache = ReplyCache(store.mkdir("greval") / CACHE_FILE)
        if self.max_calls is not None and self._cap is None:
            shared = getattr(self.config, "workerinput", {}).get(WORKER_KEY)
            reason = (CAP_REACHED if store else CAP_REACHED_UNCACHED).format(calls=format_count(self.max_calls, "call"))
            self._cap = CallCap(self.max_calls, Path(shared) if shared else None, reason=reason)
        if isinstance(judge, str):
            parse_judge_name(judge)
            judge = Judge(judge, max_retries=MAX_RETRIES)
        return JudgeSession(judge, cache=self._cache, cap=self._cap, hint=NO_JUDGE)


STATE = pytest.StashKey[PluginState]()


@dataclass(frozen=True, eq=False, repr=False)
class CaseAssertions:
    """The fixture `greval`: assertions on the judged or computed values of cases; relative paths belong to folders."""

    _state: PluginState
    _judge: Judge | BaseChatModel | str | None
    _folders: tuple[Path, ...]

    def assert_metric(  # noqa: PLR0913 - the bounds are arguments, as a test is read best
        self,
        case: Case | Mapping[str, object],
        metric: Metric | str | Path,
        *,
        at_least: float | str | None = None,
        at_most: float | str | None = None,
        equals: float | str | None = None,
        one_of: Collection[float | str] | None = None,
        repeats: int = 1,
        within_noise: bool = False,
    ) -> Result:
        """Judge a case by a metric, and assert that the value is within bounds.

        Args:
            case: A case, or a mapping of its fields.
            metric: A name, a definition or a metric file.
            at_least: The lowest accepted number, or the worst accepted category of an ordered scale.
            at_most: The highest accepted number, or the best accepted category of an ordered scale.
            equals: The accepted value.
            one_of: The accepted values.
            repeats: How often the case is judged. The majority of the repeats decides.
            within_noise: Whether the mean of the repeats decides, and may miss a number by as much as the noise of the
                judge explains.

        Returns:
            The result.

        Raises:
            AssertionError: If the value is not within the bounds. The message shows the case, the value and the reason.
            GrevalError: If there is no value: the judgement failed, or the case lacks what the metric needs. pytest
                reports it as an error of the test, not as a failure.
        """
        __tracebackhide__ = True
        from greval.errors import GrevalError

        try:
            expected = {"at_least": at_least, "at_most": at_most, "equals": equals, "one_of": one_of}
            expected["within_noise"] = within_noise
            result, message = self._check(case, metric, expected, repeats)
        except GrevalError as error:
            # The trace would show greval's own code, which says nothing about the test.
            raise error.with_traceback(None) from None
        if message:
            raise AssertionError(message)
        return result

    def _check(
        self,
        raw_case: Case | Mapping[str, object],
        metric: Metric | str | Path,
        expected: Mapping[str, object],
        repeats: int,
    ) -> tuple[Result, str]:
        """Return the result, and why it is not within the bounds, empty if it is."""
        from greval.analysis.bounds import Bounds, check_bounds
        from greval.datasets.case_records import as_case
        from greval.errors import JudgeError
        from greval.report.assertions import format_missed_bounds

        case = as_case(raw_case)
        definition, built_on = self._load_metric(metric)
        bounds = Bounds.model_validate(expected)
        bounds.check(definition)
        try:
            session = self._state.get_session(self._judge)
            result = session.judge_case(case, definition, repeats=repeats, built_on=built_on)
        except JudgeError as error:
            self._state.stopped[str(error)] += 1
            raise
        check = check_bounds(result, definition, bounds)
        return result, "" if check.holds else format_missed_bounds(case, result, bounds, check)

    def _load_metric(self, metric: Metric | str | Path) -> tuple[Metric, tuple[Metric, ...]]:
        """Return the definition of a metric, and the metrics that it builds on, which may be beside its file."""
        from greval._util.object_loading import PYTHON_SUFFIX
        from greval.metrics.library import FILE_SUFFIX, require_metric
        from greval.metrics.sources import load_one_metric

        if not isinstance(metric, str | Path):
            return require_metric(metric), ()
        file, colon, name = str(metric).partition(":")
        is_file = file.endswith((FILE_SUFFIX, PYTHON_SUFFIX))
        spec = f"{_find_file(file, self._folders)}{colon}{name}" if is_file else str(metric)
        if spec not in self._state.names:
            self._state.names[spec] = load_one_metric(spec)
        return self._state.names[spec]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plugin."""
    group = parser.getgroup("greval", "judged values (greval)")
    group.addoption(
        "--greval-judge",
        metavar="MODEL",
        help="the judge: openai:MODEL, local or PROVIDER:MODEL; by default that of GREVAL_JUDGE",
    )
    group.addoption(
        "--greval-no-cache", action="store_true", help="ask the judge again instead of using replies of earlier runs"
    )
    group.addoption(
        "--greval-max-calls", metavar="N", type=_read_count, help="make at most N calls to the judge in this test run"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and prepare the state of the process."""
    config.addinivalue_line("markers", CASES_MARK_HELP)
    config.stash[STATE] = PluginState(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close what was opened."""
    if state := config.stash.get(STATE, None):
        state.close()


@pytest.fixture(scope="session")
def greval_judge(pytestconfig: pytest.Config) -> str | None:
    """Return the name of the judge. A fixture of this name in conftest.py may return a `greval.Judge` or a model."""
    return pytestconfig.getoption("greval_judge") or os.environ.get("GREVAL_JUDGE") or None


@pytest.fixture
def greval(request: pytest.FixtureRequest, greval_judge: Judge | BaseChatModel | str | None) -> CaseAssertions:
    """Assert on judged values: `greval.assert_metric(case, "correctness", at_least=1)`."""
    config = request.config
    return CaseAssertions(config.stash[STATE], greval_judge, (request.path.parent, config.rootpath))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Call a test with each case of the file that its mark names."""
    for mark in metafunc.definition.iter_markers(CASES_MARK):
        if len(mark.args) != 1 or mark.kwargs:
            raise pytest.Collector.CollectError(f"@pytest.mark.{CASES_MARK}: give one file, as in ('cases.jsonl')")
        rows = _read_rows(metafunc.config.stash[STATE], mark.args[0], metafunc.definition.path.parent)
        metafunc.parametrize("case", [pytest.param(row, id=name) for name, row in rows])


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Fail the test of a row that is no case before its fixtures are set up."""
    callspec = getattr(item, "callspec", None)
    for value in callspec.params.values() if callspec else ():
        if isinstance(value, InvalidCaseRow):
            pytest.fail(value.message, pytrace=False)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item,  # noqa: ARG001 - pytest's signature
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Mark a test without a value as an error, also if it is expected to fail: it shows nothing about the answer."""
    report = yield
    if call.when != "call" or call.excinfo is None:
        return report
    from greval.errors import GrevalError

    if isinstance(call.excinfo.value, GrevalError):
        report.outcome = "failed"
        # An attribute of the report, because workers send these to the controller.
        vars(report)["greval_error"] = True
        # A test that is expected to fail would pass, although nothing was judged.
        if hasattr(report, "wasxfail"):
            del report.wasxfail
    return report


def pytest_report_teststatus(report: pytest.CollectReport | pytest.TestReport) -> tuple[str, str, str] | None:
    """Report a test without a value as an error in the summary of pytest."""
    if report.when == "call" and report.failed and getattr(report, "greval_error", False):
        return "error", "E", "ERROR"
    return None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:  # noqa: ANN401 - a worker of pytest-xdist, which need not be installed
    """Send a worker the file of the count of calls."""
    node.workerinput[WORKER_KEY] = node.config.stash[STATE].share_calls()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:  # noqa: ANN401, ARG001 - as above
    """Collect what a worker judged. A worker that crashed has reported nothing."""
    state = node.config.stash[STATE]
    output = getattr(node, "workeroutput", None)
    if output is None:
        state.lost_workers += 1
    elif report := json.loads(output.get(WORKER_KEY, "null")):
        state.reports.append(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send what a worker judged to the controller."""
    config = session.config
    output = getattr(config, "workeroutput", None)
    if output is not None:
        output[WORKER_KEY] = json.dumps(config.stash[STATE].export())


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:  # noqa: ANN401 - not public in pytest
    """Print what was judged, by which judge, at which cost, with the means."""
    state = config.stash[STATE]
    exported = state.export()
    # Through JSON as for workers, so that all reports have the same types.
    reports = [*state.reports, *([json.loads(json.dumps(exported))] if exported else [])]
    if not reports:
        return
    terminalreporter.section("greval")
    for line in _format_reports(reports):
        terminalreporter.write_line(line)
    if state.lost_workers:
        from greval._util.wording import format_count

        terminalreporter.write_line(
            f"not counted: what {format_count(state.lost_workers, 'crashed worker')} had judged"
        )


def _format_reports(reports: list[dict[str, Any]]) -> list[str]:
    """Return the lines of the summary of what all processes judged."""
    from greval.judging.model.prices import Prices
    from greval.records.formula_metric import StoredMetric
    from greval.report.assertions import format_session
    from greval.runs.judge_session import JudgedRow

    scales = {
        name: StoredMetric({"name": name, "scale": scale}).scale
        for report in reports
        for name, scale in report["scales"].items()
    }
    stopped = sum((Counter(report["stopped"]) for report in reports), Counter[str]())
    rows = (JudgedRow(*row) for report in reports for row in report["rows"])
    return format_session(rows, scales, stopped, Prices.load())


def _read_rows(state: PluginState, file: str | Path, folder: Path) -> Iterator[tuple[str, Case | InvalidCaseRow]]:
    """Yield the rows of a file of cases with the ids of their tests; the file is read once in a process."""
    from greval.datasets.case_reader import read_cases
    from greval.datasets.row_faults import RowFault
    from greval.errors import GrevalError

    try:
        path = _find_file(file, (folder, state.config.rootpath))
        if path not in state.rows:
            rows = read_cases(path)
            state.rows[path] = [InvalidCaseRow(str(row)) if isinstance(row, RowFault) else row for row in rows]
    except GrevalError as error:
        raise pytest.Collector.CollectError(str(error)) from None
    for number, row in enumerate(state.rows[path], 1):
        if isinstance(row, InvalidCaseRow):
            yield f"no-case-{number}", row
        else:
            yield f"{row.id}-{row.method}" if row.method else row.id, row


def _find_file(file: str | Path, folders: tuple[Path, ...]) -> Path:
    """Return a file by its path relative to the first folder that has it; raise `DataError` if none has."""
    from greval.errors import DataError

    for folder in folders:
        if (path := folder / file).is_file():
            return path
    looked = " nor in ".join(map(str, dict.fromkeys(folders)))
    raise DataError(f"{file}: no such file in {looked}; name it relative to the test file or to pytest's root folder")


def _read_count(text: str) -> int:
    """Read a positive number of an option."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"must be a whole number from 1, got {text!r}")
    return int(text)
