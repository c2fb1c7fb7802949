"""Whether the server and its OpenAPI document agree, by requests that schemathesis makes up for minutes.

    python benchmarks/schemathesis_run.py                                        # three seeds, 600 s each
    python benchmarks/schemathesis_run.py --seconds 120 --seed 7 --report out    # one, shorter; requests are kept

For each seed it starts a server on this machine that asks for a token, with a scripted judge, a metric of the client,
a data set and a finished run. All checks of schemathesis are on, and its states follow the links of the document. It
prints what schemathesis reports, and ends with 1 if a check fails, or the server's log has an error that nobody
expected.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx
import schemathesis

from greval.serve.app import create_app
from greval.serve.settings import ServerSettings
from greval.testing import ScriptedJudge

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from drafting_judge import draft_or_judge
from served_metrics import CASE, tone
from served_runs import ended, over_http, rows, started, uploaded
from serving import served

HERE = Path(__file__).resolve()
SEEDS = (20261122, 424242, 7)
TOKEN = "schemathesis"  # noqa: S105 - of a server that ends with the run
DATASET, RUN = "GREVAL_KNOWN_DATASET", "GREVAL_KNOWN_RUN"
"""Variables with the ids of the data set and the run that are there."""
NAMES = ("correctness", "chunk_evaluation", "token_f1", "tone", "ndcg@5")
CONFIG = """\
[checks]
# what a JSON schema cannot say: what a metric file or a cursor is, that a range rises, that a run has data enough, or
# which entity tag a metric has now
positive_data_acceptance.expected-statuses = [
  "2xx", "3xx", "401", "403", "404", "409", "412", "422", "429", "501", "502"
]
negative_data_rejection.expected-statuses = [
  "400", "401", "403", "404", "405", "406", "409", "413", "415", "422", "429", "431"
]
# no server of Argilla is there, and a draft of a scripted judge may fail: both are what is behind the server
not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "501", "502"]
"""


@schemathesis.serializer("application/jsonl", "application/x-ndjson", "application/vnd.apache.parquet")
def send_as_it_is(_: Any, value: object) -> bytes:  # noqa: ANN401 - schemathesis' context
    """Send what was made up for a file as its bytes."""
    return value if isinstance(value, bytes) else str(value).encode(errors="replace")


@schemathesis.hook
def map_case(_: Any, case: Any) -> Any:  # noqa: ANN401 - schemathesis' context and case
    """Let most well-formed requests find a metric, a data set or a run; those of links have their ids already."""
    if not case.meta or not case.meta.generation.mode.is_positive or case.meta.phase.name == "stateful":
        return case
    parts = case.path_parameters or {}
    if "name" in parts:
        parts["name"] = NAMES[len(str(parts["name"])) % len(NAMES)]
    if "id" in parts and case.method.upper() in {"GET", "PUT"}:
        parts["id"] = os.environ[DATASET if case.path.startswith("/v1/datasets") else RUN]
    if isinstance(case.body, dict):
        if isinstance(case.body.get("metrics"), list):
            case.body["metrics"] = [NAMES[len(str(name)) % len(NAMES)] for name in case.body["metrics"]]
        if "dataset" in case.body and case.path == "/v1/runs":
            case.body["dataset"] = os.environ[DATASET]
    return case


class ErrorCounter(logging.Handler):
    """Counts the errors that the server logs as unhandled, and keeps their stack traces."""

    def __init__(self) -> None:
        """Start with none."""
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep an unhandled error."""
        if record.levelno >= logging.ERROR and record.exc_info:
            self.found.append(logging.Formatter().format(record))


def fill_server(url: str) -> dict[str, str]:
    """Create a metric, a data set and a run; return the variables with their ids."""
    with httpx.Client(base_url=url, timeout=60, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        client.post("/v1/metrics", json={"yaml": tone()}).raise_for_status()
        cases = [{**CASE, **row, "method": method} for row in rows(9) for method in ("a", "b")]
        dataset = uploaded(client, cases)
        run = started(client, dataset, "correctness", "token_f1")
        ended(client, run)
        said = [
            {"sample_id": f"q{n}", "method": "a", "metric": "correctness", "annotator": "ana", "value": n % 2}
            for n in range(9)
        ]
        client.put(f"/v1/runs/{run}/annotations", json=said).raise_for_status()
    return {DATASET: dataset, RUN: run}


def check_seed(seed: int, seconds: int, phases: str, report: Path | None) -> bool:
    """Run schemathesis against a new server; return whether nothing was found."""
    errors = ErrorCounter()
    logging.getLogger("greval").addHandler(errors)
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "schemathesis.toml"
        config.write_text(CONFIG, encoding="utf-8")
        with (
            over_http({"scripted": ScriptedJudge(draft_or_judge("It fits."))}) as judges,
            contextlib.ExitStack() as stack,
        ):
            settings = ServerSettings(runs=Path(folder) / "runs", token=TOKEN, judges=judges)
            server = stack.enter_context(served(create_app(settings)))
            command = [
                *(sys.executable, "-m", "schemathesis.cli", "--config-file", config, "run"),
                *(f"{server.url}/openapi.json", "--url", server.url, "--checks", "all"),
                *("-H", f"Authorization: Bearer {TOKEN}", "--seed", seed, "--max-time", seconds),
                *("--phases", phases),
                *(
                    "--request-timeout",
                    120,
                    "--max-response-time",
                    100,
                    "--continue-on-failure",
                    "--no-shrink",
                    "--warnings",
                    "off",
                ),
                *(("--report", "ndjson,junit", "--report-dir", report) if report else ()),
            ]
            environment = {
                **os.environ,
                **fill_server(server.url),
                "SCHEMATHESIS_HOOKS": HERE.stem,
                "PYTHONPATH": os.pathsep.join([str(HERE.parent), os.environ.get("PYTHONPATH", "")]),
            }
            done = subprocess.run([*map(str, command)], env=environment, cwd=folder, check=False)
    logging.getLogger("greval").removeHandler(errors)
    print(f"seed {seed}: exit code {done.returncode}, {len(errors.found)} errors in the server's log")
    print(*errors.found[:5], sep="\n")
    return done.returncode == 0 and not errors.found


def main() -> None:
    """Check each seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=600, help="of each seed")
    parser.add_argument("--seed", type=int, action="append", help="may be given often")
    parser.add_argument("--phases", default="examples,coverage,fuzzing,stateful", help="those of schemathesis")
    parser.add_argument("--report", type=Path, help="a folder for the requests and their responses")
    options = parser.parse_args()
    report = options.report.resolve() if options.report else None
    found = [check_seed(seed, options.seconds, options.phases, report) for seed in options.seed or SEEDS]
    sys.exit(0 if all(found) else 1)


if __name__ == "__main__":
    main()
