"""`greval eval`: options, exit codes, and what is printed; and an evaluation that is killed goes on."""

from __future__ import annotations

import pytest
import typer
from framework_folder import CONFIG, ROWS, calls, make_folder, read
from typer.testing import CliRunner

from greval import Store
from greval.cli.eval import PublishedFormatCommand, evaluation
from greval.runs.manifest import read_command

JUDGED = """judge: {{model: fake, base_url: "{url}"}}
"""


@pytest.fixture
def folder(tmp_path, fault_server, monkeypatch):
    """Give the folder of an evaluation whose judge is the server."""
    monkeypatch.delenv("GREVAL_JUDGE", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "test-key")
    return make_folder(tmp_path, CONFIG + JUDGED.format(url=fault_server.url), rows=[ROWS[0], ROWS[2]])


def greval(folder, *words, **environment):
    """Run the command in this process."""
    app = typer.Typer()
    app.command("eval", cls=PublishedFormatCommand)(evaluation)
    return CliRunner(env=environment).invoke(app, ["--root", str(folder), *words])


def test_eval(folder, fault_server):
    """The command writes both files, prints the report by method, and the same command again asks nothing."""
    done = greval(folder)
    assert done.exit_code == 0, done.output
    assert "eval_results_detailed.json and eval_results_summary.json" in done.stdout.replace("\n", " ")
    assert "correctness" in done.stdout
    assert {*read(folder / "eval/results/eval_results_summary.json")["by_method"]} == {"tog", "bare"}
    call_count = fault_server.calls
    assert call_count == 2 * (4 + 2)
    assert greval(folder, "--resume").exit_code == 0
    assert (fault_server.calls, len(calls(folder))) == (call_count, 4)


def test_the_general_help_has_no_words_of_one_data_set(greval_says):
    """--imdb-key is described on the page of the format only."""
    assert "imdb" not in greval_says("eval", "--help")[1].lower()


def test_options_are_keys(folder, fault_server):
    """Each option reaches the run: methods, tags, the number of questions, and the name of the judge alone."""
    summary = folder / "eval/results/eval_results_summary.json"
    options = ("--imdb-key", "tt1", "--where", "year=1843", "--limit", "1", "--judge", "mine", "--timeout", "9", "-q")
    assert greval(folder, "--methods", "tog", *options).exit_code == 0
    assert calls(folder) == ["walk row-1"]
    assert ({*read(summary)["by_method"]}, {*read(summary)["by_movie"]}) == ({"tog"}, {"tt1"})
    assert {body["model"] for body in fault_server.bodies} == {"mine"}
    with Store.open(folder / "eval/results") as store:
        command = read_command(store).options
    assert (command["where"], command["ask_timeout"]) == ({"year": ["1843"], "imdb_key": ["tt1"]}, 9)
    assert command["judge"] == {"model": "mine", "base_url": fault_server.url}


def test_the_config_is_found_by_its_path_too(folder, tmp_path_factory):
    """A config that is not in the root is found as it is named."""
    elsewhere = tmp_path_factory.mktemp("configs") / "mine.yaml"
    elsewhere.write_text((folder / "eval_config.yaml").read_text())
    (folder / "eval_config.yaml").unlink()
    assert greval(folder, "--config", str(elsewhere), "--limit", "1", "-q").exit_code == 0


def test_methods_are_compared_at_the_end(folder):
    """Two methods are compared below the report, one is not, and quiet means quiet."""
    rows = [{**row, "gold": {"expected_nodes": ["Ada"]}} for row in (ROWS[0], ROWS[2])]
    make_folder(folder, (folder / "eval_config.yaml").read_text(), rows=rows)
    done = greval(folder)
    assert done.exit_code == 0, done.output
    assert done.stdout.index("node_recall") < done.stdout.index("tog against bare")
    assert "against" not in greval(folder, "--methods", "tog").stdout
    assert greval(folder, "-q").stdout == ""
