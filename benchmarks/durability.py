"""What a run survives, measured through the command line against a server that fails on purpose.

    python benchmarks/durability.py kills                 # killed ten times with -9, resumed each time
    python benchmarks/durability.py kills --signal TERM   # the same, asked to stop: nothing is asked twice
    python benchmarks/durability.py disk                  # the disk is full in the middle; mounting one needs root
    python benchmarks/durability.py disk --limit          # the same by a limit on the size of files
    python benchmarks/durability.py mix                   # refusals, errors, resets, broken answers, a hang
    python benchmarks/durability.py key                   # a wrong key
    python benchmarks/durability.py two                   # two runs in one folder
    python benchmarks/durability.py hang                  # every 50th request hangs

Each prints its figures in a line and ends with 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from fault_scene import KEY, LATENCY, WIDTH, full_disk, number_of, scene, unbroken, well
from fault_server import Behaviour, Body, error, hangs, keyed, ok, resets, says

from greval.runs.evaluation import CALLS_PER_SPARE_WORKER

WRONG_KEY = "sk-wrong"
FOR_EVER = 3600.0
HELD = WIDTH + WIDTH // CALLS_PER_SPARE_WORKER
"""The judgements that a run may hold without having stored them: one for each of its workers, also the spare ones."""
MOMENT = 0.05
"""What was sent to the server has come to it after so many seconds."""
MAX_WRONG_KEY_CALLS = 20
MAX_EXTRA = 1.25
BEYOND = 2.5
"""Seconds beyond the deadline: the pause before the call is made again, up to 0.5, and the machine's load."""
MIX: Mapping[str, tuple[float, Behaviour]] = {
    "429 at once": (0.05, error(429, "rate_limit_exceeded", Retry_After="0")),
    "429 in 1 s": (0.05, error(429, "rate_limit_exceeded", Retry_After="1")),
    "500": (0.05, error(500)),
    "reset": (0.02, resets()),
    "malformed": (0.05, says('{"reason": "It na')),
    "wrong label": (0.02, ok(7)),
}


@dataclass(frozen=True)
class Finding:
    """The figures of a measurement in a line, and the targets that it missed."""

    line: str
    missed: tuple[str, ...]


def finding(line: str, targets: Mapping[str, bool]) -> Finding:
    """Give the figures with the targets that were missed."""
    return Finding(line, tuple(name for name, met in targets.items() if not met))


def kills(n: int = 5000, times: int = 10, number: signal.Signals = signal.SIGKILL, seed: int = 1) -> Finding:
    """Stop a run again and again at random moments, and let the same command go on each time."""
    draw = random.Random(seed)
    flying, codes = 0, set[int | None]()
    with scene(n) as place:
        for moment in sorted(draw.sample(range(1, n - 2 * WIDTH), times)):
            reached = max(moment, place.server.calls + 1)
            process = place.start()
            while place.server.calls < reached and process.is_alive():
                time.sleep(draw.uniform(0.001, 0.02))
            if number == signal.SIGKILL:  # it stands still while its requests are counted
                os.kill(process.pid or 0, signal.SIGSTOP)
                time.sleep(MOMENT)
            flying += place.server.connections
            os.kill(process.pid or 0, number)
            process.join()
            codes.add(process.exitcode)
        last = place.run()
        repeated = place.server.calls - n
        equal, sound = place.whole(), place.sound()
    held = flying + times * (HELD - WIDTH)  # a spare worker holds an answer that it is about to store
    allowed, code = (0, 130) if number == signal.SIGTERM else (held, -number)
    return finding(
        f"{n} judgements, stopped {times} times by {number.name}: {repeated} calls repeated; at these moments "
        f"{flying} connections were open, {held} judgements in flight at most; "
        f"log equals the unbroken one: {equal}, sound: {sound}",
        {
            "the log equals that of an unbroken run": equal,
            "SQLite finds the log sound": sound,
            f"each stopped run ends with {code}, the last with 0": codes == {code} and last.code == 0,
            f"at most {allowed} calls are repeated": repeated <= allowed,
        },
    )


