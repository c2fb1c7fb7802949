"""The documentation is run: every Python block, every command line, every metric file; and nothing is left out."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from itertools import islice
from typing import get_args
from zlib import crc32

import pytest
from answering_model import choose_items, decide_stop, find_answer
from doc_pages import BLOCK, FOR_CONTRIBUTORS, ON_A_CLUSTER, PAGES, ROOT, blocks
from fault_server import FaultServer, gives, says
from langchain_core.messages import convert_to_messages
from public_faces import FACES, NAMES
from question_judge import REQUESTS, QuestionModelScript
from recorded_judge import give_verdicts

from greval import errors, parse_metric, read_cases
from greval.cli import main
from greval.metrics.library import predefined
from greval.records.result import FailureKind
from greval.reference import SearchSettings

CODE = re.compile(r"`([^`\n]+)`")
LEFT_OUT = "..."
TIME = re.compile(r"\b\d+(?:\.\d+)? (?:ms|s|seconds|min)\b")
WRITES_GOLDEN = bool(os.environ.get("GREVAL_WRITE_GOLDEN"))
CASES = 40
NEW_USER_PATH = ("README.md", "docs/tutorial.md", "docs/input.md", "docs/metrics.md", "docs/notebook.md")
README_WORDS, PATH_WORDS, SCREEN = 960, 7_000, 30
"""The most words of README and of the path; the lines of the first screen."""
KINDS = 4
"""Categories or numbers, for the case or for each item."""
CHAIN = ROOT / "docs" / "chain.sh"
DEFAULT_JUDGE = "openai:gpt-5.4-mini"
DRAFT = {
    "needs": ["question", "answer"],
    "steps": ["Read the question to see which tone it calls for.", "Mark the words of the answer that carry its tone."],
    "instructions": "A quoted insult is not the answer's own.",
    "categories": [
        {"name": "Professional", "means": "The answer is neutral and courteous throughout.", "score": 1},
        {"name": "Casual", "means": "The answer is chatty or slangy but polite.", "score": 0.5},
        {"name": "Rude", "means": "The answer insults or belittles the reader.", "score": 0},
    ],
}

QUESTION_MODEL = QuestionModelScript()
"""Words and checks questions, and knows none without documents."""


def pages_with(kind):
    return [page for page in PAGES if blocks(page, kind)]


def answers(body):  # noqa: PLR0911 - one for each kind of request
    """Answer a question, steer a search, draft a definition, word questions, or give verdicts as the schema wants."""
    if "response_format" not in body:
        return says(find_answer(body) or "The documents do not say.")
    schema = body["response_format"]["json_schema"]
    name = schema["name"]
    if name == "metric":
        return gives(DRAFT)
    if name == "example":
        return gives({key: f"The {key} opens at nine." for key in schema["schema"]["properties"]})
    if name in REQUESTS.values():
        return gives(QUESTION_MODEL(convert_to_messages(body["messages"])))
    if name in {"relations", "entities"}:
        return gives(choose_items(body))
    if name == "stop":
        return gives(decide_stop(body))
    return gives(give_verdicts(body))


@pytest.fixture(scope="module")
def openai():
    """Stand in for OpenAI while the documentation runs; models are kept by their name in a process."""
    with FaultServer(answers) as server:
        yield server


@pytest.fixture
def surroundings(openai, tmp_path, monkeypatch):
    """Give a folder with a few cases, and a key, as a reader would have them."""
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    monkeypatch.setenv("OPENAI_BASE_URL", openai.url)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("GREVAL_JUDGE", "GREVAL_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    with (ROOT / "greval" / "demo" / "cases.jsonl").open(encoding="utf-8") as shipped:
        (tmp_path / "cases.jsonl").write_text("".join(islice(shipped, CASES)), encoding="utf-8")
    (tmp_path / "people.csv").write_text("\n".join(list_labels()), encoding="utf-8")
    (tmp_path / "my_rag.py").write_text(blocks("docs/methods.md", "python")[0], encoding="utf-8")
    (tmp_path / "first.csv").write_text(blocks("README.md", "csv")[0], encoding="utf-8")
    (tmp_path / "tone.yaml").write_text(blocks("README.md", "yaml")[0], encoding="utf-8")
    release = next(block for block in blocks("docs/metric_fields.md", "yaml") if "formula" in block)
    (tmp_path / "release_quality.yaml").write_text(release, encoding="utf-8")
    (tmp_path / "export.csv").write_text(blocks("docs/input.md", "csv")[0], encoding="utf-8")
    (tmp_path / "systems.yaml").write_text(blocks("docs/config.md", "yaml")[-1], encoding="utf-8")
    for name, block in zip(("verdicts.csv", "scores.csv"), blocks("docs/import.md", "csv"), strict=True):
        (tmp_path / name).write_text(block, encoding="utf-8")
    write_trec_files(tmp_path)
    (tmp_path / "labels.csv").write_text(blocks("docs/agreement.md", "csv")[0], encoding="utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]  # other tests have modules of these names too


def write_trec_files(folder):
    """Write the gold of the shipped cases as qrels, and the documents of each method as a run."""
    judged, ranked = {}, {"local": "", "walk": ""}
    for case in read_cases(folder / "cases.jsonl"):
        if case.gold and case.gold.gains:
            judged[case.id] = "".join(f"{case.id} 0 {name} {gain}\n" for name, gain in case.gold.gains.items())
        names = dict.fromkeys(chunk.doc_id for chunk in case.chunks or ())
        ranked[case.method] += "".join(
            f"{case.id} Q0 {name} {rank} {99 - rank} {case.method}\n" for rank, name in enumerate(names, 1)
        )
    (folder / "test.qrels").write_text("".join(judged.values()), encoding="utf-8")
    for method, lines in ranked.items():
        (folder / f"{method}.run").write_text(lines, encoding="utf-8")


def list_labels():
    """Give the lines of a file of labels: what a person says of about half of the answers."""
    yield "sample_id,method,metric,annotator,value"
    for line in (ROOT / "greval" / "demo" / "cases.jsonl").read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if crc32(f"{case['method']} {case['id']}".encode()) % 2:
            yield f"{case['id']},{case['method']},correctness,ana,{int(case['tags']['human_correct'] == 'yes')}"


def test_a_new_user_reads_five_short_pages():
    """From the installation to a judge that was checked: five pages, and a verdict on the first screen of the first."""
    texts = [PAGES[page].read_text(encoding="utf-8") for page in NEW_USER_PATH]
    words = [len(text.split()) for text in texts]
    assert words[0] <= README_WORDS
    assert sum(words) <= PATH_WORDS
    assert "verdict  reason" in "\n".join(texts[0].splitlines()[:SCREEN])


@pytest.mark.parametrize("page", [page for page in pages_with("python") if page != ON_A_CLUSTER])
def test_python_blocks_run_in_order(page, surroundings):
    """Every Python block of a page runs as it stands, after the blocks before it."""
    namespace = {"__name__": "__main__"}
    for number, block in enumerate(blocks(page, "python"), 1):
        exec(compile(block, f"{page}, Python block {number}", "exec"), namespace)  # noqa: S102 - our own pages
    check_pictures(page, surroundings)


@pytest.mark.parametrize("page", pages_with("console"))
def test_command_lines_run_in_order(page, surroundings, monkeypatch):
    """Every command line of a page ends with exit code 0, after the lines before it, and prints what the page shows."""
    monkeypatch.setenv("COLUMNS", "100")
    lines = [found for block in blocks(page, "console") for found in read_command_lines(block)]
    assert lines
    for line, shown in lines:
        printed = run(shlex.split(line, comments=True), surroundings)
        printed = hide_like(shown, printed)
        if shown and WRITES_GOLDEN:
            text = PAGES[page].read_text(encoding="utf-8")
            new = "".join(f"{row.rstrip()}\n" for row in printed.rstrip().splitlines())
            PAGES[page].write_text(text.replace(f"$ {line}\n{shown}", f"$ {line}\n{new}", 1), encoding="utf-8")
        elif shown:
            assert hide_times(printed).split("\n") == hide_times(shown).split("\n"), line
    check_pictures(page, surroundings)


def test_the_jobs_of_the_ci_page_run(surroundings):
    """The commands of each job in docs/ci.md run one after the other; a gate may stop the release, nothing else."""
    for block in blocks("docs/ci.md", "yaml"):
        lines = re.findall(r"^\s*(?:- )?(greval .*)$", block, re.MULTILINE)
        assert lines
        for line in lines:
            run(shlex.split(line), surroundings, codes={0, 1} if "--fail-if" in line else {0})


def test_the_script_of_the_chain_is_that_of_its_page():
    """docs/chain.sh has the command lines of docs/chain.md, with the judge as a variable."""
    script = CHAIN.read_text(encoding="utf-8").replace("\\\n", "")
    lines = [
        shlex.split(line.replace("$judge", DEFAULT_JUDGE)) for line in script.splitlines() if line[:7] == "greval "
    ]
    shown = [line for block in blocks("docs/chain.md", "console") for line, _ in read_command_lines(block)]
    assert lines == [shlex.split(line) for line in shown]


@pytest.mark.parametrize("judge", [None, "openai:other-model"])
@pytest.mark.nightly
def test_the_script_of_the_chain_runs(judge, openai, surroundings):
    """From documents alone, bash writes the index, the questions, the answers, the run with its duel, and the page."""
    command = surroundings / "bin" / "greval"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m greval "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    chosen = {"JUDGE": judge} if judge else {}
    environment = {**os.environ, "PATH": f"{command.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), **chosen}
    folder = surroundings / "chain"
    folder.mkdir()
    before = openai.calls
    done = subprocess.run(["bash", CHAIN], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "comprehensiveness  basic   tog" in done.stdout
    assert "tog against basic" in done.stdout
    assert {body["model"] for body in openai.bodies[before:]} == {(judge or DEFAULT_JUDGE).removeprefix("openai:")}
    assert "basic vs tog" in (folder / "report.html").read_text(encoding="utf-8")


def check_pictures(page, folder):
    """Compare each picture that a page's commands or blocks drew with the one that is shown."""
    text = PAGES[page].read_text(encoding="utf-8")
    for name in re.findall(r"\]\(images/([\w.]+)\)", text):
        if not (folder / name).exists():
            continue  # drawn elsewhere
        drawn, shown = (folder / name).read_text(encoding="utf-8"), PAGES[page].parent / "images" / name
        if WRITES_GOLDEN:
            shown.write_text(drawn, encoding="utf-8")
        assert drawn == shown.read_text(encoding="utf-8"), name


