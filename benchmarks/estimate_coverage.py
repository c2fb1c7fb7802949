"""How honest estimates are: draw 100 labels again and again, and count how often the interval holds the truth.

    python benchmarks/estimate_coverage.py --repeats 2000

The data are 1,490 answers that people and three recorded judges called correct or not, from
`../shared/data/nq301_answer_judgments`: the truth is the people's share of all of them, the labels are
theirs on the drawn ones, the rest is known by the judge only. Everything goes through the functions that
`greval estimate` uses; the draws are seeded, so that the figures repeat.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import greval
from greval.estimates.figuring import Range, Sample, Scope, by_judge, figures
from greval.estimates.records import Figure
from greval.stats.prediction_powered import Side
from greval.stats.sampling import drawn

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DATA = Path(greval.__file__).parents[2] / "shared" / "data" / "nq301_answer_judgments"
SEED = 11
LABELS = 100
HALVES = (LABELS // 2, LABELS // 2)
LEVEL = 0.95
SCOPE = Scope(LEVEL)
RATES = Range((0.0, 1.0), 1.0, binary=True)
JUDGES = ("judge_gpt4", "judge_davinci003", "judge_bem")
PAIRS = (
    ("text-davinci-003_zeroshot", "DPR"),
    ("EMDR2", "FiD"),
    ("R2D2", "EviGen"),
)
COLUMNS = ("judge alone", "plain labels", "plain PPI++", "labels", "PPI++", "Rogan-Gladen")


class Draw(NamedTuple):
    """What was drawn: the places, the weights, the strata, and the questions where these were drawn whole."""

    places: Integers
    weights: Floats
    strata: Integers
    units: Integers | None = None


class Answers(NamedTuple):
    """What people and judges said of each answer; `unsure` is how near the third judge is to a coin."""

    people: Floats
    judges: Mapping[str, Floats]
    unsure: Floats


Design = Callable[[np.random.Generator, Answers, Floats], Draw]


def answers() -> Answers:
    """Read the answers."""
    rows = [json.loads(line) for line in (DATA / "judgments.jsonl").read_text(encoding="utf-8").splitlines()]
    said = {name: np.array([float(row[name] == "correct") for row in rows]) for name in ("human", *JUDGES)}
    probability = np.array([row["judge_bem_max_prob"] for row in rows])
    return Answers(said.pop("human"), said | {"bem probability": probability}, 1 - 2 * abs(probability - 0.5))


def at_random(rng: np.random.Generator, data: Answers, _verdicts: Floats) -> Draw:
    """Draw at random."""
    places = rng.choice(len(data.people), LABELS, replace=False)
    return Draw(places, np.ones(LABELS), np.zeros(LABELS, dtype=np.int64))


def from_two(rng: np.random.Generator, first: NDArray[np.bool_], counts: tuple[int, int] = HALVES) -> Draw:
    """Draw so many labels from one part, so many from the other."""
    parts = np.flatnonzero(first), np.flatnonzero(~first)
    each = [
        (rng.choice(part, count, replace=False), len(part) / count) for part, count in zip(parts, counts, strict=True)
    ]
    return Draw(
        np.concatenate([places for places, _ in each]),
        np.repeat([weight for _, weight in each], counts),
        np.repeat([0, 1], counts),
    )


def each_by_itself(rng: np.random.Generator, sizes: Floats) -> Draw:
    """Draw each answer with a probability in proportion to its size: about 100 are drawn."""
    chances = np.minimum(1.0, LABELS * sizes / sizes.sum())
    places = np.flatnonzero(rng.random(len(sizes)) < chances)
    return Draw(places, 1 / chances[places], np.zeros(len(places), dtype=np.int64))


def apart(data: Answers) -> NDArray[np.bool_]:
    """Say on which answers two of the judges disagree."""
    return data.judges["judge_gpt4"] != data.judges["judge_davinci003"]


DESIGNS: dict[str, Design] = {
    "random": at_random,
    "enriched: half judged correct, half not": lambda rng, _, verdicts: from_two(rng, verdicts > 0.5),
    "enriched: 70 judged correct, 30 not": lambda rng, _, verdicts: from_two(rng, verdicts > 0.5, (70, 30)),
    "enriched: by uncertainty, chances 1 to 6": lambda rng, data, _: each_by_itself(rng, 0.2 + data.unsure),
    "queue: half where two judges disagree": lambda rng, data, _: from_two(rng, apart(data)),
    "queue: chances 1 to 5 where they disagree": lambda rng, data, _: each_by_itself(rng, 1 + 4.0 * apart(data)),
}


class Held(NamedTuple):
    """How often the intervals of one kind hold the truth, how long they are, and how many there were."""

    share: float
    width: float
    count: int


def coverage(data: Answers, judge: str, design: Design, repeats: int) -> dict[str, Held]:
    """Draw labels again and again; give what each kind of figure held."""
    rng = np.random.default_rng(SEED)
    verdicts = data.judges[judge]
    binary = bool(np.isin(verdicts, (0.0, 1.0)).all())
    reach = Range((0.0, 1.0), 1.0, binary=binary)
    one = by_judge(verdicts, np.ones(len(verdicts), dtype=np.int64), reach, level=LEVEL, mean=True)
    found: dict[str, list[Figure]] = {"judge alone": [one] * repeats}
    for _ in range(repeats):
        drawing = design(rng, data, verdicts)
        for name, figure in _figures(drawing, data.people, verdicts, reach):
            found.setdefault(name, []).append(figure)
    truth = float(data.people.mean())
    return {name: held(figures_of, truth) for name, figures_of in found.items()}


def _figures(drawing: Draw, people: Floats, verdicts: Floats, reach: Range) -> Iterator[tuple[str, Figure]]:
    """Give the figures of one draw: those that know how it was drawn, and those that do not."""
    places = drawing.places
    ones = np.ones(len(places))
    side = [Side(ones, float(verdicts.mean()))]
    for plain in (True, False):
        how = drawn(ones, whole=len(people)) if plain else drawn(drawing.weights, drawing.strata, whole=len(people))
        found = figures(Sample(how, people[places], verdicts[places]), side, reach, judged=len(people), scope=SCOPE)
        yield "plain labels" if plain else "labels", found.labels_only
        yield "plain PPI++" if plain else "PPI++", found.prediction_powered
        if not plain:
            yield "Rogan-Gladen", found.rogan_gladen


def held(found: list[Figure], truth: float) -> Held:
    """Count the intervals that hold the truth, of those that are given."""
    given = [figure.interval for figure in found if figure.interval]
    if not given:
        return Held(float("nan"), float("nan"), 0)
    share = np.mean([one.low <= truth <= one.high for one in given])
    return Held(float(share), float(np.mean([one.high - one.low for one in given])), len(given))


class Pair(NamedTuple):
    """Two systems on the questions that both answered: what people and a judge said of each."""

    people: Floats
    verdicts: Floats


def pair(judge: str, method: str, baseline: str) -> Pair:
    """Read the answers of two systems; in each array one column a system."""
    rows = [json.loads(line) for line in (DATA / "systems.jsonl").read_text(encoding="utf-8").splitlines()]
    of = {(row["system"], row["question_id"]): row for row in rows if row["judgment_id"]}
    questions = [question for system, question in of if system == method and (baseline, question) in of]

    def said(name: str) -> Floats:
        answers_of = [
            [float(of[system, question][name] == "correct") for system in (method, baseline)] for question in questions
        ]
        return np.array(answers_of)

    return Pair(said("human"), said(judge))


def differences(data: Pair, how: str, repeats: int) -> dict[str, Held]:
    """Draw labels of two systems again and again: answers, questions, or questions by whether the verdicts differ."""
    rng = np.random.default_rng(SEED)
    count = len(data.people)
    people, verdicts = data.people.T.ravel(), data.verdicts.T.ravel()
    judged = data.verdicts.mean(axis=0)
    found: dict[str, list[Figure]] = {}
    for _ in range(repeats):
        drawing = _of_two(rng, data, how)
        places = drawing.places
        sample = drawn(drawing.weights, drawing.strata, drawing.units, whole=2 * count)
        sides = [Side((places // count == n).astype(float), float(judged[n]), 1.0 - 2 * n) for n in (0, 1)]
        one = figures(Sample(sample, people[places], verdicts[places]), sides, RATES, judged=2 * count, scope=SCOPE)
        for name, figure in (
            ("labels", one.labels_only),
            ("PPI++", one.prediction_powered),
            ("Rogan-Gladen", one.rogan_gladen),
        ):
            found.setdefault(name, []).append(figure)
    of_judge = by_judge(data.verdicts @ [1.0, -1.0], np.ones(count, dtype=np.int64), RATES, level=LEVEL, mean=False)
    truth = float(data.people.mean(axis=0) @ [1.0, -1.0])
    return {name: held(figures_of, truth) for name, figures_of in ({"judge alone": [of_judge]} | found).items()}


def _of_two(rng: np.random.Generator, data: Pair, how: str) -> Draw:
    """Draw answers of two systems."""
    count = len(data.people)
    if how == "answers":
        return Draw(rng.choice(2 * count, LABELS, replace=False), np.ones(LABELS), np.zeros(LABELS, dtype=np.int64))
    if how == "questions":
        questions = rng.choice(count, LABELS // 2, replace=False)
        part = Draw(questions, np.ones(LABELS // 2), np.zeros(LABELS // 2, dtype=np.int64))
    else:
        part = from_two(rng, data.verdicts[:, 0] != data.verdicts[:, 1], (LABELS // 4, LABELS // 4))
    both = np.tile(part.places, 2)
    places = both + np.repeat([0, count], len(part.places))
    return Draw(places, np.tile(part.weights, 2), np.tile(part.strata, 2), both)


def _line(told: str, found: Mapping[str, Held]) -> str:
    """Give a line of the table: the share held, and the mean length."""
    cells = [f"{found[name].share:.3f} ({found[name].width:.3f})" if name in found else "" for name in COLUMNS]
    return f"{told:46}" + "".join(f"{'-' if cell.startswith('nan') else cell:>16}" for cell in cells)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=2000, help="how many draws each figure is of")
    repeats = parser.parse_args().repeats
    begun = time.process_time()
    data = answers()
    truth = data.people.mean()
    print(f"share of {repeats} intervals of 95 % that hold the truth, {truth:.3f} (mean length); {LABELS} labels")
    print(f"{'':46}" + "".join(f"{name:>16}" for name in COLUMNS))
    for judge in data.judges:
        print(f"{judge}, mean {data.judges[judge].mean():.3f}")
        for name, design in DESIGNS.items():
            print(_line(f"  {name}", coverage(data, judge, design, repeats)), flush=True)
    print(f"\ndifferences of two systems, 100 labels, judge {JUDGES[0]}")
    for method, baseline in PAIRS:
        two = pair(JUDGES[0], method, baseline)
        difference = two.people.mean(axis=0) @ [1.0, -1.0]
        print(f"{method} less {baseline}: {difference:+.3f} on {len(two.people)} questions")
        for how in ("answers", "questions", "questions, half where verdicts differ"):
            print(_line(f"  {how}", differences(two, how, repeats)), flush=True)
    print(f"\n{time.process_time() - begun:.0f} s of CPU")


if __name__ == "__main__":
    main()