def disk(n: int = 5000, kilobytes: int = 4000, *, mounted: bool = True) -> Finding:
    """Let the disk be full in the middle of a run, or files be limited, then make room."""
    with scene(n) as place, full_disk(place.folder / "run", kilobytes) if mounted else nullcontext() as make_room:
        largest = None if make_room else kilobytes * 1024
        full, again = place.run(largest=largest), place.run(largest=largest)
        sound, kept, asked = place.sound(), len(place.rows()), place.server.calls
        if make_room:
            make_room()
        last = place.run()
        equal, calls = place.whole(), place.server.calls
    told = all(part in run.error for run in (full, again) for part in ("run/", "free some space", "same command again"))
    return finding(
        f"{n} judgements, {'the disk is full' if make_room else 'files are limited'} after {kept} of them and {asked} "
        f"calls: exit codes {full.code}, {again.code}, with room {last.code}, {calls - n} calls repeated; "
        f"log equals the unbroken one: {equal}, sound: {sound}; told: {full.last}",
        {
            "it stops in the middle": 0 < kept < n,
            "it ends with 2": full.code == again.code == 2,
            "the message names the folder and what to do, without a traceback": told and "Traceback" not in full.error,
            "SQLite finds the log sound": sound,
            "with room the same command finishes, and the log equals that of an unbroken run": equal and not last.code,
            "no more calls are repeated than the two runs may hold": calls - n <= 2 * HELD,
        },
    )