def test_every_picture_is_drawn_by_a_page():
    """Each picture is the output of a command or a Python block of some page, or of a script of `benchmarks/`."""
    sources = "\n".join(block for page in PAGES for kind in ("console", "python") for block in blocks(page, kind))
    sources += "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("*_picture*.py"))
    shown = {
        name for path in PAGES.values() for name in re.findall(r"\]\([\w/]*images/([\w.]+)\)", path.read_text("utf-8"))
    }
    assert {name for name in shown if name not in sources} == set()


def read_command_lines(block):
    """Return the command lines of a block, each with the output that is shown below it, empty if none is."""
    found = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append([line[2:], ""])
        else:
            found[-1][1] += f"{line}\n"
    return [(line, shown) for line, shown in found]


def hide_like(shown, printed):
    """Return an output with the lines left out that a page leaves out: its line `...` stands for any number of them."""
    rows, pattern = printed.rstrip().splitlines(), shown.rstrip().splitlines()
    if LEFT_OUT not in pattern:
        return printed
    before = pattern.index(LEFT_OUT)
    after = len(pattern) - before - 1
    assert before + after < len(rows), "nothing is left out"
    return "\n".join([*rows[:before], LEFT_OUT, *rows[len(rows) - after :]])


def hide_times(text):
    """Return a text without trailing spaces, and with its measured times replaced."""
    return "\n".join(TIME.sub("TIME", line).rstrip() for line in text.rstrip().splitlines())


