"""What damaged, copied and read-only runs say, and what of them is kept.

    python benchmarks/damage.py             # 200 random damages of a run of 1,000 results
    python benchmarks/damage.py -n 50 --seed 7

A run of 1,000 results is made, and its files are copied while it goes on. Each damage is done to a copy: flipped bits,
cut files, zeroed sectors, missing files, files of two moments, and read-only file systems (mounting one needs root).
Then `greval report`, `results`, `repair` and `report` again read it through the command line. No command may end with
an internal error, and no row may differ from what was judged. Where rows are missing, the report must say so. A repair
must keep each row whose bytes are as they were. The exit code is 1 if a promise is broken.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

from greval import evaluate
from greval.cli import main as run_command_line
from greval.runs.store import FILE, Store
from greval.runs.store.disk import LOCK_FILE, WAL_FILE
from greval.testing import ScriptedJudge

METRICS = ("correctness", "exact_match")
MOMENTS = 20
"""How often the files of the run are copied while it goes on."""
MARGIN_BYTES = 400
"""The bytes before the text of a row in which its other columns are."""
REASON = "The answer names the harbour team as the owner of the booking service; the expected answer says the same."
KINDS: Mapping[str, int] = {
    "bits": 60,
    "bits of a killed run": 30,
    "a sector": 20,
    "cut": 25,
    "a cut -wal file": 15,
    "files of two moments": 30,
    "a missing file": 10,
    "read-only": 10,
}
"""How many of 200 damages are of each kind."""
Files = dict[str, bytes]


@dataclass
class Scene:
    """The run that is damaged: its rows, its files at the end, and those of moments while it went on."""

    rows: dict[str, str]
    finished: Files
    moments: list[Files]


@dataclass
class Findings:
    """What the damages gave: `faults` are broken promises, `kept` and `damaged` count rows after repairs."""

    ended: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    whole: int = 0
    kept: int = 0


def make_scene(folder: Path, results: int) -> Scene:
    """Judge cases by two metrics, and copy the files of the run while it goes on and at its end."""
    moments: list[Files] = []
    counted = 0

    def copy_files(_: object) -> None:
        nonlocal counted
        counted += 1
        if counted % (results // MOMENTS) == 0:
            moments.append(read_files(folder))
            if len(moments) % 2:
                # As the thread of a longer run does once a second.
                with closing(sqlite3.connect(folder / FILE)) as log:
                    log.execute("PRAGMA wal_checkpoint(PASSIVE)").close()

    cases = [
        {
            "id": f"q{number}",
            "question": f"Which team owns service {number}?",
            "expected_answer": "harbour",
            # Some are longer than a page of the file.
            "answer": f"harbour {'because of the booking service ' * (number % 7 == 0) * 200}",
        }
        for number in range(results // len(METRICS))
    ]
    judge = ScriptedJudge([{"reason": REASON, "value": 1}, {"reason": REASON[:40], "value": 0}])
    evaluate(cases, METRICS, judge, out=folder, on_result=copy_files, concurrency=8)
    with Store.open(folder) as store:
        rows = dict(zip(map(name_row, store.lines()), store.lines(), strict=True))
    return Scene(rows, read_files(folder), moments)


def name_row(line: str) -> str:
    """Name the judgement of a row."""
    row = json.loads(line)
    return f"{row['sample_id']} {row['metric']}"


def read_files(folder: Path) -> Files:
    """Read the files of a run."""
    return {name: (folder / name).read_bytes() for name in (FILE, WAL_FILE, LOCK_FILE) if (folder / name).is_file()}


def damage(kind: str, scene: Scene, draw: random.Random) -> tuple[Files, Files]:
    """Return the files of a run before and after a damage of a kind."""
    killed = draw.choice([files for files in scene.moments if files.get(WAL_FILE)])
    files = dict(killed if kind in {"bits of a killed run", "a cut -wal file"} else scene.finished)
    if kind == "files of two moments":
        first, second = (scene.moments[number] for number in sorted(draw.sample(range(len(scene.moments)), 2)))
        main, wal = draw.choice([(first, second), (first, second), (second, first)])
        files = {FILE: main[FILE], WAL_FILE: wal.get(WAL_FILE, b"")}
    if kind == "read-only" and draw.random() < 0.5:
        files = dict(killed)
    damaged = dict(files)
    name = (
        WAL_FILE if kind == "a cut -wal file" else draw.choice([name for name in (FILE, WAL_FILE) if files.get(name)])
    )
    content = bytearray(files[name])
    match kind:
        case "bits" | "bits of a killed run":
            for _ in range(draw.choice([1, 1, 1, 2, 5, 20])):
                # The first page of the file refers to all others.
                end = draw.choice([len(content), len(content), 4096])
                content[draw.randrange(min(end, len(content)))] ^= 1 << draw.randrange(8)
        case "a sector":
            start = draw.randrange(len(content)) // 512 * 512
            content[start : start + 512] = bytes(len(content[start : start + 512]))
        case "cut" | "a cut -wal file":
            del content[draw.choice([0, draw.randrange(len(content)), draw.randrange(len(content))]) :]
    damaged[name] = bytes(content)
    if kind == "a missing file":
        del damaged[draw.choice(list(damaged))]
    return files, damaged


def list_whole_rows(scene: Scene, files: Files, damaged: Files) -> set[str]:
    """Name the rows whose bytes are in the damaged files as they were, with the columns before their text."""
    whole = set()
    for name, line in scene.rows.items():
        for file, content in files.items():
            place = content.find(line.encode())
            part = slice(max(0, place - MARGIN_BYTES), place + len(line.encode()) + 5)
            if place >= 0 and damaged.get(file, b"")[part] == content[part]:
                whole.add(name)
    return whole


def run_command(*words: object) -> tuple[int, str, str]:
    """Run a command of greval in this process, and return its exit code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["greval", *map(str, words)]
    # Its end flushes the real stream.
    with redirect_stdout(out), redirect_stderr(err):
        try:
            run_command_line()
        except SystemExit as end:
            return int(end.code or 0), out.getvalue(), err.getvalue()
    return 0, out.getvalue(), err.getvalue()