def mix(n: int = 2000, timeout: float = 5, seed: int = 1) -> Finding:
    """Let a quarter of the requests fail in many ways, and one hang for ever."""
    with scene(n) as place:
        faults = place.server.plan = Faults(seed, hang_at=n // 2)
        run = place.run("--timeout", f"{timeout:g}")
        equal, calls, seconds = place.whole(), place.server.calls, place.latencies()
    hit, hung = faults.met.total(), seconds.pop(f"q{faults.hung}")
    met = ", ".join(f"{name} {count}" for name, count in sorted(faults.met.items()))
    return finding(
        f"{n} judgements, {hit} of {calls} calls met a fault ({met}): exit code {run.code}, {calls - n} extra calls "
        f"({(calls - n) / hit:.2f} for a fault), {run.seconds:.1f} s; the judgement that hung took {hung:.1f} s, the "
        f"slowest other one {max(seconds.values()):.1f} s; log equals the unbroken one: {equal}",
        {
            "all are judged, none off the scale": equal and run.code == 0,
            f"at most {MAX_EXTRA} extra calls for a fault": calls - n <= MAX_EXTRA * hit,
            "the hang costs one deadline": timeout <= hung <= timeout + max(seconds.values()) + BEYOND,
        },
    )


class Faults:
    """A plan that draws the fault of each request from a seed; one request hangs for ever.

    `met` counts the faults by name, `hung` is the number of the question that hung.
    """

    def __init__(self, seed: int, *, hang_at: int) -> None:
        """Begin with the first request."""
        self.met = Counter[str]()
        self.hung = -1
        self._draw = random.Random(seed)
        self._left = hang_at

    def __call__(self, body: Body) -> Behaviour:
        """Give what the next request gets."""
        shares = [share for share, _ in MIX.values()]
        (name,) = self._draw.choices([*MIX, ""], [*shares, 1 - sum(shares)])
        self._left -= 1
        if self._left == 0:
            self.hung, name = number_of(body), "hang"
        if not name:
            return well(body)
        self.met[name] += 1
        return hangs(FOR_EVER) if name == "hang" else MIX[name][1]


def key(n: int = 2000) -> Finding:
    """Start a run with a wrong key, then with the right one."""
    with scene(n) as place:
        place.server.plan = lambda body: keyed(KEY, well(body))
        wrong = place.run(key=WRONG_KEY)
        calls = place.server.calls
        right = place.run()
        equal = place.whole()
        extra = place.server.calls - calls - n
    named = "OPENAI_API_KEY" in wrong.error and WRONG_KEY not in wrong.error
    return finding(
        f"{n} judgements with a wrong key: {calls} calls, exit code {wrong.code} after {wrong.seconds:.1f} s; with the "
        f"right one: exit code {right.code}; log equals the unbroken one: {equal}; told: {wrong.last}",
        {
            f"at most {MAX_WRONG_KEY_CALLS} calls": calls <= MAX_WRONG_KEY_CALLS,
            "it ends with 3": wrong.code == 3,
            "the message names OPENAI_API_KEY and not the key": named,
            "with the right key the same command finishes": equal and right.code == 0 and extra == 0,
        },
    )


def two(n: int = 2000) -> Finding:
    """Start a second run in the folder of one that runs, whose judge is slow meanwhile."""
    with scene(n, latency=1) as place:
        first = place.start()
        place.server.wait()
        second = place.run(key=WRONG_KEY)
        unharmed = first.is_alive()
        place.server.latency = LATENCY
        first.join()
        asked = sum(WRONG_KEY in headers["Authorization"] for headers in place.server.headers)
        equal, repeated = place.whole(), place.server.calls - n
    return finding(
        f"{n} judgements, a second run in their folder: exit code {second.code} after {second.seconds:.1f} s and "
        f"{asked} calls, while the first went on: {unharmed}, to exit code {first.exitcode} with {repeated} calls "
        f"repeated; its log equals the unbroken one: {equal}; told: {second.last}",
        {
            "the second ends with 2 before the first ends, and asks nothing": (
                second.code == 2 and unharmed and asked == 0
            ),
            "its message names the folder and what to do": "another run writes to this folder" in second.error,
            "the first is unharmed": first.exitcode == 0 and equal and repeated == 0,
        },
    )


def hang(n: int = 500, timeout: float = 5, every: int = 50) -> Finding:
    """Let every 50th request hang for ever."""
    ideal = unbroken(n)[1]
    with scene(n) as place:
        numbers = iter(range(1, sys.maxsize))
        place.server.plan = lambda body: hangs(FOR_EVER) if next(numbers) % every == 0 else well(body)
        run = place.run("--timeout", f"{timeout:g}")
        equal, hung = place.whole(), place.server.calls // every
    cost = run.seconds - ideal
    return finding(
        f"{n} judgements, {hung} calls hang: {run.seconds:.1f} s, without hangs {ideal:.1f} s, so that they cost "
        f"{cost / timeout:.2f} deadlines of {timeout:g} s; exit code {run.code}; log equals the unbroken one: {equal}",
        {
            f"all hangs together cost one deadline and {BEYOND} s at most": cost <= timeout + BEYOND,
            "all are judged": equal and run.code == 0,
        },
    )


MEASURES: Mapping[str, Callable[..., Finding]] = {
    "kills": kills,
    "disk": disk,
    "mix": mix,
    "key": key,
    "two": two,
    "hang": hang,
}


def main() -> int:
    """Make one measurement and print its figures."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=[*MEASURES])
    options.add_argument("-n", type=int, help="how many judgements")
    options.add_argument("--signal", choices=("KILL", "TERM"), default="KILL")
    options.add_argument("--limit", action="store_true", help="limit the size of files instead of mounting a disk")
    given = options.parse_args()
    settings: dict[str, Any] = {"n": given.n} if given.n else {}
    if given.what == "disk":
        settings["mounted"] = not given.limit
    if given.what == "kills":
        settings["number"] = signal.Signals[f"SIG{given.signal}"]
    found = MEASURES[given.what](**settings)
    print(f"{given.what}: {found.line}")
    for target in found.missed:
        print(f"  missed: {target}")
    return int(bool(found.missed))


if __name__ == "__main__":
    sys.exit(main())