def run(words, folder, codes=frozenset({0})):
    """Run a line and return what it prints: greval as it is, folders by hand; targets and extras are looked up only."""
    command, *rest = words
    printed = ""
    if command == "make":
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in rest), words
    elif command == "pip":
        names = {name for extras in re.findall(r"greval\[([\w,]+)\]", " ".join(rest)) for name in extras.split(",")}
        assert names <= read_extras(), words
    elif command == "mkdir":
        (folder / rest[-1]).mkdir(parents=True)
    else:
        assert command == "greval", words
        out = folder / rest[-1] if ">" in rest else None
        plain = rest[: rest.index(">")] if out else rest
        code, printed, told = greval_says(plain)
        assert code in codes, (words, printed, told)
        assert "Traceback" not in told
        if out:
            out.write_text(printed, encoding="utf-8")
    return printed


def read_extras():
    """Return the names of the extras of the package."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return {*tomllib.load(file)["project"]["optional-dependencies"]}


def greval_says(words):
    """Run the command line in this process: a new one would spend a second on imports for each line."""
    printed, told, given = StringIO(), StringIO(), sys.argv
    sys.argv = ["greval", *words]
    try:
        with redirect_stdout(printed), redirect_stderr(told), pytest.raises(SystemExit) as ended:
            main()
    finally:
        sys.argv = given
    return ended.value.code, printed.getvalue(), told.getvalue()


USER_PAGES = [page for page in PAGES if not page.startswith("docs/design/") and page not in FOR_CONTRIBUTORS]


@pytest.mark.parametrize("page", [page for page in USER_PAGES if blocks(page, "python")])
def test_examples_import_from_greval_alone(page):
    """The examples of a user page import public names from `greval` and its faces, never from a module inside them."""
    code = "\n".join(blocks(page, "python"))
    assert {*re.findall(r"^\s*(?:from|import) (greval[\w.]*)", code, re.MULTILINE)} <= {*FACES}
    imports = re.findall(r"^\s*from (greval[\w.]*) import (.+)$", code, re.MULTILINE)
    assert [line for line in imports if not {*line[1].split(", ")} <= {*FACES[line[0]].__all__}] == []


@pytest.mark.parametrize("page", USER_PAGES)
def test_user_pages_name_no_inner_module(page):
    """The text of a user page names no module inside greval, whose place may change, but faces and their names."""
    parts = "|".join(path.stem for path in (ROOT / "greval").iterdir() if path.is_dir() or path.suffix == ".py")
    public = {*FACES, *(f"{name}.{public}" for name, face in FACES.items() for public in face.__all__)}
    named = re.findall(rf"\bgreval\.(?:{parts})\b(?!/)(?:\.\w+)*", PAGES[page].read_text(encoding="utf-8"))
    assert [name for name in named if name not in public] == []


def whole_metrics():
    """Give each block that is a whole metric file, with its page and number."""
    for page in PAGES:
        for number, block in enumerate(blocks(page, "yaml"), 1):
            if {"name", "steps"} <= set(re.findall(r"^(\w+):", block, re.MULTILINE)):
                yield pytest.param(block, id=f"{page}-{number}")


@pytest.mark.parametrize("block", whole_metrics())
def test_metric_files_of_the_pages_are_valid(block):
    """Every whole metric file that a page shows is read without a fault."""
    assert parse_metric(block).steps


def test_the_four_kinds_are_the_same_in_both_forms():
    """Each metric that docs/metrics.md shows as a file is the one that it shows as a class."""
    namespace = {}
    exec(compile(blocks("docs/metrics.md", "python")[0], "docs/metrics.md", "exec"), namespace)  # noqa: S102 - our own page
    metrics = [parse_metric(block) for block in blocks("docs/metrics.md", "yaml")]
    assert len({type(metric) for metric in metrics}) == len(metrics) == KINDS
    assert [namespace[metric.name] for metric in metrics] == metrics


def code_of(*pages):
    """Give what stands on pages as code, in the text and in Python blocks."""
    spans = (span for page in pages for span in CODE.findall(BLOCK.sub("", PAGES[page].read_text(encoding="utf-8"))))
    return "\n".join([*spans, *(block for page in pages for block in blocks(page, "python"))])


def lacking(names, code):
    """Give the names that do not occur as words of the code."""
    return [name for name in names if not re.search(rf"\b{re.escape(name)}\b", code)]


def test_every_predefined_metric_is_documented():
    """docs/metric_fields.md and docs/measures.md name every metric that ships."""
    assert lacking(predefined(), code_of("docs/metric_fields.md", "docs/measures.md")) == []


def test_every_failure_kind_and_error_is_documented():
    """docs/failures.md names every kind of failed outcome and every error that a caller can catch."""
    classes = [name for name, found in vars(errors).items() if isinstance(found, type) and name.endswith("Error")]
    assert lacking([*get_args(FailureKind), *classes], code_of("docs/failures.md")) == []


def test_every_public_name_is_documented():
    """Every public name is told of as code on some page for users."""
    assert lacking(NAMES, code_of(*USER_PAGES)) == []


def test_links_between_pages_lead_somewhere():
    """Every relative link of a page names a file or folder that is there."""
    for page, path in PAGES.items():
        for link in re.findall(r"\]\(([^)#\s]+)", path.read_text(encoding="utf-8")):
            assert "://" in link or (path.parent / link).exists(), f"{page}: {link}"


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_to_headings_lead_somewhere(page):
    """Each link of a page outside the site names a heading that is there; the build of the site checks its own."""
    for link, anchor in re.findall(r"\]\(([^)#\s]*)#([^)\s]+)\)", PAGES[page].read_text(encoding="utf-8")):
        if "://" not in link:
            target = (PAGES[page].parent / link) if link else PAGES[page]
            headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w\- ]", "", one).lower().replace(" ", "-") for one in headings}, (
                f"{link}#{anchor}"
            )


def test_every_search_setting_is_documented_with_its_default():
    """docs/reference_pipeline.md has a row for every setting of a search, with the default."""
    page = PAGES["docs/reference_pipeline.md"].read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\S*?) ?\|", page, re.MULTILINE)
    defaults = SearchSettings().model_dump(mode="json")
    assert {name: value.lower() for name, value in rows if name in defaults} == {
        name: "" if value is None else str(value).lower() for name, value in defaults.items()
    }
