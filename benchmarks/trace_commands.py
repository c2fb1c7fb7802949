"""How many modules of greval run for a command: those of which a function is called or a class is built.

    python benchmarks/trace_commands.py
    python benchmarks/trace_commands.py report --list

Each command runs in a process of its own, on a run of two cases by one judged metric. What is called while modules are
imported counts as well, as does an import without use. The judge is a local server. With `--list`, the modules are
printed in the order of their first call. The exit code is 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

SERVER = Path(__file__).parents[1] / "tests" / "support" / "fault_server.py"
CASES = [
    {"id": f"q{number}", "question": "Who?", "expected_answer": "Ada.", "answer": answer}
    for number, answer in enumerate(("Ada.", "Bo."))
]
COMMANDS = {
    "evaluate": (["evaluate", "cases.jsonl", "-m", "correctness", "--judge", "openai:m", "-o", "run"], 90),
    "report": (["report", "run"], 60),
    "results": (["results", "run"], 50),
}
"""The arguments of each command, and the maximum number of modules that run for it."""


def trace_modules(arguments: list[str]) -> list[str]:
    """Run a command in this process, which has not imported greval yet, and return the modules that run for it."""
    modules: dict[str, None] = {}

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            name = str(frame.f_globals.get("__name__", ""))
            if name.partition(".")[0] == "greval":
                modules[name] = None

    threading.setprofile(profile)
    sys.setprofile(profile)
    sys.argv = ["greval", *arguments]
    try:
        from greval.cli import main  # noqa: PLC0415 - its import is traced, too

        main()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type] # as sys.setprofile takes it
    return [*modules]


def run_command(name: str, folder: Path, base_url: str) -> list[str]:
    """Trace a command in a process of its own."""
    environment = {**os.environ, "OPENAI_BASE_URL": base_url, "OPENAI_API_KEY": "none"}
    result = folder / "modules.json"
    process = [sys.executable, str(Path(__file__).resolve()), "--trace", str(result), name]
    subprocess.run(process, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    modules: list[str] = json.loads(result.read_text(encoding="utf-8"))
    return modules


def main() -> None:
    """Print the number of modules of each command, and exit with 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="*", metavar="COMMAND", help=f"of {', '.join(COMMANDS)}; all by default")
    parser.add_argument("--list", action="store_true", help="print the modules as well")
    parser.add_argument("--trace", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if unknown := [name for name in options.commands if name not in COMMANDS]:
        parser.error(f"{', '.join(unknown)}: expected commands of {', '.join(COMMANDS)}")
    if options.trace:
        modules = trace_modules(COMMANDS[options.commands[0]][0])
        options.trace.write_text(json.dumps(modules), encoding="utf-8")
        return
    chosen = options.commands or [*COMMANDS]
    counts: dict[str, int] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen([sys.executable, SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server,
    ):
        if server.stdin is None or server.stdout is None:
            raise SystemExit("expected pipes to the server, found none")
        Path(folder, "cases.jsonl").write_text("".join(f"{json.dumps(case)}\n" for case in CASES), encoding="utf-8")
        base_url = server.stdout.readline().strip()
        for name in COMMANDS:
            if name in chosen or name == "evaluate":  # makes the run that the others read
                modules = run_command(name, Path(folder), base_url)
                counts[name] = len(modules)
                if options.list and name in chosen:
                    print(*modules, sep="\n")
        server.stdin.close()
    for name in chosen:
        print(f"modules that run for greval {name}: {counts[name]} (at most {COMMANDS[name][1]})")
    raise SystemExit(any(counts[name] > COMMANDS[name][1] for name in chosen))


if __name__ == "__main__":
    main()
