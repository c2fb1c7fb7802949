"""greval and neighbouring evaluation tools, each by its own runner, against one local chat server.

    python benchmarks/neighbours.py overhead|faults|chunks --envs DIR [--tools ...] [--n 2000] [--concurrency 50]

`overhead` is the CPU that a judgement costs when the server answers at once. `faults` is what becomes
of the cases when calls fail by a seeded plan. `chunks` is the calls and tokens of one case with eight
chunks. Each tool has an environment of its own under DIR, which is made where it is missing; greval
runs in this one. What is set for each tool, and why, is told in benchmarks/neighbours/README.md.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "neighbours"
LIMIT = 300
"""Seconds after which a tool is ended."""
TIMEOUT = 30
SEED = 7
LATENCY = 0.02
QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_NO_INSPECT_PROMPT": "1",
    "DEEPEVAL_UPDATE_WARNING_OPT_IN": "0",
    "RAGAS_DO_NOT_TRACK": "true",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LOGFIRE_SEND_TO_LOGFIRE": "false",
    "DO_NOT_TRACK": "1",
    "OPENAI_API_KEY": "none",
}


@dataclass(frozen=True)
class Tool:
    """A tool: its driver, what is installed for it (nothing: it runs here), its metrics by chunk."""

    driver: str
    packages: tuple[str, ...] = ()
    chunks: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    server: str = ""
    faults: bool = True


TOOLS: Mapping[str, Tool] = {
    "greval": Tool("greval_driver", chunks=("chunk_evaluation",)),
    "plain loop": Tool("bare_driver", server="plain"),
    "deepeval": Tool("deepeval_driver", ("deepeval",), ("ContextualRelevancy", "ContextualPrecision")),
    "ragas": Tool(
        "ragas_driver",
        ("ragas", "langchain-community<0.4"),
        ("ContextPrecisionWithReference", "ContextPrecisionWithoutReference", "ContextRelevance"),
    ),
    "pydantic-evals": Tool("pydantic_driver", ("pydantic-evals", "pydantic-ai-slim[openai]")),
    "pydantic-evals GEval": Tool(
        "pydantic_driver", ("pydantic-evals", "pydantic-ai-slim[openai]"), options=("--ranged",)
    ),
    "openevals": Tool("openevals_driver", ("openevals", "langchain-openai"), ("RAG_RETRIEVAL_RELEVANCE",)),
    "inspect-ai": Tool("inspect_driver", ("inspect-ai", "openai")),
    "mlflow": Tool("mlflow_driver", ("mlflow", "openai", "litellm")),
}


def python(envs: Path, name: str) -> str:
    """Give the interpreter of a tool's environment, made where it is missing."""
    packages = TOOLS[name].packages
    if not packages:
        return sys.executable
    home = envs / name.split(maxsplit=1)[0]
    if not (home / "bin" / "python").exists():
        print(f"making {home} ...", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        subprocess.run([str(home / "bin" / "pip"), "install", "-q", *packages], check=True)
    return str(home / "bin" / "python")


@contextmanager
def serving(name: str, *options: str) -> Iterator[tuple[str, str]]:
    """Give the addresses of a server, of its chat API and of its counters, in another process."""
    command = [sys.executable, str(FOLDER / "server.py"), "--tool", name.split(maxsplit=1)[0], *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin
        assert server.stdout
        try:
            url, stats = server.stdout.readline().split()
            yield url, stats
        finally:
            server.stdin.close()


def run(given: argparse.Namespace, name: str, *server: str, driver: Sequence[str] = ()) -> dict[str, object]:
    """Run a driver against a server of its own, and give its line and what the server counted."""
    tool = TOOLS[name]
    with tempfile.TemporaryDirectory() as folder, serving(name, *server) as (url, stats):
        command = [python(given.envs, name), str(FOLDER / f"{tool.driver}.py"), given.measure, *tool.options, *driver]
        command += ["--url", url, "--stats", stats, "--folder", f"{folder}/run", "--timeout", str(TIMEOUT)]
        command += ["--n", str(given.n), "--concurrency", str(given.concurrency)]
        line = finished(command, Path(folder), environment(given, url))
        with urllib.request.urlopen(f"{stats}/stats") as answer:  # noqa: S310 - our own server
            return {**line, **json.load(answer)}


def environment(given: argparse.Namespace, url: str) -> dict[str, str]:
    """Give the environment: nothing is sent anywhere, and the settings that are made there."""
    settings = {
        "DEEPEVAL_RETRY_MAX_ATTEMPTS": "3",
        "DEEPEVAL_PER_ATTEMPT_TIMEOUT_SECONDS_OVERRIDE": str(TIMEOUT),
        "MLFLOW_GENAI_EVAL_MAX_WORKERS": str(given.concurrency),
        "MLFLOW_GENAI_EVAL_PREDICT_RATE_LIMIT": "0",
        "MLFLOW_GENAI_EVAL_SCORER_RATE_LIMIT": "0",
        "MLFLOW_GATEWAY_ROUTE_TIMEOUT_SECONDS": str(TIMEOUT),
        "MLFLOW_SQLALCHEMYSTORE_POOL_SIZE": str(given.concurrency),
        "OPENAI_BASE_URL": url,
        "OPENAI_API_BASE": url,
    }
    return {**os.environ, **QUIET, **settings}


def finished(command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> dict[str, object]:
    """Give the line of a driver; one that takes too long is ended, with what it started."""
    log = folder / "log"
    with (
        log.open("w") as told,
        subprocess.Popen(
            command,
            cwd=folder,
            env=dict(variables),
            stdout=subprocess.PIPE,
            stderr=told,
            text=True,
            start_new_session=True,
        ) as driver,
    ):
        try:
            out, _ = driver.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(driver.pid, signal.SIGKILL)
            return {"gave_up": f"ended after {LIMIT} s"}
    lines = out.splitlines()
    if driver.returncode or not lines:
        return {"gave_up": f"exit code {driver.returncode}: {log.read_text()[-1500:]}"}
    return dict(json.loads(lines[-1]))


def overhead(given: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Give the cost of a judgement for each tool, the server answering at once."""
    for name in given.tools:
        found = run(given, name)
        n, cpu, wall = given.n, found.get("cpu_seconds"), found.get("wall_seconds")
        yield {
            "tool": name,
            "version": found.get("version"),
            "CPU ms a judgement": round(float(str(cpu)) / n * 1000, 2) if cpu else None,
            "wall s": round(float(str(wall)), 1) if wall else None,
            "judged": found.get("judged"),
            "calls": found["calls"],
            "peak MB": found.get("peak_mb"),
            "note": found.get("gave_up"),
        }


def faults(given: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Give what became of the cases for each tool, calls failing by the seeded plan."""
    plan = ("--latency", str(LATENCY), "--faults", str(SEED), "--hang-at", str(given.n // 2))
    for name in given.tools:
        found = run(given, name, *plan)
        met: Mapping[str, int] = dict(found["faults"])  # type: ignore[call-overload]
        yield {
            "tool": name,
            "of": given.n,
            "judged": found.get("judged"),
            "off scale, handed over": found.get("off_scale"),
            "made up": found.get("made_up"),
            "lost": found.get("lost"),
            "calls": found["calls"],
            "calls with a fault": sum(met.values()),
            "most in flight": found["most"],
            "wall s": round(float(str(found["wall_seconds"])), 1) if "wall_seconds" in found else None,
            "note": found.get("gave_up"),
        }


def chunks(given: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Give the calls and tokens of one case with eight chunks, for each metric by chunk."""
    for name in given.tools:
        for metric in TOOLS[name].chunks:
            found = run(given, name, driver=("--metric", metric))
            yield {
                "tool": name,
                "metric": metric,
                "calls": found["calls"],
                "tokens of messages": found["tokens"],
                "tokens of schemas": found["schema_tokens"],
                "handed over": found.get("handed over"),
                "note": found.get("gave_up"),
            }


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """Give rows as a Markdown table; a column with nothing in it is left out."""
    names = [name for name in rows[0] if any(row[name] not in {None, ""} for row in rows)]
    lines = [names, ["---"] * len(names), *([text(row[name]) for name in names] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def text(content: object) -> str:
    """Give the content of a cell."""
    return "-" if content is None else " ".join(str(content).split()).replace("|", "/")


def main() -> None:
    """Run one measurement and print its table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("measure", choices=["overhead", "faults", "chunks"])
    options.add_argument("--envs", type=Path, required=True)
    options.add_argument("--tools", nargs="+", choices=[*TOOLS], default=[*TOOLS])
    options.add_argument("--n", type=int, default=2000)
    options.add_argument("--concurrency", type=int, default=50)
    given = options.parse_args()
    given.envs = given.envs.resolve()
    rows = []
    for row in {"overhead": overhead, "faults": faults, "chunks": chunks}[given.measure](given):
        print({key: content for key, content in row.items() if content not in {None, ""}}, file=sys.stderr)
        rows.append(row)
    load = "/".join(f"{share:.1f}" for share in os.getloadavg())
    print(f"{given.measure}: n = {given.n}, {given.concurrency} at once, load at the end {load}\n\n{table(rows)}")


if __name__ == "__main__":
    main()
