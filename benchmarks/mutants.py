"""Count the mutants that the suites kill, in 20 minutes on two cores.

    make test-nightly COVERAGE='--cov=greval --cov-report= --cov-fail-under=0 --cov-context=test'
    python benchmarks/mutants.py -o killed.jsonl

`mutants.jsonl` has 60 mutants, each of one changed token: a comparison, a connective, an operator, a negation or a
constant, drawn by chance in each part. Each is put into a clone of this checkout, where the tests that run its line
are run until one fails: those of `.ci/run` first, then those of the night with more examples. Where no test is known to
run a line, because it is run in processes of their own, all tests of its part are run. What was found before is kept in
the output file, and not run again.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

from coverage import CoverageData

ROOT = Path(__file__).parents[1]
MUTANTS = Path(__file__).with_suffix(".jsonl")
SECONDS = 1200
"""A suite that takes so long is ended by the mutant: it does not take a third of that without one."""
APART = "argilla_server or browser or cluster or local_model or published"
SUITES = {"change": f"not ({APART} or nightly)", "night": f"not ({APART}) and nightly"}
"""The tests that run with each change and those that run at night, as pytest selects them by their marks."""
SURVIVED = "none"


def find_statement(text: str, line: int) -> int:
    """Return the first line of the innermost statement that a line belongs to."""
    statements = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt))
    return max(node.lineno for node in statements if node.lineno <= line <= (node.end_lineno or node.lineno))


def find_line(mutant: dict[str, str], text: str) -> int:
    """Return the line of a mutant in the text of its file: of those that read like it, the nearest to where it was."""
    numbers = [number for number, line in enumerate(text.splitlines(), 1) if line.strip() == mutant["before"]]
    if not numbers:
        message = f"{mutant['file']}: expected a line {mutant['before']!r}, found none"
        raise SystemExit(f"{message}; the code has changed: put a mutant of it as it is now into {MUTANTS.name}")
    return min(numbers, key=lambda number: abs(number - int(mutant["line"])))


def list_tests(mutant: dict[str, str], data: CoverageData) -> list[str]:
    """Return the tests that run the line of a mutant, those of its own part first; all of its part if none is known."""
    file = mutant["file"]
    text = (ROOT / file).read_text(encoding="utf-8")
    (measured,) = (path for path in data.measured_files() if path.endswith(f"/{file}"))
    first = find_statement(text, find_line(mutant, text))
    contexts = data.contexts_by_lineno(measured).get(first, [])
    tests = {context.rpartition("|")[0].partition("[")[0] for context in contexts if context}
    part = f"tests/{Path(file).parts[1]}"
    nearest = f"tests/{Path(file).parent.relative_to('greval')}/"
    return sorted(tests, key=lambda name: (not name.startswith(nearest), not name.startswith(part), name)) or [part]


def find_killer(mutant: dict[str, str], clone: Path, tests: list[str]) -> str:
    """Return the first suite that fails with a mutant, `none` if none does."""
    file = clone / mutant["file"]
    original = file.read_text(encoding="utf-8")
    lines = original.splitlines(keepends=True)
    index = find_line(mutant, original) - 1
    lines[index] = lines[index].replace(mutant["before"], mutant["after"])
    file.write_text("".join(lines), encoding="utf-8")
    try:
        if not passes(["-m", SUITES["change"], *tests], clone):
            return "change"
        if not passes(["-m", SUITES["night"], *tests], clone) or not passes(
            ["-m", SUITES["change"], "--hypothesis-profile=nightly", *tests], clone
        ):
            return "night"
        return SURVIVED
    finally:
        file.write_text(original, encoding="utf-8")


def passes(words: list[str], clone: Path) -> bool:
    """Return whether tests pass in a clone; none at all pass."""
    # processes that tests start load the clone too; compiled files would hide a mutant made within the same second
    environment = {**os.environ, "PYTHONPATH": str(clone), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *words]
    try:
        done = subprocess.run(command, check=False, cwd=clone, env=environment, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False
    # a mutant that breaks the import of a conftest ends with the same status as a test that is not there
    if done.returncode == 4 and b"not found" in done.stderr:
        raise SystemExit(done.stderr.decode())
    return done.returncode in {0, 5}


def main() -> None:
    """Print and store which suite kills each mutant."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=Path, default=Path("killed.jsonl"))
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("--coverage", type=Path, default=ROOT / ".coverage", help="which test runs which line")
    options = parser.parse_args()
    data = CoverageData(str(options.coverage))
    data.read()
    mutants = [json.loads(line) for line in MUTANTS.read_text(encoding="utf-8").splitlines()]
    known = options.out.read_text(encoding="utf-8").splitlines() if options.out.exists() else []
    found = {(row["file"], row["line"]): row for row in map(json.loads, known)}
    left = [(mutant, list_tests(mutant, data)) for mutant in mutants if (mutant["file"], mutant["line"]) not in found]
    with tempfile.TemporaryDirectory() as folder:
        clones: Queue[Path] = Queue()
        for number in range(options.jobs):
            clone = Path(folder, str(number), "greval")
            subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)  # noqa: S607 - git is found on the path
            clones.put(clone)

        def judge(mutant: dict[str, str], tests: list[str]) -> None:
            clone = clones.get()
            try:
                row = {**mutant, "killer": find_killer(mutant, clone, tests)}
            finally:
                clones.put(clone)
            found[row["file"], row["line"]] = row
            print(f"{row['killer']:7} {row['file']}:{row['line']}: {row['before']}  ({len(tests)} tests)", flush=True)
            with options.out.open("a", encoding="utf-8") as out:
                out.write(f"{json.dumps(row)}\n")

        with ThreadPoolExecutor(options.jobs) as pool:
            for job in [pool.submit(judge, *each) for each in left]:
                job.result()
    killers = Counter(row["killer"] for row in found.values())
    killed = len(found) - killers[SURVIVED]
    print(f"{killed} of {len(found)} killed, {killers['change']} of these by .ci/run: {dict(killers)}")


if __name__ == "__main__":
    main()
