"""Count the mutants that the suites kill, an hour on two cores: `python benchmarks/mutants.py -o killed.jsonl`.

`mutants.jsonl` has 60 mutants, each of one changed token: a comparison, a connective, an operator, a negation or a
constant, drawn by chance in each part. Each is put into a clone of this checkout, where suites run until one fails:
those of `.ci/run` first, the tests of the mutated part before all others, then those of the night. What was found
before is kept in the output file, and not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).parents[1]
MUTANTS = Path(__file__).with_suffix(".jsonl")
SECONDS = 1200
"""A suite that takes so long is ended by the mutant: it does not take a third of that without one."""
PARALLEL = ("-n", "2", "--dist", "loadfile")
REAL_ARGILLA = "tests/trust/argilla/real_server"
DEFAULT = ("--ignore=tests/serve", f"--ignore={REAL_ARGILLA}")
SURVIVED = "none"


def list_suites(mutant: dict[str, str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the suites that may kill a mutant, by name and arguments of pytest, the quickest first."""
    _, part, *_ = Path(mutant["file"]).parts
    mirrored = Path("tests", *Path(mutant["file"]).parts[1:])
    nearest = mirrored.with_name(f"test_{mirrored.name}")
    if part != "serve":
        if (ROOT / nearest).exists():
            yield "test", (str(nearest),)
        if (ROOT / mirrored.parent).exists():
            yield "test", (str(mirrored.parent), *DEFAULT)
        yield "test", (*PARALLEL, "tests", *DEFAULT)
    yield "server", (*PARALLEL, "-m", "server and not nightly", "tests/serve")
    yield "night", (*PARALLEL, "--hypothesis-profile=nightly", f"tests/{part}", f"--ignore={REAL_ARGILLA}")
    yield "night", (*PARALLEL, "-m", "nightly and not browser", f"tests/{part}", f"--ignore={REAL_ARGILLA}")
    if part != "serve":
        yield "night", (*PARALLEL, "-m", "nightly and not browser", "tests/serve", "tests/cli", "tests/runs")


def find_killer(mutant: dict[str, str], clone: Path) -> str:
    """Return the first suite that fails with a mutant, `none` if none does."""
    file = clone / mutant["file"]
    original = file.read_text(encoding="utf-8")
    lines = original.splitlines(keepends=True)
    line = lines[int(mutant["line"]) - 1]
    if line.strip() != mutant["before"]:
        message = f"{mutant['file']}:{mutant['line']}: expected {mutant['before']!r}, found {line.strip()!r}"
        raise SystemExit(f"{message}; the code has changed: put the line as it is now into {MUTANTS.name}")
    lines[int(mutant["line"]) - 1] = line.replace(mutant["before"], mutant["after"])
    file.write_text("".join(lines), encoding="utf-8")
    try:
        return next((name for name, words in list_suites(mutant) if not passes(words, clone)), SURVIVED)
    finally:
        file.write_text(original, encoding="utf-8")


def passes(words: tuple[str, ...], clone: Path) -> bool:
    """Return whether a suite passes in a clone; one without tests passes."""
    # processes that tests start load the clone too; compiled files would hide a mutant made within the same second
    environment = {**os.environ, "PYTHONPATH": str(clone), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *words]
    try:
        done = subprocess.run(command, check=False, cwd=clone, env=environment, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode in {0, 5}


def main() -> None:
    """Print and store which suite kills each mutant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--out", type=Path, default=Path("killed.jsonl"))
    parser.add_argument("-j", "--jobs", type=int, default=2)
    options = parser.parse_args()
    mutants = [json.loads(line) for line in MUTANTS.read_text(encoding="utf-8").splitlines()]
    known = options.out.read_text(encoding="utf-8").splitlines() if options.out.exists() else []
    found = {(row["file"], row["line"]): row for row in map(json.loads, known)}
    with tempfile.TemporaryDirectory() as folder:
        clones: Queue[Path] = Queue()
        for number in range(options.jobs):
            clone = Path(folder, str(number), "greval")
            subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)  # noqa: S607 - git is found on the path
            if (ROOT.parent / "shared").exists():
                (clone.parent / "shared").symlink_to(ROOT.parent / "shared")
            clones.put(clone)

        def judge(mutant: dict[str, str]) -> None:
            clone = clones.get()
            row = {**mutant, "killer": find_killer(mutant, clone)}
            clones.put(clone)
            found[row["file"], row["line"]] = row
            print(f"{row['killer']:7} {row['file']}:{row['line']}: {row['before']}", flush=True)
            with options.out.open("a", encoding="utf-8") as out:
                out.write(f"{json.dumps(row)}\n")

        with ThreadPoolExecutor(options.jobs) as pool:
            left = [mutant for mutant in mutants if (mutant["file"], mutant["line"]) not in found]
            list(pool.map(judge, left))
        shutil.rmtree(folder, ignore_errors=True)
    killers = Counter(row["killer"] for row in found.values())
    killed = len(found) - killers[SURVIVED]
    print(f"{killed} of {len(found)} killed, {killed - killers['night']} of these by .ci/run: {dict(killers)}")


if __name__ == "__main__":
    main()