def check_reading(folder: Path, scene: Scene) -> tuple[set[str] | None, list[str]]:
    """Read a run by two commands; return the rows it has, None if it is refused, and broken promises."""
    code, report, error = run_command("report", folder, "--format", "json")
    results_code, lines, results_error = run_command("results", folder)
    faults = [text for text in (error, results_error) if "internal error" in text or "Traceback" in text]
    if code or results_code:
        advice = ("greval repair", "greval evaluate", "run greval evaluate")
        faults += [f"no advice: {text}" for text in {error, results_error} if not any(word in text for word in advice)]
        return None, faults
    rows = {name_row(line): line for line in lines.splitlines()}
    faults += [f"{name} differs" for name, line in rows.items() if scene.rows.get(name) != line]
    said = json.loads(report)
    if len(rows) < len(scene.rows) and not (said["stopped"] or said["pending"]):
        faults.append(f"{len(scene.rows) - len(rows)} rows are missing, and the report does not say so")
    return set(rows), faults


@contextmanager
def mount_read_only(folder: Path) -> Iterator[bool]:
    """Make a folder a read-only file system within the block, if this user may mount one."""
    commands = (["mount", "--bind", folder, folder], ["mount", "-o", "remount,bind,ro", folder])
    is_mounted = not any(subprocess.run(command, capture_output=True, check=False).returncode for command in commands)
    try:
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", folder], check=True)  # noqa: S607 - of the system


def try_damage(kind: str, scene: Scene, draw: random.Random, folder: Path, findings: Findings) -> None:
    """Damage a copy of the run, read it, repair it, and read it again."""
    files, damaged = damage(kind, scene, draw)
    folder.mkdir()
    for name, content in damaged.items():
        (folder / name).write_bytes(content)
    if kind == "read-only":
        with mount_read_only(folder) as is_mounted:
            rows, faults = check_reading(folder, scene)
        findings.ended["read-only, read" if is_mounted else "not mounted, read"] += 1
        if rows is None or rows < list_whole_rows(scene, files, damaged):
            faults.append("a read-only run is not read")
        findings.faults += [f"{kind}: {fault}" for fault in faults]
        return
    rows, faults = check_reading(folder, scene)
    ended = "refused" if rows is None else "read"
    # Files of two moments may be read as the run at the earlier one, and a commit that is cut off never was.
    is_earlier = rows is not None and kind in {"files of two moments", "a cut -wal file"}
    whole = set[str]() if is_earlier else list_whole_rows(scene, files, damaged)
    if rows is None:
        code, _, error = run_command("repair", folder)
        ended = "repaired" if code == 0 else "nothing left"
        faults += [text for text in [error] if "internal error" in text or "Traceback" in text]
        if code == 0:
            rows, further = check_reading(folder, scene)
            faults += further
            findings.whole += len(whole)
            findings.kept += len(whole & (rows or set()))
    if lost := whole - (rows or set()):
        faults.append(f"{len(lost)} whole rows are lost, such as {min(lost)}")
    findings.ended[ended] += 1
    findings.faults += [f"{kind}: {fault}" for fault in faults]


def measure(damages: int = 200, results: int = 1000, seed: int = 1, report: Callable[[str], None] = print) -> Findings:
    """Do random damages, print what they gave, and return it."""
    draw, findings = random.Random(seed), Findings()
    kinds = [kind for kind, count in KINDS.items() for _ in range(count)]
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        scene = make_scene(work / "run", results)
        for number in range(damages):
            kind = kinds[number] if damages == len(kinds) else draw.choice(kinds)
            try_damage(kind, scene, draw, work / f"damaged-{number}", findings)
            shutil.rmtree(work / f"damaged-{number}")
    ended = ", ".join(f"{count} {ended}" for ended, count in findings.ended.most_common())
    report(
        f"{damages} damages of a run of {len(scene.rows):,} results: {ended}; of {findings.whole:,} rows whose bytes "
        f"were as before, repairs kept {findings.kept:,}; broken promises: {len(findings.faults)}"
    )
    for fault in findings.faults:
        report(f"  {fault}")
    return findings


def main() -> int:
    """Make the measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=sum(KINDS.values()), help="how many damages")
    parser.add_argument("--results", type=int, default=1000, help="how many results the run has")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ["COLUMNS"] = "120"
    return int(bool(measure(options.n, options.results, options.seed).faults))


if __name__ == "__main__":
    sys.exit(main())
